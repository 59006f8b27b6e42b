//! Scenarios of known defects. Each breaks the same requirement with the defect, and holds without it.

use jobcheck_explorer::check::{Bounds, visit};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::script::{Count, Flag, Number};
use jobcheck_explorer::world::World;

use super::claims::{Claims, PodClaims};
use super::export::{About, ExportError, export, located};
use super::format::Scenario;
use super::model::{self, ModelRun};
use super::values::{Id, Quantity};

/// Returns the scenario of a known defect. With the defect it breaks the same requirement, and without the defect it
/// holds.
///
/// Steps on pods that only the defect creates are optional. A defect that breaks no write is shown by a different
/// state at quiescence.
///
/// # Errors
///
/// There is no such scenario.
pub fn export_defect(mutant: &Mutant, found: &Counterexample) -> Result<Scenario, ExportError> {
    let requirement = mutant.requirement();
    let about = About {
        name: mutant.id,
        about: mutant.title,
        requirement: Some(requirement),
        source: mutant.issues.first().copied(),
    };
    let mut scenario = export(&mutant.scope(), &found.path, &about)?;
    let bounds = Bounds::none(1);
    loop {
        let run = model::run(&scenario, None, &bounds)?;
        match (run.found(), waiting(&run)) {
            (None, _) => break,
            (Some(_), Some(step)) if scenario.steps[step].value.optional.is_none() => {
                scenario.steps[step].value.optional = Some(true);
            }
            (Some(found), _) => return Err(ExportError::NotSound(found.why.clone())),
        }
    }
    let shows = |scenario: &Scenario| {
        model::run(scenario, Some(mutant), &bounds).map(|run| run.requirement == Some(requirement))
    };
    if shows(&scenario)? {
        return Ok(scenario);
    }
    let claims = difference(&scenario, mutant, &bounds)?.ok_or(ExportError::NotShown(requirement))?;
    scenario.expect.push(located(Claims { requirement: Some(Id(requirement)), ..claims }));
    if shows(&scenario)? { Ok(scenario) } else { Err(ExportError::NotShown(requirement)) }
}

/// The step, from 0, for which the script waits without end.
fn waiting(run: &ModelRun) -> Option<usize> {
    let found = run.found().filter(|found| found.number.is_none() && found.cycle_start.is_none())?;
    let scope = &run.scope;
    let world = found.path.iter().fold(initial(scope), |world, step| world.apply(step, scope));
    scope.script.as_ref()?.item(&world).map(|item| item.step - 1)
}

/// The claims that hold at quiescence without the defect, and can fail with it.
fn difference(scenario: &Scenario, mutant: &Mutant, bounds: &Bounds) -> Result<Option<Claims>, ExportError> {
    let sound = model::scope(scenario)?;
    let defective = model::with_defect(&sound, mutant);
    let (right, wrong) = (at_rest(&sound, bounds), at_rest(&defective, bounds));
    for flag in Flag::ALL {
        let values = right.iter().map(|world| flag.value(&world.job_states[0]));
        if let Some(Some(value)) = common(values)
            && wrong.iter().any(|world| flag.value(&world.job_states[0]) != Some(value))
        {
            return Ok(Some(of_flag(flag, value)));
        }
    }
    for number in Number::ALL {
        let values = right.iter().map(|world| number.value(&world.job_states[0]));
        if let Some(Some(value)) = common(values)
            && wrong.iter().any(|world| number.value(&world.job_states[0]) != Some(value))
        {
            return Ok(Some(of_number(number, value)));
        }
    }
    Ok(None)
}

/// The common value. `None` if the values differ.
fn common<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// The quiescent states of a scope.
fn at_rest(scope: &Scope, bounds: &Bounds) -> Vec<World> {
    let mut found = Vec::new();
    visit(scope, bounds, &|_| false, &mut |_, worlds| {
        for number in 0..worlds.count() {
            if worlds.leaving(number).is_empty() {
                found.push(worlds.world(number));
            }
        }
    });
    found
}

fn of_flag(flag: Flag, value: bool) -> Claims {
    let (said, default) = (Some(value), Claims::default);
    match flag {
        Flag::Exists => Claims { exists: said, ..default() },
        Flag::Deleting => Claims { deleting: said, ..default() },
        Flag::StartTime => Claims { start_time: said, ..default() },
        Flag::CompletionTime => Claims { completion_time: said, ..default() },
        Flag::Finished => Claims { finished: said, ..default() },
    }
}

fn of_number(number: Number, value: u32) -> Claims {
    let (said, default, no_pods) =
        (Some(Quantity(Count::Exactly(value))), Claims::default, PodClaims::default);
    let pods = |pods: PodClaims| Claims { pods: Some(pods), ..default() };
    match number {
        Number::Active => Claims { active: said, ..default() },
        Number::Ready => Claims { ready: said, ..default() },
        Number::Terminating => Claims { terminating: said, ..default() },
        Number::Succeeded => Claims { succeeded: said, ..default() },
        Number::Failed => Claims { failed: said, ..default() },
        Number::Uncounted => Claims { uncounted: said, ..default() },
        Number::Pods => pods(PodClaims { total: said, ..no_pods() }),
        Number::ActivePods => pods(PodClaims { active: said, ..no_pods() }),
        Number::TerminatingPods => pods(PodClaims { terminating: said, ..no_pods() }),
        Number::SucceededPods => pods(PodClaims { succeeded: said, ..no_pods() }),
        Number::FailedPods => pods(PodClaims { failed: said, ..no_pods() }),
        Number::TrackedPods => pods(PodClaims { tracked: said, ..no_pods() }),
        Number::ControlledPods => pods(PodClaims { controlled: said, ..no_pods() }),
        Number::CreatedPods => pods(PodClaims { created: said, ..no_pods() }),
    }
}

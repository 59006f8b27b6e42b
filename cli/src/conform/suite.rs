//! The profiles of `jobcheck_conform`: mirror, aggregate, and field. Several scenarios run at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_conform::{Cluster, Error, Profile, Scenario, Settings, not_run};
use jobcheck_judge::replay::rules;
use jobcheck_judge::report::Exit;
use jobcheck_report::judge::MANAGER;
use jobcheck_report::profile::Listed;
use jobcheck_report::types::{Cluster as Reported, JudgingOptions, Outcome};
use jobcheck_report::{ConformanceReport, Scenario as Ran};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

use super::args::{ConformArgs, Role};
use super::results::{self, RULE_SET};
use super::setup::{self, Setup};
use super::{Failure, access, faults, text};
use crate::cluster::Progress;
use crate::global::Global;
use crate::signals;
use crate::{output, runtime};

/// The longest wait of a step, unless the user says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the scenarios. `None`: there was nothing to run.
pub fn run(
    profile: Profile,
    args: &ConformArgs,
    global: &Global,
) -> Result<Option<ConformanceReport>, Failure> {
    let chosen = chosen(profile, &args.ids).map_err(|why| (why, Exit::Unreadable))?;
    if args.list {
        output::print_text(&text::list(&chosen), Exit::Conforms);
        return Ok(None);
    }
    if let Some(why) = too_many(chosen.len(), args) {
        return Err((why, Exit::Unreadable));
    }
    let setup = args.setup.as_deref().map(Setup::read).transpose();
    let setup = setup.map_err(|why| (why, Exit::Unreadable))?.unwrap_or_default();
    let resource = args.resource.as_deref().map(setup::resource).transpose();
    let settings = Settings {
        managed_by: args.managed_by.clone(),
        objects: setup.objects,
        worker_objects: setup.workers,
        resource: resource.map_err(|why| (why, Exit::Unreadable))?,
        labels: setup.labels,
        annotations: setup.annotations,
        hooks: args.hooks.iter().cloned().collect(),
        patience: args.patience.unwrap_or(PATIENCE),
        out: args.out.clone(),
        keeps_failed: args.keep.is_some(),
        judging: JudgingOptions::default(),
    };
    let runtime = runtime::start().map_err(|exit| ("the suite cannot start".to_owned(), exit))?;
    runtime.block_on(on_clusters(profile, args, global, &chosen, settings))
}

async fn on_clusters(
    profile: Profile,
    args: &ConformArgs,
    global: &Global,
    chosen: &[&'static Scenario],
    mut settings: Settings,
) -> Result<Option<ConformanceReport>, Failure> {
    let failed = |why: String| (why, Exit::Environment);
    let stop = signals::listen().map_err(|error| failed(format!("cannot listen to signals: {error}")))?;
    let progress = Progress::new(!global.quiet);
    let clusters = tokio::select! {
        biased;
        () = stop.cancelled() => return Err(failed("interrupted: nothing was run".to_owned())),
        clusters = connect(profile, args) => clusters?,
    };
    if args.dry_run {
        output::print_text(&text::dry_run(chosen, &clusters, &settings, args.repeat), Exit::Conforms);
        return Ok(None);
    }
    let ((folder, _claim), halt) = (results::folder(args)?, stop.child_token());
    settings.judging = judging(profile, args, &clusters);
    let (clusters, injection) = match args.faults {
        true => faults::begin(args, clusters, &folder, &stop).await.map(|(them, it)| (them, Some(it)))?,
        false => (clusters, None),
    };
    let begun = results::now();
    let settings = Arc::new(settings);
    let many = Many { args, settings: &settings, clusters: clusters.clone(), halt, progress: &progress };
    let mut scenarios = many.run(chosen).await;
    if let Some(injection) = &injection {
        injection.judge(&mut scenarios);
    }
    let run = results::run_of(args, begun, settings.judging.clone());
    let of_run = |it: &Arc<Cluster>| Reported { name: it.name.clone(), kubernetes: it.kubernetes.clone() };
    let run = jobcheck_report::Run { clusters: clusters.iter().map(of_run).collect(), ..run };
    results::write(&folder, run, scenarios).map(Some)
}

/// The reason why a report could not hold all runs.
fn too_many(scenarios: usize, args: &ConformArgs) -> Option<String> {
    let runs = scenarios.saturating_mul(usize::try_from(args.repeat).unwrap_or(usize::MAX));
    let most = jobcheck_report::Run::MOST_RUNS;
    (runs > most).then(|| {
        format!("{scenarios} scenarios with --repeat {} are {runs} runs, and a report has at most {most}: choose some", args.repeat)
    })
}

/// The options of the judge, for the report.
fn judging(profile: Profile, args: &ConformArgs, clusters: &[Arc<Cluster>]) -> JudgingOptions {
    let of_manager = clusters.first().map(|it| &*it.kubernetes).filter(|it| rules(it).is_ok());
    let is_declared = match profile {
        Profile::Mirror => args.managed_by.is_none(),
        Profile::Aggregate => true,
        Profile::Field => false,
    };
    JudgingOptions {
        rule_set: of_manager.unwrap_or(RULE_SET).to_owned(),
        strict: args.strict,
        profile: is_declared.then(|| profile.name().to_owned()),
        fails_when: args.fails_when.map(|it| it.name().to_owned()),
        skew: args.skew,
        ..JudgingOptions::default()
    }
}

/// Connects to the manager's cluster, and then to the others. Checks what is permitted there.
async fn connect(profile: Profile, args: &ConformArgs) -> Result<Vec<Arc<Cluster>>, Failure> {
    let failed = |error: Error| (error.to_string(), Exit::Environment);
    let other = if profile == Profile::Aggregate { "member" } else { "worker" };
    let mut clusters = Vec::new();
    for role in [Role::Manager, Role::Other] {
        let of_role = args.clusters.iter().enumerate().filter(|(_, it)| it.role == role);
        for (number, (position, named)) in of_role.enumerate() {
            let (access, log) = access(named, args).await?;
            let log = args.audit_logs.get(position).cloned().or(log);
            let name = match role {
                Role::Manager => MANAGER.to_owned(),
                Role::Other => format!("{other}-{}", number + 1),
            };
            let cluster = Cluster::connect(&name, &access, log).await.map_err(failed)?;
            cluster.check_permissions(profile, role == Role::Manager).await.map_err(failed)?;
            clusters.push(Arc::new(cluster));
        }
    }
    Ok(clusters)
}

/// Runs that go on at a time.
struct Many<'a> {
    args: &'a ConformArgs,
    settings: &'a Arc<Settings>,
    clusters: Vec<Arc<Cluster>>,
    halt: CancellationToken,
    progress: &'a Progress,
}

/// A run of a scenario: its number among the chosen ones, and its repetition.
type One = (usize, &'static Scenario, Option<u32>);

/// The runs that go on, and those that have ended.
#[derive(Default)]
struct Runs {
    running: JoinSet<Ran>,
    known: HashMap<task::Id, One>,
    done: Vec<(usize, Ran)>,
}

impl Many<'_> {
    /// The results in the order of the scenarios, and the runs of each in their order. All scenarios are run before one is
    /// repeated, so that a run that is ended early has some of each.
    async fn run(&self, chosen: &[&'static Scenario]) -> Vec<Ran> {
        let at_once = u32::try_from(self.args.parallel).unwrap_or(1);
        let permits = Arc::new(Semaphore::new(usize::try_from(at_once).unwrap_or(1)));
        let repetitions = self.args.repetitions();
        let (of, mut runs) = (repetitions.len() * chosen.len(), Runs::default());
        for repetition in &repetitions {
            for (number, scenario) in chosen.iter().copied().enumerate() {
                // A hook acts on the manager of all scenarios.
                let needed = if scenario.hooks().next().is_some() { at_once } else { 1 };
                // One waits at a time, so that they begin in their order.
                let permit = loop {
                    let permit = Arc::clone(&permits).acquire_many_owned(needed);
                    tokio::select! {
                        biased;
                        Some(ended) = runs.running.join_next_with_id() => self.ended(&mut runs, ended, of),
                        permit = permit => break permit.ok(),
                    }
                };
                self.begin(&mut runs, (number, scenario, *repetition), permit);
            }
        }
        while let Some(ended) = runs.running.join_next_with_id().await {
            self.ended(&mut runs, ended, of);
        }
        runs.done.sort_by_key(|(number, ran)| (*number, ran.repetition));
        runs.done.into_iter().map(|(_, ran)| ran).collect()
    }

    fn begin(&self, runs: &mut Runs, one: One, permit: Option<OwnedSemaphorePermit>) {
        let (_, scenario, repetition) = one;
        let (clusters, settings) = (self.clusters.clone(), Arc::clone(self.settings));
        let halt = self.halt.clone();
        let task = runs.running.spawn(async move {
            let _permit = permit;
            if halt.is_cancelled() {
                return not_run(scenario, repetition, "the run was ended before");
            }
            jobcheck_conform::run(scenario, repetition, &clusters, &settings, &halt).await
        });
        runs.known.insert(task.id(), one);
    }

    /// Takes the result of a run. One that has panicked is an error.
    fn ended(&self, runs: &mut Runs, ended: Result<(task::Id, Ran), task::JoinError>, of: usize) {
        let id = ended.as_ref().map_or_else(task::JoinError::id, |(id, _)| *id);
        let Some((number, scenario, repetition)) = runs.known.remove(&id) else { return };
        let ran = ended.map(|(_, ran)| ran).unwrap_or_else(|error| {
            let reason = format!("internal error: {error}");
            Ran { outcome: Outcome::Error, ..not_run(scenario, repetition, reason) }
        });
        if self.args.fail_fast && ran.outcome == Outcome::Fail {
            self.halt.cancel();
        }
        runs.done.push((number, ran));
        let word = if self.args.repeat > 1 { "runs" } else { "scenarios" };
        self.progress.show(&format!("{} of {of} {word}", runs.done.len()));
    }
}

/// All scenarios, as a report has them.
pub fn listed(profile: Profile) -> Vec<Listed> {
    let listed = |scenario: &Scenario| {
        let reported = not_run(scenario, None, "");
        Listed {
            id: reported.id,
            stage: Some(reported.stage),
            requirements: reported.requirements,
            digest: reported.digest,
            meets_premise: scenario.meets_premise(),
        }
    };
    profile.scenarios().iter().map(listed).collect()
}

/// The scenarios that the arguments name, by their ids or by a requirement at which they aim.
fn chosen(profile: Profile, ids: &[String]) -> Result<Vec<&'static Scenario>, String> {
    let all = profile.scenarios().iter().collect();
    super::chosen(profile.name(), all, ids, |scenario: &&Scenario| (scenario.id, scenario.requirements))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_chosen_by_id_or_by_requirement() {
        let ids = |profile, given: &[&str]| {
            let given: Vec<String> = given.iter().map(|id| (*id).to_owned()).collect();
            chosen(profile, &given).map(|them| them.iter().map(|it| it.id).collect::<Vec<_>>())
        };
        let mirror = |given: &[&str]| ids(Profile::Mirror, given);
        assert_eq!(mirror(&["mirror/success"]), Ok(vec!["mirror/success"]));
        assert_eq!(mirror(&["success"]), mirror(&["mirror/success"]));
        assert_eq!(mirror(&["mirror/MR-10"]).unwrap(), ["mirror/rest"]);
        assert_eq!(mirror(&[]).unwrap().len(), Profile::Mirror.scenarios().len());
        assert!(mirror(&["mirror/sucess"]).unwrap_err().contains("mirror/success"));
        assert!(mirror(&["FT-02"]).is_err() && mirror(&["aggregate/success"]).is_err());
        assert_eq!(ids(Profile::Field, &["MB-12"]).unwrap(), ["field/status"]);
    }

    #[test]
    fn each_scenario_has_an_id_of_its_profile_that_is_there_once() {
        for profile in [Profile::Mirror, Profile::Aggregate, Profile::Field] {
            let mut ids: Vec<&str> = profile.scenarios().iter().map(|it| it.id).collect();
            assert!(
                ids.iter().all(|id| id.strip_prefix(profile.name()).is_some_and(|id| id.starts_with('/')))
            );
            ids.sort_unstable();
            assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
        }
    }
}

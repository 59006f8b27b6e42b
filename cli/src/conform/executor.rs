//! The profiles executor and ttl: the library of scenarios on the target external.

use std::path::PathBuf;

use jobcheck_judge::report::Exit;
use jobcheck_report::folder::TRACES;
use jobcheck_report::judge::{MANAGER, Unmet, conclude, judged};
use jobcheck_report::profile::Listed;
use jobcheck_report::types::{JudgingOptions, Outcome, Stage};
use jobcheck_report::{ConformanceReport, Folder, Scenario, digest};
use jobcheck_scenario::read;
use jobcheck_spec::Req;

use super::args::{ConformArgs, ProfileName};
use super::results::{self, RULE_SET};
use super::{Failure, text};
use crate::global::{Global, defaults};
use crate::library::{self, Entry};
use crate::real_cluster::{ConnectionArgs, LimitArgs};
use crate::run::{self, Execution, Run, RunArgs, Target};
use crate::{output, runtime, save};

/// Runs the scenarios. `None`: there was nothing to run.
pub fn run(args: &ConformArgs, global: &Global) -> Result<Option<ConformanceReport>, Failure> {
    let names = chosen(args).map_err(|why| (why, Exit::Unreadable))?;
    if args.list {
        output::print_text(&text::list_library(&names), Exit::Conforms);
        return Ok(None);
    }
    let args_of_run = args_of_run(args, names.iter().map(|(name, _)| PathBuf::from(name)).collect())?;
    if let Some(why) = args_of_run.objection() {
        return Err((why, Exit::Unreadable));
    }
    if args.dry_run {
        output::print_text(&text::list_library(&names), Exit::Conforms);
        return Ok(None);
    }
    let ((folder, _claim), begun) = (results::folder(args)?, results::now());
    let runs = run::on_external(&args_of_run, global);
    let saved = save::Folder { directory: &folder.path(TRACES), redacts: false, pages: false };
    if !run::save(saved, &runs) {
        return Err(("the traces cannot be written".to_owned(), Exit::Environment));
    }
    let rule_set = runs.iter().find_map(Run::kubernetes).unwrap_or(RULE_SET).to_owned();
    let judging = JudgingOptions { rule_set, ..JudgingOptions::default() };
    let scenarios = runs.iter().map(|run| reported(args.profile, run, &folder, &judging));
    let scenarios = scenarios.collect::<Result<_, _>>().map_err(|why| (why, Exit::Internal))?;
    results::write(&folder, results::run_of(args, begun, judging), scenarios).map(Some)
}

/// The cluster of `run` is a local one, or a context.
fn args_of_run(args: &ConformArgs, scenarios: Vec<PathBuf>) -> Result<RunArgs, Failure> {
    let [named] = &args.clusters[..] else {
        return Err(("there is no cluster".to_owned(), Exit::Unreadable));
    };
    let runtime = runtime::start().map_err(|exit| ("the suite cannot start".to_owned(), exit))?;
    let (access, _) = runtime.block_on(super::access(named, args))?;
    let is_local = access.context.is_none();
    let connection = ConnectionArgs {
        cluster: named.name.parse().ok().filter(|_| is_local),
        kubeconfig: access.kubeconfig.filter(|_| !is_local),
        context: access.context,
        managed_by: args.managed_by.clone(),
    };
    let limits = LimitArgs { parallel: args.parallel, patience: args.patience, allow_known: false };
    let targets = vec![Target::External];
    Ok(RunArgs { scenarios, targets, seed: args.seed, connection, limits, ..defaults() })
}

/// The scenarios of a profile, with their files.
fn scenarios(profile: ProfileName) -> impl Iterator<Item = (&'static Entry, jobcheck_scenario::Scenario)> {
    // Each file of the library was read by a test.
    let all = library::scenarios().iter().filter_map(|entry| Some((entry, read(&entry.text()).ok()?)));
    all.filter(move |(entry, scenario)| {
        let is_ttl = scenario.requirements.iter().any(|id| id.0.id().starts_with("TT-"));
        let is_for_others = !scenario.targets.is_empty()
            && !scenario.targets.iter().any(|target| target.name() == Target::External.name());
        is_ttl == (profile == ProfileName::Ttl) && !is_for_others && !entry.name().contains('/')
    })
}

/// All scenarios, as a report has them. The clusters of a run decide which of them can be run there, and its timing which
/// premises are met.
pub fn listed(profile: ProfileName) -> Vec<Listed> {
    let listed = |(entry, scenario): (&Entry, jobcheck_scenario::Scenario)| {
        let id = format!("{}/{}", profile.name(), scenario.name);
        let requirements = ids_of(&scenario);
        let digest = digest::of(entry.text().as_bytes());
        Listed { id, stage: None, requirements, digest, meets_premise: false }
    };
    scenarios(profile).map(listed).collect()
}

/// The ids of the requirements that a scenario is about.
fn ids_of(scenario: &jobcheck_scenario::Scenario) -> Vec<String> {
    scenario.requirements.iter().map(|id| id.0.id().to_owned()).collect()
}

/// The scenarios of the profile that the arguments choose, with a sentence about each.
fn chosen(args: &ConformArgs) -> Result<Vec<(String, String)>, String> {
    let all = scenarios(args.profile).map(|(entry, scenario)| {
        let aims: Vec<Req> = scenario.requirements.iter().map(|id| id.0).collect();
        (entry.name().to_owned(), scenario.about, aims)
    });
    let all = super::chosen(args.profile.name(), all.collect(), &args.ids, |(name, _, aims)| (name, aims))?;
    Ok(all.into_iter().map(|(name, about, _)| (name, about)).collect())
}

/// The outcome of a run: that of its trace, and of the step or the expectation that was not met.
fn reported(
    profile: ProfileName,
    run: &Run,
    folder: &Folder,
    judging: &JudgingOptions,
) -> Result<Scenario, String> {
    let name = &run.scenario.name;
    let text = library::scenario(&run.file).map(Entry::text).unwrap_or_default();
    let reason = run.why().unwrap_or_default();
    // Scenarios that need a stopped clock, or several servers, cannot be run on a cluster of somebody else.
    let stage = if matches!(run.execution, Execution::NotRun(_)) { Stage::Extended } else { Stage::Core };
    let mut scenario = Scenario::not_run(format!("{}/{name}", profile.name()), stage, &text, reason);
    scenario.requirements = ids_of(&run.scenario);
    let Some(on_cluster) = run.on_cluster() else {
        if matches!(run.execution, Execution::Failed { .. }) {
            scenario.outcome = Outcome::Error;
        }
        return Ok(scenario);
    };
    let file = format!("{TRACES}/{name}-{}.jsonl", run.target.name());
    let trace = folder.seal(&file, MANAGER).map_err(|why| format!("cannot read {file}: {why}"))?;
    scenario.traces.push(trace);
    let found = judged(folder, &scenario.traces, judging)?;
    let unmet = on_cluster.unmet.clone().map(|why| Unmet { why, broken: None });
    conclude(&mut scenario, found, unmet);
    Ok(scenario)
}

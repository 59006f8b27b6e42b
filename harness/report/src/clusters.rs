//! Holds the clusters of a report against its profile, and the traces of a scenario against its clusters.
//!
//! A scenario that runs records every cluster, also one on which nothing happens. So a trace that is missing was removed.
//! Without the traces of the workers, the requirements about copies are not judged.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::judge::MANAGER;
use crate::types::{ConformanceReport, Run, Scenario};
use crate::verify::{Objection, State};

/// The objection to the clusters of a report; none for a profile that is not known.
pub(crate) fn objection_to_list(run: &Run) -> Option<Objection> {
    let (other, most) = others(&run.profile.name)?;
    let names = names(run);
    let found = names.iter().filter(|name| **name != MANAGER).count();
    if names.contains(MANAGER) && most.contains(&found) {
        return None;
    }
    let expected = match *most.start() {
        0 => format!("the cluster {MANAGER} alone"),
        1 => format!("the cluster {MANAGER} and at least 1 {other}"),
        least => format!("the cluster {MANAGER} and at least {least} {other}s"),
    };
    let found = names.into_iter().collect::<Vec<_>>().join(", ");
    let why = format!("clusters: the profile {} needs {expected}, found {found}", run.profile.name);
    Some(Objection::new(State::NotConfirmed, why))
}

/// The objection to the traces of a scenario: each cluster has one, and each is of a cluster. A scenario without traces is
/// not confirmed for another reason.
pub(crate) fn objection(scenario: &Scenario, report: &ConformanceReport) -> Option<Objection> {
    if !scenario.outcome.was_run() || scenario.traces.is_empty() {
        return None;
    }
    let names = names(&report.run);
    let unknown = scenario.traces.iter().find(|it| !names.contains(&*it.cluster));
    let unknown = unknown
        .map(|it| format!("{} is of the cluster {}, which the report does not list", it.file, it.cluster));
    let has_trace = |name: &&&str| scenario.traces.iter().any(|it| it.cluster == ***name);
    let bare = names.iter().find(|name| !has_trace(name));
    let bare = bare.map(|name| format!("it has no trace of the cluster {name}"));
    let mut files = BTreeSet::new();
    let twice = scenario.traces.iter().find(|it| !files.insert(&it.file));
    let twice = twice.map(|it| format!("it has the trace {} twice", it.file));
    unknown.or(bare).or(twice).map(|why| Objection::new(State::NotConfirmed, why))
}

/// The names of the clusters. A report without clusters is about that of the manager, as those of executor and ttl are.
fn names(run: &Run) -> BTreeSet<&str> {
    match &run.clusters[..] {
        [] => [MANAGER].into(),
        some => some.iter().map(|it| &*it.name).collect(),
    }
}

/// The clusters beside that of the manager: the word for one, and their number.
fn others(profile: &str) -> Option<(&'static str, RangeInclusive<usize>)> {
    match profile {
        "mirror" => Some(("worker", 1..=usize::MAX)),
        "aggregate" => Some(("member", 2..=usize::MAX)),
        "executor" | "ttl" | "field" => Some(("", 0..=0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use crate::judge::judged;
    use crate::profile::tests::list_of;
    use crate::result::tests::scenario;
    use crate::types::{Cluster, JudgingOptions, Outcome, Profile, Stage};
    use crate::verify::verify;

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/corpus/managers/");
    /// The lines of the worker that conform. Without the last of them, no copy has the end that the manager wrote.
    const WHOLE: usize = 21;

    fn cluster(name: &str) -> Cluster {
        Cluster { name: name.to_owned(), kubernetes: "1.36".to_owned() }
    }

    /// The report of a mirror on one scenario with the traces of two clusters, the second with this number of lines.
    fn sample(root: &tempfile::TempDir, lines: usize) -> (Folder, ConformanceReport) {
        let folder = Folder::create(root.path()).unwrap();
        let seal = |role: &str, cluster: &str| {
            let file = format!("traces/{cluster}.jsonl");
            let text = std::fs::read_to_string(format!("{CORPUS}K1-fixed.{role}.jsonl")).unwrap();
            let text: String = text.split_inclusive('\n').take(lines).collect();
            std::fs::write(folder.path(&file), text).unwrap();
            folder.seal(&file, cluster).unwrap()
        };
        let mut scenario = scenario("mirror/a", Stage::Core, Outcome::Pass);
        scenario.traces = vec![seal("manager", MANAGER), seal("worker", "worker-1")];
        let judging = JudgingOptions {
            rule_set: "1.36".to_owned(),
            profile: Some("mirror".to_owned()),
            ..JudgingOptions::default()
        };
        let found = judged(&folder, &scenario.traces, &judging).unwrap();
        (scenario.outcome, scenario.evidence, scenario.reason) =
            (found.outcome, found.evidence, found.reason);
        let managed_by = found.shown.managers.into_iter().next().flatten();
        let profile = Profile { name: "mirror".to_owned(), version: "v1alpha1".to_owned() };
        let clusters = vec![cluster(MANAGER), cluster("worker-1")];
        let mut run = Run { profile, judging, clusters, ..crate::result::tests::timed() };
        run.implementation.managed_by = managed_by;
        (folder, ConformanceReport::new(run, vec![scenario]))
    }

    /// The reasons of all that is not confirmed.
    fn reasons(folder: &Folder, report: &ConformanceReport) -> Vec<String> {
        let report = ConformanceReport::new(report.run.clone(), report.scenarios.clone());
        let found = verify(folder, &report, &list_of(&report)).unwrap();
        let of_scenarios = found.scenarios.iter().map(|it| (it.state, &it.reason));
        let all = of_scenarios.chain(found.objections.iter().map(|it| (it.state, &it.reason)));
        all.filter(|(state, _)| *state != State::Confirmed).map(|(_, why)| why.clone()).collect()
    }

    #[test]
    fn a_failure_whose_worker_is_left_out_is_no_pass() {
        let root = tempfile::tempdir().unwrap();
        let (folder, honest) = sample(&root, WHOLE - 3);
        assert_eq!(honest.scenarios[0].outcome, Outcome::Fail);
        assert_eq!(honest.scenarios[0].evidence[0].requirement, "MR-30");
        assert_eq!(reasons(&folder, &honest), [""; 0]);
        let mut forged = honest;
        let scenario = &mut forged.scenarios[0];
        (scenario.outcome, scenario.evidence) = (Outcome::Pass, Vec::new());
        scenario.reason.clear();
        scenario.traces.pop();
        assert_eq!(reasons(&folder, &forged), ["it has no trace of the cluster worker-1"]);
        forged.run.clusters.pop();
        let needs =
            "clusters: the profile mirror needs the cluster manager and at least 1 worker, found manager";
        assert_eq!(reasons(&folder, &forged), [needs]);
        forged.run.clusters.clear();
        assert_eq!(reasons(&folder, &forged), [needs]);
    }

    #[test]
    fn a_pass_without_the_end_of_its_job_is_undecided() {
        let root = tempfile::tempdir().unwrap();
        let (folder, mut forged) = sample(&root, WHOLE);
        let file = folder.path("traces/manager.jsonl");
        let text = std::fs::read_to_string(&file).unwrap();
        let is_before = |line: &&str| !line.contains("\"type\":\"Complete\"");
        std::fs::write(&file, text.split_inclusive('\n').take_while(is_before).collect::<String>()).unwrap();
        forged.scenarios[0].traces[0] = folder.seal("traces/manager.jsonl", MANAGER).unwrap();
        let traces = &forged.scenarios[0].traces;
        // The judge grants the manager more time.
        assert_eq!(judged(&folder, traces, &forged.run.judging).unwrap().outcome, Outcome::Pass);
        let why = "its traces do not show the end of its Job, for which the scenario waits";
        assert_eq!(reasons(&folder, &forged), [why]);
        let verified = verify(&folder, &forged, &list_of(&forged)).unwrap();
        assert_eq!(verified.exit_code.code(), 3);
    }

    #[test]
    fn each_cluster_has_a_trace_and_each_trace_a_cluster() {
        let root = tempfile::tempdir().unwrap();
        let (folder, honest) = sample(&root, WHOLE);
        assert_eq!((honest.scenarios[0].outcome, reasons(&folder, &honest)), (Outcome::Pass, Vec::new()));
        let first = |change: &dyn Fn(&mut ConformanceReport)| {
            let mut report = honest.clone();
            change(&mut report);
            reasons(&folder, &report).into_iter().next().unwrap_or_default()
        };
        let none = |name: &str| format!("it has no trace of the cluster {name}");
        assert_eq!(first(&|it| drop(it.scenarios[0].traces.remove(0))), none(MANAGER));
        assert_eq!(first(&|it| it.scenarios[0].traces[1].cluster = MANAGER.to_owned()), none("worker-1"));
        assert_eq!(first(&|it| it.run.clusters.push(cluster("worker-2"))), none("worker-2"));
        let unknown = "traces/worker-1.jsonl is of the cluster worker-1, which the report does not list";
        assert_eq!(first(&|it| drop(it.run.clusters.pop())), unknown);
        let twice = first(&|it| {
            let manager = it.scenarios[0].traces[0].clone();
            it.scenarios[0].traces[1] = crate::types::TraceFile { cluster: "worker-1".to_owned(), ..manager };
        });
        assert_eq!(twice, "it has the trace traces/manager.jsonl twice");
    }

    #[test]
    fn a_scenario_that_was_not_run_needs_no_trace() {
        let (mut run, mut report) = (Run::default(), crate::result::tests::report(&[]));
        run.clusters = vec![cluster(MANAGER), cluster("worker-1")];
        for outcome in [Outcome::Skip, Outcome::Disabled, Outcome::Error] {
            report.scenarios = vec![scenario("mirror/a", Stage::Core, outcome)];
            report.run = run.clone();
            assert_eq!(objection(&report.scenarios[0], &report), None, "{outcome}");
        }
    }

    #[test]
    fn the_profile_decides_which_clusters_a_report_has() {
        let is_right = |profile: &str, names: &[&str]| {
            let profile = Profile { name: profile.to_owned(), ..Profile::default() };
            let clusters = names.iter().map(|name| cluster(name)).collect();
            objection_to_list(&Run { profile, clusters, ..Run::default() }).is_none()
        };
        for (names, mirror, aggregate, single) in [
            (&[][..], false, false, true),
            (&["manager"], false, false, true),
            (&["worker-1"], false, false, false),
            (&["worker-1", "worker-2"], false, false, false),
            (&["manager", "manager"], false, false, true),
            (&["manager", "worker-1"], true, false, false),
            (&["manager", "worker-1", "worker-1"], true, false, false),
            (&["manager", "worker-1", "worker-2"], true, true, false),
        ] {
            assert_eq!(is_right("mirror", names), mirror, "{names:?}");
            assert_eq!(is_right("aggregate", names), aggregate, "{names:?}");
            for profile in ["executor", "ttl", "field"] {
                assert_eq!(is_right(profile, names), single, "{profile} {names:?}");
            }
            assert!(is_right("of a newer version", names));
        }
    }
}

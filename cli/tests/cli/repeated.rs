//! `jobcheck report` on reports whose scenarios were run several times.

use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_report::{ConformanceReport, Folder};

use crate::report::{report, violating, written};
use crate::schema;
use crate::support::recording;

const IDS: [&str; 4] = ["executor/conflicts", "executor/deadline", "executor/elastic", "executor/indexed"];

/// Writes a report whose scenarios are runs of others: `runs` has the position of the scenario, and the number of the run.
fn repeated(
    root: &Path,
    traces: &[&Path],
    shard: Option<(u32, u32)>,
    runs: &[(usize, u32)],
) -> ConformanceReport {
    let traces: Vec<(&str, &Path)> = IDS.into_iter().zip(traces.iter().copied()).collect();
    let mut whole = written(root, &traces, shard);
    let first = whole.scenarios.clone();
    for (scenario, (of, number)) in whole.scenarios.iter_mut().zip(runs) {
        let of = &first[*of];
        scenario.id.clone_from(&of.id);
        scenario.requirements.clone_from(&of.requirements);
        scenario.digest.clone_from(&of.digest);
        scenario.repetition = Some(*number);
    }
    whole.run.repeat = Some(2);
    whole.run.selection = vec!["executor/conflicts".to_owned(), "executor/deadline".to_owned()];
    let whole = ConformanceReport::new(whole.run, whole.scenarios);
    Folder::at(root).write(&whole).unwrap();
    whole
}

fn flaky(root: &Path) -> ConformanceReport {
    repeated(root, &[&recording("completions-zero.audit"), &violating()], None, &[(0, 1), (0, 2)])
}

#[test]
fn every_form_names_a_flaky_scenario() {
    let root = tempfile::tempdir().unwrap();
    let written = flaky(root.path());
    let id = written.scenarios[1].evidence[0].requirement.clone();
    let tally = format!("flaky: fails in 1 of 2 runs ({id}), passes in 1");
    let text = report(&["show"], &[root.path()]);
    assert_eq!(text.code, 1, "{text:?}");
    for line in ["core         failure, 1 fail, 1 flaky\n", "repeated     2 runs of each scenario\n", &tally]
    {
        assert!(text.out.contains(line), "{line}: {}", text.out);
    }
    assert_eq!(text.out.matches("executor/conflicts  core").count(), 1, "{}", text.out);
    let json = report(&["show", "-o", "json"], &[root.path()]).json();
    schema::check(&json);
    assert_eq!(json["core"]["flakyTests"], serde_json::json!(["executor/conflicts"]));
    assert_eq!((&json["repeat"], &json["scenarios"][1]["repetition"]), (&2.into(), &2.into()));
    let junit = report(&["show", "-o", "junit"], &[root.path()]).out;
    assert!(junit.contains("tests=\"1\"") && junit.contains(&format!("message=\"{tally}; ")), "{junit}");
    let github = report(&["show", "-o", "markdown", "--github"], &[root.path()]);
    assert!(github.out.contains("| core | failure | 0 | 1 |"), "{}", github.out);
    assert!(github.err.starts_with("::error title=executor/conflicts fail%2C flaky::flaky: fails in 1 of 2"));
    assert!(fs::read_to_string(root.path().join("index.html")).unwrap().contains(&tally));
}

#[test]
fn verify_confirms_each_run() {
    let root = tempfile::tempdir().unwrap();
    let mut written = flaky(root.path());
    let run = report(&["verify", "-v"], &[root.path()]);
    assert!(run.code == 0 && run.out.contains("executor/conflicts (run 2)  fail\n"), "{run:?}");
    assert!(run.out.contains("2 runs: 2 confirmed, 0 not confirmed, 0 undecided, 0 not run\n"), "{run:?}");
    let json = report(&["verify", "-o", "json"], &[root.path()]).json();
    schema::check(&json);
    assert_eq!(json["scenarios"][1]["repetition"], 2);
    written.scenarios[1].outcome = written.scenarios[0].outcome;
    written.scenarios[1].evidence.clear();
    Folder::at(root.path()).write(&ConformanceReport::new(written.run, written.scenarios)).unwrap();
    let run = report(&["verify"], &[root.path()]);
    let refused = "not confirmed  executor/conflicts (run 2)  pass\n  the judge finds ";
    assert!(run.code == 1 && run.out.starts_with(refused), "{run:?}");
}

#[test]
fn repetitions_that_contradict_the_report_are_not_read() {
    let root = tempfile::tempdir().unwrap();
    let written = flaky(root.path());
    let refused = |change: &dyn Fn(&mut ConformanceReport), why: &str| {
        let mut forged = written.clone();
        change(&mut forged);
        Folder::at(root.path()).write(&ConformanceReport::new(forged.run, forged.scenarios)).unwrap();
        for command in ["show", "verify"] {
            let run = report(&[command], &[root.path()]);
            assert!(run.code == 2 && run.err.contains(why), "{why}: {run:?}");
        }
    };
    refused(
        &|it| it.scenarios[1].repetition = Some(1),
        "the repetition 1 of the scenario executor/conflicts is there",
    );
    refused(&|it| it.scenarios[1].repetition = Some(3), "there is no repetition 3 of 2, counted from 1");
    refused(&|it| it.scenarios[1].repetition = None, "it has no repetition, and the report has repeat 2");
    refused(&|it| it.run.repeat = None, "it has the repetition 1, and the report has no repeat");
    refused(&|it| it.run.repeat = Some(1), "repeat is 1; expected 2 to 1000");
    refused(&|it| it.scenarios.truncate(1), "the scenario executor/conflicts lacks the repetition 2 of 2");
    refused(
        &|it| it.scenarios[1].requirements.clear(),
        "the runs of the scenario executor/conflicts differ in",
    );
    // A failure that is reported as left out has its trace.
    let skip = |it: &mut ConformanceReport| {
        it.scenarios[1].outcome = jobcheck_report::types::Outcome::Skip;
        it.scenarios[1].reason = "the run was ended before".to_owned();
        it.scenarios[1].evidence.clear();
    };
    refused(&skip, "scenario executor/conflicts (run 2): its outcome skip has traces");
}

#[test]
fn diff_compares_the_outcome_of_all_runs() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    written(old.path(), &[("executor/conflicts", &recording("completions-zero.audit"))], None);
    flaky(new.path());
    let run = report(&["diff"], &[old.path(), new.path()]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("runs              1 → 2\n"), "{}", run.out);
    assert!(run.out.contains("  worse    executor/conflicts  pass → fail\n"), "{}", run.out);
    schema::check(&report(&["diff", "-o", "json"], &[old.path(), new.path()]).json());
}

#[test]
fn the_runs_of_all_shards_become_one_report() {
    let root = tempfile::tempdir().unwrap();
    let names = ["completions-zero", "nonindexed-success", "indexed-success", "parallelism-zero"];
    let good = names.map(|name| recording(&format!("{name}.audit")));
    let traces: Vec<&Path> = good.iter().map(|it| &**it).collect();
    let folders: Vec<PathBuf> = (0..2).map(|own| root.path().join(format!("shard-{own}"))).collect();
    for (own, folder) in (0..2).zip(&folders) {
        repeated(folder, &traces, Some((own, 2)), &[(0, 1), (1, 1), (0, 2), (1, 2)]);
    }
    let into = |into: &Path, from: &[&Path]| report(&["merge", "--into", &into.to_string_lossy()], from);
    let all = root.path().join("all");
    let run = into(&all, &[&folders[0], &folders[1]]);
    assert!(run.code == 0 && run.out.contains("core         partial, 2 pass\n"), "{run:?}");
    let verified = report(&["verify"], &[&all]);
    assert!(verified.code == 0 && verified.out.starts_with("4 runs: 4 confirmed"), "{verified:?}");
    // The second run of a scenario is in another shard.
    let split = root.path().join("split");
    repeated(&split, &traces, Some((1, 2)), &[(0, 1), (1, 1), (1, 2), (0, 2)]);
    let run = into(&root.path().join("none"), &[&folders[0], &split]);
    assert!(run.code == 2 && run.err.contains("differ in stage, requirements, digest, or shard"), "{run:?}");
}

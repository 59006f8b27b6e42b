//! Traces that testers who had not seen the code have made (`docs/results/attacks.md`). The name of each begins with its verdict.
//!
//! | name | verdict |
//! | --- | --- |
//! | `right--…` | conforms |
//! | `undecided--…` | inconclusive |
//! | `ID--…` | violates this requirement first, or shows this deviation |
//! | `unreadable--…` | a part cannot be read, and the rest is inconclusive |
//! | `ID--….manager.…` | the same beside the trace of its worker |
//! | `….jobs.…` | one trace with that of its pods |

use std::collections::BTreeSet;
use std::path::PathBuf;

use jobcheck_judge::replay::{Clusters, Judging, judge, judge_clusters};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_tests::corpus::folder;
use jobcheck_traces::Input;

/// The verdict on a trace, as the name of a file states it.
fn verdict(report: &ReplayReport) -> String {
    match report.exit_code {
        Exit::Conforms => "right".to_owned(),
        Exit::Inconclusive => "undecided".to_owned(),
        Exit::Unreadable if report.jobs.iter().any(|job| job.verdict == Outcome::Inconclusive) => {
            let is_wrong = report.jobs.iter().any(|job| job.verdict == Outcome::Violates);
            if is_wrong { "wrong in part" } else { "unreadable" }.to_owned()
        }
        Exit::Violates => {
            let first = report.jobs.iter().flat_map(|job| &job.violations).next();
            let id = first.and_then(|it| it.known.or(it.requirement));
            id.map_or_else(|| "no requirement".to_owned(), |id| id.0.id().to_owned())
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn each_trace_has_the_verdict_of_its_name() {
    let names: BTreeSet<String> = std::fs::read_dir(folder().join("attacks"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.len() > 15, "{names:?}");
    let path = |name: &str| -> PathBuf { folder().join("attacks").join(name) };
    let mut wrong = Vec::new();
    let is_second = |name: &str| name.contains(".worker.") || name.contains(".pods.");
    for name in names.iter().filter(|name| !is_second(name)) {
        let (expected, _) = name.split_once("--").unwrap();
        let beside = |role: &str, other: &str| {
            let second = name.replace(role, other);
            (second != *name).then(|| Input::Path(path(&second)))
        };
        let input = Input::Path(path(name));
        let report = match (beside(".manager.", ".worker."), beside(".jobs.", ".pods.")) {
            (Some(worker), _) => {
                let clusters = Clusters { manager: vec![input], workers: vec![vec![worker]] };
                judge_clusters(&clusters, &Judging::default(), &mut |_, _| {})
            }
            (None, pods) => {
                let inputs = std::iter::once(input).chain(pods).collect();
                judge(&[inputs], &Judging::default(), &mut |_, _| {})
            }
        };
        let found = verdict(&report);
        if found != expected {
            wrong.push(format!("{name}: {found}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

//! The corpus: recordings conform, and every invalid trace is rejected for the requirement that it breaks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_judge::validate::{Options, Outcome, Summary, Violation};
use jobcheck_spec::{CATALOGUE, Judged, Level, Req};
use jobcheck_tests::corpus::{Case, cases, folder, make};
use jobcheck_tests::expected;
use jobcheck_tests::traces::{broken, parsed, validated, violations};
use jobcheck_traces::Input;
use serde_json::Value;

fn judge(input: Input) -> Summary {
    validated(&[input], Options::default())
}

fn judge_case(case: &Case) -> Summary {
    judge(Input::Bytes(case.file_name(), make(case).unwrap().into_bytes()))
}

/// The files of a folder of the corpus, in order.
pub fn files(of: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder().join(of)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The recordings of a form, such as `.audit`: each with its name and its lines.
pub fn recordings(form: &str) -> Vec<(String, Vec<Value>)> {
    let named = files("recordings").into_iter().filter_map(|path| {
        let name = path.file_stem()?.to_str()?.to_owned();
        name.ends_with(form).then(|| (name, parsed(&fs::read_to_string(&path).unwrap())))
    });
    named.collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn every_recording_of_the_built_in_controller_conforms() {
    let recordings = files("recordings");
    assert_eq!(recordings.len(), 68);
    for path in recordings {
        let summary = judge(Input::Path(path.clone()));
        assert_eq!(summary.outcome(), Outcome::Conforms, "{}: {:?}", name(&path), broken(&summary));
        assert!(summary.judged > 0, "{}: nothing was judged", name(&path));
    }
}

/// The first violation in order is the verdict.
fn first(summary: &Summary) -> Option<&Violation> {
    violations(summary).min_by_key(|it| it.place)
}

/// The expectation of a case is met by its requirement, or by another id of the same fact.
fn meets(case: &Case, found: Req) -> bool {
    found.id() == case.requirement || found.also().iter().any(|also| also.id() == case.requirement)
}

/// Advice that is broken gives a warning, which `--strict` counts as a violation.
fn warns(case: &Case, summary: &Summary) -> bool {
    let is_advice = Req::parse(&case.requirement).is_some_and(|req| req.entry().level == Level::Should);
    let mut warnings = summary.jobs.iter().flat_map(|job| &job.warnings);
    is_advice && warnings.any(|warning| warning.text.starts_with(&format!("{}: ", case.requirement)))
}

#[test]
fn every_invalid_trace_is_rejected_for_the_requirement_that_it_breaks() {
    let mut wrong = Vec::new();
    for case in cases().unwrap() {
        let summary = judge_case(&case);
        match first(&summary).map(Violation::req) {
            Some(found) if meets(&case, found) => {}
            None if warns(&case, &summary) => {}
            found => wrong.push(format!("{}: {found:?}", case.file_name())),
        }
    }
    assert!(wrong.is_empty(), "{} traces have another verdict:\n{}", wrong.len(), wrong.join("\n"));
}

/// The known deviations of `docs/reference/deviations.md`, except for BO-02 and J-02, which only recordings show.
const DEVIATIONS: [&str; 25] = [
    "FT-22", "H1", "H2", "H3", "H4", "J-01", "J-03", "J-04", "J-05", "J-06", "J-07", "J-08", "J-09", "J-11",
    "S-01", "S-02", "S-03", "S-04", "S-05", "S-07", "S-08", "S-09", "S-12", "S-25", "TC-09",
];

#[test]
fn a_deviation_is_known_by_its_exact_pattern_and_by_nothing_near_it() {
    let mut seen = BTreeSet::new();
    for case in cases().unwrap() {
        let Some(known) = case.known else { continue };
        let label = first(&judge_case(&case)).and_then(Violation::known).map(Req::id);
        let expected = known.then_some(&*case.requirement);
        assert_eq!(label, expected, "{}", case.file_name());
        if let Some(id) = label {
            seen.insert(id);
        }
    }
    assert_eq!(Vec::from_iter(seen), DEVIATIONS);
}

#[test]
fn the_invalid_traces_are_what_the_edits_make() {
    let mut names = BTreeSet::new();
    for case in cases().unwrap() {
        expected::check(&format!("traces/corpus/invalid/{}", case.file_name()), &make(&case).unwrap());
        names.insert(case.file_name());
    }
    expected::check_names("traces/corpus/invalid", &names);
}

/// Only a recording breaks it (`tests/suite/recordings_of_deviations.rs`), since it takes 500 pods.
const RECORDED: &str = "J-02";

#[test]
fn every_requirement_that_a_trace_can_break_is_broken_by_one() {
    let broken: BTreeSet<String> = cases().unwrap().into_iter().map(|case| case.requirement).collect();
    assert!(!broken.contains(RECORDED));
    let missing: Vec<&str> = CATALOGUE
        .iter()
        // One trace cannot break a rule for two clusters (judge_clusters.rs).
        .filter(|entry| entry.judged.by_trace() && entry.judged != Judged::Clusters)
        .map(|entry| entry.id)
        .filter(|id| *id != RECORDED && !broken.contains(*id))
        .collect();
    assert!(missing.is_empty(), "no invalid trace breaks {missing:?}");
}

//! The corpus: recordings conform, and every invalid trace is rejected for the requirement that it breaks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_judge::validate::{Options, Outcome, Summary, Validator, Violation};
use jobcheck_spec::{CATALOGUE, Req};
use jobcheck_tests::corpus::{Case, cases, folder, make};
use jobcheck_traces::{Input, Reader};

/// Judges a trace; panics where it cannot be read, because nothing in the corpus may be unreadable.
fn judge(input: Input) -> Summary {
    let name = input.name();
    let mut reader = Reader::open(&[input]);
    let mut validator = Validator::new(Options::default());
    while let Some(record) = reader.next().unwrap_or_else(|error| panic!("{name}: {error}")) {
        validator
            .feed(&record)
            .unwrap_or_else(|error| panic!("{name}:{}: {}", error.place.line, error.problem));
    }
    validator.finish()
}

fn files(of: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder().join(of)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn every_recording_of_the_built_in_conforms() {
    let recordings = files("recordings");
    assert!(recordings.len() >= 66, "the recordings are missing");
    for path in recordings {
        let summary = judge(Input::Path(path.clone()));
        let broken: Vec<String> = summary
            .jobs
            .iter()
            .flat_map(|job| &job.violations)
            .map(|it| format!("{} {}", it.req(), it.write))
            .collect();
        assert_eq!(summary.outcome(), Outcome::Conforms, "{}: {broken:?}", name(&path));
        assert!(summary.judged > 0, "{}: nothing was judged", name(&path));
    }
}

/// The first violation in order is the verdict; the expectation matches its id or one of its set.
fn first(summary: &Summary) -> Option<&Violation> {
    summary.jobs.iter().flat_map(|job| &job.violations).min_by_key(|it| it.place)
}

fn matches(case: &Case, found: Req) -> bool {
    found.id() == case.requirement || found.also().iter().any(|also| also.id() == case.requirement)
}

#[test]
fn every_invalid_trace_is_rejected_for_the_requirement_that_it_breaks() {
    let mut wrong = Vec::new();
    for case in cases().unwrap() {
        let trace = make(&case).unwrap();
        let summary = judge(Input::Bytes(case.file_name(), trace.into_bytes()));
        match first(&summary).map(Violation::req) {
            Some(found) if matches(&case, found) => {}
            found => wrong.push(format!("{}: {found:?}", case.file_name())),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} traces are not rejected as they should:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The documented deviations of judging.md 1 and of docs/findings/README.md, but J-02.
const DEVIATIONS: [&str; 23] = [
    "H1", "H2", "H3", "H4", "J-01", "J-03", "J-04", "J-05", "J-06", "J-07", "J-08", "J-09", "S-01", "S-02",
    "S-03", "S-04", "S-05", "S-07", "S-08", "S-09", "S-12", "S-25", "TC-09",
];

#[test]
fn a_deviation_is_known_by_its_exact_pattern_and_by_nothing_near_it() {
    let mut seen = BTreeSet::new();
    for case in cases().unwrap() {
        let Some(known) = case.known else { continue };
        let summary = judge(Input::Bytes(case.file_name(), make(&case).unwrap().into_bytes()));
        let label = first(&summary).and_then(Violation::known).map(Req::id);
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
    let mut expected = BTreeSet::new();
    for case in cases().unwrap() {
        let path = folder().join("invalid").join(case.file_name());
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == make(&case).unwrap(),
            "{} is out of date: run `cargo run -p jobcheck-tests --bin corpus`",
            case.file_name()
        );
        expected.insert(case.file_name());
    }
    let found: BTreeSet<String> = files("invalid").iter().map(|path| name(path)).collect();
    assert_eq!(found, expected, "files without edits, or the other way round");
}

/// Broken by a recording alone (`tests/suite/found.rs`): it takes 500 pods.
const RECORDED: &str = "J-02";

#[test]
fn every_requirement_that_a_trace_can_break_is_broken_by_one() {
    let broken: BTreeSet<String> = cases().unwrap().into_iter().map(|case| case.requirement).collect();
    assert!(!broken.contains(RECORDED));
    let missing: Vec<&str> = CATALOGUE
        .iter()
        .filter(|entry| entry.judged.by_trace())
        .map(|entry| entry.id)
        .filter(|id| *id != RECORDED && !broken.contains(*id))
        .collect();
    assert!(missing.is_empty(), "no invalid trace breaks {missing:?}");
}

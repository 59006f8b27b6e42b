//! Golden verdicts: the verdicts on a few thousand traces, one line each, are compared with `tests/suite/golden/`.
//!
//! The corpus states which traces must be rejected. These files record every decision, wrong ones included, so that a
//! change of the judge shows each verdict that it changes. A line contains only facts that a program reads from the
//! report:
//!
//! - the exit code, and the number of judged writes
//! - the lines that cannot be read
//! - the profile and the verdict of each Job
//! - the ids of violations with labels and lines, and the ids of pending obligations
//! - the numbers of reasons and warnings

mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use jobcheck_adapter::mutations::is_of_the_plan;
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::scopes as model_scopes;
use jobcheck_explorer::scopes::reference;
use jobcheck_judge::replay::Assumption;
use jobcheck_scenario::read;
use jobcheck_scenario::render::native;
use jobcheck_sim::fuzz::{Draft, Menu};
use jobcheck_tests::corpus::{folder, root};
use jobcheck_tests::expected;
use jobcheck_tests::scopes::walked;
use jobcheck_tests::traces::{joined, parsed, watch_of};
use serde_json::Value;

use self::verdict::{cut, lines, verdict, whole};

/// Compares the verdicts with the file of this name.
fn compare(file: &str, verdicts: &[(String, String)]) {
    expected::check(&format!("tests/suite/golden/{file}"), &lines(verdicts));
}

#[test]
fn the_corpus_has_its_verdicts() {
    compare("corpus.txt", &whole(&folder()));
}

#[test]
fn recordings_with_lines_missing_have_their_verdicts() {
    compare("cut.txt", &cut(&folder(), usize::MAX));
}

/// A native trace, and the same as an audit log and as a watch.
fn forms(name: &str, native: Vec<u8>, verdicts: &mut Vec<(String, String)>) {
    let values = parsed(std::str::from_utf8(&native).unwrap());
    let text = |lines: &[Value]| joined(lines).into_bytes();
    let header = &values[0]["assume"];
    let assumed =
        |name: &str| header[name].as_str().map(|text| Assumption::parse(&format!("{name}={text}")).unwrap());
    let assume: Vec<Assumption> =
        ["pod-failure-backoff", "max-uncounted-pods"].iter().filter_map(|name| assumed(name)).collect();
    let is_logged = |line: &&Value| !line["request"].is_null() || !line["format"].is_null();
    let log: Vec<Value> = values.iter().filter(is_logged).cloned().collect();
    verdicts.push((format!("{name} native"), verdict(name, native, Vec::new())));
    verdicts.push((format!("{name} log"), verdict(name, text(&log), Vec::new())));
    verdicts.push((format!("{name} watch"), verdict(name, text(&watch_of(&values)), assume)));
}

#[test]
fn walks_have_their_verdicts() {
    let mut verdicts = Vec::new();
    let reference =
        [reference::one_fault(), reference::ttl(), reference::rollouts(), reference::recreation()].concat();
    let mut seen = BTreeMap::new();
    for scope in reference.into_iter().chain(model_scopes::all()) {
        let number = seen.entry(scope.name).or_insert(0);
        *number += 1;
        for seed in 0..3 {
            let trace = native(&scope, &walked(&scope, seed), None).unwrap();
            forms(&format!("{} {number} seed {seed}", scope.name), trace, &mut verdicts);
        }
    }
    compare("walks.txt", &verdicts);
}

#[test]
fn counterexamples_have_their_verdicts() {
    let mut verdicts = Vec::new();
    for mutant in MUTANTS.iter().filter(|mutant| mutant.breaks_a_safety_property()) {
        let hunt = mutant.hunt();
        let trace = native(&mutant.scope(), &hunt.found().unwrap().path, None).unwrap();
        forms(mutant.id, trace, &mut verdicts);
    }
    compare("counterexamples.txt", &verdicts);
}

#[test]
fn simulated_runs_have_their_verdicts() {
    let mut verdicts = Vec::new();
    let mut run = |name: &str, text: &str, seed: u64, mutations: &Mutations| {
        if let Ok(outcome) = jobcheck_sim::run(&read(text).unwrap(), seed, mutations) {
            forms(name, outcome.trace, &mut verdicts);
        }
    };
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("tests/suite/fuzzed")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let found: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for seed in (0..4).chain([found]) {
            run(&format!("fuzzed/{found} seed {seed}"), &text, seed, &Mutations::default());
        }
    }
    let menu = Menu { faults: true, real_time: false };
    for seed in 0..300 {
        let text = Draft::of(seed, menu).text("fuzz", "drawn");
        run(&format!("drawn {seed}"), &text, seed, &Mutations::default());
    }
    for mutant in MUTANTS.iter().filter(|mutant| is_of_the_plan(mutant)) {
        let mutations = Mutations::of(mutant.mutations);
        for seed in 0..12 {
            let text = Draft::of(seed, menu).text("fuzz", "drawn");
            run(&format!("{} drawn {seed}", mutant.id), &text, seed, &mutations);
        }
    }
    compare("simulated.txt", &verdicts);
}

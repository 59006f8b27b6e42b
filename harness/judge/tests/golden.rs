//! The golden verdicts of the suite that need nothing but the judge. They fail within seconds if a rule changes, which
//! mutation testing needs (`docs/results/cargo-mutants.md`).
#![expect(clippy::unwrap_used, reason = "a test that cannot read what it needs has failed")]

#[path = "../../../tests/suite/golden/verdict.rs"]
mod verdict;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use verdict::{cut, lines, whole};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares the verdicts with some lines of a golden file. The suite compares all of them, and accepts new ones.
fn compare(file: &str, verdicts: &[(String, String)]) {
    let golden = fs::read_to_string(root().join("tests/suite/golden").join(file)).unwrap();
    let golden: BTreeSet<&str> = golden.lines().collect();
    let found = lines(verdicts);
    let other: Vec<&str> = found.lines().filter(|line| !golden.contains(line)).collect();
    assert!(other.is_empty(), "{file} differs in {} lines, such as {:#?}", other.len(), other.first());
}

#[test]
fn the_corpus_has_its_verdicts() {
    compare("corpus.txt", &whole(&root().join("traces/corpus")));
}

/// The short recordings stand for all.
#[test]
fn short_recordings_with_lines_missing_have_their_verdicts() {
    compare("cut.txt", &cut(&root().join("traces/corpus"), 20));
}

//! A fixed sample of edits has the verdicts of `tests/edits/expected.txt`. `JOBCHECK_BLESS=1` accepts new ones.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use jobcheck_edits::recording::recordings;
use jobcheck_edits::run::{Plan, conforming, run};
use jobcheck_edits::{classes, table};

/// The edits of each class in each form.
const EDITS: usize = 1;

#[test]
fn the_sample_has_its_verdicts() {
    let (classes, recordings) = (classes::all(), conforming(recordings().unwrap(), false));
    let plan = Plan { sample: Some(EDITS), ..Plan::default() };
    let judged = run(&plan, &classes, &recordings, &|_, _| {});
    let mut found = String::new();
    for ((side, class), it) in table::rows(&judged, &classes, true) {
        let side = format!("{side:?}").to_lowercase();
        writeln!(
            found,
            "{side} {class}: {} violate, {} inconclusive, {} conform, {} unreadable",
            it.violates, it.inconclusive, it.conforms, it.unreadable
        )
        .unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected.txt");
    if env::var_os("JOBCHECK_BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let other: Vec<&str> = found.lines().filter(|line| !stored.lines().any(|it| it == *line)).collect();
    assert!(stored == found, "expected.txt differs; JOBCHECK_BLESS=1 accepts it. New: {other:#?}");
}

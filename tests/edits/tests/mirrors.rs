//! Managers that write status alone: the right traces conform, and a sample of edits has the expected verdicts.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_edits::forms::Shape;
use jobcheck_edits::mirrors::sources::traces;
use jobcheck_edits::mirrors::{classes, story::Story};
use jobcheck_edits::run::{Plan, run};
use jobcheck_edits::table::{Side, is_reached, total};

/// The edits of each class.
const EDITS: usize = 4;

#[test]
fn right_mirrors_conform_and_come_from_all_sources() {
    let traces = traces().unwrap();
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for trace in &traces {
        let (source, _) = trace.name.split_once('-').unwrap();
        *sources.entry(source).or_default() += 1;
        assert_eq!(Story::read(&trace.lines).lines(), trace.lines, "{}", trace.name);
    }
    let found: Vec<&str> = sources.keys().copied().collect();
    assert_eq!(found, ["copy", "fewer", "kueue"]);
    assert!(sources.values().all(|number| *number >= 20), "{sources:?}");
}

#[test]
fn a_sample_of_wrong_mirrors_is_rejected_by_name_and_no_right_one_is() {
    let (classes, traces) = (classes(), traces().unwrap());
    let plan = Plan { sample: Some(EDITS), shapes: vec![Shape::Audit, Shape::Native], ..Plan::default() };
    let judged = run(&plan, &classes, &traces, &|_, _| {});
    let missed: Vec<String> = judged
        .iter()
        .filter(|it| it.is_missed())
        .map(|it| format!("{} in {} at {}", classes[it.class].name, traces[it.recording].name, it.at))
        .collect();
    assert!(is_reached(&judged), "{missed:#?}");
    for side in [Side::Wrong, Side::Advice] {
        let tally = total(&judged, side);
        assert!(tally.share(tally.named) > 0.95, "{side:?}: {tally:?}");
    }
    // Each class has edits, and each rule has classes.
    let applied: BTreeSet<usize> = judged.iter().map(|it| it.class).collect();
    assert_eq!(applied.len(), classes.len());
    let rules: BTreeSet<&str> = classes.iter().filter_map(|class| class.group.get(..5)).collect();
    let expected: BTreeSet<String> = (1..=15).map(|number| format!("MR-{number:02}")).collect();
    assert!(expected.iter().all(|rule| rules.contains(&**rule)), "{rules:?}");
}

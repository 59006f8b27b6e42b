//! Known defects: each is found by the shortest way, and what is found is the defect.

use std::fmt::Write as _;

use jobcheck_explorer::check::{Bounds, Outcome, explore, explore_for};
use jobcheck_explorer::mutants::{MUTANTS, Mutant};
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, Narrative};
use jobcheck_explorer::process::steps::{Delivery, ProcessStep};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;
use jobcheck_spec::catalogue::CATALOGUE;

#[test]
fn every_known_defect_is_caught_as_it_is_pinned() {
    let mut survivors = String::new();
    for mutant in MUTANTS {
        let hunt = mutant.hunt();
        let steps = hunt.found().map(|found| found.path.len());
        if !mutant.is_caught_by(&hunt) {
            let (id, shows, found) = (mutant.id, mutant.shows, hunt.requirement);
            writeln!(survivors, "{id}: expected {shows:?}, found {found:?} after {steps:?} steps").unwrap();
        }
    }
    assert_eq!(survivors, "");
}

#[test]
fn without_the_defect_the_same_world_holds() {
    for mutant in MUTANTS {
        let hunt = mutant.hunt_without();
        assert!(hunt.holds(), "{}: {:?}", mutant.id, hunt.found());
    }
}

#[test]
fn the_story_of_a_defect_is_as_reviewed() {
    for mutant in MUTANTS {
        let hunt = mutant.hunt();
        let found = hunt.found().unwrap();
        let story = Narrative::of(&mutant.scope(), found, Some(mutant.requirement()));
        let text = format!("{}: {}\n{}", mutant.id, mutant.title, plain(&story));
        insta::with_settings!({ snapshot_path => "mutants", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(mutant.id, text);
        });
    }
}

/// As the command tells it, without colours.
fn plain(story: &Narrative) -> String {
    let mut text = story.head.join("\n") + "\n";
    for (number, line) in story.lines.iter().enumerate() {
        if story.cycle_start == Some(number) {
            writeln!(text, "{CYCLE_FOLLOWS}").unwrap();
        }
        writeln!(text, "{:18} {}", line.who, line.what).unwrap();
        for note in line.notes(story.asked) {
            writeln!(text, "{:18}   {note}", "").unwrap();
        }
    }
    if story.stutters() {
        writeln!(text, "{NOTHING_FOLLOWS}").unwrap();
    }
    text + &story.end + "\n"
}

/// Each reduction by itself and both together. Symmetry leaves the nearest broken world as near as it is. With events held
/// back their delivery is part of the sync that reads them, and what no sync reads is not delivered: the way has no more
/// steps than without, and no fewer than without once each delivery is a step again.
#[test]
fn with_the_reductions_each_defect_is_caught_too() {
    let (mut shorter, mut alike) = (0, 0);
    for mutant in MUTANTS.iter().filter(|mutant| mutant.breaks_a_safety_property()) {
        let id = mutant.id;
        let plain = broken_way(mutant, &Bounds::none(1));
        for (partial_order, symmetry) in [(true, false), (false, true), (true, true)] {
            let bounds = Bounds { partial_order, symmetry, ..Bounds::none(1) };
            let way = broken_way(mutant, &bounds);
            let without = explore(&mutant.sound_scope(), &bounds).outcome;
            assert!(matches!(without, Outcome::Holds), "{id} without it: {without:?}");
            let (steps, delivered) = (way.len(), way.iter().map(deliveries).sum::<usize>());
            assert!(
                (steps..=steps + delivered).contains(&plain.len()),
                "{id}: {steps}+{delivered}, {plain:?}"
            );
            assert!(partial_order || delivered == 0, "{id}: {way:?}");
            shorter += usize::from(steps < plain.len());
            alike += usize::from(partial_order && steps == plain.len());
        }
    }
    assert!(shorter > 0 && alike > 0, "{shorter} ways are shorter with the reduction, {alike} are not");
}

/// The shortest way to what a defect breaks.
fn broken_way(mutant: &Mutant, bounds: &Bounds) -> Vec<Step> {
    match explore(&mutant.scope(), bounds).outcome {
        Outcome::Broken(found) => found.path,
        outcome => panic!("{}: {outcome:?}", mutant.id),
    }
}

/// Events, and lists in the place of events, that are delivered as part of a step.
fn deliveries(step: &Step) -> usize {
    match step {
        Step::Process(_, _, ProcessStep::Sync(Delivery { pods, jobs, relists })) => {
            jobs + if *relists { 1 } else { *pods }
        }
        _ => 0,
    }
}

/// Where a defect shows only without other safeguards, it is the defect that breaks the requirement: without it, the
/// missing safeguards break others at most.
#[test]
fn a_missing_safeguard_is_not_what_breaks_the_requirement() {
    let mut compared = 0;
    for mutant in
        MUTANTS.iter().filter(|mutant| mutant.breaks_a_safety_property() && mutant.mutations.len() > 1)
    {
        let sound = mutant.sound_scope();
        let partial = sound.with_mutations(Mutations::of(&mutant.mutations[1..]));
        let own = mutant.requirement();
        // The rules of the server stay; they are no guards.
        let others =
            CATALOGUE.iter().map(|entry| entry.req).filter(|req| *req != own && !req.id().starts_with("SS"));
        let scope = others.fold(partial, Scope::without);
        let bounds = Bounds { partial_order: true, ..Bounds::none(2) };
        let is_own = |number: Option<usize>| number.is_some_and(|number| asks_for(number, own));
        let outcome = explore_for(&scope, &bounds, &is_own).outcome;
        assert!(matches!(outcome, Outcome::Holds), "{}: {outcome:?}", mutant.id);
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

/// The property of this requirement, and that every write is admitted.
fn asks_for(number: usize, req: Req) -> bool {
    let property = &PROPERTIES[number];
    property.req == req || property.name.starts_with("every write of the algorithm")
}

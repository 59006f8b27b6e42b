//! The known defects: each has its shortest counterexample, and the mutations are its cause.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use jobcheck_explorer::check::{Bounds, Outcome, explore, explore_for};
use jobcheck_explorer::mutants::{Hunt, MUTANTS, Mutant};
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, Narrative};
use jobcheck_explorer::process::steps::{Delivery, ProcessStep};
use jobcheck_explorer::properties::{EVERY_WRITE_IS_ADMITTED, PROPERTIES};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;
use jobcheck_spec::catalogue::CATALOGUE;
use jobcheck_tests::expected;

/// The search for each defect.
static HUNTS: LazyLock<Vec<Hunt>> = LazyLock::new(|| MUTANTS.iter().map(Mutant::hunt).collect());

#[test]
fn every_known_defect_has_its_pinned_counterexample() {
    let mut not_found = String::new();
    for (mutant, hunt) in MUTANTS.iter().zip(HUNTS.iter()) {
        let steps = hunt.found().map(|found| found.path.len());
        if !mutant.is_caught_by(hunt) {
            let (id, shows, found) = (mutant.id, mutant.shows, hunt.requirement);
            writeln!(not_found, "{id}: expected {shows:?}, found {found:?} after {steps:?} steps").unwrap();
        }
    }
    assert_eq!(not_found, "");
}

#[test]
fn without_the_defect_the_same_scope_satisfies_every_property() {
    // Many defects have one scope.
    let mut sound = BTreeSet::new();
    for mutant in MUTANTS.iter().filter(|mutant| sound.insert(format!("{:?}", mutant.sound_scope()))) {
        let hunt = mutant.hunt_without();
        assert!(hunt.holds(), "{}: {:?}", mutant.id, hunt.found());
    }
}

/// The reviewed counterexamples of the defects.
const NARRATIVES: &str = "tests/suite/mutants";

#[test]
fn the_narrative_of_each_defect_is_as_reviewed() {
    for (mutant, hunt) in MUTANTS.iter().zip(HUNTS.iter()) {
        let found = hunt.found().unwrap();
        let narrative = Narrative::of(&mutant.scope(), found, Some(mutant.requirement()));
        let text = format!("{}: {}\n{}", mutant.id, mutant.title, plain(&narrative));
        expected::check(&format!("{NARRATIVES}/{}.txt", mutant.id), &text);
    }
    let files = MUTANTS.iter().map(|mutant| format!("{}.txt", mutant.id));
    expected::check_names(NARRATIVES, &files.collect());
}

/// The narrative as `jobcheck mutants` prints it, without colours.
fn plain(narrative: &Narrative) -> String {
    let mut text = narrative.head.join("\n") + "\n";
    for (number, line) in narrative.lines.iter().enumerate() {
        if narrative.cycle_start == Some(number) {
            writeln!(text, "{CYCLE_FOLLOWS}").unwrap();
        }
        writeln!(text, "{:18} {}", line.who, line.what).unwrap();
        for note in line.notes(narrative.asked) {
            writeln!(text, "{:18}   {note}", "").unwrap();
        }
    }
    if narrative.stutters() {
        writeln!(text, "{NOTHING_FOLLOWS}").unwrap();
    }
    text + &narrative.end + "\n"
}

/// Each reduction alone, and both together.
///
/// Symmetry keeps the length of the shortest counterexample. With the partial-order reduction, the delivery
/// of events is part of the sync that reads them. Other events are not delivered. The path is therefore not
/// longer than without the reduction. With each delivery counted as a step, it is not shorter.
#[test]
fn with_the_reductions_each_defect_is_found_too() {
    let (mut shorter, mut alike) = (0, 0);
    // Many defects have one scope.
    let mut sound = BTreeSet::new();
    for mutant in MUTANTS.iter().filter(|mutant| mutant.breaks_a_safety_property()) {
        let id = mutant.id;
        let plain = shortest_path(mutant, &Bounds::none(1));
        for (partial_order, symmetry) in [(true, false), (false, true), (true, true)] {
            let bounds = Bounds { partial_order, symmetry, ..Bounds::none(1) };
            let path = shortest_path(mutant, &bounds);
            let scope = mutant.sound_scope();
            if sound.insert(format!("{partial_order} {symmetry} {scope:?}")) {
                let without = explore(&scope, &bounds).outcome;
                assert!(matches!(without, Outcome::Holds), "{id} without it: {without:?}");
            }
            let (steps, delivered) = (path.len(), path.iter().map(deliveries).sum::<usize>());
            assert!(
                (steps..=steps + delivered).contains(&plain.len()),
                "{id}: {steps}+{delivered}, {plain:?}"
            );
            assert!(partial_order || delivered == 0, "{id}: {path:?}");
            shorter += usize::from(steps < plain.len());
            alike += usize::from(partial_order && steps == plain.len());
        }
    }
    assert!(shorter > 0 && alike > 0, "{shorter} paths are shorter with the reduction, {alike} are not");
}

/// The shortest counterexample of a mutant.
fn shortest_path(mutant: &Mutant, bounds: &Bounds) -> Vec<Step> {
    match explore(&mutant.scope(), bounds).outcome {
        Outcome::Broken(found) => found.path,
        outcome => panic!("{}: {outcome:?}", mutant.id),
    }
}

/// The events and relists that a step delivers.
fn deliveries(step: &Step) -> usize {
    match step {
        Step::Process(_, _, ProcessStep::Sync(Delivery { pods, jobs, relists })) => {
            jobs + if *relists { 1 } else { *pods }
        }
        _ => 0,
    }
}

/// If a mutant has several mutations, the first one breaks the requirement. The others alone may break only
/// other requirements.
#[test]
fn the_first_mutation_breaks_the_requirement() {
    let mut compared = 0;
    for mutant in
        MUTANTS.iter().filter(|mutant| mutant.breaks_a_safety_property() && mutant.mutations.len() > 1)
    {
        let sound = mutant.sound_scope();
        let partial = sound.with_mutations(Mutations::of(&mutant.mutations[1..]));
        let own = mutant.requirement();
        // The rules of the server are not guards, so they stay on.
        let others =
            CATALOGUE.iter().map(|entry| entry.req).filter(|req| *req != own && !req.id().starts_with("SS"));
        let scope = others.fold(partial, Scope::without);
        let bounds = Bounds { partial_order: true, ..Bounds::none(2) };
        let is_own = |number: Option<usize>| number.is_some_and(|number| is_about(number, own));
        let outcome = explore_for(&scope, &bounds, &is_own).outcome;
        assert!(matches!(outcome, Outcome::Holds), "{}: {outcome:?}", mutant.id);
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

/// Returns true for the property of this requirement, and for the property that every write is admitted.
fn is_about(number: usize, req: Req) -> bool {
    let property = &PROPERTIES[number];
    property.req == req || property.req == EVERY_WRITE_IS_ADMITTED.req
}

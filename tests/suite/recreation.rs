//! Jobs that are created again under their name (PC-29, BO-06): sizes, verdicts, progress.

use jobcheck_explorer::check::{Bounds, Outcome, explore, graph};
use jobcheck_explorer::process::steps::ProcessStep;
use jobcheck_explorer::progress;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scopes::reference::{progress_of_recreation, recreation};
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;

/// Different worlds, and steps to the farthest. Nothing is reduced here.
const SIZES: &[(&str, usize, usize)] = &[
    ("recreation/in-time", 998, 18),
    ("recreation/delay", 83_774, 31),
    ("recreation/indexed", 112_804, 36),
    ("recreation/failed-request", 19_673, 25),
    ("recreation/lost-answer", 155_554, 30),
    ("recreation/late-request", 200_973, 30),
];

#[test]
fn every_scope_of_recreation_is_exhausted_at_its_pinned_size() {
    let mut sizes = Vec::new();
    for scope in recreation() {
        let found = explore(&scope, &Bounds::none(2));
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        let inherits = PROPERTIES.iter().position(|property| property.req == Req::BO06).unwrap();
        assert!(found.reached[inherits], "{}: no new Job wants a pod", scope.name);
        sizes.push((scope.name, found.states, found.depth));
    }
    assert_eq!(sizes, SIZES);
}

/// Worlds of the graph without any reduction.
#[test]
fn the_new_job_comes_to_its_end_and_nothing_of_the_old_one_is_left() {
    for (scope, states) in progress_of_recreation().iter().zip([998, 5828]) {
        let found = progress::explore(scope, &Bounds::none(2));
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        assert_eq!(found.states, states, "{}", scope.name);
    }
}

/// What makes it hard: a relist that hides the deletion, pods of the old Job beside the new one, and a sync of the old
/// Job that creates a pod when the new one is there.
#[test]
fn the_old_job_reaches_into_the_time_of_the_new_one() {
    let [_, scope] = progress_of_recreation();
    let (mut relists, mut beside, mut foreign_pods) = (0, 0, 0);
    let found = graph(&scope, &Bounds::none(1), &mut |_, world, step, _| {
        let job_state = &world.job_states[0];
        relists += usize::from(matches!(step, Step::Process(_, _, ProcessStep::RelistJobs)));
        beside += usize::from(
            job_state.job.is_some() && job_state.pods.iter().any(|pod| !job_state.ghost.owns(pod)),
        );
        foreign_pods += usize::from(job_state.ghost.foreign_pods > 0);
    });
    assert!(matches!(found.outcome, Outcome::Holds));
    assert!(relists > 0 && beside > 0 && foreign_pods > 0, "{relists} {beside} {foreign_pods}");
}

//! Recreated Jobs (PC-29, BO-06): sizes, verdicts, and progress.

use jobcheck_explorer::check::{Bounds, Outcome, explore, graph};
use jobcheck_explorer::process::steps::ProcessStep;
use jobcheck_explorer::progress;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scopes::reference::{progress_of_recreation, recreation};
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;

/// For each scope, the number of states without reductions, and the number of steps to the farthest state.
const SIZES: &[(&str, usize, usize)] = &[
    ("recreation/in-time", 998, 18),
    ("recreation/delay", 83_774, 31),
    ("recreation/indexed", 112_804, 36),
    ("recreation/failed-request", 19_673, 25),
    ("recreation/lost-answer", 155_554, 30),
    ("recreation/late-request", 200_973, 30),
];

#[test]
fn recreated_jobs_satisfy_every_property_and_the_sizes_are_pinned() {
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

/// For each scope, the number of states without reductions.
#[test]
fn the_new_job_finishes_and_nothing_of_the_previous_job_remains() {
    for (scope, states) in progress_of_recreation().iter().zip([998, 5828]) {
        let found = progress::explore(scope, &Bounds::none(2));
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        assert_eq!(found.states, states, "{}", scope.name);
    }
}

/// The difficult situations occur: a relist hides the deletion, and pods of the previous Job exist next to the
/// new Job. A sync of the previous Job creates a pod after the new Job was created.
#[test]
fn the_previous_job_affects_the_time_of_the_new_job() {
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

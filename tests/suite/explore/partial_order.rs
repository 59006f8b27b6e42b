//! Events held back until a sync reads the caches: what etcd can come to hold, and what really happened, is the same.

use std::collections::HashSet;
use std::sync::Arc;

use jobcheck_explorer::check::{Bounds, Exploration, Outcome, explore, graph};
use jobcheck_explorer::ghost::GhostHistory;
use jobcheck_explorer::process::steps::{DelayedRequest, Faults};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference::one_fault;
use jobcheck_explorer::world::World;
use jobcheck_spec::job::Job;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;

/// What anybody but a process can see of a world, and what the properties look at.
#[derive(PartialEq, Eq, Hash)]
struct Outside(Time, Vec<OutsideOfJob>);

type OutsideOfJob = (Option<Arc<Job>>, Arc<Pods>, GhostHistory, Option<DelayedRequest>, Faults, u16);

impl Outside {
    fn of(world: &World) -> Outside {
        let job_states = world.job_states.iter().map(|job_state| {
            let late = job_state.delayed().cloned();
            (
                job_state.job.clone(),
                job_state.pods.clone(),
                job_state.ghost.clone(),
                late,
                job_state.faults,
                job_state.used,
            )
        });
        Outside(world.now, job_states.collect())
    }
}

fn outsides(scope: &Scope, partial_order: bool) -> (HashSet<Outside>, Exploration) {
    let bounds = Bounds { partial_order, ..Bounds::none(1) };
    let mut seen = HashSet::new();
    let found = graph(scope, &bounds, &mut |_, world, step, _| {
        seen.insert(Outside::of(world));
        seen.insert(Outside::of(&world.apply(step, scope)));
    });
    (seen, found)
}

#[test]
fn nothing_that_anybody_can_see_is_lost() {
    let (mut full, mut reduced) = (0, 0);
    for scope in one_fault() {
        let size = explore(&scope, &Bounds { partial_order: true, ..Bounds::none(2) }).states;
        if size > 8_000 {
            continue;
        }
        let (all, unreduced) = outsides(&scope, false);
        let (some, found) = outsides(&scope, true);
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        assert_eq!(found.reached, unreduced.reached, "{}", scope.name);
        assert!(all == some, "{}: {} outsides, but {} with the reduction", scope.name, all.len(), some.len());
        full += unreduced.states;
        reduced += found.states;
    }
    assert!(reduced * 3 < full * 2, "{full} worlds without, {reduced} with the reduction");
}

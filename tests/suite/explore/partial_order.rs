//! The partial-order reduction does not change the reachable contents of etcd, or the history.

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

/// The part of a state outside of processes, which the properties read.
#[derive(PartialEq, Eq, Hash)]
struct VisibleState(Time, Vec<VisibleStateOfJob>);

type VisibleStateOfJob = (Option<Arc<Job>>, Arc<Pods>, GhostHistory, Option<DelayedRequest>, Faults, u16);

impl VisibleState {
    fn of(world: &World) -> VisibleState {
        let job_states = world.job_states.iter().map(|job_state| {
            let delayed = job_state.delayed().cloned();
            (
                job_state.job.clone(),
                job_state.pods.clone(),
                job_state.ghost.clone(),
                delayed,
                job_state.faults,
                job_state.used,
            )
        });
        VisibleState(world.now, job_states.collect())
    }
}

fn visible_states(scope: &Scope, partial_order: bool) -> (HashSet<VisibleState>, Exploration) {
    let bounds = Bounds { partial_order, ..Bounds::none(1) };
    let mut visible = HashSet::new();
    let found = graph(scope, &bounds, &mut |_, world, step, _| {
        visible.insert(VisibleState::of(world));
        visible.insert(VisibleState::of(&world.apply(step, scope)));
    });
    (visible, found)
}

#[test]
fn the_reduction_keeps_every_content_of_etcd() {
    let (mut full, mut reduced) = (0, 0);
    for scope in one_fault() {
        let few = Bounds { partial_order: true, max_states: Some(3_000), ..Bounds::none(2) };
        if !matches!(explore(&scope, &few).outcome, Outcome::Holds) {
            continue;
        }
        let (all, unreduced) = visible_states(&scope, false);
        let (some, found) = visible_states(&scope, true);
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        assert_eq!(found.reached, unreduced.reached, "{}", scope.name);
        assert!(all == some, "{}: {} contents, but {} with the reduction", scope.name, all.len(), some.len());
        full += unreduced.states;
        reduced += found.states;
    }
    assert!(reduced * 3 < full * 2, "{full} states without the reduction, {reduced} with it");
}

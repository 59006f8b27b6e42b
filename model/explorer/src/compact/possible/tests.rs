//! The steps of a manager depend only on the visible history. A change of any other field does not change
//! them.

use super::{VisibleHistory, managed};
use crate::check::{Bounds, graph};
use crate::ghost::{GhostHistory, PodHistory};
use crate::scope::Scope;
use crate::scopes::named;
use crate::world::{JobId, World};
use jobcheck_spec::catalogue::Req;

/// A change of one field of the history.
type Change = (&'static str, fn(&mut GhostHistory));

fn of_pods(ghost: &mut GhostHistory, change: fn(&mut PodHistory)) {
    ghost.pods.iter_mut().for_each(change);
}

const CHANGES: &[Change] = &[
    ("unexpected", |ghost| of_pods(ghost, |pod| pod.unexpected = !pod.unexpected)),
    ("completions", |ghost| {
        if let Some(decision) = &mut ghost.decision {
            decision.completions = Some(9);
        }
    }),
    ("index", |ghost| of_pods(ghost, |pod| pod.index = None)),
    ("end", |ghost| of_pods(ghost, |pod| pod.end = None)),
    ("deleted", |ghost| of_pods(ghost, |pod| pod.deleted = !pod.deleted)),
    ("released", |ghost| of_pods(ghost, |pod| pod.finalizer_removed = !pod.finalizer_removed)),
    ("ignored", |ghost| of_pods(ghost, |pod| pod.ignored = !pod.ignored)),
    ("restarts", |ghost| of_pods(ghost, |pod| pod.restarts += 1)),
    ("flipped", |ghost| of_pods(ghost, |pod| pod.flipped = !pod.flipped)),
    ("replaced", |ghost| of_pods(ghost, |pod| pod.replaced = !pod.replaced)),
    ("listed", |ghost| of_pods(ghost, |pod| pod.recorded = None)),
    ("counted", |ghost| of_pods(ghost, |pod| pod.counted_failed = u8::from(pod.counted_failed == 0))),
    ("widest", |ghost| ghost.widest += 1),
    ("most", |ghost| ghost.most = None),
    ("fewest", |ghost| ghost.fewest = None),
    ("wasImpatient", |ghost| ghost.allowed_early_replacement = !ghost.allowed_early_replacement),
    ("decision", |ghost| ghost.decision = None),
    ("ending", |ghost| ghost.ending = None),
    ("refused", |ghost| ghost.refused = Some(Req::SS17)),
    ("objection", |ghost| ghost.objection = Some(Req::FT02)),
];

/// One of this many states is tested, and each state in which the Job is decided but not finished.
const ONE_OF: u32 = 20;

fn is_near_the_end(world: &World) -> bool {
    let status = world.job_states[0].job.as_ref().map(|job| &job.status);
    status.is_some_and(|status| status.is_decided() && !status.is_finished())
}

/// The tested states of a scope.
fn worlds(scope: &Scope) -> Vec<World> {
    let (mut worlds, mut last) = (Vec::new(), None);
    graph(scope, &Bounds::none(1), &mut |number, world, _, _| {
        let is_new = last != Some(number);
        if is_new && (number % ONE_OF == 0 || is_near_the_end(world)) {
            worlds.push(world.clone());
        }
        last = Some(number);
    });
    worlds
}

/// Applies each change. Counts the states in which the visible history is different, and the steps are too.
fn noticed(scope: &Scope) -> Vec<(&'static str, usize)> {
    let mut noticed: Vec<(&str, usize)> = CHANGES.iter().map(|(name, _)| (*name, 0)).collect();
    for world in worlds(scope) {
        let plain = managed(&world, JobId(0), scope);
        for ((name, change), (_, count)) in CHANGES.iter().zip(&mut noticed) {
            let mut other = world.clone();
            change(&mut other.job_state_mut(JobId(0)).ghost);
            let differs = managed(&other, JobId(0), scope) != plain;
            let ghosts = [&world, &other].map(|world| VisibleHistory::of(&world.job_states[0].ghost));
            assert!(!differs || ghosts[0] != ghosts[1], "{}: {name} is not shown: {world:?}", scope.name);
            *count += usize::from(differs);
        }
    }
    noticed
}

/// Only the history shows the `completions` by which a Job was decided. In none of these states does
/// `unexpected` make a difference, because the caches show every pod to the manager.
#[test]
fn whatever_a_guard_reads_of_the_past_is_shown() {
    let scope = |name: &str| named(name).expect("there is such a scope");
    let loose = |name: &str| scope(name).without(Req::TC04).without(Req::PC02);
    let scopes = [scope("elastic"), scope("adoption"), loose("success-policy"), loose("lost-owner")];
    let noticed: Vec<Vec<(&str, usize)>> = scopes.iter().map(noticed).collect();
    for wanted in ["completions", "counted"] {
        let times = noticed.iter().flatten().filter(|(name, _)| *name == wanted).map(|(_, times)| times);
        assert!(times.sum::<usize>() > 0, "{wanted} makes no difference: {noticed:?}");
    }
}

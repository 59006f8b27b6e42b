//! What a manager may do follows from what it is shown: whatever else of the past were otherwise, its steps would be the
//! same.

use super::{Shown, managed};
use crate::check::{Bounds, graph};
use crate::history::{Past, PodPast};
use crate::scope::Scope;
use crate::scopes::named;
use crate::world::{JobId, World};
use jobcheck_spec::catalogue::Req;

/// A past that is otherwise in one thing.
type Change = (&'static str, fn(&mut Past));

fn of_pods(past: &mut Past, change: fn(&mut PodPast)) {
    past.pods.iter_mut().for_each(change);
}

const CHANGES: &[Change] = &[
    ("unasked", |past| of_pods(past, |pod| pod.unasked = !pod.unasked)),
    ("completions", |past| {
        if let Some(decision) = &mut past.decision {
            decision.completions = Some(9);
        }
    }),
    ("index", |past| of_pods(past, |pod| pod.index = None)),
    ("end", |past| of_pods(past, |pod| pod.end = None)),
    ("deleted", |past| of_pods(past, |pod| pod.deleted = !pod.deleted)),
    ("released", |past| of_pods(past, |pod| pod.released = !pod.released)),
    ("ignored", |past| of_pods(past, |pod| pod.ignored = !pod.ignored)),
    ("restarts", |past| of_pods(past, |pod| pod.restarts += 1)),
    ("flipped", |past| of_pods(past, |pod| pod.flipped = !pod.flipped)),
    ("replaced", |past| of_pods(past, |pod| pod.replaced = !pod.replaced)),
    ("listed", |past| of_pods(past, |pod| pod.listed = None)),
    ("counted", |past| of_pods(past, |pod| pod.counted_failed = u8::from(pod.counted_failed == 0))),
    ("widest", |past| past.widest += 1),
    ("most", |past| past.most = None),
    ("fewest", |past| past.fewest = None),
    ("wasImpatient", |past| past.was_impatient = !past.was_impatient),
    ("decision", |past| past.decision = None),
    ("ending", |past| past.ending = None),
    ("refused", |past| past.refused = Some(Req::SS17)),
    ("objection", |past| past.objection = Some(Req::FT02)),
];

/// Of so many worlds one is looked at, and each in which the end is decided and has not come.
const ONE_OF: u32 = 20;

fn is_near_the_end(world: &World) -> bool {
    let status = world.lives[0].job.as_ref().map(|job| &job.status);
    status.is_some_and(|status| status.is_decided() && !status.is_finished())
}

/// The worlds of a scope that are looked at.
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

/// Changes the past of worlds in each way; counts how often a manager is shown it, and does something else then.
fn noticed(scope: &Scope) -> Vec<(&'static str, usize)> {
    let mut noticed: Vec<(&str, usize)> = CHANGES.iter().map(|(name, _)| (*name, 0)).collect();
    for world in worlds(scope) {
        let plain = managed(&world, JobId(0), scope);
        for ((name, change), (_, count)) in CHANGES.iter().zip(&mut noticed) {
            let mut other = world.clone();
            change(&mut other.life_mut(JobId(0)).past);
            let differs = managed(&other, JobId(0), scope) != plain;
            let pasts = [&world, &other].map(|world| Shown::of(&world.lives[0].past));
            assert!(!differs || pasts[0] != pasts[1], "{}: {name} is not shown: {world:?}", scope.name);
            *count += usize::from(differs);
        }
    }
    noticed
}

/// That an end needs the `completions` by which it was decided is read of the past alone. In none of these worlds does
/// `unasked` make a difference, since the caches show the manager every pod of its Job.
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

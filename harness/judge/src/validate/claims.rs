//! Finds out which request has produced a version.
//!
//! A request without effect returns the version that the object had. If several requests have one version, the write is the
//! first one in time, whatever the order of the lines. Some show more:
//!
//! | request | is the write of its version |
//! | --- | --- |
//! | a PUT that was computed from this version | never |
//! | a PUT that was computed from an earlier version | always |
//! | a DELETE, if no earlier version is being deleted, and another one with its version was not answered before it came | always |

use jobcheck_spec::Uid;
use jobcheck_traces::Verb;
use rustc_hash::FxHashMap;

use super::event::Event;

/// Number of versions of each living object that are known after their requests.
const VERSIONS_KEPT: usize = 4;

/// The effect of a request, by the version that it was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// It has an effect.
    Certain,
    /// Nothing.
    Unknown,
    /// It has none.
    None,
}

/// The place of a request among those with its version: its effect, and when it was answered and received. Equal times of a status
/// write and another one name the status write.
type Rank = (Effect, i64, i64, bool);

/// The requests that may have produced a version.
#[derive(Debug)]
struct Claim {
    /// The first place.
    first: Rank,
    /// The first place of a DELETE.
    deletion: Option<Rank>,
    /// Number of requests that wait for their order.
    waiting: u32,
    /// The object is gone. A response that comes later belongs to the version and not behind the removal.
    is_over: bool,
}

/// The versions of the objects of one namespace.
#[derive(Debug, Default)]
pub struct Claims {
    open: FxHashMap<(Uid, u64), Claim>,
    settled: FxHashMap<Uid, [u64; VERSIONS_KEPT]>,
    /// The lowest version in which an object is being deleted.
    deleting: FxHashMap<Uid, u64>,
}

/// The object and the version that a request may have produced, with its place.
fn claim(event: &Event) -> Option<((Uid, u64), Rank)> {
    let subject = event.body.subject()?;
    let (uid, version, when) = (subject.uid?, event.version?, event.when?);
    let effect = match subject.base {
        Some(base) if base == version => Effect::None,
        Some(base) if base < version => Effect::Certain,
        Some(_) | None => Effect::Unknown,
    };
    Some(((uid, version), (effect, when.done, when.received, !event.is_status)))
}

impl Claims {
    /// Notes a request that waits for its order.
    pub fn add(&mut self, event: &Event) {
        let Some((key, rank)) = claim(event) else { return };
        let new = Claim { first: rank, deletion: None, waiting: 0, is_over: false };
        let claim = self.open.entry(key).or_insert(new);
        claim.first = claim.first.min(rank);
        claim.waiting += 1;
        if event.body.subject().is_some_and(|subject| subject.is_deleting) {
            if event.verb == Some(Verb::Delete) {
                claim.deletion = Some(claim.deletion.map_or(rank, |first| first.min(rank)));
            }
            let lowest = self.deleting.entry(key.0).or_insert(key.1);
            *lowest = key.1.min(*lowest);
        }
    }

    /// Returns `true` if the request with this place is the write of its version.
    fn is_write(&self, key: (Uid, u64), rank: Rank) -> bool {
        let Some(claim) = self.open.get(&key) else { return true };
        let begins = self.deleting.get(&key.0) == Some(&key.1) && claim.first.0 != Effect::Certain;
        let deletion = claim.deletion.filter(|(_, _, received, _)| begins && *received <= claim.first.1);
        deletion.unwrap_or(claim.first) == rank || claim.is_over
    }

    /// The version of a request that waits for its order, if it seems to have produced it.
    pub fn own(&self, event: &Event) -> Option<u64> {
        let Some((key, rank)) = claim(event) else { return event.version };
        let is_first = self.is_write(key, rank);
        let is_known = self.settled.get(&key.0).is_some_and(|versions| versions.contains(&key.1));
        event.version.filter(|_| is_first && !is_known)
    }

    /// Returns `true` if an earlier request has shown this object.
    pub fn has_met(&self, uid: Uid) -> bool {
        self.settled.contains_key(&uid)
    }

    /// Notes an object that no response has shown yet.
    pub fn meet(&mut self, uid: Uid) {
        self.settled.entry(uid).or_default();
    }

    /// Takes the version from a request that has not produced it.
    pub fn settle(&mut self, event: &mut Event) {
        self.settle_version(event);
        if let Some(uid) = event.body.departed() {
            self.settled.remove(&uid);
            self.deleting.remove(&uid);
            let last = event.answered.and_then(|version| self.open.get_mut(&(uid, version)));
            last.into_iter().for_each(|claim| claim.is_over = true);
        }
    }

    fn settle_version(&mut self, event: &mut Event) {
        let Some((key, rank)) = claim(event) else { return };
        let is_first = self.is_write(key, rank);
        if let Some(claim) = self.open.get_mut(&key) {
            claim.waiting -= 1;
            if claim.waiting == 0 {
                self.open.remove(&key);
            }
        }
        let (uid, version) = key;
        let settled = self.settled.entry(uid).or_default();
        if !is_first || settled.contains(&version) {
            event.version = None;
        } else {
            settled.rotate_right(1);
            settled[0] = version;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jobcheck_spec::job::Job;

    use super::super::event::{Body, JobEvent};
    use super::super::fixtures::{job, job_write};
    use super::*;

    fn write(when: (i64, i64), base: Option<u64>) -> Event {
        let body = Body::Job(Box::new(JobEvent { base, ..JobEvent::state(Arc::new(job())) }));
        Event { body, ..job_write("job", when, 7) }
    }

    fn owners(events: Vec<Event>) -> Vec<Option<u64>> {
        let mut claims = Claims::default();
        events.iter().for_each(|event| claims.add(event));
        let settle = |mut event: Event| {
            claims.settle(&mut event);
            event.version
        };
        events.into_iter().map(settle).collect()
    }

    #[test]
    fn the_first_request_in_time_is_the_write_in_any_order_of_lines() {
        let (early, late) = ((10, 20), (30, 40));
        assert_eq!(owners(vec![write(early, None), write(late, None)]), [Some(7), None]);
        assert_eq!(owners(vec![write(late, None), write(early, None)]), [None, Some(7)]);
        assert_eq!(owners(vec![write(early, Some(7)), write(late, Some(6))]), [None, Some(7)]);
        assert_eq!(owners(vec![write(early, Some(7))]), [Some(7)]);
        assert_eq!(owners(vec![write(early, None), write(early, None)]), [Some(7), None]);
        assert_eq!(owners(vec![write(early, None), write(late, Some(6))]), [None, Some(7)]);
    }

    #[test]
    fn a_deletion_begins_with_a_delete() {
        let deleting = |when, verb, version| {
            let after = Arc::new(Job { deleting: true, ..job() });
            let body = Body::Job(Box::new(JobEvent::state(after)));
            Event { body, verb: Some(verb), version: Some(version), ..job_write("job", when, 7) }
        };
        let patch = || deleting((10, 20), Verb::Patch, 7);
        let owners_with = |delete: (i64, i64)| owners(vec![patch(), deleting(delete, Verb::Delete, 7)]);
        assert_eq!(owners_with((15, 25)), [None, Some(7)]);
        // The PATCH had been answered before.
        assert_eq!(owners_with((21, 25)), [Some(7), None]);
        // The Job was being deleted before.
        let before = deleting((1, 2), Verb::Delete, 6);
        let all = owners(vec![before, patch(), deleting((15, 25), Verb::Delete, 7)]);
        assert_eq!(all, [Some(6), Some(7), None]);
    }

    #[test]
    fn a_version_that_is_known_is_not_produced_again() {
        let mut claims = Claims::default();
        let mut version = |when| {
            let mut event = write(when, None);
            claims.add(&event);
            claims.settle(&mut event);
            event.version
        };
        assert_eq!((version((10, 20)), version((5, 6))), (Some(7), None));
    }
}

//! Repeated requests of a manager without effect (`docs/reference/judging.md`, *Refusals and quiescence*).

use jobcheck_spec::job::Text;
use jobcheck_traces::Verb;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::event::{Event, is_success};
use super::track::Track;

/// Number of equal requests that make a loop.
const LOOP: u32 = 10;
/// Time within which refused ones make a loop, in microseconds. After an error a sync waits for at least 1 s, and each time
/// twice as long (SY-02), so that ten retries take minutes. An accepted request needs no retry.
const WITHIN: i64 = 5_000_000;

/// The verb, the name of the object, and the code of the response.
type Request = (Verb, Text, u16);

/// Requests of the manager since the last change of the Job or its pods.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IdleRequests {
    /// The highest `resourceVersion` of the Job and its pods. A request at another version may be a new one.
    version: u64,
    /// For each request, its number and the time of the first, in microseconds.
    made: FxHashMap<Request, (u32, i64)>,
    /// A loop was reported already.
    reported: bool,
}

impl IdleRequests {
    /// Adds a request that was answered at `now`. Returns `true` if it is the first that completes a loop.
    fn is_loop(&mut self, request: Request, version: u64, now: i64) -> bool {
        if self.version != version {
            self.version = version;
            self.made.clear();
        }
        let is_refused = !is_success(request.2);
        let (count, first) = self.made.entry(request).or_insert((0, now));
        if is_refused && now - *first >= WITHIN {
            (*count, *first) = (0, now);
        }
        *count += 1;
        *count >= LOOP && !std::mem::replace(&mut self.reported, true)
    }
}

impl Track {
    /// Notes a request of the manager that was refused or changed nothing. Creations are left out, since one sync may
    /// create many equal pods.
    pub fn came_to_nothing(&mut self, event: &Event) {
        let (Some(when), Some(verb)) = (event.when, event.verb.filter(|verb| *verb != Verb::Create)) else {
            return;
        };
        let request = (verb, event.name.clone(), event.code);
        if !self.trouble.idle.is_loop(request, self.coverage.latest_version, when.done) {
            return;
        }
        let (verb, name, code) = (verb.name(), &event.name, event.code);
        let advice = if event.is_accepted() {
            format!("SY-05: {verb} of {name} repeatedly changes nothing")
        } else {
            format!(
                "SY-02: {verb} of {name} is repeatedly refused with {code}; a retry waits for at least a second"
            )
        };
        self.warn(event, advice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the request that completes a loop, of `count` equal requests at this distance in microseconds.
    fn found(count: u32, apart: i64, version: impl Fn(u32) -> u64) -> Option<u32> {
        found_with(404, count, apart, version)
    }

    fn found_with(code: u16, count: u32, apart: i64, version: impl Fn(u32) -> u64) -> Option<u32> {
        let mut idle = IdleRequests::default();
        let request = || (Verb::Delete, "job-a".into(), code);
        (0..count).find(|it| idle.is_loop(request(), version(*it), i64::from(*it) * apart))
    }

    #[test]
    fn the_same_request_again_and_again_without_a_change_is_a_loop() {
        assert_eq!(found(50, 10_000, |_| 7), Some(9));
        // Fewer requests, slower requests, and requests that follow changes are no loop.
        assert_eq!(found(9, 10_000, |_| 7), None);
        assert_eq!(found(50, 1_000_000, |_| 7), None);
        assert_eq!(found(50, 10_000, u64::from), None);
        // Nobody needs to repeat a request that was accepted.
        assert_eq!(found_with(200, 50, 60_000_000, |_| 7), Some(9));
        assert_eq!(found_with(200, 50, 60_000_000, u64::from), None);
    }

    #[test]
    fn a_loop_is_reported_once() {
        let mut idle = IdleRequests::default();
        let loops = (0..50).filter(|it| idle.is_loop((Verb::Update, "job".into(), 200), 7, *it)).count();
        assert_eq!(loops, 1);
    }
}

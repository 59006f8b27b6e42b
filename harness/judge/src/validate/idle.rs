//! Requests of a manager that come to nothing, again and again, while nothing happens (judging.md 4).

use jobcheck_spec::job::Text;
use jobcheck_traces::Verb;
use rustc_hash::FxHashMap;

use super::event::Event;
use super::track::Track;

/// So many of the same requests are a loop.
const LOOP: u32 = 10;
/// If they come within this time, in microseconds. After an error a sync waits for 1 s at least, and each time twice as long
/// (SY-02), so that ten retries take minutes.
const WITHIN: i64 = 5_000_000;

/// The verb, the name of the object, and how it was answered.
type Request = (Verb, Text, u16);

/// Requests of the manager since the Job or one of its pods has changed.
#[derive(Clone, Debug, Default)]
pub struct IdleRequests {
    /// The highest resourceVersion of the Job and its pods by then: what is asked for at another one may be new.
    version: u64,
    /// How often each was made, and when first, in microseconds.
    made: FxHashMap<Request, (u32, i64)>,
    /// Whether a loop was reported: one is enough.
    reported: bool,
}

impl IdleRequests {
    /// One more, answered at `now`; whether it is the first that makes a loop.
    fn is_loop(&mut self, request: Request, version: u64, now: i64) -> bool {
        if self.version != version {
            self.version = version;
            self.made.clear();
        }
        let (count, first) = self.made.entry(request).or_insert((0, now));
        if now - *first >= WITHIN {
            (*count, *first) = (0, now);
        }
        *count += 1;
        *count >= LOOP && !std::mem::replace(&mut self.reported, true)
    }
}

impl Track {
    /// A request of the manager was refused, or has changed nothing. Of creations one sync may make many that are alike.
    pub fn came_to_nothing(&mut self, event: &Event) {
        let (Some(when), Some(verb)) = (event.when, event.verb.filter(|verb| *verb != Verb::Create)) else {
            return;
        };
        let request = (verb, event.name.clone(), event.code);
        if !self.trouble.idle.is_loop(request, self.latest_version, when.done) {
            return;
        }
        let (verb, name, code) = (verb.name(), &event.name, event.code);
        let advice = if event.is_accepted() {
            format!("SY-05: {verb} of {name}, again and again, changes nothing")
        } else {
            format!(
                "SY-02: {verb} of {name}, again and again, is refused with {code}: a retry waits for a second and more"
            )
        };
        self.warnings.push((event.place, advice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of so many requests of one kind, so many microseconds apart, makes a loop.
    fn found(count: u32, apart: i64, version: impl Fn(u32) -> u64) -> Option<u32> {
        let mut idle = IdleRequests::default();
        let request = || (Verb::Delete, "job-a".into(), 404);
        (0..count).find(|it| idle.is_loop(request(), version(*it), i64::from(*it) * apart))
    }

    #[test]
    fn the_same_request_again_and_again_without_a_change_is_a_loop() {
        assert_eq!(found(50, 10_000, |_| 7), Some(9));
        // Fewer, slower, or each after a change.
        assert_eq!(found(9, 10_000, |_| 7), None);
        assert_eq!(found(50, 1_000_000, |_| 7), None);
        assert_eq!(found(50, 10_000, u64::from), None);
    }

    #[test]
    fn a_loop_is_reported_once() {
        let mut idle = IdleRequests::default();
        let loops = (0..50).filter(|it| idle.is_loop((Verb::Update, "job".into(), 200), 7, *it)).count();
        assert_eq!(loops, 1);
    }
}

//! What has come in, until its turn has come.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Brings what comes from several sources into one order: each thing waits for so long for those before it.
#[derive(Debug)]
pub(crate) struct Hold<T> {
    time: Duration,
    /// By its key, and in the order in which those of one key came.
    held: BTreeMap<(u64, u64), (Instant, T)>,
    count: u64,
    /// The highest key that was given out.
    given: u64,
}

impl<T> Hold<T> {
    /// Holds each thing for this time.
    pub(crate) fn new(time: Duration) -> Hold<T> {
        Hold { time, held: BTreeMap::new(), count: 0, given: 0 }
    }

    /// Takes a thing; whether it comes in time, that is before one of a higher key was given out.
    pub(crate) fn push(&mut self, key: u64, thing: T) -> bool {
        self.count += 1;
        self.held.insert((key, self.count), (Instant::now(), thing));
        key >= self.given
    }

    /// The next thing whose time is up, or that is not above `known`, up to which all has come in.
    pub(crate) fn ripe(&mut self, known: u64) -> Option<T> {
        let first = self.held.first_entry()?;
        let (since, _) = first.get();
        let is_ripe = first.key().0 <= known || since.elapsed() >= self.time;
        is_ripe.then(|| self.next()).flatten()
    }

    /// The next thing, if its key is not above `last`.
    pub(crate) fn up_to(&mut self, last: u64) -> Option<T> {
        let first = self.held.first_key_value()?;
        (first.0.0 <= last).then(|| self.next()).flatten()
    }

    /// The next thing, whatever its key. Once there is none, keys may begin anew.
    pub(crate) fn any(&mut self) -> Option<T> {
        let next = self.next();
        if next.is_none() {
            self.given = 0;
        }
        next
    }

    fn next(&mut self) -> Option<T> {
        let ((key, _), (_, thing)) = self.held.pop_first()?;
        self.given = self.given.max(key);
        Some(thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_given_out_by_their_keys_once_their_time_is_up_or_all_before_is_known() {
        let mut hold = Hold::new(Duration::from_secs(3_600));
        assert!(hold.push(5, "b") && hold.push(3, "a") && hold.push(5, "c") && hold.push(9, "d"));
        assert_eq!(hold.ripe(2), None);
        assert_eq!(
            [hold.ripe(5), hold.ripe(5), hold.ripe(5), hold.ripe(8)],
            [Some("a"), Some("b"), Some("c"), None]
        );
        assert!(!hold.push(4, "late") && hold.push(9, "e"));
        assert_eq!([hold.up_to(8), hold.up_to(8), hold.up_to(9)], [Some("late"), None, Some("d")]);
        assert_eq!([hold.any(), hold.any()], [Some("e"), None]);
        assert!(hold.push(1, "anew"));
        let mut hold = Hold::new(Duration::ZERO);
        hold.push(7, "at once");
        assert_eq!(hold.ripe(0), Some("at once"));
    }
}

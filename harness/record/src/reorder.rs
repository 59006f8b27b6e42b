//! A buffer that sorts items from several sources.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Sorts items from several sources by their keys. Each item waits a fixed time for items with lower keys.
#[derive(Debug)]
pub(crate) struct ReorderBuffer<T> {
    time: Duration,
    /// The items, sorted by key and, for equal keys, by arrival.
    held: BTreeMap<(u64, u64), (Instant, T)>,
    /// No item has waited longer than since then.
    begun: Instant,
    count: u64,
    /// The highest key that was returned.
    given: u64,
}

impl<T> ReorderBuffer<T> {
    /// Returns a buffer that holds each item for this time.
    pub(crate) fn new(time: Duration) -> ReorderBuffer<T> {
        ReorderBuffer { time, held: BTreeMap::new(), begun: Instant::now(), count: 0, given: 0 }
    }

    /// Adds an item. Returns false if it is late: an item with a higher key was returned before.
    pub(crate) fn push(&mut self, key: u64, thing: T) -> bool {
        self.count += 1;
        self.held.insert((key, self.count), (Instant::now(), thing));
        key >= self.given
    }

    /// Lets all items wait from now on.
    pub(crate) fn begin_anew(&mut self) {
        self.begun = Instant::now();
    }

    /// The next item whose time has passed, or whose key is at most `known`. All items up to `known` have
    /// arrived.
    pub(crate) fn ripe(&mut self, known: u64) -> Option<T> {
        let first = self.held.first_entry()?;
        let (since, _) = first.get();
        let is_ripe = first.key().0 <= known || self.begun.max(*since).elapsed() >= self.time;
        is_ripe.then(|| self.next()).flatten()
    }

    /// The next item, if its key is at most `last`.
    pub(crate) fn up_to(&mut self, last: u64) -> Option<T> {
        let first = self.held.first_key_value()?;
        (first.0.0 <= last).then(|| self.next()).flatten()
    }

    /// The next item. After the last one, keys may start again at a lower value.
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
    fn items_are_returned_by_their_keys_after_their_time_or_when_all_before_have_arrived() {
        let mut hold = ReorderBuffer::new(Duration::from_secs(3_600));
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
        let mut hold = ReorderBuffer::new(Duration::ZERO);
        hold.push(7, "at once");
        assert_eq!(hold.ripe(0), Some("at once"));
        let mut hold = ReorderBuffer::new(Duration::from_millis(50));
        hold.push(7, "waits anew");
        std::thread::sleep(Duration::from_millis(60));
        hold.begin_anew();
        assert_eq!(hold.ripe(0), None);
    }
}

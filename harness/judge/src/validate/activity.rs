//! The times at which an actor sent requests, and its silences between them.

use std::borrow::Cow;
use std::collections::VecDeque;

/// Shortest silence that may hide a restart (`docs/reference/judging.md`, *Hidden restarts*), in microseconds.
pub const SILENCE: i64 = 1_000_000;
/// Maximum number of times of activity, and of long requests.
const KEPT: usize = 65;

/// The times at which an actor was at work, whatever the order in which its requests are read.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    busy: Times,
    /// Requests of a second or more, which are not among the times. The process may have ended meanwhile.
    long: VecDeque<Busy>,
    /// The receipt of the first request, without those.
    first: Option<i64>,
}

/// From a receipt to a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Busy {
    from: i64,
    to: i64,
}

/// Times in their order, with silences between them.
#[derive(Clone, Debug, Default)]
struct Times(Vec<Busy>);

impl Times {
    fn add(&mut self, request: Busy) {
        let Times(all) = self;
        let begin = all.partition_point(|it| it.to.saturating_add(SILENCE) <= request.from);
        let joined =
            all[begin..].iter().take_while(|it| it.from.saturating_sub(SILENCE) < request.to).count();
        let joined = all
            .splice(begin..begin + joined, [])
            .fold(request, |sum, it| Busy { from: sum.from.min(it.from), to: sum.to.max(it.to) });
        all.insert(begin, joined);
        // Without the first or the last time, no silence becomes longer.
        if all.len() > KEPT {
            let is_first_farther = begin * 2 >= all.len();
            all.remove(if is_first_farther { 0 } else { all.len() - 1 });
        }
    }

    fn silences(&self) -> Vec<(i64, i64)> {
        self.0.windows(2).map(|pair| (pair[0].to, pair[1].from)).collect()
    }
}

impl Activity {
    /// Notes a request by the times of its receipt and its response.
    pub fn note(&mut self, received: i64, done: i64) {
        let request = Busy { from: received, to: done.max(received) };
        if request.to - request.from < SILENCE {
            self.first = Some(self.first.map_or(received, |first| first.min(received)));
            self.busy.add(request);
            return;
        }
        if self.long.len() == KEPT {
            self.long.pop_front();
        }
        self.long.push_back(request);
    }

    /// The receipt of the first request.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        self.first.into_iter().chain(self.long.iter().map(|it| it.from)).min()
    }

    /// The silences of at least a second: each from a response to the receipt of the next request.
    #[must_use]
    pub fn silences(&self) -> Vec<(i64, i64)> {
        self.without(None).silences()
    }

    /// The end of the last silence of at least a second that had ended by this time.
    #[must_use]
    pub fn last_silence_end(&self, by: i64) -> Option<i64> {
        let Times(all) = &*self.without(None);
        all.iter().skip(1).map(|it| it.from).rev().find(|to| *to <= by)
    }

    /// The silences if this request is no activity, the one before the first request included.
    #[must_use]
    pub fn silences_beside(&self, received: i64, done: i64) -> Vec<(i64, i64)> {
        let request = Busy { from: received, to: done.max(received) };
        let long = self.long.iter().filter(|it| **it != request).map(|it| it.from);
        let first = self.first.into_iter().chain(long).min();
        first
            .map(|first| (i64::MIN, first))
            .into_iter()
            .chain(self.without(Some(request)).silences())
            .collect()
    }

    fn without(&self, request: Option<Busy>) -> Cow<'_, Times> {
        let mut busy = Cow::Borrowed(&self.busy);
        for long in self.long.iter().filter(|it| Some(**it) != request) {
            busy.to_mut().add(*long);
        }
        busy
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(requests: &[(i64, i64)]) -> Activity {
        let mut activity = Activity::default();
        requests.iter().for_each(|(received, done)| activity.note(*received, *done));
        activity
    }

    const S: i64 = SILENCE;

    #[test]
    fn a_silence_lasts_from_a_response_to_the_next_request() {
        let activity = of(&[(0, 10), (5, S - 1), (2 * S - 1, 2 * S), (4 * S, 5 * S)]);
        assert_eq!(activity.silences(), [(S - 1, 2 * S - 1), (2 * S, 4 * S)]);
        assert_eq!(activity.first(), Some(0));
    }

    #[test]
    fn a_request_that_is_read_late_ends_a_silence() {
        let activity = of(&[(0, 10), (10 * S, 10 * S + 5), (3 * S, 4 * S)]);
        assert_eq!(activity.silences(), [(10, 3 * S), (4 * S, 10 * S)]);
    }

    /// The successor of a process sends requests, while one of its predecessor waits for its response.
    #[test]
    fn a_long_request_hides_a_silence_from_others() {
        let activity = of(&[(0, 10), (20, 9 * S), (5 * S, 5 * S + 10), (9 * S, 9 * S)]);
        assert_eq!(activity.silences(), []);
        let all = [(i64::MIN, 0), (10, 5 * S), (5 * S + 10, 9 * S)];
        assert_eq!(activity.silences_beside(20, 9 * S), all);
    }

    #[test]
    fn the_last_silence_is_the_latest_that_has_ended() {
        let activity = of(&[(0, 10), (2 * S, 3 * S - 1), (5 * S, 5 * S + 10)]);
        let end = |by: i64| activity.last_silence_end(by);
        assert_eq!(
            [2 * S - 1, 2 * S, 5 * S - 1, 5 * S, 9 * S].map(end),
            [None, Some(2 * S), Some(2 * S), Some(5 * S), Some(5 * S)]
        );
        assert_eq!(Activity::default().last_silence_end(S), None);
    }

    /// The requests of an older log may follow those of a newer one.
    #[test]
    fn the_silences_that_are_farthest_away_are_forgotten() {
        let requests =
            |from: i64| (0..200).map(move |number| ((from + 2 * number) * S, (from + 2 * number) * S));
        for (before, after) in [(0, 10_000), (10_000, 0)] {
            let activity = of(&requests(before).chain(requests(after)).collect::<Vec<_>>());
            assert_eq!(activity.busy.0.len(), KEPT);
            let last = (after + 2 * 198) * S;
            assert!(
                activity.silences().into_iter().any(|silence| silence == (last, last + 2 * S)),
                "{activity:?}"
            );
            assert!(activity.silences().into_iter().all(|(from, to)| to - from <= 10_000 * S));
        }
    }

    proptest! {
        #[test]
        fn the_order_of_the_requests_changes_nothing(
            requests in prop::collection::vec((0..60 * S, 0..3 * S), 1..60),
            seed in any::<prop::sample::Index>(),
        ) {
            let requests: Vec<_> = requests.into_iter().map(|(received, length)| (received, received + length)).collect();
            let mut sorted = requests.clone();
            sorted.sort_unstable();
            let (mut silences, mut latest) = (Vec::new(), sorted[0].1);
            for (received, done) in &sorted {
                if received - latest >= S {
                    silences.push((latest, *received));
                }
                latest = latest.max(*done);
            }
            let mut turned = requests.clone();
            turned.rotate_left(seed.index(requests.len()));
            for order in [requests, turned] {
                prop_assert_eq!(of(&order).silences(), silences.clone());
            }
        }
    }
}

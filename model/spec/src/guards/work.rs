//! The time that a manager had to react.

use std::sync::Arc;

use super::copies::Micros;

/// The shortest silence of a manager that is taken for an absence, in microseconds. An idle manager is silent, too.
const ABSENCE: Micros = 300_000_000;

/// The work of a manager on one cluster.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Stretches of its requests for any Job, without an absence of a minute between them, in order. All its Jobs share them.
    pub stretches: Arc<[(Micros, Micros)]>,
    /// The times at which the environment refused its requests for the Job or for a copy, in order. The time to react begins
    /// anew each time.
    pub refusals: Vec<Micros>,
}

impl Work {
    /// Returns `true` if the manager could have reacted to something that has stood since this time. It was there for as long,
    /// without a refusal, or in several parts.
    #[must_use]
    pub fn had_time(&self, since: Micros, patience: Micros) -> bool {
        let (mut total, mut longest) = (0, 0);
        for (from, until) in self.presences(since) {
            let mut begin = from;
            for refusal in self.refusals.iter().copied().filter(|at| (from..=until).contains(at)) {
                longest = longest.max(refusal - begin);
                begin = refusal;
            }
            longest = longest.max(until - begin);
            total += until - begin;
        }
        longest.max(total) >= patience
    }

    /// The time in a span during which the manager worked. The time up to the last refusal in it does not count.
    #[must_use]
    pub fn worked(&self, since: Micros, until: Micros) -> Micros {
        let since = self.refused_by(until).map_or(since, |refusal| since.max(refusal));
        self.stretches.iter().map(|(first, last)| (until.min(*last) - since.max(*first)).max(0)).sum()
    }

    /// The last refusal before a time.
    #[must_use]
    pub fn refused_by(&self, until: Micros) -> Option<Micros> {
        self.refusals.iter().copied().filter(|at| *at < until).max()
    }

    /// The times from this one on without a long silence.
    fn presences(&self, since: Micros) -> Vec<(Micros, Micros)> {
        let mut all: Vec<(Micros, Micros)> = vec![(since, since)];
        for (from, until) in self.stretches.iter().copied().filter(|(_, until)| *until > since) {
            match all.last_mut() {
                Some((_, last)) if from - *last < ABSENCE => *last = until,
                _ => all.push((from, until)),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    fn work(stretches: &[(Micros, Micros)], refusals: &[Micros]) -> Work {
        let stretches = stretches.iter().map(|(from, until)| (from * SECOND, until * SECOND)).collect();
        Work { stretches, refusals: refusals.iter().map(|at| at * SECOND).collect() }
    }

    #[test]
    fn a_manager_had_time_if_it_was_there_for_long_enough() {
        let had_time =
            |stretches: &[_], refusals: &[_]| work(stretches, refusals).had_time(10 * SECOND, 120 * SECOND);
        assert!(had_time(&[(0, 130)], &[]) && !had_time(&[(0, 129)], &[]));
        // Idle managers are silent. One that is away for five minutes has time from its return on.
        assert!(had_time(&[(0, 0), (200, 200)], &[]));
        assert!(!had_time(&[(0, 0), (610, 620)], &[]) && had_time(&[(0, 0), (610, 730)], &[]));
        assert!(!had_time(&[], &[]));
        // Time that it had before an absence counts, also in parts.
        assert!(had_time(&[(0, 200), (4000, 4001)], &[]));
        assert!(had_time(&[(0, 70), (600, 680)], &[]) && !had_time(&[(0, 60), (600, 660)], &[]));
    }

    #[test]
    fn a_refusal_gives_time_anew_and_takes_none_back() {
        let had_time = |refusals: &[_]| work(&[(0, 400)], refusals).had_time(10 * SECOND, 120 * SECOND);
        assert!(had_time(&[]) && had_time(&[399]) && had_time(&[5000]));
        assert!(!had_time(&[100, 200, 300, 399]) && had_time(&[100, 200, 275]));
        let worked = |refusals: &[_]| work(&[(0, 400)], refusals).worked(10 * SECOND, 300 * SECOND) / SECOND;
        assert_eq!((worked(&[]), worked(&[50]), worked(&[350])), (290, 250, 290));
    }

    #[test]
    fn only_time_between_requests_is_work() {
        let work = work(&[(0, 100), (500, 560), (700, 700)], &[]);
        assert_eq!(work.worked(50 * SECOND, 530 * SECOND), 80 * SECOND);
        assert_eq!(work.worked(200 * SECOND, 400 * SECOND), 0);
    }
}

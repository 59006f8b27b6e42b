//! Lines that come after their place was judged: the log is out of order by more than the reorder window.
//!
//! Writes that such a line would have explained, or broken, were judged without it. Jobs of its namespace that lived at its time
//! are inconclusive, and so is the trace, because other Jobs may have ended before.

use jobcheck_spec::job::Text;
use rustc_hash::FxHashMap;

use super::event::Event;
use super::track::Track;

/// The reason why a verdict is inconclusive.
pub const REASON: &str = "the log is out of order by more than the reorder window";
/// Maximum number of namespaces with times of their own.
const NAMESPACES: usize = 4_096;

/// The late lines of a trace.
#[derive(Debug, Default)]
pub struct Disorder {
    of: FxHashMap<Text, Late>,
    /// The lines of further namespaces.
    others: Option<Late>,
}

/// The times of late lines, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Late {
    first: i64,
    last: i64,
}

impl Late {
    fn with(late: Option<Late>, at: i64) -> Late {
        late.map_or(Late { first: at, last: at }, |it| Late {
            first: it.first.min(at),
            last: it.last.max(at),
        })
    }
}

impl Disorder {
    /// Notes a late line.
    pub fn note(&mut self, event: &Event) {
        let Some(when) = event.when else { return };
        let known = self.of.get(&event.namespace).copied();
        if known.is_some() || self.of.len() < NAMESPACES {
            self.of.insert(event.namespace.clone(), Late::with(known, when.done));
        } else {
            self.others = Some(Late::with(self.others, when.done));
        }
    }

    /// The reason why the whole trace is inconclusive.
    pub fn doubt(&self) -> Option<String> {
        (!self.of.is_empty()).then(|| REASON.to_owned())
    }

    /// Makes a Job inconclusive that lived when the late lines were written, and withdraws violations since then.
    pub fn judge(&self, track: &mut Track) {
        let Some(late) = self.of.get(&track.id.namespace).copied().or(self.others) else { return };
        let lives = track.id.created.0.saturating_mul(1_000_000) <= late.last;
        // An earlier Job of this name may have left something.
        if track.coverage.latest_answer < late.first || !(lives || track.id.namesake) {
            return;
        }
        track.results.violations.retain(|it| it.done.is_some_and(|done| done < late.first));
        track.doubt(REASON.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jobcheck_spec::Time;

    use super::super::fixtures::{job, job_write};
    use super::*;

    const SECOND: i64 = 1_000_000;

    /// A Job of this namespace and creation, whose last write was answered at this time.
    fn track(namespace: &str, created: i64, last: i64) -> Track {
        let of_namespace =
            jobcheck_spec::job::Job { namespace: namespace.into(), created: Time(created), ..job() };
        let mut track = Track::new(Arc::new(of_namespace), &job_write("job", (1, 2), 7), true, false);
        track.coverage.latest_answer = last * SECOND;
        track
    }

    fn is_doubted(disorder: &Disorder, mut track: Track) -> bool {
        disorder.judge(&mut track);
        !track.results.doubts.is_empty()
    }

    #[test]
    fn jobs_that_lived_at_the_time_of_a_late_line_are_doubted() {
        let mut disorder = Disorder::default();
        assert!(disorder.doubt().is_none() && !is_doubted(&disorder, track("ns", 0, 100)));
        for at in [20, 30] {
            disorder.note(&job_write("late", (at * SECOND, at * SECOND), 1));
        }
        for (namespace, created, last, expected) in [
            ("ns", 0, 100, true),
            ("ns", 0, 10, false),
            ("ns", 40, 100, false),
            ("ns", 25, 25, true),
            ("other", 0, 100, false),
        ] {
            let found = is_doubted(&disorder, track(namespace, created, last));
            assert_eq!(found, expected, "{namespace} from {created} to {last}");
        }
        let mut heir = track("ns", 40, 100);
        heir.id.namesake = true;
        assert!(is_doubted(&disorder, heir));
        assert_eq!(disorder.doubt().as_deref(), Some(REASON));
    }

    #[test]
    fn the_number_of_namespaces_is_bounded() {
        let mut disorder = Disorder::default();
        for number in 0..NAMESPACES + 10 {
            let late = job_write("late", (20 * SECOND, 20 * SECOND), 1);
            disorder.note(&Event { namespace: format!("ns-{number}").into(), ..late });
        }
        assert_eq!(disorder.of.len(), NAMESPACES);
        assert!(is_doubted(&disorder, track(&format!("ns-{}", NAMESPACES + 5), 0, 100)));
    }
}

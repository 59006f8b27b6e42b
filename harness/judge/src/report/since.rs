//! The time from which on violations count.

use jobcheck_spec::Time;

/// A time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// This time, in microseconds since 1970.
    At(i64),
    /// This many microseconds before the last time in the trace.
    BeforeEnd(i64),
}

impl Since {
    /// The time in a trace that ends at `last`; `None` if the trace shows no times.
    #[must_use]
    pub fn time(self, last: Option<i64>) -> Option<i64> {
        let last = last?;
        Some(match self {
            Since::At(time) => time,
            Since::BeforeEnd(duration) => last.saturating_sub(duration),
        })
    }

    /// The reason why a trace that ends at `last` has nothing to report.
    pub(super) fn nothing_after(self, last: Option<i64>) -> String {
        let text = |micros: i64| Time(micros.div_euclid(1_000_000)).to_string();
        match (self.time(last), last) {
            (Some(time), Some(last)) => {
                format!("no Job has an event since {}; the trace ends at {}", text(time), text(last))
            }
            _ => "the trace shows no times, so that --since selects nothing".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_ends_with_the_trace() {
        assert_eq!(Since::BeforeEnd(5).time(Some(20)), Some(15));
        assert_eq!(Since::At(7).time(Some(20)), Some(7));
        assert_eq!(Since::At(7).time(None), None);
        assert!(Since::At(7_000_000).nothing_after(Some(3_000_000)).contains("since 1970-01-01T00:00:07Z"));
    }
}

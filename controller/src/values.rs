//! The small values of facts and commands: texts, UIDs, versions, and times. All are cheap to clone.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Immutable text of the API, such as a name, a reason, a message, or the value of an annotation.
pub type Text = Arc<str>;

/// `metadata.uid` of an object. It is compared and never interpreted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub Text);

impl Uid {
    /// Returns the UID with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Uid(Text::from(text))
    }

    /// The text of the UID.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// `metadata.resourceVersion` of an object. Decisions do not interpret it; requests have it as a precondition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion(pub Text);

impl ResourceVersion {
    /// Returns the version with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        ResourceVersion(Text::from(text))
    }

    /// The text of the version.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An instant, in milliseconds since 1970-01-01T00:00:00Z.
///
/// The API stores whole seconds (`docs/reference/built-in.md`). The clock is finer, so that delays are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    millis: i64,
}

impl Time {
    /// Returns the instant so many milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Time { millis }
    }

    /// Returns the instant so many seconds after the epoch; saturates.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Time { millis: seconds.saturating_mul(1000) }
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.millis
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn as_seconds(self) -> i64 {
        self.millis.div_euclid(1000)
    }

    /// The instant without the fraction of its second, as the API server stores it.
    #[must_use]
    pub const fn truncated(self) -> Self {
        Time::from_seconds(self.as_seconds())
    }

    /// The instant a span later; saturates.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Time { millis: self.millis.saturating_add(millis(span)) }
    }

    /// The instant so many seconds earlier; saturates.
    #[must_use]
    pub const fn minus_seconds(self, seconds: i64) -> Self {
        Time { millis: self.millis.saturating_sub(seconds.saturating_mul(1000)) }
    }

    /// The span from this instant to a later one; zero if that is not later.
    #[must_use]
    pub fn until(self, later: Time) -> Duration {
        let millis = later.millis.saturating_sub(self.millis);
        u64::try_from(millis).map_or(Duration::ZERO, Duration::from_millis)
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_of_a_second_is_cut_off_even_before_the_epoch() {
        assert_eq!(Time::from_millis(1_999).truncated(), Time::from_seconds(1));
        assert_eq!(Time::from_millis(2_000).truncated(), Time::from_seconds(2));
        assert_eq!(Time::from_millis(-1).truncated(), Time::from_seconds(-1));
        assert_eq!(Time::from_millis(-1).as_seconds(), -1);
        assert_eq!(Time::from_millis(1_234).as_millis(), 1_234);
    }

    #[test]
    fn spans_saturate_and_never_run_backwards() {
        let at = Time::from_seconds(10);
        assert_eq!(at.until(Time::from_millis(10_001)), Duration::from_millis(1));
        assert_eq!(at.until(at), Duration::ZERO);
        assert_eq!(at.until(Time::from_seconds(9)), Duration::ZERO);
        assert_eq!(at.plus(Duration::from_millis(5)), Time::from_millis(10_005));
        assert_eq!(at.plus(Duration::MAX), Time::from_millis(i64::MAX));
        assert_eq!(at.minus_seconds(3), Time::from_seconds(7));
        assert_eq!(Time::from_seconds(i64::MAX), Time::from_millis(i64::MAX));
    }
}

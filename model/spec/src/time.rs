//! Times with the precision of the Kubernetes API: whole seconds (BO-09).

use std::fmt;
/// Seconds since the Unix epoch.
///
/// The API truncates times to the second. A `Time` from an object is therefore up to one second too early.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(pub i64);

impl Time {
    /// The time `seconds` later. The sum saturates, because a Job may name an absurdly long duration.
    #[must_use]
    pub fn plus(self, seconds: i64) -> Time {
        Time(self.0.saturating_add(seconds))
    }

    /// Seconds from `earlier` to this time; negative if `earlier` is the later one.
    #[must_use]
    pub fn since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Seconds by which the clocks of two machines may differ. A time from one is compared with a time from the other only
/// beyond that.
pub const CLOCK_SKEW: i64 = 5;

/// The clocks whose times are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// All times are from one clock, as in exploration.
    One,
    /// The controller, the API server and each node have their own.
    Several,
}

impl Clocks {
    /// Seconds by which a time of the controller may differ from one of the API server.
    #[must_use]
    pub fn skew(self) -> i64 {
        match self {
            Clocks::One => 0,
            Clocks::Several => CLOCK_SKEW,
        }
    }

    /// Seconds by which a delay may seem too short. A delay of less than 10 s exists only where all clocks are one.
    #[must_use]
    pub fn missing_of(self, delay: i64) -> i64 {
        match self {
            Clocks::One => 0,
            Clocks::Several => (delay / 10).min(1),
        }
    }
}

impl fmt::Display for Time {
    /// Formats as RFC 3339 in UTC. It is computed here because this crate depends on no calendar crate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.abs() < 1_000_000 { write!(f, "t{}", self.0) } else { fmt::Display::fmt(self, f) }
    }
}

/// Year, month, and day of the proleptic Gregorian calendar, `days` after 1970-01-01.
///
/// Years begin in March, in eras of 400 years, so that the leap day is the last day of a year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_as_the_api_writes_them() {
        assert_eq!(Time(1_795_220_910).to_string(), "2026-11-21T00:28:30Z");
        assert_eq!(Time(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Time(951_782_400).to_string(), "2000-02-29T00:00:00Z");
    }
}

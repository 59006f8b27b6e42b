//! Durations in the form of Go programs: `100ms`, `10m0s`, `1h2m3.5s`.
//!
//! The flags of Kubernetes components have this form, so a value can be copied from one command line to another. Grammar
//! and arithmetic are those of Go's `time.ParseDuration` and `Duration.String`, including overflow and rounding.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// A signed number of nanoseconds with the range of Go's `time.Duration` (about ±292 years).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration {
    /// The number of nanoseconds.
    pub nanoseconds: i64,
}

/// An error in a duration. Each message contains the text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GoDurationError {
    /// Not of the form `[+-](NUMBER UNIT)+`, or out of range.
    #[error("invalid duration {0:?}; write it as in Go, for example 100ms, 10s, or 1h30m0s")]
    Invalid(String),
    /// A number without a unit.
    #[error("missing unit in duration {0:?}; write it as in Go, for example 100ms, 10s, or 1h30m0s")]
    MissingUnit(String),
    /// An unknown unit.
    #[error("unknown unit {unit:?} in duration {text:?}; use ns, us, ms, s, m, or h")]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
    /// A negative duration for a flag that accepts none.
    #[error("negative duration {0:?}; write a duration of 0s or more")]
    Negative(String),
}

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
/// The magnitude of the smallest `i64`. Only a negative duration can have it.
const LIMIT: u64 = 1 << 63;

/// Parses the value of a flag: a duration that is not negative.
///
/// # Errors
///
/// The text is not a duration, or is negative.
pub fn parse_forward(text: &str) -> Result<Duration, GoDurationError> {
    let parsed: GoDuration = text.parse()?;
    parsed.to_std().ok_or_else(|| GoDurationError::Negative(text.to_owned()))
}

impl GoDuration {
    /// Returns the duration, unless it is negative.
    #[must_use]
    pub fn to_std(self) -> Option<Duration> {
        u64::try_from(self.nanoseconds).ok().map(Duration::from_nanos)
    }

    /// Converts a duration; saturates at the maximum of Go.
    #[must_use]
    pub fn from_std(duration: Duration) -> GoDuration {
        GoDuration { nanoseconds: i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX) }
    }
}

impl FromStr for GoDuration {
    type Err = GoDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || GoDurationError::Invalid(text.to_owned());
        let (negative, magnitude) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if magnitude == "0" {
            return Ok(GoDuration::default());
        }
        if magnitude.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        let mut rest = magnitude;
        while !rest.is_empty() {
            let (part, after) = part(rest, text)?;
            total = total.checked_add(part).filter(|total| *total <= LIMIT).ok_or_else(invalid)?;
            rest = after;
        }
        let nanoseconds = match (negative, total) {
            (true, LIMIT) => i64::MIN,
            (true, total) => -i64::try_from(total).map_err(|_| invalid())?,
            (false, total) => i64::try_from(total).map_err(|_| invalid())?,
        };
        Ok(GoDuration { nanoseconds })
    }
}

/// Parses one number with its unit. Returns the nanoseconds and the rest of the text.
fn part<'a>(text: &'a str, whole: &str) -> Result<(u64, &'a str), GoDurationError> {
    let invalid = || GoDurationError::Invalid(whole.to_owned());
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let integer_length = digits(text);
    let (integer, rest) = text.split_at(integer_length);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if integer.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let unit_length = rest.bytes().take_while(|byte| *byte != b'.' && !byte.is_ascii_digit()).count();
    let (unit, rest) = rest.split_at(unit_length);
    let scale = match unit {
        "" => return Err(GoDurationError::MissingUnit(whole.to_owned())),
        "ns" => 1,
        // Go accepts the micro sign and the Greek letter, which look the same.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => {
            return Err(GoDurationError::UnknownUnit { unit: unit.to_owned(), text: whole.to_owned() });
        }
    };
    let whole_units: u64 = if integer.is_empty() { 0 } else { integer.parse().map_err(|_| invalid())? };
    let value = whole_units.checked_mul(scale).filter(|value| *value <= LIMIT).ok_or_else(invalid)?;
    let value = value.checked_add(fraction_of(fraction, scale)).filter(|value| *value <= LIMIT);
    Ok((value.ok_or_else(invalid)?, rest))
}

/// Returns `0.FRACTION` of a unit in whole nanoseconds, with the floating-point operations of Go.
fn fraction_of(fraction: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in fraction.bytes().map(|byte| u64::from(byte - b'0')) {
        // Digits beyond 63 bits do not affect the result.
        let Some(next) = value.checked_mul(10).and_then(|it| it.checked_add(digit)).filter(|it| *it <= LIMIT)
        else {
            break;
        };
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

impl fmt::Display for GoDuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.nanoseconds.unsigned_abs();
        if self.nanoseconds < 0 {
            out.write_str("-")?;
        }
        match magnitude {
            0 => out.write_str("0s"),
            1..MICROSECOND => write!(out, "{magnitude}ns"),
            MICROSECOND..MILLISECOND => write!(out, "{}\u{b5}s", decimal(magnitude, MICROSECOND)),
            MILLISECOND..SECOND => write!(out, "{}ms", decimal(magnitude, MILLISECOND)),
            SECOND.. => {
                let (hours, minutes) = (magnitude / HOUR, magnitude % HOUR / MINUTE);
                if hours > 0 {
                    write!(out, "{hours}h")?;
                }
                if magnitude >= MINUTE {
                    write!(out, "{minutes}m")?;
                }
                write!(out, "{}s", decimal(magnitude % MINUTE, SECOND))
            }
        }
    }
}

/// Formats a quotient without trailing zeros. The divisor is a power of ten.
fn decimal(value: u64, divisor: u64) -> String {
    let (integer, fraction) = (value / divisor, value % divisor);
    if fraction == 0 {
        return integer.to_string();
    }
    let width = divisor.ilog10() as usize;
    let digits = format!("{fraction:0width$}");
    format!("{integer}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanoseconds(text: &str) -> i64 {
        text.parse::<GoDuration>().unwrap_or_else(|error| panic!("{error}")).nanoseconds
    }

    #[test]
    fn durations_that_go_parses_are_parsed() {
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("+0", 0),
            ("5s", 5_000_000_000),
            ("100ms", 100_000_000),
            ("10m0s", 600_000_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("-1.5h", -5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("12\u{b5}s", 12_000),
            ("12\u{3bc}s", 12_000),
            ("12us", 12_000),
            ("1ns", 1),
            ("3000h", 10_800_000_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("0.100000000000000000000h", 360_000_000_000),
            ("9223372036854.775807ms", i64::MAX),
        ] {
            assert_eq!(nanoseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn durations_that_go_refuses_are_refused_with_their_text() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "-.",
            ".s",
            "+.s",
            "s",
            "9223372036854775808ns",
            "3000000h",
            "-9223372036854775809ns",
        ] {
            assert_eq!(text.parse::<GoDuration>(), Err(GoDurationError::Invalid(text.to_owned())), "{text}");
        }
        for text in ["3", "1.5", "1h3"] {
            assert_eq!(
                text.parse::<GoDuration>(),
                Err(GoDurationError::MissingUnit(text.to_owned())),
                "{text}"
            );
        }
        let unknown = "1d".parse::<GoDuration>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown unit \"d\" in duration \"1d\"; use ns, us, ms, s, m, or h");
        assert_eq!(parse_forward("-1s"), Err(GoDurationError::Negative("-1s".to_owned())));
        assert_eq!(parse_forward("1s"), Ok(Duration::from_secs(1)));
    }

    #[test]
    fn it_prints_as_go_does() {
        for (nanoseconds, expected) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1\u{b5}s"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (60_000_000_000, "1m0s"),
            (245_000_000_000, "4m5s"),
            (245_001_000_000, "4m5.001s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (480_000_000_001, "8m0.000000001s"),
            (3_600_000_000_000, "1h0m0s"),
            (-600_000_000_000, "-10m0s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(GoDuration { nanoseconds }.to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn printed_durations_round_trip(nanoseconds in any::<i64>()) {
            let duration = GoDuration { nanoseconds };
            prop_assert_eq!(duration.to_string().parse::<GoDuration>(), Ok(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,12}") {
            let _ = text.parse::<GoDuration>();
        }
    }
}

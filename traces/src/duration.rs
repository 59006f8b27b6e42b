//! Durations as Go and Kubernetes write them: `100ms`, `10m0s`, `1h2m3.5s`.

use std::time::Duration;

use jiff::SignedDuration;
use jiff::fmt::friendly::{Spacing, SpanPrinter};

const UNITS: [&str; 7] = ["ns", "us", "\u{b5}s", "ms", "s", "m", "h"];
/// Digits behind the point that jiff reads. In hours they still distinguish four microseconds.
const PRECISION: usize = 9;

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a duration such as 100ms, 10s or 1m30s, found {0:?}")]
pub struct DurationError(String);

/// Reads a duration with the grammar of Go's `time.ParseDuration`: numbers with units, such as `1m30s` or `1.5h`.
///
/// | unit | meaning |
/// | --- | --- |
/// | `ns`, `us`, `ms` | nanoseconds, microseconds, milliseconds |
/// | `s`, `m`, `h` | seconds, minutes, hours |
///
/// ```
/// use std::time::Duration;
///
/// use jobcheck_traces::parse_duration;
///
/// assert_eq!(parse_duration("1m30s")?, Duration::from_secs(90));
/// assert!(parse_duration("90").is_err() && parse_duration("-1s").is_err());
/// # Ok::<(), jobcheck_traces::DurationError>(())
/// ```
///
/// # Errors
///
/// The text has another form, is negative, or is longer than Go's limit of 292 years.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    sum(text)
        .filter(|sum| i64::try_from(sum.as_nanos()).is_ok())
        .and_then(|sum| Duration::try_from(sum).ok())
        .ok_or_else(|| DurationError(text.to_owned()))
}

/// The duration in the form that [`parse_duration`] reads, such as `1m30s`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    SpanPrinter::new().spacing(Spacing::None).unsigned_duration_to_string(&duration)
}

fn sum(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut sum = SignedDuration::ZERO;
    loop {
        let (number, after) = rest.split_at(rest.find(|c| !is_number(c))?);
        let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        sum = sum.checked_add(term(number, unit)?)?;
        rest = after;
        if rest.is_empty() {
            return if negative { sum.checked_neg() } else { Some(sum) };
        }
    }
}

/// One number with its unit. Go allows `.5s` and `1.s`, and any number of digits; jiff wants at most nine, and digits on
/// both sides of the point.
fn term(number: &str, unit: &str) -> Option<SignedDuration> {
    // Go also reads the Greek letter, which looks like the micro sign.
    let unit = if unit == "\u{3bc}s" { "us" } else { unit };
    let unit = UNITS.into_iter().find(|known| *known == unit)?;
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    if integer.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = if unit == "ns" { 0 } else { fraction.len().min(PRECISION) };
    let text = match &fraction[..digits] {
        "" => format!("{integer:0>1}{unit}"),
        fraction => format!("{integer:0>1}.{fraction}{unit}"),
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("-0", 0),
            ("+5s", 5_000_000_000),
            ("100ms", 100_000_000),
            ("500us", 500_000),
            ("12\u{b5}s", 12_000),
            ("12\u{3bc}s", 12_000),
            ("1ns", 1),
            ("1.5ns", 1),
            ("10m0s", 600_000_000_000),
            ("1m1m", 120_000_000_000),
            ("30s1m", 90_000_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("1.5h1.5m", 5_490_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("0.100000000000000000000h", 360_000_000_000),
            ("9223372036854775807ns", i64::MAX as u64),
            ("9223372036854.775807ms", i64::MAX as u64),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "-",
            "+",
            ".",
            "-.",
            ".s",
            "s",
            "3",
            "1.5",
            "1h3",
            "10 s",
            "1s ",
            "-1s",
            "--1s",
            "1d",
            "1S",
            "1sec",
            "1.5.2s",
            "..s",
            "1e3s",
            "1,5s",
            "PT1S",
            "9223372036854775808ns",
            "3000000h",
            "99999999999999h",
            "99999999999999999999h",
        ] {
            let error = parse_duration(text).unwrap_err();
            let message = format!("expected a duration such as 100ms, 10s or 1m30s, found {text:?}");
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn durations_are_written_as_short_as_possible() {
        for (seconds, text) in [(0, "0s"), (90, "1m30s"), (600, "10m"), (3_600, "1h")] {
            assert_eq!(format_duration(Duration::from_secs(seconds)), text);
        }
        assert_eq!(format_duration(Duration::from_millis(1_500)), "1s500ms");
    }

    proptest! {
        #[test]
        fn a_written_duration_is_read_back(nanoseconds in 0..=i64::MAX as u64) {
            let duration = Duration::from_nanos(nanoseconds);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,12}") {
            let _ = parse_duration(&text);
        }
    }
}

//! RFC 3339 times by Kubernetes' rules, truncated to the second (BO-09).

use jobcheck_spec::Time;

/// Reads an RFC 3339 time and truncates it to seconds. Returns `None` for any other text.
#[must_use]
pub fn parse_time(text: &str) -> Option<Time> {
    let (clock, rest) = text.as_bytes().split_at_checked(19)?;
    let clock: &[u8; 19] = clock.try_into().ok()?;
    let seconds = parse_clock(clock)?;
    if rest == b"Z" {
        return Some(Time(seconds));
    }
    Some(Time(seconds - parse_offset(skip_fraction(rest)?)?))
}

/// `YYYY-MM-DDTHH:MM:SS` in UTC, as seconds since the epoch.
fn parse_clock(c: &[u8; 19]) -> Option<i64> {
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(position, separator)| c[position] != separator) {
        return None;
    }
    let year = two_digits(c[0], c[1])? * 100 + two_digits(c[2], c[3])?;
    let (month, day) = (two_digits(c[5], c[6])?, two_digits(c[8], c[9])?);
    let (hour, minute, second) =
        (two_digits(c[11], c[12])?, two_digits(c[14], c[15])?, two_digits(c[17], c[18])?);
    let date_exists = (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
    if !date_exists || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// The rest behind an optional fraction of at least one digit.
fn skip_fraction(rest: &[u8]) -> Option<&[u8]> {
    let Some(fraction) = rest.strip_prefix(b".") else { return Some(rest) };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| &fraction[digits..])
}

/// `Z`, `+HH:MM`, or `-HH:MM` in seconds.
fn parse_offset(zone: &[u8]) -> Option<i64> {
    match *zone {
        [b'Z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (two_digits(h1, h2)?, two_digits(m1, m2)?);
            let seconds = (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)?;
            Some(if sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

fn two_digits(tens: u8, units: u8) -> Option<i64> {
    let both = tens.is_ascii_digit() && units.is_ascii_digit();
    both.then(|| i64::from(tens - b'0') * 10 + i64::from(units - b'0'))
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a proleptic Gregorian date. Years begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let (march_year, march_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * march_month + 2) / 5 + day - 1;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_instant_agree() {
        let spellings = [
            "2026-11-21T00:28:30Z",
            "2026-11-21T00:28:30.999999Z",
            "2026-11-21T00:28:30+00:00",
            "2026-11-21T01:28:30.5+01:00",
            "2026-11-20T18:58:30-05:30",
        ];
        for text in spellings {
            assert_eq!(parse_time(text), Some(Time(1_795_220_910)), "{text}");
        }
        assert_eq!(parse_time("2000-02-29T00:00:00Z"), Some(Time(951_782_400)));
    }

    #[test]
    fn other_texts_are_refused() {
        let texts = [
            "",
            "Z",
            "2026-11-21",
            "2026-11-21T00:28:30",
            "2026-11-21 00:28:30Z",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T00:00:60Z",
            "2026-11-21T00:28:30.Z",
            "2026-11-21T00:28:30z",
            "2026-11-21T00:28:30+0100",
            "2026-11-21T00:28:30Zx",
            "2026-11-21T00:28:3éZ",
        ];
        for text in texts {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn printed_times_are_read_back(seconds in -62_135_596_800i64..253_402_300_800) {
            prop_assert_eq!(parse_time(&Time(seconds).to_string()), Some(Time(seconds)));
        }
    }
}

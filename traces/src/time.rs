//! RFC 3339 times as microseconds since the Unix epoch.

use jiff::civil::date;
use jiff::{SignedDuration, Timestamp};

const DAY: i64 = 86_400;
const MICROS: i64 = 1_000_000;

/// Reads an RFC 3339 time and truncates it to microseconds. Returns `None` for any other text.
#[must_use]
pub fn parse_micros(text: &str) -> Option<i64> {
    parse_utc(text.as_bytes()).or_else(|| text.parse::<Timestamp>().ok().and_then(floor_micros))
}

/// Rounds towards the past, before 1970 too; jiff's own conversion rounds towards 1970.
fn floor_micros(time: Timestamp) -> Option<i64> {
    i64::try_from(time.as_nanosecond().div_euclid(1000)).ok()
}

/// The time as RFC 3339 in UTC with six digits, as in audit logs; `None` outside the years 0 to 9999.
#[must_use]
pub fn format_micros(micros: i64) -> Option<String> {
    // A timestamp of jiff ends a day before the year 9999 does, so that it has a date in each time zone.
    let epoch = date(1970, 1, 1).at(0, 0, 0, 0);
    let time = epoch.checked_add(SignedDuration::from_micros(micros)).ok().filter(|time| time.year() >= 0)?;
    Some(format!("{time:.6}Z"))
}

/// Reads the format of API servers, `2026-11-21T00:28:37.786283Z`, with up to nine digits or none. One audit
/// event has two times, and this function is much faster than the general parser.
fn parse_utc(text: &[u8]) -> Option<i64> {
    let (date_time, rest) = text.split_at_checked(19)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] = date_time
    else {
        return None;
    };
    let two = |tens: &u8, ones: &u8| Some(digit(*tens)? * 10 + digit(*ones)?);
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    let (month, day) = (two(m1, m2)?, two(d1, d2)?);
    let (hour, minute, second) = (two(h1, h2)?, two(n1, n2)?, two(s1, s2)?);
    let in_range = (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = days_from_civil(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
    in_range.then_some(seconds * MICROS + fraction(rest)?)
}

/// Microseconds of `.786283Z`, or of `Z`.
fn fraction(text: &[u8]) -> Option<i64> {
    let digits = match text {
        b"Z" => return Some(0),
        [b'.', digits @ .., b'Z'] if (1..=9).contains(&digits.len()) => digits,
        _ => return None,
    };
    let mut micros = 0;
    let mut unit = MICROS / 10;
    for byte in digits {
        micros += digit(*byte)? * unit;
        unit /= 10;
    }
    Some(micros)
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01. Years begin in March, and an era has 400 of them.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The serde module of an optional time in a native trace.
pub(crate) mod optional {
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    use crate::text::Text;

    pub(crate) fn serialize<S: Serializer>(time: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
        match time {
            None => serializer.serialize_none(),
            Some(micros) => super::format_micros(*micros)
                .ok_or_else(|| ser::Error::custom("a time outside the years 0 to 9999"))
                .and_then(|text| serializer.serialize_str(&text)),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
        let Some(text) = Option::<Text>::deserialize(deserializer)? else { return Ok(None) };
        super::parse_micros(text.as_str())
            .map(Some)
            .ok_or_else(|| de::Error::invalid_value(de::Unexpected::Str(text.as_str()), &"an RFC 3339 time"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_of_the_api_are_read_to_the_microsecond() {
        assert_eq!(parse_micros("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_micros("2026-11-21T00:28:37.786283Z"), Some(1_795_220_917_786_283));
        assert_eq!(parse_micros("2026-11-21T00:28:37.786283999Z"), Some(1_795_220_917_786_283));
        assert_eq!(parse_micros("2026-11-21T01:28:37.5+01:00"), Some(1_795_220_917_500_000));
        assert_eq!(parse_micros("2000-02-29T00:00:00Z"), Some(951_782_400_000_000));
        assert_eq!(parse_micros("1969-12-31T23:59:59.9999991Z"), Some(-1));
        assert_eq!(parse_micros("1970-01-01T00:59:59.9999991+01:00"), Some(-1));
    }

    #[test]
    fn each_time_that_is_read_can_be_written() {
        for text in ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00.000000Z"] {
            assert_eq!(format_micros(parse_micros(text).unwrap()).as_deref(), Some(text));
        }
        assert_eq!(format_micros(i64::MAX), None);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "yesterday", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-21T00:28:37", "5"]
        {
            assert_eq!(parse_micros(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_fast_reader_agrees_with_the_calendar(micros in -62_135_596_800_000_000_i64..253_402_300_799_000_000) {
            let text = format_micros(micros).unwrap();
            prop_assert_eq!(parse_utc(text.as_bytes()), Some(micros));
        }

        #[test]
        fn any_text_is_read_as_the_calendar_reads_it(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z") {
            if let Some(micros) = parse_utc(text.as_bytes()) {
                prop_assert_eq!(floor_micros(text.parse::<Timestamp>().unwrap()), Some(micros));
            }
        }
    }
}

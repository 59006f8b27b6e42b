//! Times as microseconds since 1970.

use jiff::Timestamp;

/// One second.
pub const SECOND: i64 = 1_000_000;
/// One hour.
pub const HOUR: i64 = 3600 * SECOND;

/// Reads an RFC 3339 time.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond)
}

/// Writes a time as audit logs do, with six digits.
#[must_use]
pub fn precise(micros: i64) -> String {
    let time = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Writes a time as API objects do, in whole seconds.
#[must_use]
pub fn whole(micros: i64) -> String {
    let time = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Moves a text if it is a time, and keeps its precision.
#[must_use]
pub fn moved(text: &str, micros: i64) -> Option<String> {
    let looks_right = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
    let time = if looks_right { parse(text)? } else { return None };
    Some(if text.contains('.') { precise(time + micros) } else { whole(time + micros) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_time_keeps_its_precision() {
        assert_eq!(moved("2026-11-21T00:28:30Z", -SECOND).as_deref(), Some("2026-11-21T00:28:29Z"));
        let precise = moved("2026-11-21T00:28:30.011435Z", HOUR);
        assert_eq!(precise.as_deref(), Some("2026-11-21T01:28:30.011435Z"));
        assert_eq!(moved("busybox", HOUR), None);
        assert_eq!(moved("a text that is longer than a time", HOUR), None);
    }
}

//! Clock times and dates of RFC 3339 texts.

/// The clock time in UTC: `10:11:12`.
pub fn time(text: Option<&str>) -> Option<&str> {
    text?.get(11..19)
}

/// The date in UTC: `2026-11-21`.
pub fn date(text: Option<&str>) -> Option<&str> {
    text?.get(..10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_date_and_a_clock() {
        let text = Some("2026-11-21T10:11:12.345678Z");
        assert_eq!((date(text), time(text)), (Some("2026-11-21"), Some("10:11:12")));
        assert_eq!((date(None), time(Some("short"))), (None, None));
    }
}

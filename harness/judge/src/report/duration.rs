//! Durations as Go writes them: `100ms`, `1m30s`, `1.5h`.

/// Nanoseconds of each unit, longest names first.
const UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// Reads a duration, in milliseconds.
pub fn milliseconds(text: &str) -> Result<i64, String> {
    let problem = || format!("expected a duration such as 100ms, 10s or 1m30s, found {text:?}");
    if text == "0" {
        return Ok(0);
    }
    let (mut rest, mut total) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(problem)?;
        let value: f64 = rest[..digits].parse().map_err(|_| problem())?;
        rest = &rest[digits..];
        let name = &rest[..rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len())];
        let (_, unit) = UNITS.iter().find(|(known, _)| *known == name).ok_or_else(problem)?;
        total += value * unit;
        rest = &rest[name.len()..];
    }
    // A century is more than any controller waits, and far from the ends of the number.
    let is_sensible = !text.is_empty() && total < 100.0 * 366.0 * 24.0 * 3600e9;
    if is_sensible { Ok((total / 1e6).round() as i64) } else { Err(problem()) }
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn durations_are_those_of_go() {
        for (text, expected) in [
            ("100ms", 100),
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("10m", 600_000),
            ("0", 0),
            ("500us", 1),
        ] {
            assert_eq!(milliseconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "10", "s", "10 s", "-1s", "1d", "1s5", "..s", "1e3s", "99999999999999h"] {
            assert!(milliseconds(text).is_err(), "{text}");
        }
    }
}

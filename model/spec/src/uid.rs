//! UIDs of API objects.

use std::fmt;
/// `metadata.uid` as 128 bits.
///
/// Kubernetes generates UUIDs. [`Uid::parse`] hashes any other text, so that traces of fake API servers and of tests
/// can be judged as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Uid(pub u128);

impl Uid {
    /// The empty text, which the API refuses in a list of UIDs (SS-02).
    pub const EMPTY: Uid = Uid(0);

    /// Reads the text of a UID. Equal texts have equal UIDs; only the empty text is [`Uid::EMPTY`].
    #[must_use]
    pub fn parse(text: &str) -> Uid {
        if text.is_empty() {
            return Uid::EMPTY;
        }
        parse_uuid(text).unwrap_or_else(|| Uid(hash_text(text)))
    }
}

fn parse_uuid(text: &str) -> Option<Uid> {
    let bytes = text.as_bytes();
    if bytes.len() != 36 {
        return None;
    }
    let mut value = 0u128;
    for (position, &byte) in bytes.iter().enumerate() {
        if matches!(position, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        // UIDs are compared as texts: upper case is another UID.
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u128::from(digit);
    }
    (value != 0).then_some(Uid(value))
}

/// Two FNV-1a hashes with different offsets. Collisions are unlikely, but not impossible to construct.
fn hash_text(text: &str) -> u128 {
    let fnv = |offset: u64| {
        text.bytes().fold(offset, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    };
    u128::from(fnv(0xcbf2_9ce4_8422_2325)) << 64 | u128::from(fnv(0x6c62_272e_07bb_0142)) | 1
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            v >> 96,
            (v >> 80) & 0xffff,
            (v >> 64) & 0xffff,
            (v >> 48) & 0xffff,
            v & 0xffff_ffff_ffff
        )
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1 << 32 { write!(f, "#{}", self.0) } else { fmt::Display::fmt(self, f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_printed_as_it_was_read() {
        let text = "a5bea2a9-d1b6-4d7c-a7b4-aa02fcb4ff1f";
        assert_eq!(Uid::parse(text).to_string(), text);
    }

    #[test]
    fn other_texts_have_distinct_uids_and_only_the_empty_text_is_empty() {
        let texts =
            ["a", "b", "A5BEA2A9-D1B6-4D7C-A7B4-AA02FCB4FF1F", "00000000-0000-0000-0000-000000000000"];
        let mut uids: Vec<Uid> = texts.iter().map(|t| Uid::parse(t)).collect();
        uids.sort_unstable();
        uids.dedup();
        assert_eq!(uids.len(), texts.len());
        assert!(uids.iter().all(|uid| *uid != Uid::EMPTY));
        assert_eq!(Uid::parse(""), Uid::EMPTY);
    }
}

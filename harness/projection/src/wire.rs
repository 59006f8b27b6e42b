//! Types for reading JSON without copying it.
//!
//! Every field of every struct is optional, because Kubernetes treats `null` as absent.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use jobcheck_spec::{Time, Uid};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::time::parse_time;

/// The zero time of Kubernetes, `0001-01-01T00:00:00Z`. Kubernetes writes it as `null`, and some clients
/// write it in full.
const ZERO: Time = Time(-62_135_596_800);

/// A text that borrows from the JSON if the string has no escapes.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Str<'a>(#[serde(borrow)] Cow<'a, str>);

impl AsRef<str> for Str<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Returns `true` if a text is present and equal to `expected`.
pub(super) fn is(text: Option<&Str<'_>>, expected: &str) -> bool {
    text.is_some_and(|text| text.as_ref() == expected)
}

/// The members of a map of strings (labels, annotations), sorted by key.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a>(pub(super) Vec<(Str<'a>, Str<'a>)>);

impl Pairs<'_> {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k.as_ref() == key).map(|(_, value)| value.as_ref())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs<'a>, D::Error> {
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for PairsVisitor<'a> {
    type Value = Pairs<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'a>, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, value)) = map.next_entry::<Str<'a>, Option<Str<'a>>>()? {
            pairs.push((key, value.unwrap_or_default()));
        }
        pairs.sort_unstable();
        Ok(Pairs(pairs))
    }
}

/// Reads a value from a string with `parse`.
struct TextVisitor<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::custom(format_args!("`{text}` is not {}", self.expected)))
    }
}

/// A time; `None` for the zero time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp(Option<Time>);

impl Stamp {
    /// The time; `None` if it is absent or zero.
    pub(super) fn time(stamp: Option<Stamp>) -> Option<Time> {
        stamp.and_then(|stamp| stamp.0)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Stamp, D::Error> {
        let parse = |text: &str| parse_time(text).map(|time| Stamp(Some(time).filter(|time| *time != ZERO)));
        deserializer.deserialize_str(TextVisitor { expected: "an RFC 3339 time", parse })
    }
}

/// A UID.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WireUid(pub(super) Uid);

impl<'de> Deserialize<'de> for WireUid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WireUid, D::Error> {
        let parse = |text: &str| Some(WireUid(Uid::parse(text)));
        deserializer.deserialize_str(TextVisitor { expected: "a UID", parse })
    }
}

/// A resource version: a decimal number, as Kubernetes guarantees since 1.35; `None` if the string is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireVersion(pub(super) Option<u64>);

impl<'de> Deserialize<'de> for WireVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WireVersion, D::Error> {
        let parse = |text: &str| {
            if text.is_empty() {
                Some(WireVersion(None))
            } else {
                text.parse().ok().map(|v| WireVersion(Some(v)))
            }
        };
        deserializer.deserialize_str(TextVisitor { expected: "a decimal resource version", parse })
    }
}

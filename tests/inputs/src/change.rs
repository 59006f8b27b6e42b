//! The changes of an input: as bytes, as lines, as words, and as JSON.

use serde_json::{Value, json};

use crate::Rng;
use crate::json::{pointers, remove};

/// The greatest length of an input, so that a target can be asked often.
const LONGEST: usize = 200_000;

/// Texts that have been special to readers, here and elsewhere.
const WORDS: &[&str] = &[
    "",
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "2147483647",
    "2147483648",
    "-2147483648",
    "9223372036854775807",
    "18446744073709551615",
    "0-2147483646",
    "1,0",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "2026-11-21T00:28:30.999999999+14:00",
    "292277026596-12-04T15:30:08Z",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{feff}",
    "\\u0000",
    "\\ud800",
    "../..",
    "%00",
    "%2e%2e",
    "*",
    "&a [*a]",
    "!!binary",
    "<<",
    "---",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":",
    "Failed",
    "Complete",
    "update",
    "delete",
    "patch",
    "default",
    "1.38",
];

/// Numbers at which readers have gone wrong.
const NUMBERS: &[i64] = &[0, 1, -1, 3, 2_147_483_647, 2_147_483_648, -2_147_483_648, i64::MAX, i64::MIN];

/// Changes an input at one to six places. `other` is a second input of the pool.
#[must_use]
pub fn changed(input: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=rng.below(6).min(rng.below(6)) {
        match rng.below(10) {
            0 => change_bytes(&mut bytes, rng),
            1 => splice(&mut bytes, other, rng),
            2 | 3 => change_lines(&mut bytes, other, rng),
            4 | 5 => change_word(&mut bytes, other, rng),
            _ => change_json(&mut bytes, other, rng),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

fn change_bytes(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let range = rng.range(bytes.len(), 4_000);
    match rng.below(5) {
        0 => bytes.truncate(range.start),
        1 if range.start < bytes.len() => {
            bytes[range.start] ^= u8::try_from(1 << rng.below(8)).unwrap_or(1);
        }
        2 => drop(bytes.drain(range)),
        3 => {
            let piece = bytes[range.clone()].repeat(1 + rng.below(3));
            bytes.splice(range.end..range.end, piece);
        }
        _ => {
            let new: Vec<u8> =
                (0..=rng.below(8)).map(|_| u8::try_from(rng.below(256)).unwrap_or(0)).collect();
            bytes.splice(range, new);
        }
    }
}

/// The end of the other input replaces the end of this one.
fn splice(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    bytes.truncate(rng.below(bytes.len() + 1));
    bytes.extend(&other[rng.below(other.len() + 1)..]);
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|byte| *byte == b'\n').collect()
}

fn change_lines(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let mut all = lines(bytes);
    let (at, to) = (rng.below(all.len()), rng.below(all.len()));
    match rng.below(5) {
        0 => drop(all.remove(at)),
        1 => all.insert(to, all[at]),
        2 => all.swap(at, to),
        3 => drop(all.drain(at.min(to)..at.max(to))),
        _ => {
            let foreign = lines(other);
            all.insert(at, foreign[rng.below(foreign.len())]);
        }
    }
    *bytes = all.join(&b'\n');
}

/// The ranges of the words and numbers of a text.
fn words(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let (mut found, mut from) = (Vec::new(), None);
    for (at, byte) in bytes.iter().enumerate() {
        match (is_part(*byte), from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                found.push(start..at);
                from = None;
            }
            _ => {}
        }
    }
    found.extend(from.map(|start| start..bytes.len()));
    found
}

fn change_word(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let places = words(bytes);
    if places.is_empty() {
        return;
    }
    let place = places[rng.below(places.len())].clone();
    let foreign = words(other);
    let new = match rng.below(3) {
        0 => bytes[places[rng.below(places.len())].clone()].to_vec(),
        1 if !foreign.is_empty() => other[foreign[rng.below(foreign.len())].clone()].to_vec(),
        _ => rng.one(WORDS).as_bytes().to_vec(),
    };
    bytes.splice(place, new);
}

/// Changes one line that is JSON.
fn change_json(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let all = lines(bytes);
    let at = rng.below(all.len());
    let Ok(mut whole) = serde_json::from_slice::<Value>(all[at]) else {
        return change_word(bytes, other, rng);
    };
    for _ in 0..=rng.below(3) {
        let places = pointers(&whole);
        if places.is_empty() {
            break;
        }
        let place = &places[rng.below(places.len())];
        if rng.below(6) == 0 {
            remove(&mut whole, place);
            continue;
        }
        let new = value(&whole, &places, other, rng);
        if let Some(old) = whole.pointer_mut(place) {
            *old = match (rng.below(8), old.take()) {
                // A value of the same type is not refused at once.
                (0..4, Value::Number(_)) => json!(NUMBERS[rng.below(NUMBERS.len())]),
                (0..4, Value::String(_)) => json!(rng.one(WORDS)),
                (0, Value::Array(mut items)) if items.len() < 100 => {
                    items.push(new);
                    vec![items; 1 + rng.below(40)].concat().into()
                }
                (1, Value::Object(mut members)) => {
                    members.insert(rng.one(WORDS).to_owned(), new);
                    members.into()
                }
                _ => new,
            };
        }
    }
    let text = whole.to_string().into_bytes();
    let mut all: Vec<Vec<u8>> = all.into_iter().map(<[u8]>::to_vec).collect();
    all[at] = text;
    *bytes = all.join(&b'\n');
}

/// A value that is odd, or that stands elsewhere.
fn value(whole: &Value, places: &[String], other: &[u8], rng: &mut Rng) -> Value {
    match rng.below(10) {
        0 => Value::Null,
        1 => json!(rng.below(2) == 0),
        2 => json!(NUMBERS[rng.below(NUMBERS.len())]),
        3 => json!(u64::MAX),
        4 => json!(1.5e300),
        5 => json!([]),
        6 => json!({}),
        7 => json!(rng.one(WORDS)),
        8 => whole.pointer(&places[rng.below(places.len())]).cloned().unwrap_or_default(),
        _ => {
            let foreign = lines(other);
            let line = foreign[rng.below(foreign.len())];
            let Ok(foreign) = serde_json::from_slice::<Value>(line) else { return json!(rng.one(WORDS)) };
            let places = pointers(&foreign);
            let place = places.get(rng.below(places.len()));
            place.and_then(|place| foreign.pointer(place)).cloned().unwrap_or_default()
        }
    }
}

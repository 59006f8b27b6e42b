//! Reads JSON in which no object has a member twice.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// Reads a document.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut deserializer)?;
    deserializer.end().map(|()| value)
}

/// Members that whoever has sent a request fills as they like. A record is as good without one that cannot be read.
const OF_OTHERS: [&str; 5] = ["requestObject", "responseObject", "request", "response", "managedFields"];
/// The depth of such members in a record: `managedFields` is in `metadata` of an object.
const DEEPEST: u8 = 3;

/// Reads a record without those bodies in it that cannot be read. One may be nested deeper than any object is, or have a
/// member twice. None if something else cannot be read.
pub(super) fn without_unreadable_bodies(text: &str) -> Option<Value> {
    readable_members(text, DEEPEST)
}

fn readable_members(text: &str, depth: u8) -> Option<Value> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let mut all = Map::new();
    for (key, raw) in members {
        let inner = || readable_members(raw.get(), depth.checked_sub(1)?);
        match parse(raw.get()).ok().or_else(inner) {
            Some(value) => _ = all.insert(key, value),
            None if OF_OTHERS.contains(&key.as_str()) => {}
            None => return None,
        }
    }
    Some(Value::Object(all))
}

/// The members of an object as text, each once.
struct Members(BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Members, A::Error> {
                once(members, PhantomData).map(Members)
            }
        }
        deserializer.deserialize_map(Once)
    }
}

/// Reads the members of an object. An error if it has one twice.
fn once<'de, A: MapAccess<'de>, S: DeserializeSeed<'de> + Copy>(
    mut members: A,
    seed: S,
) -> Result<BTreeMap<String, S::Value>, A::Error> {
    let mut all = BTreeMap::new();
    while let Some(key) = members.next_key::<String>()? {
        match all.entry(key) {
            Entry::Occupied(entry) => {
                let message = format!("an object has the member {:?} twice", entry.key());
                return Err(A::Error::custom(message));
            }
            Entry::Vacant(entry) => entry.insert(members.next_value_seed(seed)?),
        };
    }
    Ok(all)
}

#[derive(Clone, Copy)]
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Value, A::Error> {
        once(members, Strict).map(|all| Value::Object(all.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_as_serde_json_reads_it() {
        for text in ["null", "[1,-2,3.5,true,\"a\"]", "{\"a\":{\"b\":[]},\"c\":{}}", "18446744073709551615"] {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
        for text in ["", "{", "1 2", "[1,]"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_member_that_is_there_twice_is_an_error() {
        for text in ["{\"a\":1,\"a\":1}", "[{\"b\":{\"a\":1,\"\\u0061\":2}}]"] {
            assert!(parse(text).unwrap_err().to_string().contains("the member \"a\" twice"), "{text}");
        }
    }

    #[test]
    fn a_body_that_cannot_be_read_is_left_out() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for body in [deep.as_str(), r#"{"a":1,"a":2}"#, "1e999"] {
            let event =
                format!(r#"{{"auditID":"1","requestObject":{body},"responseObject":{{"kind":"Job"}}}}"#);
            let read = without_unreadable_bodies(&event).unwrap();
            assert_eq!(read.to_string(), r#"{"auditID":"1","responseObject":{"kind":"Job"}}"#);
            let watched = format!(
                r#"{{"type":"ADDED","object":{{"metadata":{{"name":"a","managedFields":{body}}}}}}}"#
            );
            let read = without_unreadable_bodies(&watched).unwrap();
            assert_eq!(read.to_string(), r#"{"object":{"metadata":{"name":"a"}},"type":"ADDED"}"#);
            assert!(without_unreadable_bodies(&format!(r#"{{"user":{body}}}"#)).is_none());
        }
    }
}

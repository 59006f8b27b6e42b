//! Objects of which a single one may be unreadable. The others are read all the same: whoever may change one object of a
//! cluster must not stop the controllers of all. An API server that sends `null` instead of an object must not, either.

use std::any::type_name;
use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::{Timestamp, civil};
use kube::Resource;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::{self, RawValue};

/// An object, or the reason for which it cannot be read.
#[derive(Clone, Debug)]
pub struct Readable<K>(Result<K, Box<Unreadable>>);

/// An object that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct Unreadable {
    /// Its name, namespace, UID and version, as far as they are texts.
    pub metadata: ObjectMeta,
    /// The reason.
    pub why: String,
}

impl<K> Readable<K> {
    /// The object.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn read(self) -> Result<K, Box<Unreadable>> {
        self.0
    }
}

impl<K: DeserializeOwned> Readable<K> {
    /// Reads an object of another type, such as a JSON value or a `DynamicObject`.
    #[must_use]
    pub fn of(object: &impl Serialize) -> Self {
        let value = serde_json::to_value(object).unwrap_or_default();
        K::deserialize(&value).map_or_else(|_| Self::parse(&value.to_string()), |object| Readable(Ok(object)))
    }

    fn parse(object: &str) -> Self {
        let read = serde_json::from_str(object)
            .or_else(|why| read_instead(without_managed_fields(object), why))
            .or_else(|why| read_instead(with_latest_times(object), why));
        let unreadable =
            |why: serde_json::Error| Unreadable { metadata: identity(object), why: why.to_string() };
        Readable(read.map_err(|why| Box::new(unreadable(why))))
    }
}

/// Reads this text after an error, if there is one.
fn read_instead<K: DeserializeOwned>(
    text: Option<String>,
    why: serde_json::Error,
) -> Result<K, serde_json::Error> {
    serde_json::from_str(&text.ok_or(why)?)
}

/// The members of a JSON object.
type Members = BTreeMap<String, Box<RawValue>>;

/// The metadata that identify an object. Without such metadata they are empty.
fn identity(object: &str) -> ObjectMeta {
    let members = |text: &str| serde_json::from_str::<Members>(text).unwrap_or_default();
    let metadata = members(object).get("metadata").map(|it| members(it.get())).unwrap_or_default();
    let text = |name: &str| metadata.get(name).and_then(|text| serde_json::from_str(text.get()).ok());
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        ..ObjectMeta::default()
    }
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Readable<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // An event whose `object` comes before its `type` is no text any more. Kubernetes writes the type first.
        let raw = match type_name::<D>().contains("serde_json::de::Deserializer") {
            true => Box::<RawValue>::deserialize(deserializer)?,
            false => value::to_raw_value(&Value::deserialize(deserializer)?).map_err(D::Error::custom)?,
        };
        Ok(Self::parse(raw.get()))
    }
}

/// An object without `metadata.managedFields`; none if it has no such fields. Whoever may change an object chooses their times and
/// their depth, so that they may keep it from being read, and nobody here reads them.
fn without_managed_fields(object: &str) -> Option<String> {
    let mut members: Members = serde_json::from_str(object).ok()?;
    let mut metadata: Members = serde_json::from_str(members.get("metadata")?.get()).ok()?;
    metadata.remove("managedFields")?;
    members.insert("metadata".into(), value::to_raw_value(&metadata).ok()?);
    serde_json::to_string(&members).ok()
}

/// The latest time in whole seconds that [`Timestamp`] can represent. Go also represents the following 26 hours.
const LATEST: &str = "9999-12-30T22:00:00Z";

/// An object without managed fields whose later times are [`LATEST`]; none if it has no later time.
///
/// Users may store such times, for example in a template. Go reads them, and so must everybody who reads the object.
fn with_latest_times(object: &str) -> Option<String> {
    let rest = without_managed_fields(object);
    let mut value = serde_json::from_str(rest.as_deref().unwrap_or(object)).ok()?;
    limit_times(&mut value).then(|| value.to_string())
}

/// Replaces the times after [`LATEST`]. Returns true if there are some.
fn limit_times(value: &mut Value) -> bool {
    let mut is_changed = false;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| is_changed |= limit_times(item)),
        Value::Object(members) => {
            // A text of a user is no time, whatever it looks like.
            for (name, value) in members.iter_mut().filter(|(name, _)| *name != "annotations") {
                match value {
                    Value::String(text) if is_time(name) && is_too_late(text) => {
                        LATEST.clone_into(text);
                        is_changed = true;
                    }
                    value => is_changed |= limit_times(value),
                }
            }
        }
        _ => {}
    }
    is_changed
}

/// Returns true for the names of times in Kubernetes, such as `startTime`, `deletionTimestamp`, and `finishedAt`.
fn is_time(name: &str) -> bool {
    ["Time", "Timestamp", "At"].iter().any(|end| name.ends_with(end))
}

fn is_too_late(text: &str) -> bool {
    let is_time = text.strip_suffix('Z').is_some_and(|date| date.parse::<civil::DateTime>().is_ok());
    is_time && text.parse::<Timestamp>().is_err()
}

impl<K: Resource> Resource for Readable<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(unreadable) => &unreadable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(unreadable) => &mut unreadable.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::ResourceExt;
    use kube::api::DynamicObject;
    use serde_json::json;

    use super::*;

    fn pod(metadata: &str, status: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"p","namespace":"n","resourceVersion":"7"{metadata}}},"spec":{{"containers":[]}},"status":{status}}}"#
        )
    }

    #[test]
    fn managed_fields_keep_no_object_from_being_read() {
        let deep = format!("{}{}", "{\"f:a\":".repeat(300), "1".to_owned() + &"}".repeat(300));
        for fields in [r#"{"time":"9999-12-31T23:59:59Z"}"#.to_owned(), format!("{{\"fieldsV1\":{deep}}}")] {
            let text = pod(&format!(",\"managedFields\":[{fields}]"), "{}");
            let read: Readable<Pod> = serde_json::from_str(&text).unwrap();
            assert_eq!(read.read().unwrap().name_any(), "p");
            let read: Readable<DynamicObject> = serde_json::from_str(&text).unwrap();
            assert_eq!(read.read().unwrap().namespace().as_deref(), Some("n"));
        }
    }

    /// The API server stores these times, and the built-in controllers read them.
    #[test]
    fn times_that_only_go_can_represent_are_the_latest_ones() {
        let late = "9999-12-31T23:59:59Z";
        let status = format!(
            r#"{{"startTime":"{late}","phase":"{late}","conditions":[{{"type":"a","status":"b","lastTransitionTime":"{late}"}}]}}"#
        );
        let metadata = format!(
            r#","creationTimestamp":"{late}","deletionTimestamp":"2026-01-01T00:00:00Z","annotations":{{"aTime":"{late}"}},"managedFields":[{{"time":"{late}"}}]"#
        );
        let text = pod(&metadata, &status);
        let value: Value = serde_json::from_str(&text).unwrap();
        for read in [serde_json::from_str(&text).unwrap(), Readable::<Pod>::of(&value)] {
            let read = serde_json::to_value(read.read().unwrap()).unwrap();
            assert_eq!(read["status"]["startTime"], LATEST);
            assert_eq!(read["status"]["conditions"][0]["lastTransitionTime"], LATEST);
            assert_eq!(read["metadata"]["creationTimestamp"], LATEST);
            assert_eq!(read["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
            assert_eq!(
                (&read["metadata"]["annotations"]["aTime"], &read["status"]["phase"]),
                (&late.into(), &late.into())
            );
        }
    }

    #[test]
    fn a_text_that_is_no_time_is_not_read_as_one() {
        for text in ["9999-13-31T23:59:59Z", "later", "", "10000-01-01T00:00:00Z", "9999-12-31"] {
            assert!(!is_too_late(text), "{text}");
            let read: Readable<Pod> =
                serde_json::from_str(&pod("", &format!(r#"{{"startTime":"{text}"}}"#))).unwrap();
            assert!(read.read().is_err(), "{text}");
        }
        for (text, late) in
            [("9999-12-30T22:00:00Z", false), ("9999-12-30T22:00:01Z", true), ("9999-12-31T23:59:59Z", true)]
        {
            assert_eq!(is_too_late(text), late, "{text}");
        }
    }

    #[test]
    fn another_object_is_named_with_the_reason() {
        let text = pod("", r#"{"startTime":7}"#);
        let list = json!({"metadata": {"resourceVersion": "9"}, "items": ["BAD"]})
            .to_string()
            .replace("\"BAD\"", &text);
        let list: kube::core::ObjectList<Readable<Pod>> = serde_json::from_str(&list).unwrap();
        let item = list.items.into_iter().next().unwrap();
        assert_eq!((item.name_any().as_str(), item.resource_version().as_deref()), ("p", Some("7")));
        assert!(item.read().unwrap_err().why.contains("integer `7`"));
    }

    #[test]
    fn an_item_that_is_no_object_or_has_no_metadata_leaves_the_others_readable() {
        for item in ["null", "7", "\"x\"", "[[]]", r#"{"metadata":7}"#, r#"{"metadata":{"name":[]}}"#] {
            let text =
                format!(r#"{{"metadata":{{"resourceVersion":"9"}},"items":[{item},{}]}}"#, pod("", "{}"));
            let list: kube::core::ObjectList<Readable<Pod>> = serde_json::from_str(&text).unwrap();
            let [bad, good]: [Readable<Pod>; 2] = list.items.try_into().unwrap();
            assert_eq!((bad.name_any().as_str(), bad.resource_version()), ("", None), "{item}");
            assert!(bad.read().is_err(), "{item}");
            assert_eq!(good.read().unwrap().name_any(), "p", "{item}");
        }
        let text = r#"{"metadata":{"name":"p","uid":"u","resourceVersion":7}}"#;
        let Unreadable { metadata, .. } =
            *serde_json::from_str::<Readable<Pod>>(text).unwrap().read().unwrap_err();
        let ObjectMeta { name, uid, resource_version, .. } = metadata;
        assert_eq!((name.as_deref(), uid.as_deref(), resource_version), (Some("p"), Some("u"), None));
    }

    /// Kubernetes writes the type of an event first; others may not.
    #[test]
    fn events_are_read_in_both_orders() {
        let text = pod("", "{}");
        for line in [
            format!("{{\"type\":\"ADDED\",\"object\":{text}}}"),
            format!("{{\"object\":{text},\"type\":\"ADDED\"}}"),
        ] {
            let kube::core::WatchEvent::Added(object) =
                serde_json::from_str::<kube::core::WatchEvent<Readable<Pod>>>(&line).unwrap()
            else {
                panic!("{line}")
            };
            assert_eq!(object.read().unwrap().name_any(), "p");
        }
    }

    #[test]
    fn the_rest_of_an_object_stays_as_it_is() {
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        let object = format!(
            r#"{{"kind":"Job","metadata":{{"managedFields":{deep},"name":"a"}},"spec":{{"x": 1.0}}}}"#
        );
        let rest = without_managed_fields(&object).unwrap();
        assert_eq!(rest, r#"{"kind":"Job","metadata":{"name":"a"},"spec":{"x": 1.0}}"#);
        assert_eq!(without_managed_fields(&rest), None);
        assert_eq!(without_managed_fields("[]"), None);
    }
}

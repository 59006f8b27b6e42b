//! Objects of which a single one may be unreadable. The others are read all the same: whoever may change one object of a
//! cluster must not stop the controllers of all. An API server that sends `null` instead of an object must not, either.

use std::any::type_name;
use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
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
        let object = serde_json::from_str(raw.get()).or_else(|why| {
            let rest = without_managed_fields(raw.get()).ok_or(why)?;
            serde_json::from_str(&rest)
        });
        Ok(Readable(
            object
                .map_err(|why| Box::new(Unreadable { metadata: identity(raw.get()), why: why.to_string() })),
        ))
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

    #[test]
    fn another_object_is_named_with_the_reason() {
        let text = pod("", r#"{"startTime":"9999-12-31T23:59:59Z"}"#);
        let list = json!({"metadata": {"resourceVersion": "9"}, "items": ["BAD"]})
            .to_string()
            .replace("\"BAD\"", &text);
        let list: kube::core::ObjectList<Readable<Pod>> = serde_json::from_str(&list).unwrap();
        let item = list.items.into_iter().next().unwrap();
        assert_eq!((item.name_any().as_str(), item.resource_version().as_deref()), ("p", Some("7")));
        assert!(item.read().unwrap_err().why.contains("datetime"));
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

//! Objects as recorded text. Nothing is parsed before somebody reads it, and fields of a newer Kubernetes
//! survive.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::text::Text;

/// The text of one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object<'a>(&'a str);

impl<'a> Object<'a> {
    /// Checks that a text is one JSON value.
    ///
    /// # Errors
    ///
    /// The text is no JSON value.
    pub fn new(text: &'a str) -> serde_json::Result<Object<'a>> {
        serde_json::from_str(text).map(Object::from_raw)
    }

    pub(crate) fn from_raw(raw: &'a RawValue) -> Object<'a> {
        Object(raw.get())
    }

    /// An object from a text that was checked before.
    pub(crate) fn from_checked(text: &'a str) -> Object<'a> {
        Object(text)
    }

    /// The text.
    #[must_use]
    pub fn text(self) -> &'a str {
        self.0
    }

    /// Deserialises the text as a `T`, which may borrow from it.
    ///
    /// # Errors
    ///
    /// The text is no `T`.
    pub fn read<T: Deserialize<'a>>(self) -> serde_json::Result<T> {
        serde_json::from_str(self.0)
    }
}

impl<'a> From<&'a RawValue> for Object<'a> {
    fn from(raw: &'a RawValue) -> Object<'a> {
        Object::from_raw(raw)
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<'a>, D::Error> {
        <&'a RawValue>::deserialize(deserializer).map(Object::from_raw)
    }
}

/// The content of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The response was not recorded.
    Absent,
    /// The requested Job or Pod.
    Whole,
    /// Only metadata (`PartialObjectMetadata`).
    Metadata,
    /// A `Status`: a refusal, or the confirmation of a deletion.
    Status,
    /// Another kind, such as the list in the response to a deletecollection.
    Other,
}

/// The outermost fields of an object.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outline<'a> {
    pub api_version: Cow<'a, str>,
    pub kind: Cow<'a, str>,
    pub metadata: Option<Metadata<'a>>,
    pub reason: Option<Text<'a>>,
    pub message: Option<Text<'a>>,
}

/// The required fields of `metadata`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Metadata<'a> {
    pub namespace: Option<Text<'a>>,
    pub name: Option<Text<'a>>,
    pub uid: Option<Text<'a>>,
    pub resource_version: Option<Text<'a>>,
    /// True if the object is being deleted and has no finalizer left. Known only if there is no version, because reading stops
    /// otherwise.
    pub is_removed: bool,
}

impl<'a> Outline<'a> {
    /// Reads the outline of an object. For Jobs and Pods, reading stops behind `metadata`: the rest is most
    /// of the text, and its syntax was checked with the line.
    pub(crate) fn of(object: Object<'a>) -> serde_json::Result<Outline<'a>> {
        let mut outline = Outline::default();
        let mut text = serde_json::Deserializer::from_str(object.0);
        match Fill(&mut outline).deserialize(&mut text) {
            Err(error) if !outline.is_enough() => Err(error),
            _ => Ok(outline),
        }
    }

    fn is_enough(&self) -> bool {
        self.metadata.is_some() && self.is_of_a_trace()
    }

    /// Returns `true` if the object is known to be a Job or a Pod.
    fn is_of_a_trace(&self) -> bool {
        !self.api_version.is_empty() && matches!(&*self.kind, "Job" | "Pod")
    }
}

/// Fills an outline and stops when it is complete, which serde_json reports as an error.
struct Fill<'o, 'a>(&'o mut Outline<'a>);

impl<'a> DeserializeSeed<'a> for Fill<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Fill<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let outline = self.0;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "apiVersion" => outline.api_version = map.next_value::<Option<Text>>()?.unwrap_or_default().0,
                "kind" => outline.kind = map.next_value::<Option<Text>>()?.unwrap_or_default().0,
                "metadata" => {
                    let stops = outline.is_of_a_trace();
                    map.next_value_seed(FillMetadata { metadata: &mut outline.metadata, stops })?;
                }
                "reason" => outline.reason = map.next_value()?,
                "message" => outline.message = map.next_value()?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
            if outline.is_enough() {
                break;
            }
        }
        Ok(())
    }
}

/// Fills the metadata of an outline.
struct FillMetadata<'o, 'a> {
    metadata: &'o mut Option<Metadata<'a>>,
    /// Stops when all fields are known. The object is a Job or a Pod, so that this completes the outline.
    stops: bool,
}

impl<'a> DeserializeSeed<'a> for FillMetadata<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'a> Visitor<'a> for FillMetadata<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = Metadata::default();
        let (mut is_deleted, mut is_held) = (false, false);
        while let Some(Text(key)) = map.next_key()? {
            let (field, name) = match &*key {
                "namespace" => (&mut found.namespace, "namespace"),
                "name" => (&mut found.name, "name"),
                "uid" => (&mut found.uid, "uid"),
                "resourceVersion" => (&mut found.resource_version, "resourceVersion"),
                "deletionTimestamp" => {
                    is_deleted = map.next_value::<Option<IgnoredAny>>()?.is_some();
                    continue;
                }
                "finalizers" => {
                    is_held =
                        map.next_value::<Option<Vec<IgnoredAny>>>()?.is_some_and(|them| !them.is_empty());
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if field.is_some() {
                return Err(serde::de::Error::duplicate_field(name));
            }
            *field = map.next_value()?;
            let Metadata { namespace, name, uid, resource_version, .. } = &found;
            if self.stops && [namespace, name, uid, resource_version].into_iter().all(Option::is_some) {
                break;
            }
        }
        found.is_removed = is_deleted && !is_held;
        *self.metadata = Some(found);
        Ok(())
    }
}

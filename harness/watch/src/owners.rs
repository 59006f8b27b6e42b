//! The owners that recorded objects show, and the objects of a collection.

use jobcheck_spec::Uid;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The controller that an object shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    /// The Job with this UID.
    Job(String),
    /// An object of another kind.
    Other,
    /// Nobody, so that a Job may adopt the object.
    Nobody,
}

impl Controller {
    /// The UID of the Job, if it is one.
    pub(crate) fn job(self) -> Option<String> {
        match self {
            Controller::Job(uid) => Some(uid),
            Controller::Other | Controller::Nobody => None,
        }
    }
}

/// The owners of an object. Most pods of a cluster have other owners than Jobs, so that little is read.
#[derive(Deserialize)]
struct Owned {
    metadata: OwnedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnedMetadata {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerReference {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    controller: bool,
}

impl OwnerReference {
    /// Returns true if the owner is a Job of Kubernetes. Others have Jobs, too, such as Volcano.
    fn is_job(&self) -> bool {
        self.kind == "Job" && self.api_version == "batch/v1"
    }
}

/// The metadata of an object; `None` for another text, such as a patch in JSON.
fn metadata_of(object: &str) -> Option<OwnedMetadata> {
    // A list would be read as the members of an object in their order.
    let is_object = object.trim_start().starts_with('{');
    let owned: Owned = is_object.then(|| serde_json::from_str(object).ok()).flatten()?;
    Some(owned.metadata)
}

/// The controller of an object; `None` if the text is no object with metadata.
pub(crate) fn controller_of(object: &str) -> Option<Controller> {
    let controller = metadata_of(object)?.owner_references.into_iter().find(|owner| owner.controller);
    Some(match controller {
        Some(owner) if owner.is_job() => Controller::Job(known_as(&owner.uid)),
        Some(_) => Controller::Other,
        None => Controller::Nobody,
    })
}

/// The UID of an object, as it is written there.
pub(crate) fn uid_of(object: &str) -> Option<String> {
    Some(metadata_of(object)?.uid).filter(|uid| !uid.is_empty())
}

/// The UID under which the judge reports a Job. A UID that is no UUID has a digest in its place, which can be the name of a
/// file, too.
pub(crate) fn known_as(uid: &str) -> String {
    Uid::parse(uid).to_string()
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// The objects of a list; `None` if the text is no list.
pub(crate) fn items_of(list: &str) -> Option<Vec<&str>> {
    let list: List<'_> = serde_json::from_str(list).ok()?;
    Some(list.items.into_iter().map(RawValue::get).collect())
}

/// A list of these objects.
pub(crate) fn list_of(items: &[&str]) -> String {
    format!(r#"{{"kind":"List","apiVersion":"v1","items":[{}]}}"#, items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "a5bea2a9-d1b6-4d7c-a7b4-aa02fcb4ff1f";

    #[test]
    fn the_controller_is_the_owner_that_controls() {
        let of_group = |group: &str, kind: &str, controller: bool| {
            format!(
                r#"{{"metadata":{{"ownerReferences":[{{"apiVersion":"{group}/v1","kind":"{kind}","uid":"{JOB}","controller":{controller}}}]}}}}"#
            )
        };
        let owner = |kind: &str, controller: bool| of_group("batch", kind, controller);
        assert_eq!(controller_of(&owner("Job", true)), Some(Controller::Job(JOB.to_owned())));
        assert_eq!(controller_of(&of_group("batch.volcano.sh", "Job", true)), Some(Controller::Other));
        assert_eq!(controller_of(&owner("ReplicaSet", true)), Some(Controller::Other));
        assert_eq!(controller_of(&owner("Job", false)), Some(Controller::Nobody));
        assert_eq!(controller_of(r#"{"metadata":{}}"#), Some(Controller::Nobody));
        assert_eq!(controller_of(r#"[{"op":"remove"}]"#), None);
        let release = r#"{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"u"}]}}"#;
        assert_eq!(controller_of(release), Some(Controller::Nobody));
    }

    #[test]
    fn a_list_is_cut_into_its_objects() {
        assert_eq!(items_of(r#"{"kind":"Status","metadata":{}}"#), None);
        let items = items_of(r#"{"items":[{"a":1}, {"b":2}]}"#).unwrap();
        assert_eq!(items, [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert_eq!(items_of(&list_of(&items)).unwrap(), items);
    }
}

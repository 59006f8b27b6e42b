//! `metadata` of any object.
//!
//! | field of `Metadata` | JSON path below `metadata` |
//! | --- | --- |
//! | `name`, `generate_name`, `namespace`, `uid`, `resource_version`, `finalizers` | the same in camel case |
//! | `labels`, `annotations` | the same, sorted by key |
//! | `controller` | the first of `ownerReferences` with `controller: true` |
//! | `other_owners` | the other `ownerReferences` |
//! | `deletion_timestamp`, `deletion_grace_period_seconds` | the same in camel case |
//! | ignored | `managedFields`, `selfLink` |

use jobcheck_spec::birth::OwnerRef;
use jobcheck_spec::job::{JobMetadata, Text};
use jobcheck_spec::{Time, Uid};
use serde::Deserialize;

use super::Projector;
use super::cache::Texts;
use super::digest;
use super::error::{ProjectError, read};
use super::wire::{Pairs, Stamp, Str, WireUid, WireVersion};

/// The metadata of an object of any kind, also of a `PartialObjectMetadata`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Metadata {
    /// `name`; empty if the API server has yet to generate it.
    pub name: Text,
    /// `generateName`.
    pub generate_name: Option<Text>,
    /// `namespace`.
    pub namespace: Text,
    /// `uid`; [`Uid::EMPTY`] in a request.
    pub uid: Uid,
    /// `resourceVersion`.
    pub resource_version: Option<u64>,
    /// `generation`.
    pub generation: Option<i64>,
    /// `labels`, sorted by key.
    pub labels: Vec<(Text, Text)>,
    /// `annotations`, sorted by key.
    pub annotations: Vec<(Text, Text)>,
    /// `finalizers`, in their order, with repetitions.
    pub finalizers: Vec<Text>,
    /// The owner reference with `controller: true`.
    pub controller: Option<OwnerRef>,
    /// The other owner references.
    pub other_owners: Vec<OwnerRef>,
    /// `deletionTimestamp`.
    pub deletion_timestamp: Option<Time>,
    /// `deletionGracePeriodSeconds`.
    pub deletion_grace_period_seconds: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMetadata<'a> {
    #[serde(borrow)]
    name: Option<Str<'a>>,
    #[serde(borrow)]
    generate_name: Option<Str<'a>>,
    #[serde(borrow)]
    namespace: Option<Str<'a>>,
    uid: Option<WireUid>,
    resource_version: Option<WireVersion>,
    pub(super) generation: Option<i64>,
    pub(super) creation_timestamp: Option<Stamp>,
    deletion_timestamp: Option<Stamp>,
    deletion_grace_period_seconds: Option<i64>,
    #[serde(borrow)]
    pub(super) labels: Option<Pairs<'a>>,
    #[serde(borrow)]
    pub(super) annotations: Option<Pairs<'a>>,
    #[serde(borrow)]
    owner_references: Option<Vec<WireOwner<'a>>>,
    #[serde(borrow)]
    finalizers: Option<Vec<Str<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOwner<'a> {
    #[serde(borrow)]
    api_version: Option<Str<'a>>,
    #[serde(borrow)]
    kind: Option<Str<'a>>,
    #[serde(borrow)]
    name: Option<Str<'a>>,
    uid: Option<WireUid>,
    controller: Option<bool>,
    block_owner_deletion: Option<bool>,
}

#[derive(Deserialize)]
struct WireObject<'a> {
    #[serde(borrow)]
    metadata: Option<WireMetadata<'a>>,
}

impl Metadata {
    /// The parts that several actors write, as a Job has them.
    #[must_use]
    pub fn of_job(&self) -> JobMetadata {
        let digests = |pairs: &[(Text, Text)]| {
            pairs.iter().map(|(key, value)| (key.clone(), digest::of(value))).collect::<Vec<_>>()
        };
        let owners = self.controller.iter().chain(&self.other_owners);
        let mut owners: Vec<(Text, u64)> = owners
            .map(|owner| (format!("{} {}", owner.kind, owner.name).into(), digest::of(owner)))
            .collect();
        owners.sort_unstable();
        JobMetadata { labels: digests(&self.labels), annotations: digests(&self.annotations), owners }
    }
}

impl Projector {
    /// Projects the metadata of an object of any kind.
    ///
    /// # Errors
    ///
    /// A field has a wrong type.
    pub fn metadata(&mut self, text: &str) -> Result<Metadata, ProjectError> {
        let wire: WireObject = read(text, "")?;
        Ok(project(&mut self.texts, wire.metadata.as_ref().unwrap_or(&WireMetadata::default())))
    }
}

/// Projects metadata that is part of an object.
pub(super) fn project(texts: &mut Texts, wire: &WireMetadata<'_>) -> Metadata {
    let mut other_owners = owners(texts, wire);
    let controller =
        other_owners.iter().position(|owner| owner.is_controller).map(|i| other_owners.remove(i));
    Metadata {
        name: texts.share_or_empty(wire.name.as_ref()),
        generate_name: wire.generate_name.as_ref().map(|name| texts.share(name.as_ref())),
        namespace: texts.share_or_empty(wire.namespace.as_ref()),
        uid: wire.uid.unwrap_or_default().0,
        resource_version: wire.resource_version.and_then(|version| version.0),
        generation: wire.generation,
        labels: pairs(texts, wire.labels.as_ref()),
        annotations: pairs(texts, wire.annotations.as_ref()),
        finalizers: wire.finalizers.iter().flatten().map(|name| texts.share(name.as_ref())).collect(),
        controller,
        other_owners,
        deletion_timestamp: Stamp::time(wire.deletion_timestamp),
        deletion_grace_period_seconds: wire.deletion_grace_period_seconds,
    }
}

/// A map of strings as shared texts, sorted by key.
pub(super) fn pairs(texts: &mut Texts, wire: Option<&Pairs<'_>>) -> Vec<(Text, Text)> {
    let Some(Pairs(pairs)) = wire else { return Vec::new() };
    pairs.iter().map(|(key, value)| (texts.share(key.as_ref()), texts.share(value.as_ref()))).collect()
}

fn owners(texts: &mut Texts, wire: &WireMetadata<'_>) -> Vec<OwnerRef> {
    let owner = |owner: &WireOwner<'_>| OwnerRef {
        api_version: texts.share_or_empty(owner.api_version.as_ref()),
        kind: texts.share_or_empty(owner.kind.as_ref()),
        name: texts.share_or_empty(owner.name.as_ref()),
        uid: owner.uid.unwrap_or_default().0,
        is_controller: owner.controller == Some(true),
        block_owner_deletion: owner.block_owner_deletion,
    };
    wire.owner_references.iter().flatten().map(owner).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{METADATA, raw, with};
    use super::*;
    use serde_json::json;

    #[test]
    fn partial_object_metadata_is_read() {
        let owners = json!([{"kind": "Job", "uid": "u"}]);
        let edits = [
            ("/metadata/deletionTimestamp", json!("2026-11-21T00:32:08Z")),
            ("/metadata/deletionGracePeriodSeconds", json!(0)),
            ("/metadata/ownerReferences", owners),
        ];
        let read = Projector::new().metadata(&raw(&with(METADATA, &edits))).unwrap();
        assert_eq!((&*read.name, &*read.namespace), ("job-qd7fs", "t-job-deleted-orphan-1795221127"));
        assert_eq!(read.uid, Uid::parse("7d04d108-be68-4bd8-99c0-9cd67cf26ac0"));
        assert_eq!((read.resource_version, read.labels.len(), read.annotations.len()), (Some(1046), 4, 0));
        assert_eq!(read.finalizers, ["batch.kubernetes.io/job-tracking".into()]);
        assert_eq!((read.controller, read.other_owners[0].uid), (None, Uid::parse("u")));
        assert_eq!(read.deletion_timestamp, Some(Time(1_795_221_128)));
        assert_eq!(read.deletion_grace_period_seconds, Some(0));
    }
}

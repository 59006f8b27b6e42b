//! A pod at its creation, reduced to the fields that requirements name (FT-01, PC-14, PC-16, PC-17, BI-02).
//!
//! [`Pod`](crate::pod::Pod) has the facts from which a controller decides. The fields here are compared once, with the
//! Job and its template, and then forgotten.

use crate::job::Text;
use crate::uid::Uid;

/// The annotation, and the label, with the completion index of a pod (PC-17).
pub const INDEX_KEY: &str = "batch.kubernetes.io/job-completion-index";
/// The annotation with the number of failures of the pod's index (BI-02).
pub const FAILURE_COUNT_KEY: &str = "batch.kubernetes.io/job-index-failure-count";
/// The annotation with the number of ignored failures of the pod's index (BI-02).
pub const IGNORED_FAILURE_COUNT_KEY: &str = "batch.kubernetes.io/job-index-ignored-failure-count";
/// The environment variable with the completion index (PC-17).
pub const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// A created pod, as it was stored and as its sender asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Birth {
    /// The pod that the API server stored, or the request if it was refused.
    pub created: PodBirth,
    /// The pod in the request, before admission. `None` if the trace does not show the request.
    pub asked: Option<PodBirth>,
}

/// A pod at its creation.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PodBirth {
    /// `metadata.generateName`.
    pub generate_name: Option<Text>,
    /// `metadata.labels`, sorted by key.
    pub labels: Vec<(Text, Text)>,
    /// `metadata.annotations`, sorted by key.
    pub annotations: Vec<(Text, Text)>,
    /// `metadata.finalizers`, in their order, with repetitions.
    pub finalizers: Vec<Text>,
    /// The owner reference with `controller: true`.
    pub controller: Option<OwnerRef>,
    /// The other owner references.
    pub other_owners: Vec<OwnerRef>,
    /// `spec.hostname`.
    pub hostname: Option<Text>,
    /// The containers, init containers first.
    pub containers: Vec<ContainerBirth>,
    /// The values that `spec` sets: each path with a digest of its value, sorted. Empty if nothing compares them.
    pub spec: Vec<(Text, u64)>,
}

impl PodBirth {
    /// The value of a label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&Text> {
        value(&self.labels, key)
    }

    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&Text> {
        value(&self.annotations, key)
    }
}

fn value<'a>(pairs: &'a [(Text, Text)], key: &str) -> Option<&'a Text> {
    pairs.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
}

/// An entry of `ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerRef {
    /// `apiVersion`.
    pub api_version: Text,
    /// `kind`.
    pub kind: Text,
    /// `name`.
    pub name: Text,
    /// `uid`.
    pub uid: Uid,
    /// `controller`.
    pub is_controller: bool,
    /// `blockOwnerDeletion`.
    pub block_owner_deletion: Option<bool>,
}

/// A container of a created pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerBirth {
    /// `name`.
    pub name: Text,
    /// True for an init container.
    pub is_init: bool,
    /// The source of `JOB_COMPLETION_INDEX`, for each entry that defines it.
    pub index_env: Vec<EnvSource>,
}

/// The source of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvSource {
    /// A field of the pod.
    FieldPath(Text),
    /// Another source, such as a value.
    Other,
}

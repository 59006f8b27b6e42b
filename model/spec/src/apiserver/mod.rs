//! The rules of kube-apiserver for Jobs in `batch/v1` (families SS and SP, and the API server's rules of other
//! families).
//!
//! A rule is a pure function of the stored and the new object. It judges a write that the server has accepted, and
//! predicts the refusal of a write that a model is about to send:
//!
//! | request | effect before validation | judged if accepted | predicted refusal |
//! | --- | --- | --- | --- |
//! | POST of a Job | [`created`] | [`validate_create`] | [`would_refuse_create`] |
//! | PUT or PATCH of a Job | [`spec_updated`] | [`validate_spec_update`] | [`would_refuse_spec`] |
//! | PUT or PATCH of `jobs/status` | [`status_updated`] | [`validate_status_update`] | [`would_refuse_status`], [`status_refusals`] |
//! | DELETE of a Job | [`deleted`] | [`validate_delete`], [`validate_removal`] | – |
//! | PUT or PATCH with a resourceVersion | – | [`validate_base`] | – |
//! | DELETE of a pod | [`Pod::delete`](crate::pod::Pod::delete) | [`validate_pod_deletion`] | – |
//!
//! All rules read the objects that the server stored, never a view. [`RuleSet`] has the differences between versions of
//! Kubernetes.
//!
//! # Guarantees
//!
//! The decisions are those of Kubernetes' own validation. `harness/controlplane/oracle` compares the two on the random
//! cases of `tests/differential/src/bin/status_cases.rs`.
//!
//! # Caveats
//!
//! The rules read only the fields of [`crate::job::Template`] of a pod template, and do not check the rest of it. They
//! read object metadata only as far as a requirement names it, and do not evaluate `matchExpressions` of a selector.

mod create;
mod delete;
mod effect;
#[cfg(test)]
pub(crate) mod fixtures;
mod index_text;
mod names;
mod outcome;
mod policies;
mod precondition;
mod rules;
mod spec;
mod status;
mod update;
mod version;

pub use create::{validate_create, would_refuse_create};
pub use delete::{
    FOREGROUND, ORPHAN, Propagation, deleted, finalizers_after_delete, finalizers_of_others, validate_delete,
    validate_removal,
};
pub use effect::{created, defaulted, spec_updated, status_updated};
pub use precondition::{validate_base, validate_pod_deletion};
pub use rules::{RuleSet, minor_of};
pub use spec::{CONTROLLER_UID_LABEL, JOB_NAME_LABEL, LEGACY_CONTROLLER_UID_LABEL, LEGACY_JOB_NAME_LABEL};
pub use status::{status_refusals, validate_status_update, would_refuse_status};
pub use update::{validate_spec_update, would_refuse_spec};
pub use version::Version;

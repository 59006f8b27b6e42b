//! What kube-apiserver accepts of a `batch/v1` Job (families SS and SP, and the `[a]` rules of the others).
//!
//! The rules are pure functions over the old and the new object. They are used in two ways: a recorded write
//! that was accepted must keep them ([`validate_create`], [`validate_spec_update`],
//! [`validate_status_update`], [`validate_delete`]), and a write that the model is about to attempt is
//! refused if it breaks one ([`would_refuse_create`], [`would_refuse_spec`], [`would_refuse_status`]). What
//! the server makes of a request before it judges it are [`created`], [`spec_updated`], and
//! [`status_updated`].
//!
//! # Guarantees
//!
//! The decisions are those of Kubernetes' own strategies: `harness/controlplane/oracle` asks them about the random cases
//! of `tests/differential/src/bin/status_cases.rs`.
//!
//! # Caveats
//!
//! Of the pod template only the fields of [`crate::job::Template`] are judged; whether the rest of it is a
//! valid pod is not asked. Object metadata is judged only as far as a requirement names it, and a selector's
//! expressions are not evaluated.

mod create;
mod delete;
mod effect;
#[cfg(test)]
mod fixtures;
mod index_text;
mod names;
mod outcome;
mod policies;
mod rules;
mod spec;
mod status;
mod update;
mod version;

pub use create::{validate_create, would_refuse_create};
pub use delete::{
    FOREGROUND, ORPHAN, Propagation, deleted, finalizers_after_delete, validate_delete, validate_removal,
};
pub use effect::{created, defaulted, spec_updated, status_updated};
pub use rules::RuleSet;
pub use spec::{CONTROLLER_UID_LABEL, JOB_NAME_LABEL, LEGACY_CONTROLLER_UID_LABEL, LEGACY_JOB_NAME_LABEL};
pub use status::{validate_status_update, would_refuse_status};
pub use update::{validate_spec_update, would_refuse_spec};
pub use version::Version;

//! The conversion of a Job to facts, and of the decision to the body of its request.

use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, json};

use super::plan::{TtlDelete, TtlFacts};
use crate::job::observe::{self, Unobservable};
use crate::values::{ResourceVersion, Text, Uid};

/// Returns the facts of a Job.
///
/// # Errors
///
/// The UID, name, or version is missing.
pub fn facts(job: &Job) -> Result<TtlFacts, Unobservable> {
    let metadata = &job.metadata;
    let stored =
        |field: &Option<String>, name| field.as_deref().map(Text::from).ok_or(Unobservable::Missing(name));
    Ok(TtlFacts {
        name: stored(&metadata.name, "metadata.name")?,
        uid: Uid(stored(&metadata.uid, "metadata.uid")?),
        resource_version: ResourceVersion(stored(&metadata.resource_version, "metadata.resourceVersion")?),
        deletion: metadata.deletion_timestamp.as_ref().map(observe::time),
        ttl_seconds_after_finished: job.spec.as_ref().and_then(|it| it.ttl_seconds_after_finished),
        conditions: job.status.as_ref().map(observe::conditions).unwrap_or_default(),
    })
}

/// The body of the DELETE of a Job (TT-06).
#[must_use]
pub fn deletion(delete: &TtlDelete) -> Value {
    let (uid, version) = (delete.uid.as_str(), delete.resource_version.as_str());
    json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Foreground",
        "preconditions": { "uid": uid, "resourceVersion": version },
    })
}

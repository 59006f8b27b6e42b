//! The metadata of a copy (`docs/guide/mirror-protocol.md`, *What the copy carries*).

use jobcheck_managers::protocol::{Base, CopyView};
use jobcheck_projection::Projector;
use jobcheck_spec::Uid;
use serde_json::{Value, json};

/// The label with the UID of the local Job.
pub const ORIGIN: &str = "example.com/origin";
/// The annotation with the manager of the local Job. A label could not hold its value.
pub const MANAGER: &str = "example.com/manager";
/// The annotations with the counts of earlier copies.
const SUCCEEDED: &str = "example.com/succeeded";
const FAILED: &str = "example.com/failed";
/// The finalizer, which keeps a copy until it was reported.
pub const FINALIZER: &str = "example.com/reported";

/// A copy, as the cache shows it.
pub fn view(copy: &Value, projector: &mut Projector) -> Option<CopyView> {
    let job = projector.job(&copy.to_string()).ok()?.job;
    let count = |key: &str| {
        let text = copy["metadata"]["annotations"][key].as_str();
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    Some(CopyView {
        origin: copy["metadata"]["labels"][ORIGIN].as_str().map(Uid::parse),
        base: Base { succeeded: count(SUCCEEDED), failed: count(FAILED) },
        suspended: job.spec.is_suspended(),
        deleting: job.deleting,
        finalizer: finalizers(Some(copy)).any(|it| it == FINALIZER),
        status: job.status,
    })
}

/// The finalizers of a copy.
pub fn finalizers(copy: Option<&Value>) -> impl Iterator<Item = &Value> {
    copy.and_then(|copy| copy["metadata"]["finalizers"].as_array()).into_iter().flatten()
}

/// The copy of a Job. It asks for the successes, and grants the failures, that are left.
pub fn copy_of(local: &Value, base: Base, manager: &str) -> Value {
    let mut spec = local["spec"].clone();
    for (field, counted) in [("completions", base.succeeded), ("backoffLimit", base.failed)] {
        if let Some(whole) = spec[field].as_i64() {
            spec[field] = json!((whole - i64::from(counted)).max(0));
        }
    }
    let own = ["managedBy", "selector", "manualSelector"];
    own.iter().for_each(|field| drop(spec.as_object_mut().and_then(|it| it.remove(*field))));
    // The API server of the worker sets the labels of the copy.
    spec["template"]["metadata"] = json!({});
    let metadata = &local["metadata"];
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "spec": spec,
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"],
            "labels": {ORIGIN: metadata["uid"]}, "finalizers": [FINALIZER],
            "annotations": {
                SUCCEEDED: base.succeeded.to_string(), FAILED: base.failed.to_string(), MANAGER: manager,
            },
        },
    })
}

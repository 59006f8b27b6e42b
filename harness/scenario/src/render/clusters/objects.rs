//! Jobs and statuses of the world of two clusters, as the API server stores them.

use std::sync::Arc;

use jobcheck_managers::flat::OTHER;
use jobcheck_spec::apiserver::{RuleSet, created};
use jobcheck_spec::job::{ConditionKind, Job, JobSpec, JobStatus, Template, Text};
use jobcheck_spec::{Time, Uid};
use serde_json::{Value, json};

/// The seconds between two times of the model. They exceed the skew that the judge grants.
const SPAN: i64 = 60;
/// The finalizer of a Job whose pods are deleted before it.
const FOREGROUND: &str = "foregroundDeletion";
/// `metadata.name` of all Jobs.
pub(super) const NAME: &str = "job";
/// `metadata.namespace` of all Jobs.
pub(super) const NAMESPACE: &str = "default";

/// A time of the model, in seconds since [`EPOCH`](crate::render::EPOCH).
pub(super) fn time(of_the_model: Time) -> Time {
    Time(of_the_model.0 * SPAN)
}

/// `metadata.uid` of a local Job. Readers distinguish UIDs by their first digits.
pub(super) fn local_uid(incarnation: u8) -> Uid {
    Uid((0xa000_0000 + u128::from(incarnation)) << 96 | 1)
}

/// `metadata.uid` of a Job on a worker.
pub(super) fn copy_uid(number: usize) -> Uid {
    Uid((0xb000_0000 + number as u128) << 96 | 2)
}

/// The specification as its author sends it: without what the API server generates.
pub(super) fn sent(spec: &JobSpec) -> JobSpec {
    let template = Template { labels: Vec::new(), ..spec.template.clone() };
    JobSpec { selector: JobSpec::default().selector, template, ..spec.clone() }
}

/// A new Job, as the API server stores it.
pub(super) fn stored(rules: &RuleSet, uid: Uid, sent: &JobSpec, at: Time, finalizers: Vec<Text>) -> Job {
    let job = Job {
        uid,
        name: NAME.into(),
        namespace: NAMESPACE.into(),
        generation: 0,
        created: at,
        deleting: false,
        finalizers,
        metadata: Arc::default(),
        probes_digest: 0,
        spec: Arc::new(sent.clone()),
        status: JobStatus::default(),
    };
    created(rules, &job)
}

/// The Job with another value of `spec.suspend`.
pub(super) fn suspended(job: &Job, suspend: bool) -> Job {
    let spec = Arc::new(JobSpec { suspend: Some(suspend), ..JobSpec::clone(&job.spec) });
    Job { generation: job.generation + 1, spec, ..job.clone() }
}

/// The Job after a DELETE, if a finalizer keeps it.
pub(super) fn deleting(job: &Job, in_foreground: bool) -> Job {
    let foreground = in_foreground.then(|| FOREGROUND.into());
    let finalizers = job.finalizers.iter().cloned().chain(foreground).collect();
    Job { deleting: true, generation: job.generation + 1, finalizers, ..job.clone() }
}

/// Removes the finalizer of a deletion in foreground. Returns the patch of the garbage collector.
pub(super) fn without_foreground(job: &mut Job, version: u64) -> Value {
    job.finalizers.retain(|finalizer| &**finalizer != FOREGROUND);
    let left: Vec<&str> = job.finalizers.iter().map(|finalizer| &**finalizer).collect();
    let left = if left.is_empty() { Value::Null } else { json!(left) };
    json!({ "metadata": { "uid": job.uid.to_string(), "resourceVersion": version.to_string(),
        "finalizers": left } })
}

/// A status of the model with the times and the messages of a trace.
pub(super) fn status(of_the_model: JobStatus) -> JobStatus {
    let mut status = JobStatus {
        start_time: of_the_model.start_time.map(time),
        completion_time: of_the_model.completion_time.map(time),
        ..of_the_model
    };
    for condition in &mut status.conditions {
        condition.last_transition_time = condition.last_transition_time.map(time);
        condition.message = message(&condition.kind, &condition.reason).into();
    }
    status
}

/// The message of a condition. An interim condition and its terminal one have the same message (TC-03).
fn message(kind: &ConditionKind, reason: &str) -> &'static str {
    match kind {
        ConditionKind::SuccessCriteriaMet | ConditionKind::Complete => {
            "Reached expected number of succeeded pods"
        }
        ConditionKind::FailureTarget | ConditionKind::Failed => "Job has reached the specified backoff limit",
        ConditionKind::Suspended if reason == "JobSuspended" => "Job suspended",
        ConditionKind::Suspended => "Job resumed",
        ConditionKind::Other(name) if &**name == OTHER => "Seen by a checker",
        ConditionKind::Other(_) => "",
    }
}

//! A Job and its status.
//!
//! | field of the specification's `Job` | JSON path |
//! | --- | --- |
//! | `uid`, `name`, `namespace`, `generation`, `finalizers` | `metadata.` the same |
//! | `created` | `metadata.creationTimestamp`; the epoch if it is absent, as in a request |
//! | `deleting` | `metadata.deletionTimestamp` is set |
//! | `metadata` | `metadata.labels`, `metadata.annotations`, `metadata.ownerReferences` |
//! | `spec` | `spec`, see `spec.rs` |
//! | `status.uncounted` | `status.uncountedTerminatedPods` |
//! | `status.*` | `status.` the same in camel case |
//! | `probes_digest` | `status.conditions.*.lastProbeTime` |

use std::sync::Arc;

use jobcheck_spec::job::{
    Condition, ConditionKind, ConditionStatus, Job, JobMetadata, JobSpec, JobStatus, Uncounted,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Projector;
use super::cache::Texts;
use super::error::{ProjectError, read};
use super::metadata::{self, Metadata, WireMetadata};
use super::wire::{Stamp, Str, WireUid};
use super::{digest, spec};

/// A Job, with the metadata that only the judge needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobObject {
    /// The Job in the types of the specification.
    pub job: Job,
    /// `metadata`.
    pub metadata: Metadata,
}

#[derive(Deserialize)]
struct WireJob<'a> {
    #[serde(borrow)]
    metadata: Option<WireMetadata<'a>>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<WireStatus<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireStatus<'a> {
    #[serde(borrow)]
    conditions: Option<Vec<WireCondition<'a>>>,
    start_time: Option<Stamp>,
    completion_time: Option<Stamp>,
    active: Option<i32>,
    succeeded: Option<i32>,
    failed: Option<i32>,
    terminating: Option<i32>,
    #[serde(borrow)]
    completed_indexes: Option<Str<'a>>,
    #[serde(borrow)]
    failed_indexes: Option<Str<'a>>,
    uncounted_terminated_pods: Option<WireUncounted>,
    ready: Option<i32>,
}

#[derive(Deserialize)]
struct WireUncounted {
    succeeded: Option<Vec<WireUid>>,
    failed: Option<Vec<WireUid>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCondition<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Str<'a>>,
    #[serde(borrow)]
    status: Option<Str<'a>>,
    #[serde(borrow)]
    reason: Option<Str<'a>>,
    #[serde(borrow)]
    message: Option<Str<'a>>,
    last_transition_time: Option<Stamp>,
    last_probe_time: Option<Value>,
}

impl Projector {
    /// Projects a `batch/v1` Job.
    ///
    /// # Errors
    ///
    /// A field of the specification has a wrong type.
    pub fn job(&mut self, text: &str) -> Result<JobObject, ProjectError> {
        let wire: WireJob = read(text, "")?;
        let spec = self.job_spec(wire.spec.map_or("{}", RawValue::get))?;
        let wire_metadata = wire.metadata.unwrap_or_default();
        let wire_status = wire.status.unwrap_or_default();
        let metadata = metadata::project(&mut self.texts, &wire_metadata);
        let job = Job {
            uid: metadata.uid,
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            generation: wire_metadata.generation.unwrap_or(0),
            created: Stamp::time(wire_metadata.creation_timestamp).unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.clone(),
            metadata: self.job_metadata(&metadata),
            probes_digest: probes(&wire_status),
            spec,
            status: status(&mut self.texts, &wire_status),
        };
        Ok(JobObject { job, metadata })
    }

    /// The parts of the metadata that several actors write. Equal ones share one value.
    fn job_metadata(&mut self, metadata: &Metadata) -> Arc<JobMetadata> {
        self.metadata.share(metadata.of_job())
    }

    /// The specification with this text. All versions of a Job with the same text share one value.
    fn job_spec(&mut self, text: &str) -> Result<Arc<JobSpec>, ProjectError> {
        if let Some(spec) = self.specs.get(text) {
            return Ok(spec);
        }
        let spec = Arc::new(spec::project(&mut self.texts, &mut self.templates, text)?);
        self.specs.put(text, Arc::clone(&spec));
        Ok(spec)
    }
}

/// A digest of the probe times of all conditions.
fn probes(wire: &WireStatus<'_>) -> u64 {
    let probes = || wire.conditions.iter().flatten().map(|it| it.last_probe_time.as_ref());
    if probes().all(|time| time.is_none()) { 0 } else { digest::of_values(probes()) }
}

fn status(texts: &mut Texts, wire: &WireStatus<'_>) -> JobStatus {
    JobStatus {
        active: wire.active.unwrap_or(0),
        ready: wire.ready,
        terminating: wire.terminating,
        succeeded: wire.succeeded.unwrap_or(0),
        failed: wire.failed.unwrap_or(0),
        start_time: Stamp::time(wire.start_time),
        completion_time: Stamp::time(wire.completion_time),
        completed_indexes: texts.share_or_empty(wire.completed_indexes.as_ref()),
        failed_indexes: wire.failed_indexes.as_ref().map(|text| texts.share(text.as_ref())),
        uncounted: wire.uncounted_terminated_pods.as_ref().map(uncounted),
        conditions: wire.conditions.iter().flatten().map(|c| condition(texts, c)).collect(),
    }
}

fn uncounted(wire: &WireUncounted) -> Uncounted {
    let uids = |list: &Option<Vec<WireUid>>| list.iter().flatten().map(|uid| uid.0).collect();
    Uncounted { succeeded: uids(&wire.succeeded), failed: uids(&wire.failed) }
}

fn condition(texts: &mut Texts, wire: &WireCondition<'_>) -> Condition {
    Condition {
        kind: ConditionKind::parse(wire.kind.as_ref().map_or("", AsRef::as_ref)),
        status: match wire.status.as_ref().map_or("", AsRef::as_ref) {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            "Unknown" => ConditionStatus::Unknown,
            _ => ConditionStatus::Undefined,
        },
        reason: texts.share_or_empty(wire.reason.as_ref()),
        message: texts.share_or_empty(wire.message.as_ref()),
        last_transition_time: Stamp::time(wire.last_transition_time),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{JOB, raw, value, with};
    use super::*;
    use jobcheck_spec::pod::TRACKING_FINALIZER;
    use jobcheck_spec::{Time, Uid};
    use serde_json::{Value, json};

    fn job(value: &Value) -> JobObject {
        Projector::new().job(&raw(value)).unwrap()
    }

    #[test]
    fn a_recorded_job_is_read_field_by_field() {
        let JobObject { job, metadata } = job(&value(JOB));
        assert_eq!(job.uid, Uid::parse("85da7342-5c85-4673-ad60-6cfe2f6f3df7"));
        assert_eq!((&*job.name, &*job.namespace), ("job", "t-pod-failure-policy-fail-job-1795221005"));
        assert_eq!((job.generation, metadata.resource_version), (1, Some(718)));
        assert_eq!(job.created.to_string(), "2026-11-21T00:30:05Z");
        assert!(!job.deleting && job.finalizers.is_empty() && job.is_managed_by_built_in());
        assert_eq!((metadata.labels.len(), &metadata.controller), (4, &None));
        assert_eq!(metadata.deletion_timestamp, None);

        let pods = ["e0189d1e-7fd0-4ced-9e27-11ee3afbd62e", "a524eaf1-bda3-4c45-a2a6-84f2136ff4e8"];
        let condition = Condition {
            kind: ConditionKind::FailureTarget,
            status: ConditionStatus::True,
            reason: "PodFailurePolicy".into(),
            message: "Container main for pod t-pod-failure-policy-fail-job-1795221005/job-dhp59 failed with \
                      exit code 42 matching FailJob rule at index 0"
                .into(),
            last_transition_time: Some(job.created.plus(1)),
        };
        let expected = JobStatus {
            ready: Some(0),
            terminating: Some(1),
            start_time: Some(job.created),
            uncounted: Some(Uncounted { succeeded: vec![], failed: pods.map(Uid::parse).to_vec() }),
            conditions: vec![condition],
            ..JobStatus::default()
        };
        assert_eq!(job.status, expected);
    }

    #[test]
    fn the_other_status_fields_are_read_too() {
        let status = json!({
            "active": 1, "succeeded": 2, "failed": 3, "completedIndexes": "0,1", "failedIndexes": "",
            "completionTime": "2026-11-21T00:30:07Z",
            "conditions": [
                {"type": "Complete", "status": "False"},
                {"type": "Strange", "status": "Unknown", "lastTransitionTime": "0001-01-01T00:00:00Z"},
            ],
        });
        let status = job(&with(JOB, &[("/status", status)])).job.status;
        assert_eq!((status.active, status.succeeded, status.failed), (1, 2, 3));
        assert_eq!((&*status.completed_indexes, status.failed_indexes.as_deref()), ("0,1", Some("")));
        assert_eq!(status.completion_time, Some(Time(1_795_221_007)));
        assert_eq!((status.ready, status.terminating, status.start_time), (None, None, None));
        assert_eq!(status.uncounted, None);
        let conditions = &status.conditions;
        assert_eq!(
            (&conditions[0].kind, conditions[0].status),
            (&ConditionKind::Complete, ConditionStatus::False)
        );
        assert_eq!(conditions[1].kind, ConditionKind::Other("Strange".into()));
        assert_eq!(
            (conditions[1].status, conditions[1].last_transition_time),
            (ConditionStatus::Unknown, None)
        );
    }

    #[test]
    fn the_metadata_of_a_job_that_is_being_deleted_is_read() {
        let cron = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "u", "controller": true}]);
        let edited = with(
            JOB,
            &[
                ("/metadata/deletionTimestamp", json!("2026-11-21T00:31:00Z")),
                ("/metadata/finalizers", json!(["orphan", TRACKING_FINALIZER])),
                ("/metadata/ownerReferences", cron),
                ("/metadata/annotations", json!({"b": "2", "a": "1"})),
            ],
        );
        let object = job(&edited);
        assert!(object.job.deleting);
        assert_eq!(object.metadata.deletion_timestamp, Some(Time(1_795_221_060)));
        assert_eq!(
            object.job.finalizers.iter().map(|f| &**f).collect::<Vec<_>>(),
            ["orphan", TRACKING_FINALIZER]
        );
        assert_eq!(object.metadata.controller.map(|owner| owner.kind), Some("CronJob".into()));
        assert_eq!(object.metadata.annotations, [("a".into(), "1".into()), ("b".into(), "2".into())]);
        let metadata = &object.job.metadata;
        assert_ne!(*metadata, job(&value(JOB)).job.metadata);
        assert_eq!((metadata.annotations.len(), &*metadata.owners[0].0), (2, "CronJob c"));
    }

    #[test]
    fn versions_of_a_job_share_its_specification() {
        let mut projector = Projector::new();
        let first = projector.job(&raw(&value(JOB))).unwrap();
        let second = projector.job(&raw(&with(JOB, &[("/status/active", json!(1))]))).unwrap();
        let third = projector.job(&raw(&with(JOB, &[("/spec/suspend", json!(true))]))).unwrap();
        assert!(Arc::ptr_eq(&first.job.spec, &second.job.spec));
        assert_ne!(first.job.spec, third.job.spec);
        assert_eq!(first.job.spec.template, third.job.spec.template);
    }

    #[test]
    fn managed_fields_change_nothing() {
        let fields = json!([{"manager": "kcm", "fieldsV1": {"f:status": {"f:active": {}}}}]);
        assert_eq!(job(&with(JOB, &[("/metadata/managedFields", fields)])), job(&value(JOB)));
    }
}

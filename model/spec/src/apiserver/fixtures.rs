//! Jobs for the unit tests of this module.

use std::sync::Arc;

use super::effect::created;
use super::rules::RuleSet;
use crate::job::{
    CompletionMode, Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus, Template,
};
use crate::time::Time;
use crate::uid::Uid;

/// A new Job with default values: one completion, and no status.
pub(crate) fn job() -> Job {
    let template = Template { container_names: vec!["main".into()], ..Template::default() };
    let spec = JobSpec { template, ..JobSpec::default() };
    let sent = Job {
        uid: Uid::parse("a5bea2a9-d1b6-4d7c-a7b4-aa02fcb4ff1f"),
        name: "pi".into(),
        namespace: "default".into(),
        generation: 0,
        created: Time(0),
        deleting: false,
        finalizers: Vec::new(),
        metadata: Arc::default(),
        probes_digest: 0,
        spec: Arc::new(spec),
        status: JobStatus::default(),
    };
    created(&RuleSet::V1_36, &sent)
}

/// An Indexed Job with ten completions, parallelism 3, and one retry for each index.
pub(super) fn indexed() -> Job {
    let mut job = job();
    edit(&mut job, |spec| {
        spec.completion_mode = Some(CompletionMode::Indexed);
        spec.completions = Some(10);
        spec.parallelism = Some(3);
        spec.backoff_limit_per_index = Some(1);
    });
    job
}

/// Changes the specification.
pub(super) fn edit(job: &mut Job, change: impl FnOnce(&mut JobSpec)) {
    change(Arc::make_mut(&mut job.spec));
}

/// A condition without reason and message.
pub(super) fn condition(kind: ConditionKind, status: ConditionStatus) -> Condition {
    Condition { kind, status, reason: "".into(), message: "".into(), last_transition_time: Some(Time(5)) }
}

/// Adds conditions that are true.
pub(super) fn decide(job: &mut Job, kinds: &[ConditionKind]) {
    for kind in kinds {
        job.status.conditions.push(condition(kind.clone(), ConditionStatus::True));
    }
}

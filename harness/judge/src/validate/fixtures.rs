//! Jobs, pods, and events for the unit tests of the validator.

use std::sync::Arc;

use jobcheck_spec::job::{Job, JobSpec, JobStatus, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Form, Interval, Place, Verb};

use super::actor::Actors;
use super::contents::no_pod;
use super::delivery::Delivery;
use super::event::{Arrival, Body, Event, JobEvent};

/// The UID of [`job`].
pub(super) const JOB: Uid = Uid(1000);

/// A Job with two completions.
pub(super) fn job() -> Job {
    Job {
        uid: JOB,
        name: "job".into(),
        namespace: "ns".into(),
        generation: 1,
        created: Time(0),
        deleting: false,
        finalizers: Vec::new(),
        metadata: Arc::default(),
        probes_digest: 0,
        spec: Arc::new(JobSpec { parallelism: Some(2), completions: Some(2), ..JobSpec::default() }),
        status: JobStatus::default(),
    }
}

/// [`job`] with this number of active pods in its status.
pub(super) fn job_with_active(active: i32) -> Arc<Job> {
    Arc::new(Job { status: JobStatus { active, ..JobStatus::default() }, ..job() })
}

/// A pending pod of the Job with the tracking finalizer.
pub(super) fn pod(uid: u128) -> Pod {
    Pod { finalizer: true, ..Pod::new(Uid(uid)) }
}

/// An accepted request of the Job controller for the object `name`, received and answered at these microseconds.
pub(super) fn request(verb: Verb, name: &str, (received, done): (i64, i64), body: Body) -> Event {
    let namespace: Text = "ns".into();
    Event {
        order: 1,
        arrival: Arrival::default(),
        delivery: Delivery::default(),
        place: Place { file: 0, line: 1 },
        form: Form::Audit,
        when: Some(Interval { received, done }),
        actor: Some(Actors::default().meet("job-controller", "")),
        verb: Some(verb),
        is_status: false,
        code: 200,
        version: None,
        answered: None,
        namespace,
        name: name.into(),
        body,
    }
}

/// A write that gave the Job `name` this version.
pub(super) fn job_write(name: &str, times: (i64, i64), version: u64) -> Event {
    let body = Body::Job(Box::new(JobEvent::nothing()));
    Event { version: Some(version), answered: Some(version), ..request(Verb::Update, name, times, body) }
}

/// A request for the pod `name` without a version of its own.
pub(super) fn pod_request(verb: Verb, name: &str, times: (i64, i64)) -> Event {
    request(verb, name, times, Body::Pod(Box::new(no_pod())))
}

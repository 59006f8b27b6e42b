//! Comparison of the objects of the API server with the state of the path.
//!
//! Objects are projected onto the model's types, as for traces. The following properties differ or are missing in the
//! model, and are omitted here and nowhere else:
//!
//! - UIDs and names: the API server has its own, one for each of the path;
//! - the template, the selector, and the digest of labels of a Job: the model's template has one field, and its
//!   labels contain its own UIDs;
//! - the times of pods in scopes without backoff delays: the model has zeros then;
//! - the creation time of a pod: the model has the begin of the sync, and the server a time that is not earlier;
//! - the time since which a pod is not ready: the model has only the times at which it became ready and terminated;
//! - the rule of the failure policy that a pod matches, after the Job was removed;
//! - a terminated pod without finalizers that is being deleted: the server removes it at once, and the model with a
//!   step of its own.

use std::sync::Arc;

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::world::{JobId, JobState, World};
use jobcheck_spec::failure_policy::evaluate;
use jobcheck_spec::job::{Job, JobSpec, JobStatus, Text};
use jobcheck_spec::pod::{Pod, PolicyMatch};
use jobcheck_spec::{Time, Uid};
use serde_json::Value;

use super::Rig;
use super::bench::{Bench, EPOCH, KnownPod, Replica, Stop, differs};
use super::environment::is_free;
use super::read::ReadPod;

/// Compares a Job and its pods.
///
/// # Errors
///
/// The first difference.
pub fn compare(bench: &Bench, id: JobId, after: &World, scope: &Scope, rig: &mut Rig) -> Result<(), Stop> {
    let job_state = after.job_state(id);
    let (stored, replica) = (bench.job(id), bench.replica(id));
    match (&job_state.job, stored) {
        (None, None) => {}
        (Some(expected), Some(stored)) => {
            let found = &rig.reader.job(stored).map_err(Stop::Differs)?.projected.job;
            compare_jobs(expected, found, replica)?;
        }
        (expected, found) => {
            let is = |present: bool| if present { "present" } else { "absent" };
            return differs(format!(
                "the Job is {} in the path, and {} on the server",
                is(expected.is_some()),
                is(found.is_some())
            ));
        }
    }
    for known in &replica.pods {
        let expected = job_state.pods.get(known.uid);
        compare_pod(expected, known, bench.pod(id, known.uid), (job_state, replica, scope), rig)?;
    }
    match job_state.pods.iter().find(|pod| replica.known(pod.uid).is_none()) {
        Some(pod) => differs(format!("the server never created pod {}", pod.uid.0)),
        None => Ok(()),
    }
}

fn compare_jobs(expected: &Job, found: &Job, replica: &Replica) -> Result<(), Stop> {
    let mapped = Job {
        uid: expected.uid,
        metadata: expected.metadata.clone(),
        probes_digest: expected.probes_digest,
        created: clock(found.created),
        spec: Arc::new(JobSpec {
            template: expected.spec.template.clone(),
            selector: expected.spec.selector.clone(),
            ..JobSpec::clone(&found.spec)
        }),
        status: status(&found.status, replica),
        ..found.clone()
    };
    let own = replica.jobs.last() == Some(&found.uid);
    let expected = Job { status: with_names(&expected.status, replica), ..expected.clone() };
    if own && mapped == expected {
        return Ok(());
    }
    let who = if own { "the Job" } else { "another Job" };
    differs(format!("{who} has {}", parts(&format!("{mapped:#?}"), &format!("{expected:#?}"))))
}

/// The lines in which the debug output of two objects differs.
fn parts(found: &str, expected: &str) -> String {
    let only = |these: &str, those: &str| {
        let those: Vec<&str> = those.lines().collect();
        let lines: Vec<&str> = these.lines().filter(|line| !those.contains(line)).map(str::trim).collect();
        if lines.is_empty() { "nothing more".to_owned() } else { lines.join(" ") }
    };
    format!("{}; the path has {}", only(found, expected), only(expected, found))
}

fn clock(time: Time) -> Time {
    time.plus(-EPOCH)
}

/// A stored status, with the UIDs and times of the model.
fn status(found: &JobStatus, replica: &Replica) -> JobStatus {
    let mut status = found.clone();
    if let Some(lists) = &mut status.uncounted {
        for list in [&mut lists.succeeded, &mut lists.failed] {
            for uid in list.iter_mut() {
                *uid = replica.of_stored(*uid).map_or(Uid::EMPTY, |known| known.uid);
            }
            list.sort_unstable();
        }
    }
    status.start_time = status.start_time.map(clock);
    status.completion_time = status.completion_time.map(clock);
    for condition in &mut status.conditions {
        condition.last_transition_time = condition.last_transition_time.map(clock);
    }
    status
}

/// A status of the model, with the names of pods on the server.
fn with_names(expected: &JobStatus, replica: &Replica) -> JobStatus {
    let mut status = expected.clone();
    for condition in &mut status.conditions {
        condition.message = message(&condition.message, replica);
    }
    status
}

/// The prefix of a pod's name in messages of the model (PF-07).
const IN_MESSAGES: &str = "default/pod-";

fn message(text: &Text, replica: &Replica) -> Text {
    let Some((before, rest)) = text.split_once(IN_MESSAGES) else { return text.clone() };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, after) = rest.split_at(digits);
    let known = number.parse().ok().and_then(|number| replica.known(Uid(number)));
    known.map_or_else(|| text.clone(), |known| format!("{before}default/{}{after}", known.name).into())
}

fn compare_pod(
    expected: Option<&Pod>,
    known: &KnownPod,
    stored: Option<&Arc<Value>>,
    around: (&JobState, &Replica, &Scope),
    rig: &mut Rig,
) -> Result<(), Stop> {
    let (expected, stored) = match (expected, stored) {
        (None, None) => return Ok(()),
        (Some(expected), None) if is_free(expected) => return Ok(()),
        (Some(expected), Some(stored)) => (expected, stored),
        (expected, found) => {
            let is = |present: bool| if present { "present" } else { "absent" };
            let (expected, found) = (is(expected.is_some()), is(found.is_some()));
            return differs(format!(
                "pod {} is {expected} in the path, and {found} on the server",
                known.uid.0
            ));
        }
    };
    let read = rig.reader.pod(stored).map_err(Stop::Differs)?;
    if read
        .projected
        .metadata
        .controller
        .as_ref()
        .is_some_and(|owner| owner.block_owner_deletion != Some(true))
    {
        return differs(format!("the owner reference of pod {} lacks blockOwnerDeletion", known.uid.0));
    }
    let found = pod(&read, expected, around);
    let policy = policy(&expected.policy, around.1);
    let expected = Pod { policy, ..expected.clone() };
    if found == expected && read.projected.pod.uid == known.stored {
        return Ok(());
    }
    differs(format!("pod {} has {}", known.uid.0, parts(&format!("{found:#?}"), &format!("{expected:#?}"))))
}

fn policy(expected: &PolicyMatch, replica: &Replica) -> PolicyMatch {
    match expected {
        PolicyMatch::FailJob(text) => PolicyMatch::FailJob(message(text, replica)),
        PolicyMatch::None | PolicyMatch::Action(_) => expected.clone(),
    }
}

/// A stored pod as a pod of the model.
fn pod(read: &ReadPod, expected: &Pod, (job_state, replica, scope): (&JobState, &Replica, &Scope)) -> Pod {
    let object = &read.projected;
    let found = &object.pod;
    let incarnation = object
        .metadata
        .controller
        .as_ref()
        .and_then(|owner| replica.jobs.iter().position(|job| *job == owner.uid))
        .and_then(|place| u8::try_from(place).ok());
    let own = replica.jobs.get(usize::from(expected.incarnation));
    let selected =
        own.is_some_and(|job| {
            object.metadata.labels.iter().any(|(key, value)| {
                &**key == "batch.kubernetes.io/controller-uid" && Uid::parse(value) == *job
            })
        });
    let times = |found: Option<Time>, expected: Option<Time>| {
        if scope.has_delays() { found.map(clock) } else { expected }
    };
    let ready_changed =
        if found.ready { times(found.ready_changed, expected.ready_changed) } else { expected.ready_changed };
    // In scopes without delays, only the existence of an end matters (BO-07).
    let finished = times(found.finished, found.finished.and(expected.finished));
    Pod {
        uid: expected.uid,
        controlled: incarnation.is_some(),
        incarnation: incarnation.unwrap_or(expected.incarnation),
        selected,
        // No pod is requested before the model's creation time.
        created: if scope.has_delays() && clock(found.created) < expected.created {
            clock(found.created)
        } else {
            expected.created
        },
        ready_changed,
        finished,
        policy: evidence(read, expected, job_state),
        ..found.clone()
    }
}

/// The match of the pod in the Job's failure policy.
fn evidence(read: &ReadPod, expected: &Pod, job_state: &JobState) -> PolicyMatch {
    let Some(job) = job_state.job.as_ref().filter(|_| job_state.ghost.owns(expected)) else {
        return expected.policy.clone();
    };
    match (&job.spec.pod_failure_policy, &read.projected.evidence) {
        (Some(policy), Some(evidence)) => evaluate(policy, evidence),
        _ => PolicyMatch::None,
    }
}

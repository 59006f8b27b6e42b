//! What the API server holds against what the path says that it holds.
//!
//! Objects are projected onto the model's types, as those of traces are. What the model has none of, or has another of, is
//! left out here, and nowhere else:
//!
//! - UIDs and names: they are those of the API server, one for each of the path;
//! - the template and the selector of a Job, and its digest of labels: the model has a template of one field, and labels
//!   with its own UIDs;
//! - the times of pods, where pods need not wait after failures: the model leaves them at zero then;
//! - when a pod was created: the model notes when the sync began that asks for it, and the server does not create it earlier;
//! - since when a pod is not ready: the model keeps the moment at which it became ready, and that at which it ended;
//! - which rule of the failure policy a pod matches, once the Job is gone;
//! - a pod that is being deleted, has ended, and is held by nothing: the server removes it with its last finalizer, to the
//!   model it goes by a step of its own.

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
        (Some(said), Some(stored)) => {
            let found = &rig.reader.job(stored).map_err(Stop::Differs)?.projected.job;
            compare_jobs(said, found, replica)?;
        }
        (said, found) => {
            let is = |there: bool| if there { "there" } else { "gone" };
            return differs(format!(
                "the Job is {} in the path, and {} at the server",
                is(said.is_some()),
                is(found.is_some())
            ));
        }
    }
    for known in &replica.pods {
        let said = job_state.pods.get(known.uid);
        compare_pod(said, known, bench.pod(id, known.uid), (job_state, replica, scope), rig)?;
    }
    match job_state.pods.iter().find(|pod| replica.known(pod.uid).is_none()) {
        Some(pod) => differs(format!("nobody created pod {}", pod.uid.0)),
        None => Ok(()),
    }
}

fn compare_jobs(said: &Job, found: &Job, replica: &Replica) -> Result<(), Stop> {
    let mapped = Job {
        uid: said.uid,
        metadata_digest: said.metadata_digest,
        created: clock(found.created),
        spec: Arc::new(JobSpec {
            template: said.spec.template.clone(),
            selector: said.spec.selector.clone(),
            ..JobSpec::clone(&found.spec)
        }),
        status: status(&found.status, replica),
        ..found.clone()
    };
    let own = replica.jobs.last() == Some(&found.uid);
    let said = Job { status: with_names(&said.status, replica), ..said.clone() };
    if own && mapped == said {
        return Ok(());
    }
    let who = if own { "the Job" } else { "a Job that is another one" };
    differs(format!("{who} has {}", parts(&format!("{mapped:#?}"), &format!("{said:#?}"))))
}

/// The lines in which two objects differ, as they are debugged.
fn parts(found: &str, said: &str) -> String {
    let only = |these: &str, those: &str| {
        let those: Vec<&str> = those.lines().collect();
        let lines: Vec<&str> = these.lines().filter(|line| !those.contains(line)).map(str::trim).collect();
        if lines.is_empty() { "nothing more".to_owned() } else { lines.join(" ") }
    };
    format!("{}; the path has {}", only(found, said), only(said, found))
}

fn clock(time: Time) -> Time {
    time.plus(-EPOCH)
}

/// A stored status with the UIDs and times of the model.
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

/// A status of the model with the names that pods have at the server.
fn with_names(said: &JobStatus, replica: &Replica) -> JobStatus {
    let mut status = said.clone();
    for condition in &mut status.conditions {
        condition.message = message(&condition.message, replica);
    }
    status
}

/// How the model names a pod in a message (PF-07).
const IN_MESSAGES: &str = "default/pod-";

fn message(text: &Text, replica: &Replica) -> Text {
    let Some((before, rest)) = text.split_once(IN_MESSAGES) else { return text.clone() };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, after) = rest.split_at(digits);
    let known = number.parse().ok().and_then(|number| replica.known(Uid(number)));
    known.map_or_else(|| text.clone(), |known| format!("{before}default/{}{after}", known.name).into())
}

fn compare_pod(
    said: Option<&Pod>,
    known: &KnownPod,
    stored: Option<&Arc<Value>>,
    around: (&JobState, &Replica, &Scope),
    rig: &mut Rig,
) -> Result<(), Stop> {
    let (said, stored) = match (said, stored) {
        (None, None) => return Ok(()),
        (Some(said), None) if is_free(said) => return Ok(()),
        (Some(said), Some(stored)) => (said, stored),
        (said, found) => {
            let is = |there: bool| if there { "there" } else { "gone" };
            let (said, found) = (is(said.is_some()), is(found.is_some()));
            return differs(format!("pod {} is {said} in the path, and {found} at the server", known.uid.0));
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
        return differs(format!("the end of its Job does not wait for pod {}", known.uid.0));
    }
    let found = pod(&read, said, around);
    let policy = policy(&said.policy, around.1);
    let said = Pod { policy, ..said.clone() };
    if found == said && read.projected.pod.uid == known.stored {
        return Ok(());
    }
    differs(format!("pod {} has {}", known.uid.0, parts(&format!("{found:#?}"), &format!("{said:#?}"))))
}

fn policy(said: &PolicyMatch, replica: &Replica) -> PolicyMatch {
    match said {
        PolicyMatch::FailJob(text) => PolicyMatch::FailJob(message(text, replica)),
        PolicyMatch::None | PolicyMatch::Action(_) => said.clone(),
    }
}

/// A stored pod as the model has it.
fn pod(read: &ReadPod, said: &Pod, (job_state, replica, scope): (&JobState, &Replica, &Scope)) -> Pod {
    let object = &read.projected;
    let found = &object.pod;
    let incarnation = object
        .metadata
        .controller
        .as_ref()
        .and_then(|owner| replica.jobs.iter().position(|job| *job == owner.uid))
        .and_then(|place| u8::try_from(place).ok());
    let own = replica.jobs.get(usize::from(said.incarnation));
    let selected =
        own.is_some_and(|job| {
            object.metadata.labels.iter().any(|(key, value)| {
                &**key == "batch.kubernetes.io/controller-uid" && Uid::parse(value) == *job
            })
        });
    let times = |found: Option<Time>, said: Option<Time>| {
        if scope.has_delays() { found.map(clock) } else { said }
    };
    let ready_changed =
        if found.ready { times(found.ready_changed, said.ready_changed) } else { said.ready_changed };
    // Where there are no delays, that there is an end is what there is (BO-07).
    let finished = times(found.finished, found.finished.and(said.finished));
    Pod {
        uid: said.uid,
        controlled: incarnation.is_some(),
        incarnation: incarnation.unwrap_or(said.incarnation),
        selected,
        // Nobody asks for a pod before the model notes its creation.
        created: if scope.has_delays() && clock(found.created) < said.created {
            clock(found.created)
        } else {
            said.created
        },
        ready_changed,
        finished,
        policy: evidence(read, said, job_state),
        ..found.clone()
    }
}

/// What the Job's failure policy says of the pod.
fn evidence(read: &ReadPod, said: &Pod, job_state: &JobState) -> PolicyMatch {
    let Some(job) = job_state.job.as_ref().filter(|_| job_state.ghost.owns(said)) else {
        return said.policy.clone();
    };
    match (&job.spec.pod_failure_policy, &read.projected.evidence) {
        (Some(policy), Some(evidence)) => evaluate(policy, evidence),
        _ => PolicyMatch::None,
    }
}

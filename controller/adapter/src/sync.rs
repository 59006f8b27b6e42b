//! One sync of a Job: its facts, the plan, and the enactment of the plan.

use std::collections::BTreeSet;
use std::time::Duration;

use jobcheck_controller::job::command::Plan;
use jobcheck_controller::job::memory::{BackoffRecord, Memory};
use jobcheck_controller::job::observed::{self, Observed};
use jobcheck_controller::values;
use jobcheck_explorer::process::io::{Effect, Io, Stop};
use jobcheck_explorer::process::read::{Failures, OwnRequests, Read};
use jobcheck_explorer::process::settings::Settings;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::Backoff;

use crate::enact::enact;
use crate::facts::pod::Surroundings;
use crate::facts::{self, seconds, time};
use crate::mutations::plan_with;
use crate::names::Names;
use crate::order::{Planned, plan_in_some_order, pods_read};

/// Syncs a Job as the shipped controller does.
///
/// # Errors
///
/// Stops at a call without a response, or with the failure of the sync.
pub fn sync(read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<(), Stop> {
    let Some(job) = &read.job else {
        // SY-09: the memory of a Job that does not exist is dropped.
        io.note(Effect::Forget);
        return Ok(());
    };
    let planned = plan_in_some_order(job, read, settings, io)?;
    let Planned { plan, names } = &*planned;
    let (failures, own_requests) = memory_of(&plan.memory, settings, names);
    io.note(Effect::ReplaceMemory(failures, own_requests));
    if let Some(span) = plan.wake_after {
        io.note(Effect::Wake(read.now.plus(whole_seconds(span))));
    }
    enact(plan, job, read.now, settings, names, io)
}

/// The reasons that the plan gives. Returns `None` if it gives none.
#[must_use]
pub fn explain(read: &Read, settings: &Settings<'_>) -> Option<String> {
    let job = read.job.as_ref()?;
    let names = Names::in_order(pods_read(job, read));
    let plan = planned(job, read, settings, &names);
    let told = plan.decisions.iter().map(|it| format!("{}: {}", it.requirement, it.why));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The plan for this input.
#[must_use]
pub fn planned(job: &Job, read: &Read, settings: &Settings<'_>, names: &Names) -> Plan {
    let surroundings = Surroundings { spec: Some(&job.spec), exit_codes: settings.exit_codes, names };
    let listed = |pod: &&Pod| pod.selected || job.status.is_recorded(pod.uid);
    let pods = read.pods.iter().chain(read.ownerless.iter().filter(listed));
    let pods: Vec<_> = pods.map(|pod| facts::pod::facts(pod, &surroundings)).collect();
    let job = facts::job::facts(job, names);
    let memory = memory(&job, read, names);
    plan_with(
        settings.mutations,
        &Observed {
            job: &job,
            pods: &pods,
            memory: &memory,
            caches_show_own_writes: true,
            now: time(read.now),
            settings: &options(settings.constants, settings.gates),
        },
    )
}

fn memory(job: &observed::JobFacts, read: &Read, names: &Names) -> Memory {
    let texts = |uids: &BTreeSet<Uid>| uids.iter().map(|uid| names.text(*uid)).collect();
    Memory {
        // The model's memory belongs to the cached Job. A recreated Job starts with an empty memory.
        uid: Some(job.uid.clone()),
        backoff: BackoffRecord {
            failures: read.failures.record.failures,
            last_failure: read.failures.record.last_failure.map(time),
            pods: texts(&read.failures.pods),
        },
        finalizer_removed: texts(&read.own_requests.finalizer_removed),
        deleted: texts(&read.own_requests.deleted),
        creation_refused: read.own_requests.refused.map(time),
    }
}

/// The memory in the model's types. Without delays nothing depends on the backoff record (BO-01). The record
/// is then left out, so that states are not distinguished by it.
pub(crate) fn memory_of(memory: &Memory, settings: &Settings<'_>, names: &Names) -> (Failures, OwnRequests) {
    let uids = |texts: &BTreeSet<values::Uid>| texts.iter().filter_map(|text| names.uid(text)).collect();
    let record = &memory.backoff;
    let failures = Failures {
        record: Backoff { failures: record.failures, last_failure: record.last_failure.map(seconds) },
        pods: uids(&record.pods),
    };
    let failures = if settings.has_delays { failures } else { Failures::default() };
    let (finalizer_removed, deleted) = (uids(&memory.finalizer_removed), uids(&memory.deleted));
    (failures, OwnRequests { finalizer_removed, deleted, refused: memory.creation_refused.map(seconds) })
}

/// The settings of the process.
#[must_use]
pub fn options(constants: &Constants, gates: Gates) -> observed::Settings {
    let span = |millis: i64| Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    observed::Settings {
        max_uncounted_pods: constants.max_uncounted_pods,
        pod_failure_backoff: span(constants.pod_failure_backoff_ms),
        pod_failure_backoff_max: span(constants.pod_failure_backoff_max_ms),
        gates: observed::Gates {
            pod_replacement_policy: gates.job_pod_replacement_policy,
            backoff_limit_per_index: gates.job_backoff_limit_per_index,
            success_policy: gates.job_success_policy,
            managed_by: gates.job_managed_by,
        },
        ..observed::Settings::default()
    }
}

/// The duration in whole seconds, rounded up, as the clock of the model needs it.
fn whole_seconds(span: Duration) -> i64 {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

/// The creation time of a pod. Without delays, pods have no times.
#[must_use]
pub fn birth(settings: &Settings<'_>, now: Time) -> Time {
    if settings.has_delays { now } else { Time::default() }
}

//! One sync of a Job: facts, `plan`, and what it wants done.

use std::collections::BTreeSet;
use std::time::Duration;

use jobcheck_controller::job::command::Plan;
use jobcheck_controller::job::memory::{BackoffRecord, Memory};
use jobcheck_controller::job::observed::{self, Observed};
use jobcheck_controller::values;
use jobcheck_explorer::process::io::{Effect, Io, Stop};
use jobcheck_explorer::reference::read::{Failures, Kept, Read};
use jobcheck_explorer::reference::sync::Settings;
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
use crate::order::{Planned, named, plan_in_some_order};

/// Syncs a Job as the shipped controller does.
///
/// # Errors
///
/// A call without an answer, or the failure of the sync.
pub fn sync(read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<(), Stop> {
    let Some(job) = &read.job else {
        // SY-09.
        io.note(Effect::Forget);
        return Ok(());
    };
    let planned = plan_in_some_order(job, read, settings, io)?;
    let Planned { plan, names } = &*planned;
    let (failures, kept) = kept(&plan.memory, settings, names);
    io.note(Effect::Keep(failures, kept));
    if let Some(span) = plan.wake_after {
        io.note(Effect::Wake(read.now.plus(whole_seconds(span))));
    }
    enact(plan, job, read.now, settings, names, io)
}

/// What the plan says of its reasons, where it does something.
#[must_use]
pub fn outlook(read: &Read, settings: &Settings<'_>) -> Option<String> {
    let job = read.job.as_ref()?;
    let names = Names::in_order(named(job, read));
    let plan = planned(job, read, settings, &names);
    let told = plan.decisions.iter().map(|it| format!("{}: {}", it.requirement, it.why));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The plan for what was read.
#[must_use]
pub fn planned(job: &Job, read: &Read, settings: &Settings<'_>, names: &Names) -> Plan {
    let surroundings = Surroundings { spec: Some(&job.spec), exit_codes: settings.exit_codes, names };
    let listed = |pod: &&Pod| pod.selected || job.status.lists(pod.uid);
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
        // What the model keeps is of the Job that the cache shows: with another one of the name it begins anew.
        uid: Some(job.uid.clone()),
        backoff: BackoffRecord {
            failures: read.failures.record.failures,
            last_failure: read.failures.record.last_failure.map(time),
            pods: texts(&read.failures.pods),
        },
        finalizer_removed: texts(&read.kept.finalizer_removed),
        deleted: texts(&read.kept.deleted),
        creation_refused: read.kept.refused.map(time),
    }
}

/// What the model keeps of a memory. Without delays nothing depends on the record of failures (BO-01), and it is left
/// out: worlds that differ by it alone are one.
pub(crate) fn kept(memory: &Memory, settings: &Settings<'_>, names: &Names) -> (Failures, Kept) {
    let uids = |texts: &BTreeSet<values::Uid>| texts.iter().filter_map(|text| names.uid(text)).collect();
    let record = &memory.backoff;
    let failures = Failures {
        record: Backoff { failures: record.failures, last_failure: record.last_failure.map(seconds) },
        pods: uids(&record.pods),
    };
    let failures = if settings.has_delays { failures } else { Failures::default() };
    let (finalizer_removed, deleted) = (uids(&memory.finalizer_removed), uids(&memory.deleted));
    (failures, Kept { finalizer_removed, deleted, refused: memory.creation_refused.map(seconds) })
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

/// The clock of the model has whole seconds.
fn whole_seconds(span: Duration) -> i64 {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

/// When a pod is created: where pods carry no times, at none.
#[must_use]
pub fn birth(settings: &Settings<'_>, now: Time) -> Time {
    if settings.has_delays { now } else { Time::default() }
}

//! The steps of a process in words.

use crate::narrative::{name, written};
use crate::process::decisions::OrphanDecision;
use crate::scope::Scope;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::time::Time;

use crate::mutations::Mutation;
use crate::narrative::staleness::{delivered, staleness};
use crate::process::commit::{as_write, commit};
use crate::process::io::{Answer, Call, CallName};
use crate::process::settings::Settings;
use crate::process::state::Process;
use crate::process::steps::{Delivery, ProcessStep, RequestOutcome, orphan_decision};
use crate::process::ttl::TtlStep;

const NAMES: [&str; 3] = ["controller", "second controller", "third controller"];

/// Who acts, and what it does.
pub(crate) fn process_step(
    before: &World,
    after: &JobState,
    job: JobId,
    number: u8,
    what: ProcessStep,
    scope: &Scope,
) -> (&'static str, String) {
    let job_state = before.job_state(job);
    let by = usize::from(number);
    let process = &job_state.processes()[by];
    let who = NAMES[by.min(NAMES.len() - 1)];
    let text = match what {
        ProcessStep::Sync(_) => "starts a sync".to_owned(),
        ProcessStep::Choose(uid) => format!("takes {} first (the order is chance)", name(uid)),
        ProcessStep::Call(which, outcome) => {
            let said = called_in(job_state, process, which, scope);
            format!("{said}{}", answered(before, job, by, which, outcome, scope))
        }
        ProcessStep::Orphan(uid, RequestOutcome::Handled) if job_state.pods == after.pods => {
            format!("drops {} from its orphan queue", name(uid))
        }
        ProcessStep::Orphan(uid, outcome) => {
            let decision = orphan_decision(job_state, by, uid, scope);
            let deletes = matches!(decision, Some(OrphanDecision::Delete(_)));
            let does = if deletes { "deletes" } else { "removes the finalizer of" };
            format!("{does} the orphan {}{}", name(uid), termination(outcome))
        }
        ProcessStep::ShowPod => return (cache("Pod cache", by), event(job_state, after, by, false, scope)),
        ProcessStep::ShowJob => return (cache("Job cache", by), event(job_state, after, by, false, scope)),
        ProcessStep::RelistPods => return (cache("Pod cache", by), event(job_state, after, by, true, scope)),
        ProcessStep::RelistJobs => {
            "lists the Jobs anew, and its Job cache shows another Job of the name at once".to_owned()
        }
        ProcessStep::Crash => "dies and is started again".to_owned(),
        ProcessStep::ElectSecondLeader => "loses its lease without noticing: a second one starts".to_owned(),
        ProcessStep::StopOldLeader => "stops: it is not the leader any more".to_owned(),
        ProcessStep::CrashInFlight(which) => {
            format!(
                "dies, its request under way ({}), and is started again",
                called(job_state, process, which)
            )
        }
    };
    (who, text)
}

/// Of several leaders the later ones have caches of their own.
fn cache(what: &'static str, by: usize) -> &'static str {
    match (what, by) {
        (_, 0) => what,
        ("Pod cache", _) => "2nd Pod cache",
        (_, _) => "2nd Job cache",
    }
}

fn event(job_state: &JobState, after: &JobState, by: usize, relists: bool, scope: &Scope) -> String {
    let told: Vec<String> =
        delivered(job_state, after, by, relists, scope).into_iter().map(|(_, what)| what).collect();
    if told.is_empty() { "shows nothing new".to_owned() } else { told.join(", ") }
}

/// What a process does not see at a step that reads its caches, and what it decides by what it sees.
pub(crate) fn read(job_state: &JobState, after: &JobState, number: u8, what: ProcessStep) -> Option<String> {
    let ProcessStep::Sync(Delivery { pods, jobs, .. }) = what else { return None };
    let process = job_state.processes().get(usize::from(number))?;
    after.processes().get(usize::from(number))?;
    staleness(job_state, process, pods, jobs)
}

/// The end that a sync decides on when it has read its caches.
pub(crate) fn decided(after: &JobState, number: u8, what: ProcessStep, scope: &Scope) -> Option<String> {
    if !matches!(what, ProcessStep::Sync(_)) {
        return None;
    }
    let process = after.processes().get(usize::from(number))?;
    let settings = Settings { gates: process.knowledge.gates, ..scope.settings()? };
    (settings.decisions.explain)(&process.sync.as_ref()?.read, &settings)
}

/// What the server answers, where it is not plain success.
fn answered(
    before: &World,
    job: JobId,
    by: usize,
    which: CallName,
    outcome: RequestOutcome,
    scope: &Scope,
) -> String {
    let mut job_state = before.job_state(job).clone();
    let Some(call) = job_state.processes()[by].sync.as_ref().and_then(|sync| sync.call(which)).cloned()
    else {
        return String::new();
    };
    if outcome == RequestOutcome::Fails {
        return termination(outcome).to_owned();
    }
    let conflicts = job_state.processes()[by].sync.as_ref().is_none_or(|sync| sync.conflicts);
    let is_status = matches!(call, Call::WriteStatus(_));
    let answer = commit(&mut job_state, by, &call, outcome == RequestOutcome::Handled, before.now, scope);
    let text = match answer {
        Answer::NotFound => ", which is gone (404)",
        Answer::NamespaceTerminating => ", which the server refuses: the namespace is being deleted (403)",
        Answer::Error if is_status && conflicts => ", made from an older version (409)",
        Answer::Error if !is_status => ", which has changed (409)",
        Answer::Done if is_status && conflicts => {
            ", made from an older version: after the 409 it takes the stored resourceVersion, and writes the same again"
        }
        Answer::Error | Answer::Done => "",
    };
    format!("{text}{}", termination(outcome))
}

/// What the TTL controller does.
pub(crate) fn ttl_step(job_state: &JobState, what: TtlStep, now: Time, scope: &Scope) -> String {
    let looks = |fresh: bool| {
        let ttl = job_state.ttl.controller().zip(scope.algorithm());
        ttl.map_or(String::new(), |(ttl, algorithm)| {
            ttl.explain(job_state.job.as_ref(), fresh, now, algorithm)
        })
    };
    let request = job_state.ttl.controller().and_then(|ttl| ttl.request());
    match what {
        TtlStep::Sync => format!("looks at the Job in its cache ({})", looks(false)),
        TtlStep::Get(RequestOutcome::Handled) => format!("reads the Job ({})", looks(true)),
        TtlStep::Get(outcome) => format!("reads the Job{}", termination(outcome)),
        TtlStep::Delete(outcome) => {
            let propagation = request.map_or("", |request| request.propagation());
            let finds = job_state
                .ttl
                .controller()
                .zip(job_state.job.as_ref())
                .is_some_and(|(ttl, job)| ttl.fits(job));
            let same = request.zip(job_state.job.as_ref()).is_some_and(|(it, job)| it.uid == Some(job.uid));
            let lost = match (finds, same) {
                (true, _) => "",
                (false, true) => ", which has changed (409)",
                (false, false) => ", of which there is none with this UID (404)",
            };
            format!("deletes the Job, propagation {propagation}{}{lost}", termination(outcome))
        }
        TtlStep::Show => "its cache shows the stored Job".to_owned(),
        TtlStep::Crash => "dies and is started again".to_owned(),
    }
}

fn termination(outcome: RequestOutcome) -> &'static str {
    match outcome {
        RequestOutcome::Handled => "",
        RequestOutcome::Fails => ", which fails",
        RequestOutcome::ResponseLost => ", and never gets the answer",
    }
}

/// What a late request does.
pub(crate) fn delayed_request_handled(job_state: &JobState) -> String {
    let Some(delayed) = job_state.delayed() else { return String::new() };
    let base = job_state.job.as_ref().map(|job| &job.status);
    let answer = match (&delayed.call, delayed.conflicts) {
        (Call::WriteStatus(_), true) => ", made from an older version (409)",
        _ => "",
    };
    format!(
        "handles the request of the dead process: {}{answer}",
        written(&as_write(job_state, &delayed.call), base)
    )
}

/// A call, told of the version that the server holds where it is that which is overwritten (B02).
fn called_in(job_state: &JobState, process: &Process, which: CallName, scope: &Scope) -> String {
    let Some(sync) = &process.sync else { return String::new() };
    let overwrites = sync.conflicts && scope.mutations().on(Mutation::OverwritesOnConflict);
    match sync.call(which).filter(|_| overwrites) {
        Some(call) => written(&as_write(job_state, call), job_state.job.as_ref().map(|job| &job.status)),
        None => called(job_state, process, which),
    }
}

fn called(job_state: &JobState, process: &Process, which: CallName) -> String {
    let Some(sync) = &process.sync else { return String::new() };
    let base = sync.job().map(|job| &job.status);
    sync.call(which).map(|call| written(&as_write(job_state, call), base)).unwrap_or_default()
}

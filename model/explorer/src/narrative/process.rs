//! The steps of a process as text.

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

/// The actor and the action.
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
        ProcessStep::Choose(uid) => format!("chooses {} among equal pods", name(uid)),
        ProcessStep::Call(which, outcome) => {
            let request = called_in(job_state, process, which, scope);
            format!("{request}{}", response(before, job, by, which, outcome, scope))
        }
        ProcessStep::Orphan(uid, RequestOutcome::Handled) if job_state.pods == after.pods => {
            format!("drops {} from its orphan queue", name(uid))
        }
        ProcessStep::Orphan(uid, outcome) => {
            let decision = orphan_decision(job_state, by, uid, scope);
            let deletes = matches!(decision, Some(OrphanDecision::Delete(_)));
            let does = if deletes { "deletes" } else { "removes the finalizer of" };
            format!("{does} the orphaned {}{}", name(uid), loss(outcome))
        }
        ProcessStep::ShowPod => return (cache("Pod cache", by), event(job_state, after, by, false, scope)),
        ProcessStep::ShowJob => return (cache("Job cache", by), event(job_state, after, by, false, scope)),
        ProcessStep::RelistPods => return (cache("Pod cache", by), event(job_state, after, by, true, scope)),
        ProcessStep::RelistJobs => {
            "relists the Jobs; its Job cache shows the recreated Job in place of the previous one".to_owned()
        }
        ProcessStep::Crash => "crashes and restarts".to_owned(),
        ProcessStep::ElectSecondLeader => {
            "loses its lease without noticing; a second leader is elected".to_owned()
        }
        ProcessStep::StopOldLeader => "stops: it is no longer the leader".to_owned(),
        ProcessStep::CrashInFlight(which) => {
            format!(
                "crashes and restarts; its last request is still in flight ({})",
                called(job_state, process, which)
            )
        }
    };
    (who, text)
}

/// The name of a cache. Later leaders have caches of their own.
fn cache(what: &'static str, by: usize) -> &'static str {
    match (what, by) {
        (_, 0) => what,
        ("Pod cache", _) => "second Pod cache",
        (_, _) => "second Job cache",
    }
}

fn event(job_state: &JobState, after: &JobState, by: usize, relists: bool, scope: &Scope) -> String {
    let events: Vec<String> =
        delivered(job_state, after, by, relists, scope).into_iter().map(|(_, what)| what).collect();
    if events.is_empty() { "shows nothing new".to_owned() } else { events.join(", ") }
}

/// The changes that a sync does not see when it reads its caches.
pub(crate) fn read(job_state: &JobState, after: &JobState, number: u8, what: ProcessStep) -> Option<String> {
    let ProcessStep::Sync(Delivery { pods, jobs, .. }) = what else { return None };
    let process = job_state.processes().get(usize::from(number))?;
    after.processes().get(usize::from(number))?;
    staleness(job_state, process, pods, jobs)
}

/// The termination that a sync decides on when it has read its caches.
pub(crate) fn decided(after: &JobState, number: u8, what: ProcessStep, scope: &Scope) -> Option<String> {
    if !matches!(what, ProcessStep::Sync(_)) {
        return None;
    }
    let process = after.processes().get(usize::from(number))?;
    let settings = Settings { gates: process.knowledge.gates, ..scope.settings()? };
    settings.decisions.explain(&process.sync.as_ref()?.read, &settings)
}

/// The response of the server, unless it is plain success.
fn response(
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
        return loss(outcome).to_owned();
    }
    let conflicts = job_state.processes()[by].sync.as_ref().is_none_or(|sync| sync.conflicts);
    let is_status = matches!(call, Call::WriteStatus(_));
    let answer = commit(&mut job_state, by, &call, outcome == RequestOutcome::Handled, before.now, scope);
    let text = match answer {
        Answer::NotFound => ", which no longer exists (404)",
        Answer::NamespaceTerminating => "; the server refuses: the namespace is being deleted (403)",
        Answer::Error if is_status && conflicts => ", based on an older version (409)",
        Answer::Error if !is_status => ", which has changed (409)",
        Answer::Done if is_status && conflicts => {
            ", based on an older version; after the 409 it repeats the write with the stored resourceVersion"
        }
        Answer::Error | Answer::Done => "",
    };
    format!("{text}{}", loss(outcome))
}

/// The step of a TTL-after-finished controller as text.
pub(crate) fn ttl_step(job_state: &JobState, what: TtlStep, now: Time, scope: &Scope) -> String {
    let finds = |fresh: bool| {
        let ttl = job_state.ttl.controller().zip(scope.algorithm());
        ttl.map_or(String::new(), |(ttl, algorithm)| {
            ttl.explain(job_state.job.as_ref(), fresh, now, algorithm)
        })
    };
    let request = job_state.ttl.controller().and_then(|ttl| ttl.request());
    match what {
        TtlStep::Sync => format!("checks the cached Job ({})", finds(false)),
        TtlStep::Get(RequestOutcome::Handled) => format!("reads the Job ({})", finds(true)),
        TtlStep::Get(outcome) => format!("reads the Job{}", loss(outcome)),
        TtlStep::Delete(outcome) => {
            let propagation = request.map_or("", |request| request.propagation());
            let fits = job_state
                .ttl
                .controller()
                .zip(job_state.job.as_ref())
                .is_some_and(|(ttl, job)| ttl.fits(job));
            let same = request.zip(job_state.job.as_ref()).is_some_and(|(it, job)| it.uid == Some(job.uid));
            let lost = match (fits, same) {
                (true, _) => "",
                (false, true) => ", which has changed (409)",
                (false, false) => "; no Job has this UID (404)",
            };
            format!("deletes the Job, propagation {propagation}{}{lost}", loss(outcome))
        }
        TtlStep::Show => "shows the stored Job in its cache".to_owned(),
        TtlStep::Crash => "crashes and restarts".to_owned(),
    }
}

fn loss(outcome: RequestOutcome) -> &'static str {
    match outcome {
        RequestOutcome::Handled => "",
        RequestOutcome::Fails => "; the request fails",
        RequestOutcome::ResponseLost => "; the response is lost",
    }
}

/// The effect of a delayed request.
pub(crate) fn delayed_request_handled(job_state: &JobState) -> String {
    let Some(delayed) = job_state.delayed() else { return String::new() };
    let base = job_state.job.as_ref().map(|job| &job.status);
    let answer = match (&delayed.call, delayed.conflicts) {
        (Call::WriteStatus(_), true) => ", based on an older version (409)",
        _ => "",
    };
    format!(
        "handles the delayed request of the crashed process: {}{answer}",
        written(&as_write(job_state, &delayed.call), base)
    )
}

/// A request as text. If it overwrites the stored version (B02), the text shows the change of that version.
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

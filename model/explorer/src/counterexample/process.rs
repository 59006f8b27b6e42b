//! The steps of a process in words.

use crate::counterexample::{name, written};
use crate::scope::Scope;
use crate::subject::OrphanDecision;
use crate::world::{JobId, Life, World};
use jobcheck_spec::time::Time;

use crate::process::commit::{as_write, commit};
use crate::process::io::{Answer, Call, CallName};
use crate::process::lag::{delivered, staleness};
use crate::process::state::Process;
use crate::process::steps::{Delivery, Fortune, ProcessStep, orphan_decision};
use crate::reference::switches::Switch;
use crate::reference::sync::Settings;
use crate::reference::ttl::TtlStep;

const NAMES: [&str; 3] = ["controller", "second controller", "third controller"];

/// Who acts, and what it does.
pub(crate) fn process_step(
    before: &World,
    after: &Life,
    job: JobId,
    number: u8,
    what: ProcessStep,
    scope: &Scope,
) -> (&'static str, String) {
    let life = before.life(job);
    let by = usize::from(number);
    let process = &life.processes[by];
    let who = NAMES[by.min(NAMES.len() - 1)];
    let text = match what {
        ProcessStep::Sync(_) => "starts a sync".to_owned(),
        ProcessStep::Choose(uid) => format!("takes {} first (the order is chance)", name(uid)),
        ProcessStep::Call(which, fortune) => {
            let said = called_in(life, process, which, scope);
            format!("{said}{}", answered(before, job, by, which, fortune, scope))
        }
        ProcessStep::Orphan(uid, Fortune::Handled) if life.pods == after.pods => {
            format!("drops {} from its orphan queue", name(uid))
        }
        ProcessStep::Orphan(uid, fortune) => {
            let decision = orphan_decision(life, by, uid, scope);
            let deletes = matches!(decision, Some(OrphanDecision::Delete(_)));
            let does = if deletes { "deletes" } else { "removes the finalizer of" };
            format!("{does} the orphan {}{}", name(uid), fate(fortune))
        }
        ProcessStep::ShowPod => return (cache("Pod cache", by), event(life, after, by, false, scope)),
        ProcessStep::ShowJob => return (cache("Job cache", by), event(life, after, by, false, scope)),
        ProcessStep::RelistPods => return (cache("Pod cache", by), event(life, after, by, true, scope)),
        ProcessStep::RelistJobs => {
            "lists the Jobs anew, and its Job cache shows another Job of the name at once".to_owned()
        }
        ProcessStep::Crash => "dies and is started again".to_owned(),
        ProcessStep::Usurp => "loses its lease without noticing: a second one starts".to_owned(),
        ProcessStep::Resign => "stops: it is not the leader any more".to_owned(),
        ProcessStep::CrashInFlight(which) => {
            format!("dies, its request under way ({}), and is started again", called(life, process, which))
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

fn event(life: &Life, after: &Life, by: usize, relists: bool, scope: &Scope) -> String {
    let told: Vec<String> =
        delivered(life, after, by, relists, scope).into_iter().map(|(_, what)| what).collect();
    if told.is_empty() { "shows nothing new".to_owned() } else { told.join(", ") }
}

/// What a process does not see at a step that reads its caches, and what it decides by what it sees.
pub(crate) fn read(life: &Life, after: &Life, number: u8, what: ProcessStep) -> Option<String> {
    let ProcessStep::Sync(Delivery { pods, jobs, .. }) = what else { return None };
    let process = life.processes.get(usize::from(number))?;
    after.processes.get(usize::from(number))?;
    staleness(life, process, pods, jobs)
}

/// The end that a sync decides on when it has read its caches.
pub(crate) fn decided(after: &Life, number: u8, what: ProcessStep, scope: &Scope) -> Option<String> {
    if !matches!(what, ProcessStep::Sync(_)) {
        return None;
    }
    let process = after.processes.get(usize::from(number))?;
    let settings = Settings { gates: process.knowledge.gates, ..scope.settings() };
    (settings.subject.outlook)(&process.sync.as_ref()?.read, &settings)
}

/// What the server answers, where it is not plain success.
fn answered(
    before: &World,
    job: JobId,
    by: usize,
    which: CallName,
    fortune: Fortune,
    scope: &Scope,
) -> String {
    let mut life = before.life(job).clone();
    let Some(call) = life.processes[by].sync.as_ref().and_then(|sync| sync.call(which)).cloned() else {
        return String::new();
    };
    if fortune == Fortune::Fails {
        return fate(fortune).to_owned();
    }
    let conflicts = life.processes[by].sync.as_ref().is_none_or(|sync| sync.conflicts);
    let is_status = matches!(call, Call::WriteStatus(_));
    let answer = commit(&mut life, by, &call, fortune == Fortune::Handled, before.now, scope);
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
    format!("{text}{}", fate(fortune))
}

/// What the TTL controller does.
pub(crate) fn ttl_step(life: &Life, what: TtlStep, now: Time, scope: &Scope) -> String {
    let looks = |fresh: bool| {
        let ttl = life.ttl.as_ref();
        ttl.map_or(String::new(), |ttl| ttl.outlook(life.job.as_ref(), fresh, now, scope))
    };
    let request = life.ttl.as_ref().and_then(|ttl| ttl.request());
    match what {
        TtlStep::Sync => format!("looks at the Job in its cache ({})", looks(false)),
        TtlStep::Get(Fortune::Handled) => format!("reads the Job ({})", looks(true)),
        TtlStep::Get(fortune) => format!("reads the Job{}", fate(fortune)),
        TtlStep::Delete(fortune) => {
            let propagation = request.map_or("", |request| request.propagation());
            let finds = life.ttl.as_ref().zip(life.job.as_ref()).is_some_and(|(ttl, job)| ttl.fits(job));
            let same = request.zip(life.job.as_ref()).is_some_and(|(it, job)| it.uid == Some(job.uid));
            let lost = match (finds, same) {
                (true, _) => "",
                (false, true) => ", which has changed (409)",
                (false, false) => ", of which there is none with this UID (404)",
            };
            format!("deletes the Job, propagation {propagation}{}{lost}", fate(fortune))
        }
        TtlStep::Show => "its cache shows the stored Job".to_owned(),
        TtlStep::Crash => "dies and is started again".to_owned(),
    }
}

fn fate(fortune: Fortune) -> &'static str {
    match fortune {
        Fortune::Handled => "",
        Fortune::Fails => ", which fails",
        Fortune::AnswerLost => ", and never gets the answer",
    }
}

/// What a late request does.
pub(crate) fn landed(life: &Life) -> String {
    let Some(late) = &life.late else { return String::new() };
    let base = life.job.as_ref().map(|job| &job.status);
    let answer = match (&late.call, late.conflicts) {
        (Call::WriteStatus(_), true) => ", made from an older version (409)",
        _ => "",
    };
    format!("handles the request of the dead process: {}{answer}", written(&as_write(life, &late.call), base))
}

/// A call, told of the version that the server holds where it is that which is overwritten (B02).
fn called_in(life: &Life, process: &Process, which: CallName, scope: &Scope) -> String {
    let Some(sync) = &process.sync else { return String::new() };
    let overwrites = sync.conflicts && scope.algorithm.switches.on(Switch::OverwritesOnConflict);
    match sync.call(which).filter(|_| overwrites) {
        Some(call) => written(&as_write(life, call), life.job.as_ref().map(|job| &job.status)),
        None => called(life, process, which),
    }
}

fn called(life: &Life, process: &Process, which: CallName) -> String {
    let Some(sync) = &process.sync else { return String::new() };
    let base = sync.job().map(|job| &job.status);
    sync.call(which).map(|call| written(&as_write(life, call), base)).unwrap_or_default()
}

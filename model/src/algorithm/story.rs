//! The steps of a process in words.

use crate::explore::story::{name, written};
use crate::scope::Scope;
use crate::world::Life;

use super::commit::as_write;
use super::io::{Call, CallName};
use super::process::Process;
use super::steps::{Fortune, ProcessStep};
use super::ttl::TtlStep;

const NAMES: [&str; 3] = ["controller", "second controller", "third controller"];

/// Who acts, and what it does.
pub(crate) fn process_step(
    life: &Life,
    after: &Life,
    number: u8,
    what: ProcessStep,
) -> (&'static str, String) {
    let who = NAMES[usize::from(number).min(NAMES.len() - 1)];
    let process = &life.processes[usize::from(number)];
    let text = match what {
        ProcessStep::Sync(delivery) => {
            let (pods, jobs) = (process.knowledge.behind.iter(), process.job_behind.len() - delivery.jobs);
            let pods: Vec<String> = pods.map(|unseen| name(unseen.uid)).collect();
            let (shown, lacking) = pods.split_at(delivery.pods);
            format!("{}starts a sync{}", news(shown, delivery.jobs), staleness(lacking, jobs))
        }
        ProcessStep::Choose(uid) => format!("picks {} among equals", name(uid)),
        ProcessStep::Call(which, fortune) => {
            let conflicts = process.sync.as_ref().is_some_and(|sync| sync.conflicts);
            let conflict = conflicts && which == CallName::WriteStatus && fortune == Fortune::Handled;
            let conflict = if conflict { ", which conflicts" } else { "" };
            format!("{}{}{conflict}", called(life, process, which), fate(fortune))
        }
        ProcessStep::Orphan(uid, Fortune::Handled) if life.pods == after.pods => {
            format!("drops {} from its orphan queue", name(uid))
        }
        ProcessStep::Orphan(uid, fortune) => {
            format!("removes the finalizer of the orphan {}{}", name(uid), fate(fortune))
        }
        ProcessStep::ShowPod => {
            let pod = process.knowledge.behind.first().map(|unseen| name(unseen.uid)).unwrap_or_default();
            format!("its Pod cache shows the next change of {pod}")
        }
        ProcessStep::ShowJob => "its Job cache shows the next version".to_owned(),
        ProcessStep::Relist => {
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

/// What the TTL controller does.
pub(crate) fn ttl_step(life: &Life, what: TtlStep, scope: &Scope) -> String {
    let request = life.ttl.as_ref().and_then(|ttl| ttl.request(&scope.algorithm.switches));
    match what {
        TtlStep::Sync => "looks at the Job in its cache".to_owned(),
        TtlStep::Get(fortune) => format!("reads the Job{}", fate(fortune)),
        TtlStep::Delete(fortune) => {
            let propagation = request.map_or("", |request| request.propagation());
            let finds = request.zip(life.job.as_ref()).is_some_and(|(request, job)| request.fits(job));
            let lost = if finds { "" } else { ", of which there is none with this UID" };
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

/// What reaches the caches.
fn news(pods: &[String], jobs: usize) -> String {
    let mut parts = Vec::new();
    if !pods.is_empty() {
        parts.push(format!("its Pod cache shows the next changes of {}, ", pods.join(", ")));
    }
    if jobs > 0 {
        parts.push(format!("its Job cache advances by {jobs}, "));
    }
    parts.concat()
}

/// How far the caches lag.
fn staleness(pods: &[String], jobs: usize) -> String {
    let mut parts = Vec::new();
    if !pods.is_empty() {
        parts.push(format!("its Pod cache lacks the last changes of {}", pods.join(", ")));
    }
    if jobs > 0 {
        parts.push(format!("its Job cache lags by {jobs}"));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

/// What a late request does.
pub(crate) fn landed(life: &Life) -> String {
    let call = life.late.as_ref().map(|late| told(life, &late.call)).unwrap_or_default();
    format!("handles the request of the dead process: {call}")
}

fn called(life: &Life, process: &Process, which: CallName) -> String {
    let call = process.sync.as_ref().and_then(|sync| sync.call(which));
    call.map(|call| told(life, call)).unwrap_or_default()
}

fn told(life: &Life, call: &Call) -> String {
    written(&as_write(life, call))
}

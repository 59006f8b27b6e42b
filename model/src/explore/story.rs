//! A way through a scope as a story: who did what, and what the Job's status was then.

use std::fmt::Write as _;

use crate::algorithm::story::{landed, process_step, ttl_step};
use crate::env::collector;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::user::{UserAction, UserStep};
use crate::job::{ConditionStatus, JobStatus};
use crate::manager::Write;
use crate::pod::Pod;
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::Step;
use crate::uid::Uid;
use crate::world::{JobId, Life, World};

/// One step of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Who acts.
    pub who: &'static str,
    /// What they do.
    pub what: String,
    /// The Job's status afterwards, where the step changed it.
    pub status: Option<String>,
    /// What the manager's caches do not show at this moment, where it is the manager that acts.
    pub stale: Option<String>,
}

/// Tells the way that these steps take.
#[must_use]
pub fn tell(scope: &Scope, path: &[Step]) -> Vec<Line> {
    let mut world = initial(scope);
    let mut lines = Vec::new();
    for step in path {
        lines.push(line(step, &world, scope));
        world = world.apply(step, scope);
    }
    lines
}

/// Tells one step, taken in the world `before`.
#[must_use]
pub fn line(step: &Step, before: &World, scope: &Scope) -> Line {
    let after = before.apply(step, scope);
    let (who, what) = action(step, before, &after, scope);
    let job = job_of(step);
    let status = job.and_then(|job| changed_status(before.life(job), after.life(job)));
    let stale = job.filter(|_| who == MANAGER).and_then(|job| unseen(before.life(job)));
    let what = match job.filter(|_| before.lives.len() > 1) {
        Some(job) => format!("{what} (Job {})", job.0),
        None => what,
    };
    Line { who, what, status, stale }
}

const MANAGER: &str = "manager";

fn job_of(step: &Step) -> Option<JobId> {
    match step {
        Step::Write(job, _)
        | Step::Expire(job)
        | Step::Kubelet(job, ..)
        | Step::Disrupt(job, ..)
        | Step::User(job, ..)
        | Step::Collect(job, _)
        | Step::RemoveJob(job)
        | Step::ShowPod(job)
        | Step::ShowJob(job)
        | Step::Crash(job)
        | Step::Rollout(job)
        | Step::Process(job, ..)
        | Step::Ttl(job, _)
        | Step::Land(job) => Some(*job),
        Step::Tick | Step::Proceed => None,
    }
}

fn action(step: &Step, before: &World, after: &World, scope: &Scope) -> (&'static str, String) {
    match step {
        Step::Write(_, write) => (MANAGER, written(write)),
        Step::Expire(_) => ("TTL controller", "deletes the Job".to_owned()),
        Step::Kubelet(_, uid, what) => ("kubelet", pod_changed(*uid, *what)),
        Step::Disrupt(_, uid, what) => disrupted(*uid, *what),
        Step::User(_, _, UserStep::DeletePod(uid)) => ("user", format!("deletes {}", name(*uid))),
        Step::User(_, _, UserStep::StripOwner(uid)) => {
            ("user", format!("takes the owner of {} away", name(*uid)))
        }
        Step::User(_, _, UserStep::Relabel(uid)) => ("user", format!("changes the labels of {}", name(*uid))),
        Step::User(_, _, UserStep::Job(action)) => (editor(*action), edited(*action)),
        Step::Collect(job, uid) if collector::orphans(before.life(*job)) => {
            ("garbage collector", format!("takes the owner of {} away", name(*uid)))
        }
        Step::Collect(_, uid) => ("garbage collector", format!("deletes {}", name(*uid))),
        Step::RemoveJob(_) => ("garbage collector", "removes the Job".to_owned()),
        Step::ShowPod(job) => ("Pod cache", shown(before.life(*job))),
        Step::ShowJob(_) => ("Job cache", "shows the stored Job".to_owned()),
        Step::Crash(_) => (MANAGER, "dies and is started again".to_owned()),
        Step::Rollout(job) => ("operator", rolled_out(before.life(*job), scope)),
        Step::Process(job, number, what) => process_step(before.life(*job), after.life(*job), *number, *what),
        Step::Ttl(job, what) => ("TTL controller", ttl_step(before.life(*job), *what, scope)),
        Step::Land(job) => ("server", landed(before.life(*job))),
        Step::Proceed => ("script", proceeds(before, scope)),
        Step::Tick => ("clock", format!("{} s", before.now.0 + 1)),
    }
}

fn proceeds(before: &World, scope: &Scope) -> String {
    let item = scope.script.as_ref().and_then(|script| script.item(before));
    item.map_or_else(|| "goes on".to_owned(), |item| format!("goes on after step {}", item.step))
}

fn rolled_out(life: &Life, scope: &Scope) -> String {
    let off = scope.gates_after(life.rollouts + 1).off();
    let gates = if off.is_empty() { "all gates on".to_owned() } else { format!("{} off", off.join(", ")) };
    format!("starts the controller anew, with {gates}")
}

pub(crate) fn name(uid: Uid) -> String {
    format!("pod {}", uid.0)
}

pub(crate) fn written(write: &Write) -> String {
    match write {
        Write::CreatePod(pod) => format!("creates {}{}", name(pod.uid), of_index(pod)),
        Write::DeletePod(uid) => format!("deletes {}", name(*uid)),
        Write::ReleasePod(uid) => format!("removes the finalizer of {}", name(*uid)),
        Write::AdoptPod(uid) => format!("adopts {}", name(*uid)),
        Write::GiveUpPod(uid) => format!("gives up {}", name(*uid)),
        Write::Status(status) => format!("writes {}", status_text(status)),
    }
}

fn of_index(pod: &Pod) -> String {
    match pod.index {
        None => String::new(),
        Some(index) if pod.failure_count + pod.ignored_failure_count == 0 => format!(" for index {index}"),
        Some(index) => format!(
            " for index {index}, which failed {} times and {} times ignored",
            pod.failure_count, pod.ignored_failure_count
        ),
    }
}

fn pod_changed(uid: Uid, what: KubeletStep) -> String {
    let pod = name(uid);
    match what {
        KubeletStep::Run => format!("{pod} runs"),
        KubeletStep::Ready => format!("{pod} is ready"),
        KubeletStep::Restart => format!("{pod} restarts its container"),
        KubeletStep::Succeed => format!("{pod} succeeds"),
        KubeletStep::Fail(code) => format!("{pod} fails with exit code {code}"),
        KubeletStep::Flip => format!("{pod} has failed after all"),
        KubeletStep::Remove => format!("{pod} is gone"),
    }
}

/// Who makes an edit.
fn editor(action: UserAction) -> &'static str {
    match action {
        UserAction::MirrorStarts | UserAction::MirrorAnnounces | UserAction::MirrorFinishes => {
            "other manager"
        }
        UserAction::DeleteOwner => "garbage collector",
        _ => "user",
    }
}

fn disrupted(uid: Uid, what: DisruptionStep) -> (&'static str, String) {
    let pod = name(uid);
    match what {
        DisruptionStep::Evict => ("scheduler", format!("marks {pod} with DisruptionTarget")),
        DisruptionStep::LoseNode => {
            ("pod GC", format!("marks {pod} Failed, with DisruptionTarget: its node is gone"))
        }
        DisruptionStep::ForceDelete => ("user", format!("deletes {pod} by force")),
        DisruptionStep::Delete => ("scheduler", format!("deletes {pod}, which it marked")),
        DisruptionStep::GiveUp => ("pod GC", format!("marks {pod} Failed: nobody will end it")),
    }
}

fn edited(action: UserAction) -> String {
    match action {
        UserAction::Suspend => "suspends the Job".to_owned(),
        UserAction::Resume => "resumes the Job".to_owned(),
        UserAction::Scale(parallelism) => format!("scales the Job to {parallelism}"),
        UserAction::SetTtl(ttl) => format!("sets ttlSecondsAfterFinished to {ttl}"),
        UserAction::DenyFailureTarget => "sets FailureTarget=False in the status".to_owned(),
        UserAction::DenyFailed => "sets Failed=False in the status".to_owned(),
        UserAction::DeleteInForeground => "deletes the Job in the foreground".to_owned(),
        UserAction::DeleteInBackground => "deletes the Job in the background".to_owned(),
        UserAction::DeleteFinished => "deletes the finished Job in the foreground".to_owned(),
        UserAction::DeleteOwner => "deletes the Job, whose owner is gone".to_owned(),
        UserAction::Recreate => "creates the Job again".to_owned(),
        UserAction::MirrorStarts => "reports that the Job runs".to_owned(),
        UserAction::MirrorAnnounces => "reports FailureTarget".to_owned(),
        UserAction::MirrorFinishes => "reports Failed".to_owned(),
        UserAction::DeleteOrphaning => "deletes the Job, and leaves its pods".to_owned(),
        UserAction::SetDeadline(seconds) => format!("sets activeDeadlineSeconds to {seconds}"),
        UserAction::SetBackoffLimit(limit) => format!("sets backoffLimit to {limit}"),
        UserAction::DeletePod | UserAction::DeleteEndedPod => "deletes a pod".to_owned(),
        UserAction::StripOwner => "takes the owner of a pod away".to_owned(),
        UserAction::Relabel => "changes the labels of a pod".to_owned(),
    }
}

fn shown(life: &Life) -> String {
    match life.manager.behind.first() {
        Some(unseen) => format!("shows the oldest change that it lacked, of {}", name(unseen.uid)),
        None => "shows nothing new".to_owned(),
    }
}

/// What the caches of the manager lack.
fn unseen(life: &Life) -> Option<String> {
    let changes = life.manager.behind.iter().filter(|unseen| unseen.own.is_none());
    let mut foreign: Vec<String> = changes.map(|unseen| name(unseen.uid)).collect();
    foreign.dedup();
    let mut parts = Vec::new();
    if !foreign.is_empty() {
        parts.push(format!("its Pod cache lacks the last change of {}", foreign.join(", ")));
    }
    if life.manager.old_job.is_some() {
        parts.push("its Job cache shows the version before".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn changed_status(before: &Life, after: &Life) -> Option<String> {
    if let Some(req) = after.past.refused.filter(|_| before.past.refused.is_none()) {
        return Some(format!("refused by {req}"));
    }
    if let Some(req) = after.past.objection.filter(|_| before.past.objection.is_none()) {
        return Some(format!("the specification does not admit it: {req}"));
    }
    let (old, new) = (before.job.as_ref(), after.job.as_ref()?);
    (old.is_none_or(|old| old.status != new.status)).then(|| status_text(&new.status))
}

/// A status in one line, without what is empty.
#[must_use]
pub fn status_text(status: &JobStatus) -> String {
    let mut text = format!(
        "active={} ready={} terminating={} succeeded={} failed={}",
        status.active,
        status.ready.unwrap_or(0),
        status.terminating.unwrap_or(0),
        status.succeeded,
        status.failed
    );
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = write!(text, " {name}={value}");
        }
    };
    add("uncounted.succeeded", uids(status.uncounted_succeeded()));
    add("uncounted.failed", uids(status.uncounted_failed()));
    add("completedIndexes", status.completed_indexes.to_string());
    add("failedIndexes", status.failed_indexes.as_deref().unwrap_or_default().to_owned());
    add("startTime", status.start_time.map_or(String::new(), |time| format!("{} s", time.0)));
    add("completionTime", status.completion_time.map_or(String::new(), |time| format!("{} s", time.0)));
    for condition in &status.conditions {
        let sign = if condition.status == ConditionStatus::True { "" } else { "not " };
        let _ = write!(text, " {sign}{}({})", condition.kind.as_str(), condition.reason);
    }
    text
}

fn uids(uids: &[Uid]) -> String {
    uids.iter().map(|uid| uid.0.to_string()).collect::<Vec<_>>().join(",")
}

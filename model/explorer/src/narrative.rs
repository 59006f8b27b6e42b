//! Counterexamples as text: who acts, what they do, and what the Job's status shows then.
//!
//! [`Narrative::of`] describes a counterexample with its scope. [`lines`] and [`line()`] describe single steps.

mod head;
pub(crate) mod pods;
pub(crate) mod process;
pub(crate) mod staleness;
pub(crate) mod status;
pub mod user;
mod verdict;
mod whole;

pub use head::{head, scope_text, spec_text};
pub use status::{change, status_text};
pub use verdict::Objection;
pub use whole::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, Narrative, cause};

use crate::alphabet::Write;
use crate::env::collector;
use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::user::{UserAction, UserStep, namespace_goes};
use crate::knowledge::Knowledge;
use crate::narrative::process::{decided, delayed_request_handled, process_step, read, ttl_step};
use crate::narrative::staleness::{delivered, old_job, pod_staleness};
use crate::process::steps::ProcessStep;
use crate::process::ttl::TtlStep;
use crate::scope::Scope;
use crate::scopes::initial;
use crate::step::Step;
use crate::world::{Driver, JobId, JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::JobStatus;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;
use user::action_text;
use verdict::{Judgement, judgement};

/// One step as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The actor.
    pub who: &'static str,
    /// The action. For a status write, this is the change of the status.
    pub what: String,
    /// The stored changes that the caches of the acting manager do not show.
    pub stale: Option<String>,
    /// The termination that a sync decides on.
    pub decides: Option<String>,
    /// The rule by which the server refuses a status write (422).
    pub refusal: Option<Objection>,
    /// The requirements that the write breaks, including those that an earlier write broke.
    pub objections: Vec<Objection>,
    /// The events that caches receive in this step, because they must not lag any further.
    pub events: Vec<String>,
    /// The whole status after the step, if the step changed it.
    pub status: Option<String>,
}

impl Line {
    /// The notes below a line. `asked` is the requirement that the counterexample is about; the notes mention
    /// other broken requirements with "also".
    #[must_use]
    pub fn notes(&self, asked: Option<Req>) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.stale.as_ref().map(|stale| format!("although {stale}")));
        notes.extend(self.decides.as_ref().map(|decides| format!("decides: {decides}")));
        if let Some(Objection { req, text }) = &self.refusal {
            notes.push(format!("refused (422), {req}: {}", req.entry().sentence));
            notes.push(format!("  {text}"));
        }
        let main = self.objections.iter().find(|it| Some(it.req) == asked).or(self.objections.first());
        if let Some(Objection { req, text }) = main {
            let also = if asked.is_some_and(|asked| asked != *req) { "also " } else { "" };
            if asked == Some(*req) {
                // The narrative ends with the sentence of this requirement.
                notes.push(format!("not admitted, {req}: {text}"));
            } else {
                notes.push(format!("{also}not admitted, {req}: {}", req.entry().sentence));
                notes.push(format!("  {text}"));
            }
            let others = self.objections.iter().filter(|it| it.req != *req).map(|it| it.req.id());
            let others: Vec<&str> = others.collect();
            if !others.is_empty() {
                notes.push(format!("also not admitted: {}", others.join(", ")));
            }
        }
        notes.extend(self.events.iter().cloned());
        notes
    }
}

/// Describes the steps of a path that starts in the initial state.
#[must_use]
pub fn lines(scope: &Scope, path: &[Step]) -> Vec<Line> {
    let mut world = initial(scope);
    let mut lines = Vec::new();
    for step in path {
        lines.push(line(step, &world, scope));
        world = world.apply(step, scope);
    }
    lines
}

/// Describes a step that is taken in the state `before`.
#[must_use]
pub fn line(step: &Step, before: &World, scope: &Scope) -> Line {
    let after = before.apply(step, scope);
    let (who, what) = action(step, before, &after, scope);
    let job = step.job();
    let status = job.and_then(|job| changed_status(before.job_state(job), after.job_state(job)));
    let (stale, decides) = match (step, job) {
        (Step::Process(job, number, what), _) => {
            let after = after.job_state(*job);
            (read(before.job_state(*job), after, *number, *what), decided(after, *number, *what, scope))
        }
        (_, Some(job)) if who == MANAGER => (unseen(before.job_state(job)), None),
        _ => (None, None),
    };
    let Judgement { objections, refusal } = judgement(step, before, scope);
    let several = before.job_states.len() > 1;
    let events =
        before.numbered().flat_map(|(id, job_state)| events(step, id, job_state, &after, scope)).collect();
    let what = match job.filter(|_| several) {
        Some(job) => format!("{what} (Job {})", job.0),
        None => what,
    };
    Line { who, what, stale, decides, refusal, objections, events, status }
}

/// The events that the caches of other processes receive in this step.
fn events(step: &Step, job: JobId, job_state: &JobState, after: &World, scope: &Scope) -> Vec<String> {
    let mut events = Vec::new();
    for (number, process) in (0u8..).zip(job_state.processes()) {
        let is_the_action = match step {
            Step::Process(id, by, what) if (*id, *by) == (job, number) => {
                use ProcessStep::{
                    Crash, CrashInFlight, ElectSecondLeader, RelistJobs, RelistPods, ShowJob, ShowPod,
                    StopOldLeader,
                };
                matches!(
                    what,
                    ShowPod
                        | RelistPods
                        | ShowJob
                        | RelistJobs
                        | Crash
                        | CrashInFlight(_)
                        | StopOldLeader
                        | ElectSecondLeader
                )
            }
            _ => false,
        };
        let same_processes = after.job_state(job).processes().len() == job_state.processes().len();
        if is_the_action || !same_processes || process.knowledge.behind.len() + process.job_behind.len() == 0
        {
            continue;
        }
        let relists = matches!(step, Step::Process(_, _, ProcessStep::Sync(delivery)) if delivery.relists);
        let shown = delivered(job_state, after.job_state(job), usize::from(number), relists, scope);
        events.extend(shown.into_iter().map(|(cache, what)| format!("meanwhile its {cache} {what}")));
    }
    events
}

const MANAGER: &str = "manager";

fn action(step: &Step, before: &World, after: &World, scope: &Scope) -> (&'static str, String) {
    match step {
        Step::Write(job, write) => {
            let stored = before.job_state(*job).job.as_ref();
            (MANAGER, written(write, stored.map(|job| &job.status)))
        }
        Step::Expire(_) => {
            let what = "deletes the Job, propagation Foreground";
            ("TTL controller", what.to_owned())
        }
        Step::Kubelet(_, uid, KubeletStep::Remove) => {
            ("API server", format!("removes {} (deleted, terminated, no finalizer)", name(*uid)))
        }
        Step::Kubelet(_, uid, KubeletStep::Schedule) => {
            ("scheduler", format!("binds {} to a node", name(*uid)))
        }
        Step::Kubelet(_, uid, what) => ("kubelet", pod_change(*uid, *what)),
        Step::Disrupt(_, uid, what) => disrupted(*uid, *what),
        Step::User(_, number, UserStep::DeletePod(uid)) => {
            let ended = scope.user.get(usize::from(*number)) == Some(&UserAction::DeleteEndedPod);
            (if ended { "pod GC" } else { "user" }, format!("deletes {}", name(*uid)))
        }
        Step::User(_, _, UserStep::StripOwner(uid)) => {
            ("user", format!("removes the ownerReference of {}", name(*uid)))
        }
        Step::User(_, _, UserStep::Relabel(uid)) => ("user", format!("changes the labels of {}", name(*uid))),
        Step::User(job, _, UserStep::Job(action)) => {
            (editor(*action), format!("{}{}", action_text(*action), reported(*job, *action, before, after)))
        }
        Step::Collect(job, uid) if collector::orphans(before.job_state(*job)) => {
            ("garbage collector", format!("removes the ownerReference of {}", name(*uid)))
        }
        Step::Collect(job, uid) => {
            let held =
                after.job_state(*job).pods.get(*uid).is_some_and(|pod| pod.finalizer && pod.is_terminated());
            let stays = if held { ", which still holds the finalizer" } else { "" };
            let goes = namespace_goes(before.job_state(*job), scope);
            let who = if goes { "namespace controller" } else { "garbage collector" };
            (who, format!("deletes {}{stays}", name(*uid)))
        }
        Step::RemoveJob(job) if namespace_goes(before.job_state(*job), scope) => {
            ("namespace controller", "deletes the Job".to_owned())
        }
        Step::RemoveJob(_) => ("garbage collector", "removes the Job".to_owned()),
        Step::ShowPod(job) => ("Pod cache", shown(before.job_state(*job))),
        Step::ShowJob(job) => ("Job cache", newer(before.job_state(*job))),
        Step::Crash(_) => (MANAGER, "crashes and restarts".to_owned()),
        Step::Rollout(job) => ("operator", rolled_out(before.job_state(*job), scope)),
        Step::Process(job, number, what) => {
            process_step(before, after.job_state(*job), *job, *number, *what, scope)
        }
        Step::Ttl(_, TtlStep::Show) => ("TTL cache", "shows the stored Job".to_owned()),
        Step::Ttl(job, what) => {
            ("TTL controller", ttl_step(before.job_state(*job), *what, before.now, scope))
        }
        Step::HandleDelayed(job) => ("API server", delayed_request_handled(before.job_state(*job))),
        Step::Tick => ("clock", format!("{} s since the start", before.now.0 + 1)),
        Step::Proceed => ("script", proceeds(before, scope)),
    }
}

fn proceeds(before: &World, scope: &Scope) -> String {
    let item = scope.script.as_ref().and_then(|script| script.item(before));
    item.map_or_else(|| "proceeds".to_owned(), |item| format!("proceeds after {}", item.place))
}

fn rolled_out(job_state: &JobState, scope: &Scope) -> String {
    let off = scope.gates_after(job_state.rollouts + 1).off();
    let gates = if off.is_empty() { "all gates on".to_owned() } else { format!("{} off", off.join(", ")) };
    format!("restarts the controller with {gates}")
}

pub(crate) fn name(uid: Uid) -> String {
    format!("pod {}", uid.0)
}

/// A write as text. A status write shows the change from the status on which it is based.
pub(crate) fn written(write: &Write, base: Option<&JobStatus>) -> String {
    match write {
        Write::CreatePod(pod) => format!("creates {}{}", name(pod.uid), of_index(pod)),
        Write::DeletePod(uid) => format!("deletes {}", name(*uid)),
        Write::RemoveFinalizer(uid) => format!("removes the finalizer of {}", name(*uid)),
        Write::AdoptPod(uid) => format!("adopts {}", name(*uid)),
        Write::ReleasePod(uid) => format!("releases {}", name(*uid)),
        Write::Status(status) => {
            let none = JobStatus::default();
            format!("writes the status: {}", change(base.unwrap_or(&none), status))
        }
    }
}

fn of_index(pod: &Pod) -> String {
    match pod.index {
        None => String::new(),
        Some(index) if pod.failure_count + pod.ignored_failure_count == 0 => format!(" for index {index}"),
        Some(index) if pod.ignored_failure_count == 0 => {
            format!(" for index {index} (job-index-failure-count {})", pod.failure_count)
        }
        Some(index) => format!(
            " for index {index} (job-index-failure-count {}, job-index-ignored-failure-count {})",
            pod.failure_count, pod.ignored_failure_count
        ),
    }
}

fn pod_change(uid: Uid, what: KubeletStep) -> String {
    let pod = name(uid);
    match what {
        KubeletStep::Schedule => format!("binds {pod} to a node"),
        KubeletStep::Run => format!("reports {pod} Running"),
        KubeletStep::Ready => format!("reports {pod} ready"),
        KubeletStep::Unready => format!("reports {pod} not ready"),
        KubeletStep::Restart => format!("restarts the container of {pod}"),
        KubeletStep::Succeed => format!("reports {pod} Succeeded"),
        KubeletStep::Fail(code) => format!("reports {pod} Failed, exit code {code}"),
        KubeletStep::Flip => format!("reports {pod} Failed, after Succeeded"),
        KubeletStep::Remove => format!("removes {pod}"),
    }
}

/// The actor of an edit.
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
            ("pod GC", format!("marks {pod} Failed, with DisruptionTarget: its node no longer exists"))
        }
        DisruptionStep::ForceDelete => ("user", format!("deletes {pod} by force")),
        DisruptionStep::Delete => ("scheduler", format!("deletes {pod}, which it has marked")),
        DisruptionStep::FailByPodGc => {
            ("pod GC", format!("marks {pod} Failed: no kubelet will report its end"))
        }
    }
}

/// The status change that a mirror reports.
fn reported(job: JobId, action: UserAction, before: &World, after: &World) -> String {
    let is_report =
        matches!(action, UserAction::MirrorStarts | UserAction::MirrorAnnounces | UserAction::MirrorFinishes);
    let status = |world: &World| world.job_state(job).job.as_ref().map(|job| job.status.clone());
    match (status(before), status(after)) {
        (Some(old), Some(new)) if is_report => format!(" ({})", change(&old, &new)),
        _ => String::new(),
    }
}

/// The oldest event that the cache of the specification's manager lacks.
fn shown(job_state: &JobState) -> String {
    let Driver::Specification(Knowledge { behind, .. }) = &job_state.driver else { return String::new() };
    let Some(unseen) = behind.first() else { return "shows nothing new".to_owned() };
    let later = behind[1..].iter().find(|it| it.uid == unseen.uid);
    let then = later.map_or_else(|| job_state.pods.get(unseen.uid), |later| later.before.as_ref());
    format!("shows {}", pods::shown(unseen.uid, unseen.before.as_ref(), then))
}

/// The change that the Job cache of the specification's manager receives.
fn newer(job_state: &JobState) -> String {
    let Driver::Specification(Knowledge { old_job, .. }) = &job_state.driver else { return String::new() };
    match (old_job, &job_state.job) {
        (Some(_), None) => "shows that the Job no longer exists".to_owned(),
        (Some(old), Some(new)) if old.status != new.status => {
            format!("shows the status {}", change(&old.status, &new.status))
        }
        _ => "shows the stored Job".to_owned(),
    }
}

/// The stored changes that the caches of the specification's manager lack.
fn unseen(job_state: &JobState) -> Option<String> {
    let Driver::Specification(knowledge) = &job_state.driver else { return None };
    let foreign = knowledge.behind.iter().filter(|unseen| unseen.own.is_none());
    let uids: Vec<Uid> = foreign.map(|unseen| unseen.uid).collect();
    let mut parts = Vec::new();
    // The manager knows its own changes without its cache.
    let behind: Vec<_> =
        knowledge.behind.iter().filter(|unseen| uids.contains(&unseen.uid)).cloned().collect();
    let lacks = pod_staleness(job_state, &behind);
    if !lacks.is_empty() {
        parts.push(format!("its Pod cache {}", lacks.join(", ")));
    }
    if let Some(old) = &knowledge.old_job {
        let still = job_state.job.as_ref().map_or_else(
            || "still shows the Job, which no longer exists".to_owned(),
            |stored| old_job(old, stored),
        );
        parts.push(format!("its Job cache {still}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn changed_status(before: &JobState, after: &JobState) -> Option<String> {
    let (old, new) = (before.job.as_ref(), after.job.as_ref()?);
    (old.is_none_or(|old| old.status != new.status)).then(|| status_text(&new.status))
}

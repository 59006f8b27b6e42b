//! The lag of caches and the events that they receive, as text.

use crate::knowledge::{Unseen, before};
use crate::narrative::name;
use crate::narrative::pods::{lacking, shown};
use crate::narrative::status;
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::words::or_none;

use crate::mutations::Mutation;
use crate::process::state::{Process, UnseenJob};

/// The changes that the caches of a process lack after they have received these numbers of events. Returns
/// `None` if they lack nothing.
#[must_use]
pub fn staleness(job_state: &JobState, process: &Process, pods: usize, jobs: usize) -> Option<String> {
    let mut parts = Vec::new();
    let behind = process.knowledge.behind.get(pods..).unwrap_or_default();
    let lacks = pod_staleness(job_state, behind);
    if !lacks.is_empty() {
        parts.push(format!("its Pod cache {}", lacks.join(", ")));
    }
    parts.extend(job_staleness(job_state, process.job_behind.get(jobs..).unwrap_or_default()));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The changes that a Pod cache without these events lacks.
#[must_use]
pub fn pod_staleness(job_state: &JobState, behind: &[Unseen]) -> Vec<String> {
    let cached = before(&job_state.pods, behind);
    let mut uids: Vec<Uid> = behind.iter().map(|unseen| unseen.uid).collect();
    uids.sort_unstable();
    uids.dedup();
    uids.into_iter().filter_map(|uid| lacking(uid, cached.get(uid), job_state.pods.get(uid))).collect()
}

fn job_staleness(job_state: &JobState, behind: &[UnseenJob]) -> Option<String> {
    let first = &behind.first()?.before;
    let own = if behind.iter().all(|unseen| unseen.own) { "its own " } else { "the " };
    let count = behind.len();
    let last = if count == 1 { format!("{own}last write") } else { format!("{own}last {count} writes") };
    let still = match (first, &job_state.job) {
        (None, _) => "shows no Job".to_owned(),
        (Some(_), None) => "still shows the Job, which no longer exists".to_owned(),
        (Some(cached), Some(stored)) => old_job(cached, stored),
    };
    Some(format!("its Job cache lacks {last} and {still}"))
}

/// The old values that a Job cache shows.
#[must_use]
pub fn old_job(cached: &Job, stored: &Job) -> String {
    let mut parts = Vec::new();
    if cached.uid != stored.uid {
        return "shows the previous Job, with another UID".to_owned();
    }
    let (old, new) = (&cached.spec, &stored.spec);
    if old.is_suspended() != new.is_suspended() {
        parts.push(format!("suspend={}", old.is_suspended()));
    }
    for (field, old, new) in [
        ("parallelism", old.parallelism, new.parallelism),
        ("completions", old.completions, new.completions),
        ("backoffLimit", old.backoff_limit, new.backoff_limit),
        ("ttlSecondsAfterFinished", old.ttl_seconds_after_finished, new.ttl_seconds_after_finished),
    ] {
        if old != new {
            parts.push(format!("{field}={}", or_none(old)));
        }
    }
    if old.active_deadline_seconds != new.active_deadline_seconds {
        parts.push(format!("activeDeadlineSeconds={}", or_none(old.active_deadline_seconds)));
    }
    if cached.deleting != stored.deleting {
        parts.push("no deletionTimestamp".to_owned());
    }
    parts.extend(status::older(&cached.status, &stored.status));
    if parts.is_empty() {
        "shows the same fields".to_owned()
    } else {
        format!("still shows {}", parts.join(", "))
    }
}

/// The events that the caches of a process receive in a step, in their order, each with the name of the
/// cache. Caches that never lag are left out.
#[must_use]
pub fn delivered(
    before: &JobState,
    after: &JobState,
    number: usize,
    relists: bool,
    scope: &Scope,
) -> Vec<(&'static str, String)> {
    let (Some(old), Some(new)) = (before.processes().get(number), after.processes().get(number)) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    if scope.lag > 0 {
        let same = |a: &Unseen, b: &Unseen| a.uid == b.uid && a.before == b.before;
        let behind = &old.knowledge.behind;
        let count = gone(behind, &new.knowledge.behind, same);
        let mut shows: Vec<String> = match relists {
            true => relisted(after, behind),
            false => (0..count).map(|place| pod_event(after, new, behind, place)).collect(),
        };
        if let Some(last) = shows.last_mut().filter(|_| scope.mutations().on(Mutation::CountsDeletions)) {
            last.push_str(&deletions(old, new));
        }
        events.extend(shows.into_iter().map(|what| ("Pod cache", what)));
    }
    if scope.job_lag > 0 {
        let same = |a: &UnseenJob, b: &UnseenJob| a.before == b.before;
        let count = gone(&old.job_behind, &new.job_behind, same);
        for place in 0..count {
            let next = old.job_behind.get(place + 1).or(new.job_behind.first());
            let shown = next.map_or(after.job.as_ref(), |unseen| unseen.before.as_ref());
            let cached = old.job_behind[place].before.as_deref();
            events.push(("Job cache", job_event(cached, shown.map(AsRef::as_ref))));
        }
    }
    events
}

/// The content of a relist, with each pod once.
fn relisted(after: &JobState, behind: &[Unseen]) -> Vec<String> {
    let is_first = |place: &usize| behind[..*place].iter().all(|it| it.uid != behind[*place].uid);
    let first = (0..behind.len()).filter(is_first).map(|place| &behind[place]);
    let shows = first.map(|unseen| match (&unseen.before, after.pods.get(unseen.uid)) {
        (None, None) => format!("never shows {}, which was created and removed meanwhile", name(unseen.uid)),
        (before, then) => format!("shows {}", shown(unseen.uid, before.as_ref(), then)),
    });
    shows.map(|what| format!("relists and {what}")).collect()
}

/// The number of entries that a queue has lost at its front.
fn gone<T>(old: &[T], new: &[T], same: impl Fn(&T, &T) -> bool) -> usize {
    let is_rest = |rest: &[T]| rest.len() <= new.len() && rest.iter().zip(new).all(|(a, b)| same(a, b));
    (0..=old.len()).find(|count| is_rest(&old[*count..])).unwrap_or(old.len())
}

fn pod_event(after: &JobState, process: &Process, behind: &[Unseen], place: usize) -> String {
    let unseen = &behind[place];
    let later = behind[place + 1..].iter().chain(&process.knowledge.behind);
    let next = later.filter(|it| it.uid == unseen.uid).find(|it| it.before != unseen.before);
    let then: Option<&Pod> = match next {
        Some(next) => next.before.as_ref(),
        None => after.pods.get(unseen.uid),
    };
    format!("shows {}", shown(unseen.uid, unseen.before.as_ref(), then))
}

fn job_event(cached: Option<&Job>, then: Option<&Job>) -> String {
    match (cached, then) {
        (_, None) => "shows that the Job no longer exists".to_owned(),
        (None, Some(_)) => "shows the recreated Job".to_owned(),
        (Some(cached), Some(then)) if then.uid != cached.uid => {
            "shows the recreated Job in place of the previous one".to_owned()
        }
        (Some(cached), Some(then)) if then.status != cached.status => {
            format!("shows the status {}", status::change(&cached.status, &then.status))
        }
        (Some(_), Some(_)) => "shows the changed Job".to_owned(),
    }
}

/// H1: the number of expected deletions, if the mutation counts them.
fn deletions(old: &Process, new: &Process) -> String {
    let (before, after) = (old.memory.deletions(), new.memory.deletions());
    if before == after { String::new() } else { format!("; expected deletions {before} -> {after}") }
}

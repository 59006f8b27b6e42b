//! Finds writes that the trace lacks (`docs/reference/judging.md`, *Audit logs*).
//!
//! An audit log can lack lines. A write is missing if an object is in a state that the recorded writes do not lead to.
//! Violations since the last certain state may have no other reason and are withdrawn. Later writes are judged as far
//! as they do not rest on the missing part. A watch skips nothing between its marks.

use std::collections::BTreeSet;

use jobcheck_spec::apiserver::finalizers_of_others;
use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Broken, Req, Uid};
use jobcheck_traces::{Form, Verb};
use serde::{Deserialize, Serialize};

use super::actor::Role;
use super::coverage::Whole;
use super::disorder;
use super::event::{Event, JobEvent, PodEvent};
use super::history::Position;
use super::track::Track;
use super::verdict::{ViewRefusal, Violation};

/// Maximum number of refused writes on unseen versions that are kept.
const UNSEEN_KEPT: usize = 64;

const ENDED_UNSEEN: &str = "a write of a pod may be missing: the pod terminated before it was ready";

/// The beginning of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Behind the event with this number.
    Order(u64),
    /// At this time, in microseconds.
    Time(i64),
}

/// The last event of a pod.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Sighting {
    /// The number of the event.
    pub order: u64,
    /// The latest `resourceVersion`.
    pub version: u64,
    /// It is assumed that a kubelet has ended the pod since ([`super::hidden_kubelets`]).
    pub ended: bool,
    /// A hash of its labels, annotations, generation, and the finalizers of others; 0 if the trace has not shown them.
    pub metadata: u64,
}

/// A pod that was being deleted before the trace showed a DELETE.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Undeleted {
    /// Number of the last event without the deletion.
    since: u64,
    /// Number of the first event with the deletion.
    until: u64,
    /// Time of that event in microseconds.
    when: i64,
    /// The position from which the history of the pods is complete again.
    position: Position,
}

impl Track {
    /// Notes that a write is missing, and withdraws the violations that it may explain.
    pub fn lacks(&mut self, event: &Event, reason: &str, since: Since) {
        let before = self.results.violations.len();
        self.results.violations.retain(|it| match since {
            Since::Order(order) => it.order <= order,
            Since::Time(time) => it.done.is_some_and(|done| done < time),
        });
        let lost = before - self.results.violations.len();
        self.coverage.gap = Some(event.order);
        self.coverage.has_hole = true;
        let reason = match lost {
            0 => reason.to_owned(),
            1 => format!("{reason}, which may explain an earlier violation"),
            _ => format!("{reason}, which may explain {lost} earlier violations"),
        };
        self.tell(event, &reason);
        self.doubt(reason);
    }

    /// Notes that a write of somebody else had a server error. It may have been stored.
    pub fn may_have_changed(&mut self, event: &Event) {
        if event.may_be_stored() {
            self.coverage.unsettled.get_or_insert(event.order);
        }
    }

    /// Withdraws conflicts without a concurrent write since the Job was shown last: there was a write that the trace does not show.
    pub(super) fn withdraw_conflicts(&mut self) -> bool {
        let shown = self.coverage.versions_seen.back().map_or(0, |(_, order)| *order);
        let before = self.results.violations.len();
        self.results.violations.retain(|it| !(it.broken.req == Req::SS32 && it.order > shown));
        self.results.violations.len() < before
    }

    /// At the end: withdraws conflicts whose winner the trace does not show.
    pub(super) fn settle_conflicts(&mut self) {
        if self.withdraw_conflicts() {
            self.coverage.whole = Whole::Lacks;
            self.doubt(
                "a status write lost against a write of the Job that the trace does not show".to_owned(),
            );
        }
    }

    /// Returns `true` if a write of the Job or of its pods is missing. One of the Job that had a server error, and may have been
    /// stored, counts, too.
    pub(super) fn is_doubtful(&self) -> bool {
        let coverage = &self.coverage;
        coverage.whole != Whole::Shown || coverage.has_hole || !coverage.undeleted.is_empty()
    }

    /// At the end: withdraws violations that a write with a server error explains, if nothing has shown what it has stored.
    pub fn settle_at_the_end(&mut self) {
        let Some(order) = self.coverage.unsettled else { return };
        let before = self.results.violations.len();
        self.results.violations.retain(|it| it.order <= order);
        if self.results.violations.len() < before {
            self.doubt("a write of the Job had a server error, and may have been stored".to_owned());
        }
    }

    /// Returns `true` if the last known state of a pod is older than a gap.
    #[must_use]
    pub fn is_unsure(&self, pod: Uid) -> bool {
        self.coverage
            .gap
            .is_some_and(|gap| self.coverage.pods_seen.get(&pod).is_none_or(|seen| seen.order < gap))
    }

    /// Notes an event of this Job or of one of its pods.
    pub fn saw(&mut self, event: &Event, pod: Option<Uid>) {
        self.coverage.latest_version = self.coverage.latest_version.max(event.version.unwrap_or(0));
        self.coverage.latest_answer =
            self.coverage.latest_answer.max(event.when.map_or(i64::MIN, |when| when.done));
        let Some(uid) = pod else { return };
        if self.history.stored.get(uid).is_some() {
            let version = event.answered.unwrap_or(0);
            let seen = self.coverage.pods_seen.entry(uid).or_default();
            let version = seen.version.max(version);
            *seen = Sighting { order: event.order, version, ended: false, metadata: seen.metadata };
        } else {
            self.coverage.pods_seen.remove(&uid);
        }
    }

    /// Returns `true` if the event precedes one that was judged already, so that the log is out of order by more than
    /// the window. A version that was seen before is a repetition.
    pub fn comes_late(&mut self, event: &Event) -> bool {
        // Its version alone may come from a response that repeats an old version.
        let late = event.version.map_or(event.arrival.late, |version| version < self.coverage.latest_version)
            && event.when.is_none_or(|when| when.done < self.coverage.latest_answer);
        if !late || event.form == Form::Watch {
            return false;
        }
        let again = |version| self.coverage.versions_seen.iter().any(|(seen, _)| *seen == version);
        if !event.version.is_some_and(again) {
            let since = event.when.map_or(Since::Order(0), |when| Since::Time(when.done));
            self.lacks(event, disorder::REASON, since);
            self.coverage.is_unknown();
        }
        true
    }

    /// Finds a missing write of the Job: an accepted write was made on another state than the known one.
    pub fn find_missing_write(&mut self, event: &Event, it: &JobEvent) {
        if self.coverage.stale && self.is_finished() {
            // A gap says nothing about Jobs that had finished before, unless something happens to them.
            self.doubt(
                "a write may be missing before one of the finished Job, which cannot be judged".to_owned(),
            );
        }
        if it.after.is_some() {
            self.coverage.shows_job();
        }
        let (Some(after), Some(before)) = (&it.after, self.shown()) else { return };
        let missing = match (it.base, self.coverage.version) {
            (Some(base), Some(stored)) if base == stored => None,
            (Some(base), Some(_)) if !self.coverage.has_seen(base) => {
                Some(format!("a write of the Job is missing: resourceVersion {base} was never recorded"))
            }
            _ => two_writes(event, &before, after).map(|why| format!("a write of the Job is missing: {why}")),
        };
        let Some(reason) = missing else { return };
        let older = |seen: &&(u64, u64)| it.base.is_none_or(|base| seen.0 < base);
        let since = self.coverage.versions_seen.iter().rev().find(older).map_or(0, |(_, order)| *order);
        self.lacks(event, &reason, Since::Order(since));
        self.coverage.is_unknown();
    }

    /// Finds a missing write of the Job: a DELETE has left other finalizers than those that were known. It changes only those of
    /// its own propagation policy.
    pub fn find_missing_finalizers(&mut self, event: &Event, it: &JobEvent) -> bool {
        let others = |job: &Job| finalizers_of_others(job).cloned().collect::<BTreeSet<Text>>();
        let left = match &it.after {
            Some(after) => others(after),
            None if it.gone && !it.hidden => BTreeSet::new(),
            None => return false,
        };
        if self.shown().is_none_or(|before| others(&before) == left) {
            return false;
        }
        let since = self.coverage.versions_seen.back().map_or(0, |(_, order)| *order);
        self.lacks(event, "a write of the Job is missing: its finalizers have changed", Since::Order(since));
        self.coverage.is_unknown();
        true
    }

    /// Finds a missing deletion of the Job: the garbage collector deletes or orphans its pods.
    pub fn find_missing_deletion(&mut self, event: &Event, role: Role, it: &PodEvent) {
        let collects = event.verb == Some(Verb::Delete) || it.names_owner == Some(true);
        let lives = self.shown().is_some_and(|job| !job.deleting);
        if role == Role::GarbageCollector && collects && lives && self.coverage.complete {
            let since = self.coverage.versions_seen.back().map_or(0, |(_, order)| *order);
            self.lacks(
                event,
                "a write of the Job is missing: the garbage collector deletes or orphans its pods",
                Since::Order(since),
            );
            self.coverage.is_unknown();
        }
    }

    /// Notes the response to a DELETE of a pod, which may come after requests that saw its effect.
    pub fn explain_deletion(&mut self, event: &Event, pod: Uid) {
        let received = event.when.map_or(i64::MIN, |when| when.received);
        if self.coverage.undeleted.get(&pod).is_some_and(|found| received <= found.when) {
            self.coverage.undeleted.remove(&pod);
        }
    }

    /// The gap that may be the reason why no view explains a write.
    pub(super) fn gap_before(&self, views: &[ViewRefusal]) -> Option<(&'static str, Since)> {
        let read = self.process.bounds.positions.and_then(|reach| reach.to)?;
        let readier = views.iter().flat_map(|view| &view.broken).any(says_more_ready);
        let (since, _) = self.coverage.skipped.filter(|(_, position)| read < *position && readier)?;
        Some((ENDED_UNSEEN, Since::Order(since)))
    }

    /// Notes that this write was judged. A deletion without a DELETE may explain it.
    pub(super) fn unexplained_after_gaps(&mut self, event: &Event) {
        let Some(read) = self.process.bounds.positions.and_then(|reach| reach.to) else { return };
        for found in self.coverage.undeleted.values_mut().filter(|found| read < found.position) {
            found.until = found.until.max(event.order);
        }
    }

    /// Notes a refused write on a version that the trace has not shown yet. The write of that version may follow.
    pub fn find_unseen_base(&mut self, it: &JobEvent) {
        let (Some(base), Some(stored)) = (it.base, self.coverage.version) else { return };
        let own = it.attempted.as_ref().is_some_and(|job| job.uid == self.id.uid);
        if own && base > stored && self.coverage.unseen_bases.len() < UNSEEN_KEPT {
            let since = self.coverage.versions_seen.back().map_or(0, |(_, order)| *order);
            self.coverage.unseen_bases.entry(base).or_insert(since);
        }
    }

    /// Reports the writes that the trace should have shown before its end.
    pub fn find_never_shown(&mut self) {
        for (base, since) in std::mem::take(&mut self.coverage.unseen_bases) {
            self.results.violations.retain(|it| it.order <= since);
            self.doubt(format!("a write of the Job is missing: resourceVersion {base} was never recorded"));
        }
        for (_, found) in std::mem::take(&mut self.coverage.undeleted) {
            // If the gap explains a violation, later violations may be consequences.
            let explains = |it: &Violation| it.order > found.since && it.order <= found.until;
            if self.results.violations.iter().any(explains) {
                self.results.violations.retain(|it| it.order <= found.since);
            }
            self.doubt("a write of a pod is missing: it was deleted without a DELETE".to_owned());
        }
    }

    /// Returns `true` if a violation reports more ready pods than exist. A kubelet may write only the end of a pod, so
    /// this alone proves no gap.
    fn reported_readier(&self, since: u64) -> bool {
        self.results.violations.iter().filter(|it| it.order > since).any(|it| says_more_ready(&it.broken))
    }

    /// Finds a missing write of a pod.
    pub fn find_missing_pod_write(&mut self, event: &Event, it: &PodEvent, before: &Pod, after: &Pod) {
        let seen = self.coverage.pods_seen.get(&before.uid).copied().unwrap_or_default();
        // A response with an old version still shows the state at that version.
        if event.form == Form::Watch || event.answered.is_none_or(|version| version <= seen.version) {
            return;
        }
        if after.deleting && !before.deleting && event.verb != Some(Verb::Delete) {
            let when = event.when.map_or(i64::MAX, |when| when.done);
            let position = self.history.end() + 1;
            let (since, until) = (seen.order, event.order);
            self.coverage.undeleted.insert(before.uid, Undeleted { since, until, when, position });
        }
        if is_skip(event, before, after) {
            self.coverage.skipped = Some((seen.order, self.history.end() + 1));
            if self.reported_readier(seen.order) {
                self.lacks(event, ENDED_UNSEEN, Since::Order(seen.order));
            }
        }
        let what = if seen.ended && after.is_terminated() {
            Some("its status changed without a write")
        } else {
            impossible(event, it, before, after)
        };
        if let Some(what) = what {
            self.lacks(event, &format!("a write of a pod is missing: {what}"), Since::Order(seen.order));
        }
    }
}

/// Returns `true` for a `ready` that is too large (PC-03).
fn says_more_ready(broken: &Broken) -> bool {
    broken.req == Req::PC03 && broken.excess().is_some_and(|excess| excess > 0)
}

/// The reason why no single write makes a change.
fn two_writes(event: &Event, before: &Job, after: &Job) -> Option<&'static str> {
    let spec = before.spec != after.spec;
    let status = before.status != after.status;
    let main = !event.is_status && matches!(event.verb, Some(Verb::Update | Verb::Patch));
    let deletes = event.verb == Some(Verb::Delete) && event.actor.is_some();
    match () {
        () if spec && status => Some("no write changes spec and status together"),
        () if event.is_status && spec => Some("the response to a status write has another spec"),
        () if main && status => Some("the response to a write of the spec has another status"),
        () if event.form != Form::Watch && skips(before, after) => {
            Some("the generation rose by more than one")
        }
        () if deletes && (spec || status) => Some("the response to a DELETE has another spec or status"),
        () => None,
    }
}

/// Returns `true` if the generation rose by more than one write of the spec, or one deletion, can explain.
fn skips(before: &Job, after: &Job) -> bool {
    before.generation > 0 && after.generation.saturating_sub(1) > before.generation
}

/// Returns `true` if a pod terminated that was never ready.
fn is_skip(event: &Event, before: &Pod, after: &Pod) -> bool {
    event.is_status && !before.ready && !before.is_terminated() && after.is_terminated()
}

/// The reason why this kind of request cannot make a change of a pod.
fn impossible(event: &Event, it: &PodEvent, before: &Pod, after: &Pod) -> Option<&'static str> {
    let status = before.phase != after.phase || before.ready != after.ready;
    match event.verb {
        _ if event.is_status && before.finalizer != after.finalizer => {
            Some("no write of the status changes finalizers")
        }
        Some(Verb::Patch | Verb::Update) if !event.is_status && status => {
            Some("its status changed without a write")
        }
        Some(Verb::Patch) if it.names_finalizers == Some(false) && before.finalizer != after.finalizer => {
            Some("its finalizer changed without a write")
        }
        Some(Verb::Delete) if before.finalizer && !after.finalizer => Some("no DELETE removes a finalizer"),
        Some(Verb::Delete) if status => Some("no DELETE changes the status"),
        _ => None,
    }
}

/// Returns `true` if this request cannot have changed the owner of the pod.
#[must_use]
pub fn keeps_owner(event: &Event, it: &PodEvent) -> bool {
    let silent = event.is_status || event.verb == Some(Verb::Delete) || it.names_owner == Some(false);
    event.form != Form::Watch && silent
}

#[cfg(test)]
mod tests;

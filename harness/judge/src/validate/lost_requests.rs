//! Requests of a sync about which the client got no answer, although the log looks as if it had (TC-08).
//!
//! A log has what an API server did. A connection may break before requests arrive, or before their responses do. The sync
//! then fails: its status treats them as requests without an effect. A retry follows after a second or more (SY-02), counted from the
//! first request of the sync, since changes of its pods begin another sync.
//!
//! A status that only this explains is a violation, until the next status write shows what it lacked. A log does not show
//! whether a response arrived, so the Job is inconclusive then. Such an accident is rare. It is believed once for each Job, and not
//! in a sync of which the log shows another failure.

use std::collections::BTreeSet;

use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::view::Interpretation;
use jobcheck_spec::{Broken, Req, Uid};
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::explain::Question;
use super::frontier::{Explained, Versions};
use super::history::Position;
use super::hypotheses::Assumption;
use super::own_write::OwnWrite;
use super::primary::primary;
use super::setbacks::{Refused, RefusedWrite};
use super::track::Track;
use super::verdict::{Note, ViewRefusal, Violation};

/// The shortest wait before a retry, in microseconds: a second, and the difference between clocks.
pub(super) const RETRY: i64 = 900_000;
/// Maximum number of pod changes that the views may lack. Each attempt searches all of them.
const NEAR: u64 = 2048;
/// Maximum number of writes that are tried one by one, and of sets of writes.
const SINGLE: usize = 4;
const SETS: usize = 12;

/// Status writes that only lost requests explain.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Suspicions {
    /// Those of the last failed sync: their places in the order of judgement, and the rules that they break.
    open: Vec<(u64, Req)>,
    /// The requests that were lost.
    lost: Vec<PodWrite>,
    /// The receipt of the first request of the sync, and of the first of these status writes, in microseconds.
    since: Option<(i64, i64)>,
    /// Pods whose deletion never reached the API server. They are deleted by the retry, or have ended.
    undeleted: Vec<Uid>,
    /// There was a failed sync before.
    is_used: bool,
}

impl Suspicions {
    fn add(&mut self, event: &Event, req: Req, first_request: Option<i64>) {
        let received = event.when.map(|when| when.received);
        self.since = self.since.or(received.map(|at| (first_request.map_or(at, |first| first.min(at)), at)));
        self.open.push((event.order, req));
    }

    fn has(&self, order: u64) -> bool {
        self.open.iter().any(|(open, _)| *open == order)
    }

    /// Returns `true` if this status write may come from a later sync than the failed one. A watch shows no times.
    fn may_be_retried_by(&self, event: &Event) -> bool {
        let is_late = |(first, _): (i64, i64)| event.when.is_none_or(|when| when.received - first >= RETRY);
        !self.open.is_empty() && !self.has(event.order) && self.since.is_none_or(is_late)
    }

    /// Returns `true` if this status write comes from a later sync in any case.
    fn are_retried_by(&self, event: &Event) -> bool {
        self.since.zip(event.when).is_some_and(|((_, last), when)| when.received - last >= RETRY)
    }
}

/// The error of this write, if the sync has made requests that may have been lost, or should have.
pub(super) fn sign(track: &Track, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Broken> {
    let is_possible = question.event.delivery.observer.is_none()
        && question.versions == Versions::Stored
        && track.process.refused == Refused::default()
        && track.history.end() - track.process.frontier.earliest() <= NEAR
        && !track.process.suspicions.is_used
        && !track.process.suspicions.may_be_retried_by(question.event);
    let has_requests =
        is_possible && (!track.history.written_in_sync().is_empty() || may_lack_deletions(track));
    let is_like_it = |view: &ViewRefusal| view.broken.iter().all(|it| follows(it.req));
    let first = views.first().filter(|_| has_requests && views.iter().any(is_like_it))?;
    primary(&first.broken)
}

/// Returns `true` for a rule that the status of a failed sync may break. It may have old numbers of pods, also at a suspension, list
/// UIDs still, or lack a decision.
fn follows(req: Req) -> bool {
    matches!(req, Req::PC01 | Req::PC02 | Req::PC03 | Req::FT02 | Req::SU01 | Req::TC14 | Req::BO13)
        || req.also().contains(&Req::TC14)
}

/// Returns `true` if a sync that decides about the Job has pods to delete.
fn may_lack_deletions(track: &Track) -> bool {
    let is_undecided = track.stored.as_deref().is_some_and(|job| !job.status.is_decided());
    is_undecided && track.history.stored.iter().any(Pod::is_active)
}

/// The sets of requests that may have been lost: some of one kind, or all. Their pods are alike for the numbers of a status, so that
/// the errors of the views say how many it may be.
fn choices(written: &[PodWrite], views: &[ViewRefusal]) -> Vec<Vec<PodWrite>> {
    let by = |it: &Broken| usize::try_from(it.excess()?.unsigned_abs()).ok();
    let numbers: BTreeSet<usize> = views.iter().flat_map(|view| &view.broken).filter_map(by).collect();
    let mut sets: Vec<Vec<PodWrite>> = written.iter().rev().take(SINGLE).map(|it| vec![*it]).collect();
    let kinds: BTreeSet<Kind> = written.iter().map(|it| it.kind).collect();
    for kind in kinds {
        let all: Vec<PodWrite> = written.iter().filter(|it| it.kind == kind).copied().collect();
        let counts =
            numbers.iter().copied().chain([all.len()]).filter(|count| (1..=all.len()).contains(count));
        sets.extend(counts.flat_map(|count| [all[all.len() - count..].to_vec(), all[..count].to_vec()]));
    }
    sets.sort_by_key(Vec::len);
    sets.dedup();
    sets.truncate(SETS);
    if !written.is_empty() && !sets.iter().any(|set| set == written) {
        sets.push(written.to_vec());
    }
    sets
}

/// Searches requests of the sync such that a view explains the write if they are lost.
pub(super) fn explains(track: &mut Track, question: &Question<'_>, views: &[ViewRefusal]) -> Explained {
    let written = track.history.written_in_sync();
    let first = written.iter().find_map(|it| it.written);
    let Some(reported) = views.first().and_then(|view| primary(&view.broken)) else {
        return Explained::No(Vec::new());
    };
    let some = choices(&written, views);
    let none = Some(Vec::new()).filter(|_| may_lack_deletions(track));
    // A sync whose request failed knows that, but its status may not depend on it.
    let known = [false, true].map(|fails| some.iter().map(move |lost| (lost, fails)));
    let deletions = none.iter().map(|lost| (lost, true));
    let mut last = Explained::No(Vec::new());
    for (lost, fails) in known.into_iter().flatten().chain(deletions) {
        let before = track.checkpoint(Assumption::LostRequests);
        lost.iter().for_each(|it| track.history.unhear(it.uid, it.at));
        if fails {
            track.pod_write_refused(RefusedWrite::Unheard);
        }
        last = track.explain(question, Interpretation::Ideal);
        // The caches were read before the requests were sent.
        let is_by_old_caches = lost.iter().all(|it| track.process.frontier.may_lack(it.at));
        if matches!(last, Explained::Yes(_)) && is_by_old_caches {
            if !fails {
                track.pod_write_refused(RefusedWrite::Unheard);
            }
            let active = track.history.stored.iter().filter(|pod| pod.is_active() && lost.is_empty());
            let suspicions = &mut track.process.suspicions;
            suspicions.undeleted.extend(active.map(|pod| pod.uid));
            suspicions.lost.extend(lost);
            suspicions.add(question.event, reported.req, first);
            return last;
        }
        track.restore(before);
    }
    match last {
        Explained::Yes(_) => Explained::No(Vec::new()),
        other => other,
    }
}

impl Track {
    /// Begins the sync after a failed one: it has not failed itself.
    pub(super) fn retries_lost_requests(&mut self, event: &Event) {
        if self.process.suspicions.are_retried_by(event) {
            self.process.forget_refusals();
        }
    }

    /// Withdraws the violations of a failed sync if this right status write, of the next sync, shows that its requests were lost.
    pub(super) fn confirm_lost_requests(&mut self, event: &Event, after: &Job) {
        let is_right = self.results.violations.last().is_none_or(|it| it.order != event.order);
        // By the view for pods, by the status itself for a pod that it no longer lists.
        let lacks = |it: &PodWrite| match it.kind {
            Kind::Gain | Kind::Loss => self.process.frontier.may_lack(it.at),
            Kind::Other => after.status.is_recorded(it.uid),
        };
        let is_undecided =
            is_right && (!self.coverage.complete || self.process.suspicions.lost.iter().any(lacks));
        if is_undecided || !self.process.suspicions.may_be_retried_by(event) {
            return;
        }
        let used = Suspicions { is_used: true, ..Suspicions::default() };
        let Suspicions { open, undeleted, .. } = std::mem::replace(&mut self.process.suspicions, used);
        let runs_on = |uid: &Uid| self.history.stored.get(*uid).is_some_and(Pod::is_active);
        if !is_right || undeleted.iter().any(runs_on) {
            return;
        }
        let is_open = |it: &Violation| it.broken.known.is_none() && open.contains(&(it.order, it.broken.req));
        self.results.violations.retain(|it| !is_open(it));
        let reason = "TC-08: a status was corrected by the next one: only lost requests, or lost responses, explain it";
        self.reserve(Note::on(event, reason.to_owned()));
    }
}

/// A write of the process to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PodWrite {
    pub uid: Uid,
    /// Its position in the history.
    pub at: Position,
    /// Lower bound for its time, in microseconds.
    pub written: Option<i64>,
    pub kind: Kind,
}

/// The kinds of writes to pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Kind {
    Gain,
    Loss,
    Other,
}

impl Kind {
    pub(super) fn of(write: &OwnWrite) -> Kind {
        match write {
            OwnWrite::Create(_) | OwnWrite::Adopt(_) => Kind::Gain,
            OwnWrite::Delete => Kind::Loss,
            OwnWrite::RemoveFinalizer | OwnWrite::Release | OwnWrite::Miss => Kind::Other,
        }
    }
}

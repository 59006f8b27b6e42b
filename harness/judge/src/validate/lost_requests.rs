//! Requests of a sync about which the client got no answer, although the log looks as if it had (TC-08).
//!
//! A log has what an API server did. A connection may break before a request arrives, or before its response does. The sync
//! then fails: its status treats the request as one without an effect, and a retry follows after a second or more (SY-02).
//!
//! A status that only this explains is a violation, until the next status write shows what it lacked. A log does not show
//! whether a response arrived, so the Job is inconclusive then. Such an accident is rare. It is believed once for each Job, and not
//! in a sync of which the log shows another failure.

use jobcheck_spec::pod::Pod;
use jobcheck_spec::view::Interpretation;
use jobcheck_spec::{Broken, Req, Uid};
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::explain::Question;
use super::frontier::{Explained, Versions};
use super::history::Position;
use super::hypotheses::Assumption;
use super::primary::primary;
use super::setbacks::{Refused, RefusedWrite};
use super::track::Track;
use super::verdict::{Note, ViewRefusal};

/// The shortest wait before a retry, in microseconds: a second, and the difference between clocks.
const RETRY: i64 = 900_000;
/// Maximum number of pod changes that the views may lack. Each attempt searches all of them.
const NEAR: u64 = 2048;
/// Maximum number of writes that are tried one by one.
const SINGLE: usize = 4;

/// Status writes that only lost requests explain.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Suspicions {
    /// Those of the last failed sync, by their places in the order of judgement.
    open: Vec<u64>,
    /// The end of the first of them, in microseconds.
    since: Option<i64>,
    /// A deletion never reached the API server, so that the retry repeats it.
    lacks_deletions: bool,
    /// There was a failed sync before.
    is_used: bool,
}

impl Suspicions {
    fn add(&mut self, event: &Event, lacks_deletions: bool) {
        let Some(when) = event.when else { return };
        self.since.get_or_insert(when.received);
        self.open.push(event.order);
        self.lacks_deletions |= lacks_deletions;
    }

    /// Returns `true` if this status write comes from a later sync than the failed one.
    fn are_retried_by(&self, event: &Event) -> bool {
        self.since.zip(event.when).is_some_and(|(since, when)| when.received - since >= RETRY)
    }
}

/// The error of this write, if the sync has made requests that may have been lost, or should have.
pub(super) fn sign(track: &Track, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Broken> {
    let is_possible = question.settings.has_actors
        && question.event.delivery.observer.is_none()
        && question.versions == Versions::Stored
        && track.process.refused == Refused::default()
        && track.history.end() - track.process.frontier.earliest() <= NEAR
        && !track.process.suspicions.is_used;
    let has_requests =
        is_possible && (!track.history.written_in_sync().is_empty() || may_lack_deletions(track));
    let is_like_it = |view: &&ViewRefusal| view.broken.iter().all(|it| follows(it.req));
    has_requests.then(|| views.iter().find(is_like_it)).flatten()?;
    primary(&views.first()?.broken)
}

/// Returns `true` for a rule that the status of a failed sync may break: numbers of pods, UIDs that stay recorded, and the
/// missing decision.
fn follows(req: Req) -> bool {
    matches!(req, Req::PC01 | Req::PC02 | Req::PC03 | Req::FT02 | Req::TC14 | Req::BO13)
        || req.also().contains(&Req::TC14)
}

/// Returns `true` if a sync that decides about the Job has pods to delete.
fn may_lack_deletions(track: &Track) -> bool {
    let is_undecided = track.stored.as_deref().is_some_and(|job| !job.status.is_decided());
    is_undecided && track.history.stored.iter().any(Pod::is_active)
}

/// Searches requests of the sync such that a view explains the write if they are lost.
pub(super) fn explains(track: &mut Track, question: &Question<'_>) -> Explained {
    let written = track.history.written_in_sync();
    let single = written.iter().rev().take(SINGLE).map(std::slice::from_ref);
    let some: Vec<&[PodWrite]> = single.chain([&written[..]]).filter(|lost| !lost.is_empty()).collect();
    let none = Some(&[][..]).filter(|_| may_lack_deletions(track));
    // A sync whose request failed knows that, but its status may not depend on it.
    let choices = [false, true].map(|fails| some.iter().map(move |lost| (*lost, fails)));
    let deletions = none.into_iter().map(|lost| (lost, true));
    let mut last = Explained::No(Vec::new());
    for (lost, fails) in choices.into_iter().flatten().chain(deletions) {
        let before = track.checkpoint(Assumption::LostRequests);
        lost.iter().for_each(|(uid, at)| track.history.unhear(*uid, *at));
        if fails {
            track.pod_write_refused(RefusedWrite::Unheard);
        }
        last = track.explain(question, Interpretation::Ideal);
        // The caches were read before the requests were sent.
        let is_by_old_caches = lost.iter().all(|(_, at)| track.process.frontier.may_lack(*at));
        if matches!(last, Explained::Yes(_)) && is_by_old_caches {
            if !fails {
                track.pod_write_refused(RefusedWrite::Unheard);
            }
            track.process.suspicions.add(question.event, lost.is_empty());
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
            (self.process.excused_writes, self.process.refused) = (0, Refused::default());
        }
    }

    /// Withdraws the violations of a failed sync if this right status write, of the next sync, shows that its requests were lost.
    pub(super) fn confirm_lost_requests(&mut self, event: &Event) {
        if !self.process.suspicions.are_retried_by(event) {
            return;
        }
        let Suspicions { open, lacks_deletions, .. } = std::mem::take(&mut self.process.suspicions);
        self.process.suspicions.is_used = true;
        let is_right = self.results.violations.last().is_none_or(|it| it.order != event.order);
        if !is_right || lacks_deletions && self.history.deletions_of_sync() == 0 {
            return;
        }
        self.results.violations.retain(|it| !open.contains(&it.order));
        let reason = "TC-08: a status was corrected by the next one: only lost requests, or lost responses, explain it";
        self.reserve(Note::on(event, reason.to_owned()));
    }
}

/// A write of the process to a pod.
pub(super) type PodWrite = (Uid, Position);

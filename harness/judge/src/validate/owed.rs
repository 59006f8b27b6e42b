//! What still has to happen when a trace ends (judging.md 4).

use jobcheck_spec::guards::decision::{Tally, decide};
use jobcheck_spec::guards::ttl::expiry;
use jobcheck_spec::job::ConditionKind;
use jobcheck_spec::view::{Backoff, Reading, View};
use jobcheck_spec::{Broken, Req, Said, Uid};
use rustc_hash::{FxHashMap, FxHashSet};

use super::actor::ActorId;
use super::event::Event;
use super::idle::IdleRequests;
use super::owed_work::{last_try, owed_work};
use super::settings::Settings;
use super::track::Track;
use super::verdict::{Obligation, Owed};

/// What is owed is a violation only after this much trace time, in microseconds: twice the longest retry.
pub const PATIENCE: i64 = 120_000_000;

/// Requests of a Job's controllers that were refused, and may still have to be made good.
#[derive(Clone, Debug, Default)]
pub struct Trouble {
    /// Pods of which the manager could not remove the finalizer (EN-06).
    pub unreleased: FxHashSet<Uid>,
    /// The last request of the manager was answered with a server error (EN-07).
    pub server_error: bool,
    /// A DELETE of the Job by the TTL controller was refused (TT-07).
    pub deletion_refused: bool,
    /// What came to nothing since the Job or its pods changed.
    pub idle: IdleRequests,
}

impl Trouble {
    /// A request of the manager was refused.
    pub fn refused(&mut self, event: &Event) {
        self.server_error = event.code >= 500;
    }

    /// What a debt is called: EN-07 where the work never went on after a server error.
    fn name(&self, req: Req) -> Req {
        if self.server_error { Req::EN07 } else { req }
    }
}

/// Ends of the trace.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Last time that the trace shows, in microseconds.
    pub last: Option<i64>,
    /// Last request of a Job controller.
    pub job_controller: Option<i64>,
    /// Last request of the TTL controller.
    pub ttl_controller: Option<i64>,
    /// Last requests of managers that are known by what they do.
    pub managers: FxHashMap<ActorId, i64>,
}

impl Owed {
    /// Whether patience is over: long ago by the trace's own time, and the same actor has worked since, which is the Job's
    /// `manager` where that is none that is known by its name.
    #[must_use]
    pub fn is_overdue(&self, end: &End, manager: Option<ActorId>) -> bool {
        let by_ttl = matches!(self.req, Req::TT07 | Req::TT14 | Req::MB07);
        let worked = match manager {
            _ if by_ttl => end.ttl_controller,
            // MB-05: of a Job that is gone the built-in releases the pods, whoever managed it.
            Some(manager) if self.req != Req::MB05 => end.managers.get(&manager).copied(),
            Some(_) | None => end.job_controller,
        };
        match (self.since, end.last, worked) {
            (Some(since), Some(last), Some(worked)) => last - since >= PATIENCE && worked > since,
            _ => false,
        }
    }

    /// The violation that an overdue debt is.
    #[must_use]
    pub fn broken(&self) -> Broken {
        Broken {
            req: self.req,
            what: "what had to happen",
            expected: Said::Text(self.obligation.to_string()),
            found: Said::Words("nothing for 120 s and more, while the controller worked"),
            known: None,
        }
    }
}

/// Everything that a Job's controllers still owe it.
#[must_use]
pub fn owed(track: &Track, settings: &Settings) -> Vec<Owed> {
    // What is owed follows from the Job and its pods: it is owed since they changed last.
    let since = track.changed.max(track.pods_changed);
    let mut list = Vec::new();
    let mut owe =
        |req: Req, obligation: Obligation, since: Option<i64>| list.push(Owed { req, obligation, since });
    let Some(job) = &track.stored.as_ref().map(|job| settings.gates.read(job)) else {
        if track.history.holds_finalizers() {
            let req = if track.is_built_in() { Req::FT20 } else { Req::MB05 };
            owe(req, Obligation::ReleaseOfDeletedJob, since);
        }
        return list;
    };
    if let Some(expiry) = expiry(job).filter(|_| job.status.is_finished() && !job.deleting) {
        let req = match () {
            () if track.trouble.deletion_refused => Req::TT07,
            () if track.is_built_in() => Req::TT14,
            () => Req::MB07,
        };
        owe(req, Obligation::DeleteExpiredJob, Some(expiry.0.saturating_mul(1_000_000)));
    }
    if !track.executor && !job.is_managed_by_built_in() || !track.complete {
        return list;
    }
    if job.status.is_finished() {
        if track.history.holds_finalizers() {
            // TT-15: its foreground deletion waits for them.
            let req = if job.deleting { Req::TT15 } else { Req::FT23 };
            owe(req, Obligation::ReleaseOfFinishedJob, since);
        }
        return list;
    }
    unfinished(track, job, settings, &mut owe);
    list
}

fn unfinished(
    track: &Track,
    job: &jobcheck_spec::job::Job,
    settings: &Settings,
    owe: &mut impl FnMut(Req, Obligation, Option<i64>),
) {
    let since = track.changed.max(track.pods_changed);
    let pods = &track.history.stored;
    let mut view = View {
        job,
        cache: pods,
        post: pods,
        ownerless: Some(&track.history.ownerless),
        expectations_met: true,
        deletion_unseen: false,
        deletes_failed: false,
        namespace_goes: track.setbacks.has_no_namespace(),
        earliest: None,
        not_before: None,
        finalizers_removed: 0,
        latest: None,
        backoff: Backoff::default(),
        constants: &settings.constants,
        gates: settings.gates,
        reading: Reading::Ideal,
    };
    view.backoff = track.backoff.in_view(&view, &[]);
    for (req, obligation, since) in owed_work(track, &view) {
        owe(req, obligation, since);
    }
    let decided = job.status.is_decided();
    let nothing_lives = pods.sums().active == 0 && pods.sums().terminating == 0;
    if decided && nothing_lives {
        let fails = job.status.is_true(&ConditionKind::FailureTarget);
        let obligation = if fails { Obligation::WriteFailed } else { Obligation::WriteComplete };
        owe(track.trouble.name(Req::TC04), obligation, last_try(track));
    } else if !decided && decide(&view, &Tally::of(&view)).is_some() {
        let req = if job.spec.completions == Some(0) { Req::PC25 } else { Req::TC14 };
        owe(track.trouble.name(req), Obligation::WriteInterim, last_try(track));
    }
    let deadline =
        job.spec.active_deadline_seconds.zip(job.status.start_time).filter(|_| !job.spec.is_suspended());
    if let Some((seconds, start)) = deadline.filter(|_| !decided) {
        let due = start.plus(seconds).0.saturating_mul(1_000_000);
        owe(Req::SU10, Obligation::FailAtDeadline, Some(due).max(track.setbacks.status));
    }
    if job.spec.is_suspended() && !decided && pods.sums().active > 0 {
        owe(Req::SU01, Obligation::DeleteSuspended, since);
    }
}

//! Obligations that are open at the end of a trace (`docs/reference/judging.md`, *Pending*).

use jobcheck_spec::guards::ttl::expiry;
use jobcheck_spec::job::Job;
use jobcheck_spec::obligations::{self, Obligation};
use jobcheck_spec::view::View;
use jobcheck_spec::{Broken, Operand, Req};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::actor::{ActorId, Role};
use super::etcds::Etcds;
use super::event::Event;
use super::idle::IdleRequests;
use super::mirror::Work;
use super::owed_work::{last_try, owed_work};
use super::refusal::Refusals;
use super::settings::Settings;
use super::track::Track;
use super::unlogged::Unlogged;
use super::verdict::{JobVerdict, Owed};

/// Trace time after which an open obligation is overdue, in microseconds: twice the longest retry.
pub const PATIENCE: i64 = 120_000_000;

/// Refused requests of a Job's controllers whose work may still have to be done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Trouble {
    /// The last response to the manager was a server error (EN-07).
    pub server_error: bool,
    /// A DELETE of the Job by the TTL controller was refused (TT-07).
    pub deletion_refused: bool,
    /// The known deviation because of which the last status writes of the manager were refused, and their number.
    pub refused_for: Option<(Req, u32)>,
    /// Refusals that no rule explains.
    pub refusal: Refusals,
    /// Requests without effect since the last change of the Job or its pods.
    pub idle: IdleRequests,
}

impl Trouble {
    /// Notes a refused request of the manager.
    pub fn refused(&mut self, event: &Event) {
        self.server_error = event.has_server_error();
    }

    /// Notes that a status write was refused, perhaps because of a known deviation.
    pub fn status_refused(&mut self, known: Option<Req>) {
        self.refused_for = known.map(|known| {
            let before = self.refused_for.filter(|(other, _)| *other == known).map_or(0, |it| it.1);
            (known, before + 1)
        });
    }

    /// The known deviation that wedges a Job: the manager has retried the refused write in vain.
    #[must_use]
    pub fn wedged(&self) -> Option<Req> {
        self.refused_for.filter(|(_, times)| *times > 1).map(|(known, _)| known)
    }

    /// The requirement of an obligation: EN-07 if the work never continued after a server error.
    fn name(&self, req: Req) -> Req {
        if self.server_error { Req::EN07 } else { req }
    }
}

/// The last events of a trace.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// The last time in the trace, in microseconds.
    pub last: Option<i64>,
    /// The last request of a Job controller.
    pub job_controller: Option<i64>,
    /// The last request of the TTL controller.
    pub ttl_controller: Option<i64>,
    /// The work of managers that are recognised by their writes.
    pub managers: FxHashMap<ActorId, Work>,
    /// The time of the next look for late work, in microseconds.
    pub next_look: i64,
    /// The order of the versions of Jobs and pods.
    pub etcds: Etcds,
    /// The requests that an audit policy leaves out.
    pub unlogged: Unlogged,
}

impl End {
    /// Notes the time of a request.
    pub(super) fn note(&mut self, event: &Event, role: Role) {
        self.unlogged.shown(event, role);
        let Some(when) = event.when else { return };
        self.etcds.note(event, when);
        self.last = self.last.max(Some(when.done));
        match role {
            Role::JobController => self.job_controller = Some(when.done),
            Role::TtlController => self.ttl_controller = Some(when.done),
            Role::GarbageCollector | Role::PodGc | Role::Kubelet | Role::Manager | Role::Other => {}
        }
    }

    /// The reasons why the whole trace is inconclusive. Withdraws the violations that may rest on what the log lacks.
    ///
    /// A Job that conforms does so by all that the log shows.
    pub(super) fn doubts(&self, verdicts: &mut [JobVerdict]) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        if let Some(reason) = self.etcds.doubt() {
            for verdict in verdicts.iter_mut() {
                verdict.withdraw(&reason, &|_, _| true);
            }
            reasons.push(reason);
        }
        for verdict in verdicts.iter_mut().filter(|it| !it.violations.is_empty()) {
            for lacking in self.unlogged.lacking(verdict.namespace(), self.last) {
                let is_needed = verdict.withdraw(lacking.reason, &|_, it| lacking.concerns(it));
                if is_needed && !reasons.iter().any(|reason| reason == lacking.reason) {
                    reasons.push(lacking.reason.to_owned());
                }
            }
        }
        reasons
    }

    /// The work of a manager that is recognised by its writes.
    #[must_use]
    pub fn work_of(&self, manager: Option<ActorId>) -> Option<&Work> {
        manager.and_then(|manager| self.managers.get(&manager))
    }
}

impl Owed {
    /// Returns `true` if the obligation has been open for long enough by the time in the trace, and its controller has
    /// made a request since. The controller is `manager`, or one that is recognised by its name.
    #[must_use]
    pub fn is_overdue(&self, end: &End, manager: Option<ActorId>) -> bool {
        let by_ttl = matches!(self.req, Req::TT07 | Req::TT14 | Req::MB07);
        let worked = match manager {
            _ if by_ttl => end.ttl_controller,
            // MB-05: the built-in controller removes the finalizers of any deleted Job's pods.
            Some(manager) if self.req != Req::MB05 => end.work_of(Some(manager)).map(|work| work.last),
            Some(_) | None => end.job_controller,
        };
        match (self.since, end.last, worked) {
            (Some(since), Some(last), Some(worked)) => last - since >= PATIENCE && worked > since,
            _ => false,
        }
    }

    /// Returns `true` for an obligation that follows from the stored Job alone, so that it binds managers that write
    /// status alone.
    #[must_use]
    pub fn is_mirrored(&self) -> bool {
        matches!(self.req, Req::MR08 | Req::MR13 | Req::TC14)
    }

    /// The violation for an overdue obligation.
    #[must_use]
    pub fn broken(&self) -> Broken {
        Broken {
            req: self.req,
            what: "overdue obligation",
            expected: Operand::Text(self.obligation.to_string()),
            found: Operand::Words("not met for 120 s or more, although the controller was active"),
            known: None,
        }
    }
}

/// All open obligations of a Job's controllers.
#[must_use]
pub fn owed(track: &Track, settings: &Settings) -> Vec<Owed> {
    // An obligation follows from the state of the Job and its pods, so it is as old as their last change.
    let since = track.times.changed.max(track.times.pods_changed);
    let mut list = Vec::new();
    let mut owe =
        |req: Req, obligation: Obligation, since: Option<i64>| list.push(Owed { req, obligation, since });
    let Some(job) = &track.stored.as_ref().map(|job| settings.gates.read(job)) else {
        // A write that the trace does not show may have removed the others.
        if track.history.holders_of_finalizers().any(|uid| !track.is_unsure(uid)) {
            let req = if track.is_built_in() { Req::FT20 } else { Req::MB05 };
            owe(req, Obligation::FinalizersOfDeletedJob, since);
        }
        return list;
    };
    // A write that the trace does not show may have deleted the Job, or changed its TTL.
    let may_be_candidate = job.status.is_finished() && !job.deleting && !track.coverage.stale;
    if let Some(expiry) = expiry(job).filter(|_| may_be_candidate) {
        let req = match () {
            () if track.trouble.deletion_refused => Req::TT07,
            () if track.is_built_in() => Req::TT14,
            () => Req::MB07,
        };
        owe(req, Obligation::DeleteExpiredJob, Some(expiry.0.saturating_mul(1_000_000)));
    }
    if track.is_mirrored() {
        let debt =
            obligations::mirrored(job).filter(|_| track.manager.mirror.reports && !track.coverage.stale);
        if let Some((req, obligation)) = debt {
            owe(req, obligation, track.times.changed);
        }
        return list;
    }
    if !track.coverage.complete {
        return list;
    }
    if job.status.is_finished() {
        if let Some(req) = obligations::finalizers(Some(job)).filter(|_| track.history.holds_finalizers()) {
            owe(req, Obligation::FinalizersOfFinishedJob, since);
        }
        return list;
    }
    unfinished(track, job, settings, &mut owe);
    list
}

/// The view of a process whose caches are up to date.
pub(super) fn true_view<'a>(track: &'a Track, job: &'a Job, settings: &'a Settings) -> View<'a> {
    let mut view = View {
        ownerless: Some(&track.history.ownerless),
        settled: Some(&track.history.settled),
        namespace_terminating: track.process.setbacks.has_no_namespace(),
        constants: &settings.constants,
        gates: settings.gates,
        ..View::of(job, &track.history.stored)
    };
    view.backoff = track.process.backoff.in_view(&view, &[]);
    view
}

fn unfinished(
    track: &Track,
    job: &Job,
    settings: &Settings,
    owe: &mut impl FnMut(Req, Obligation, Option<i64>),
) {
    let since = track.times.changed.max(track.times.pods_changed);
    let pods = &track.history.stored;
    let view = true_view(track, job, settings);
    for (req, obligation, since) in owed_work(track, &view) {
        owe(req, obligation, since);
    }
    for (req, obligation, since) in track.owed_ownership().filter(|_| !job.deleting) {
        owe(req, obligation, since);
    }
    if let Some((req, obligation)) = obligations::next_condition(&view) {
        owe(track.trouble.name(req), obligation, last_try(track));
    }
    if job.status.is_decided() {
        return;
    }
    if let Some(deadline) = obligations::deadline(job) {
        let due = deadline.0.saturating_mul(1_000_000);
        owe(Req::SU10, Obligation::FailAtDeadline, Some(due).max(track.process.setbacks.status));
    }
    if obligations::must_suspend(job, &pods.sums()) {
        owe(Req::SU01, Obligation::DeleteSuspended, since);
    }
}

//! Open obligations of the executor of an unfinished Job: counting, creating, deleting, and reporting pods (PC-04,
//! PC-06, PC-13, BO-06, BO-11, RP-04, RP-08, FT-02, EN-06, EN-07). Indexes that the Job no longer has are dropped (PC-23,
//! BI-05).

use jobcheck_spec::guards::decision::{Tally, decide};
use jobcheck_spec::job::CompletionMode;
use jobcheck_spec::obligations::{self, Obligation};
use jobcheck_spec::view::View;
use jobcheck_spec::{Req, Time};

use super::pod_records::Fact;
use super::track::Track;

/// An obligation: the requirement, the kind, and the time since which it is open, in microseconds.
pub type Debt = (Req, Obligation, Option<i64>);

/// All obligations for a Job that is neither finished nor being deleted.
#[must_use]
pub fn owed_work(track: &Track, view: &View<'_>) -> Vec<Debt> {
    if view.job.deleting || view.spec().completion_mode == Some(CompletionMode::Unknown) {
        return Vec::new();
    }
    let tally = Tally::of(view);
    let undecided = !view.job.status.is_decided() && decide(view, &tally).is_none();
    let mut debts: Vec<Debt> = Vec::new();
    debts.extend(accounting(track, view, &tally));
    if undecided && !view.spec().is_suspended() {
        debts.extend(creation(track, view, &tally));
        debts.extend(deletion(track, view, &tally));
    }
    debts.extend(report(track, view));
    debts.extend(
        obligations::outdated_indexes(view.job).map(|req| (req, Obligation::DropIndexes, last_try(track))),
    );
    debts
}

/// The last event, or the last refused status write: until then the work of a status write was attempted.
pub(super) fn last_try(track: &Track) -> Option<i64> {
    track.last_setback().max(track.process.setbacks.status)
}

/// The requirement of an obligation: EN-07 if a server error was the last event.
fn after_outage(track: &Track, otherwise: Req) -> Req {
    if track.process.setbacks.server_error > track.times.last_event() { Req::EN07 } else { otherwise }
}

/// FT-02: terminated pods are recorded, lose their finalizer, and are counted. PC-13: other failures do not stop that.
/// EN-06: it continues as soon as removals are no longer refused.
fn accounting(track: &Track, view: &View<'_>, tally: &Tally) -> Option<Debt> {
    if !obligations::must_count(view, tally) {
        return None;
    }
    let since = last_try(track);
    let req = match () {
        () if track.process.setbacks.pod_write > track.process.setbacks.server_error => Req::EN06,
        () if track.process.setbacks.creation > track.times.last_event() => Req::PC13,
        () => after_outage(track, Req::FT02),
    };
    Some((req, Obligation::Count, since))
}

/// Missing pods are created once no delay runs.
fn creation(track: &Track, view: &View<'_>, tally: &Tally) -> Option<Debt> {
    if !obligations::must_create(view, tally) || track.process.setbacks.has_no_namespace() {
        return None;
    }
    let req = match () {
        () if track.id.namesake && !track.pods.any(Fact::Made) => Req::BO06,
        () if view.spec().backoff_limit_per_index.is_some() => Req::BO11,
        () if view.cache.sums().terminating > 0 => Req::RP04,
        () => Req::PC04,
    };
    let req = after_outage(track, req);
    let micros = |time: Time| time.0.saturating_mul(1_000_000);
    let since = track.last_setback().max(track.process.setbacks.creation);
    since.map(|since| (req, Obligation::Create, Some(since.max(delay_end(view).map_or(0, micros)))))
}

/// The number of pods that an unfinished Job misses at this time, in microseconds, although no delay runs.
pub(super) fn missing_pods(view: &View<'_>, now: i64) -> i64 {
    let job = view.job;
    let is_over = job.status.is_decided() || view.spec().is_suspended() || job.deleting;
    let is_delayed = delay_end(view).is_some_and(|end| end.0.saturating_mul(1_000_000) > now);
    if is_over || is_delayed || view.spec().completion_mode == Some(CompletionMode::Unknown) {
        return 0;
    }
    let tally = Tally::of(view);
    if decide(view, &tally).is_some() { 0 } else { obligations::missing(view, &tally).max(0) }
}

/// The end of the last delay in this view.
pub(super) fn delay_end(view: &View<'_>) -> Option<Time> {
    let end = |last: Time, failures: u32| last.plus(view.constants.backoff_ms(failures) / 1000 + 1);
    let globally = view.backoff.last_failure.map(|last| end(last, view.backoff.failures));
    let by_index = view.cache.unaccounted().filter(|pod| view.has_failed(pod)).map(|pod| {
        let failures = pod.failure_count.saturating_add(pod.ignored_failure_count).saturating_add(1);
        end(pod.finish_time(), failures)
    });
    if view.spec().backoff_limit_per_index.is_some() { by_index.max() } else { globally }
}

/// PC-04, PC-06: surplus pods are deleted.
fn deletion(track: &Track, view: &View<'_>, tally: &Tally) -> Option<Debt> {
    obligations::surplus(view, tally).map(|req| (req, Obligation::DeleteSurplus, track.last_setback()))
}

/// PC-01, PC-03, RP-08: a change of the living pods is reported.
fn report(track: &Track, view: &View<'_>) -> Option<Debt> {
    let req = obligations::unreported(&view.job.status, &view.cache.sums())?;
    Some((after_outage(track, req), Obligation::Report, last_try(track)))
}

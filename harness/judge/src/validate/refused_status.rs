//! Judges refused writes of a Job (`docs/reference/judging.md`, *Refusals and quiescence*).

use jobcheck_spec::apiserver::would_refuse_status;
use jobcheck_spec::job::Job;
use jobcheck_spec::view::Interpretation;
use jobcheck_spec::{Broken, Findings, Operand, Req};

use super::event::{Event, JobEvent, TOO_MANY_REQUESTS};
use super::explain::Question;
use super::frontier::Versions;
use super::job_writes::{By, executor_truth};
use super::known;
use super::managers::{self, judge_forbidden};
use super::mirror;
use super::setbacks::Refused;
use super::settings::Settings;
use super::track::Track;
use super::verdict::Note;
use super::{unsettled, without_interim};

/// The response to a request that is malformed.
const BAD_REQUEST: u16 = 400;

/// The reason why a conflict before a write is inconclusive.
const NEXT_WRITE: &str = "a status write lost against a write that the log shows a moment later: either the clocks of two \
                          API servers differ, or the refusal is not true";

/// Judges a refused write of the Job by its manager (`docs/reference/judging.md`, *Refusals and quiescence*).
pub fn refused(track: &mut Track, event: &Event, it: &JobEvent, by: By, settings: &Settings) {
    judge_forbidden(track, event, it.message.as_deref(), by);
    managers::judge_refused_write(track, event, by, settings);
    mirror::main_write_refused(track, event, by, it.message.as_deref());
    mirror::hindered(track, event, by, it.message.as_deref().unwrap_or_default());
    track.trouble.deletion_refused |= by == By::Ttl && event.verb == Some(jobcheck_traces::Verb::Delete);
    if event.may_be_stored() {
        track.coverage.may_be_stored();
    }
    if by == By::Other {
        track.may_have_changed(event);
    }
    if by != By::Manager || !event.is_status || event.code == TOO_MANY_REQUESTS {
        return;
    }
    track.find_unseen_base(it);
    unsettled::note(track, event, it);
    track.trouble.refused(event);
    track.came_to_nothing(event);
    if track.coverage.complete
        && track.manager.executor
        && !event.is_posthumous()
        && track.process.sight.sync().is_some()
    {
        // BO-05: 1.36 keeps the record of a sync only after its status write; other controllers may keep it when they
        // decide. The trace shows the basis of the record if it shows what the sync had read.
        let (versions, latest) = (Versions::Any, event.latest());
        let write = &"refused status write";
        let question = Question { event, settings, write, versions, latest, judge: &|_, _| {} };
        track.explain(&question, Interpretation::Ideal);
        track.keep_backoff(event, false, settings);
    }
    judge_content(track, event, it, settings);
    let refused = track.process.refused;
    track.status_tried();
    track.process.retried_from = event.has_server_error().then_some(track.process.previous_sync);
    track.process.setbacks.status_refused(event);
    match event.code {
        422 | 400 => invalid(track, event, it, refused, settings),
        409 if !event.delivery.injected => conflict(track, event, it),
        404 if !event.delivery.injected => missing(track, event, it),
        _ => track.trouble.refusal.refused(event, it.message.as_deref()),
    }
    track.tell(event, &format_args!("status write refused with {}", event.code));
}

/// Judges what a refused status write had asked for, if nothing but the environment refuses it. It was computed from the
/// stored version.
fn judge_content(track: &mut Track, event: &Event, it: &JobEvent, settings: &Settings) {
    let (Some(stored), Some(attempted)) = (track.shown(), it.attempted.as_deref()) else { return };
    let is_judged = track.manager.executor
        && track.coverage.complete
        && !event.is_posthumous()
        && !event.delivery.injected;
    let is_of_stored =
        it.base.is_some() && it.base == track.coverage.version && attempted.uid == track.id.uid;
    let by_environment = matches!(event.code, 400 | 403 | 422);
    let proposed = Job { spec: stored.spec.clone(), ..attempted.clone() };
    let is_allowed = || would_refuse_status(&settings.rules, &stored, &proposed).is_none();
    if !is_judged || !is_of_stored || !by_environment || stored.status.is_finished() || !is_allowed() {
        return;
    }
    let (write, new) = ("refused status write", &proposed.status);
    let mut findings = Findings::new();
    executor_truth(track, &settings.gates.read(&stored), new, settings.gates, &mut findings);
    if !findings.is_clean() {
        return track.take(event, &write, findings);
    }
    track.judge_by_views(event, settings, &write, Versions::Stored, event.latest(), &|view, findings| {
        without_interim::judge_decision(view, new, findings);
    });
}

fn invalid(track: &mut Track, event: &Event, it: &JobEvent, refused: Refused, settings: &Settings) {
    let write = "refused status write".to_owned();
    let message = it.message.clone().unwrap_or_default();
    let patched = track.shown().zip(it.patch.as_ref()).map(|(stored, patch)| patch.applied(&stored));
    let (Some(stored), Some(attempted)) =
        (track.stored.clone(), it.attempted.as_deref().or(patched.as_ref()))
    else {
        if track.is_mirrored() && is_by_validation(event, &message) {
            return mirror::refused(track, event, None, message, settings);
        }
        let warning = format!("a status write was refused with {}: {message}", event.code);
        if !event.delivery.injected {
            track.warn(event, warning);
        }
        track.trouble.refusal.refused(event, it.message.as_deref());
        return;
    };
    if it.base.zip(track.coverage.version).is_some_and(|(base, version)| base != version) {
        // The server validated the write against another version.
        return;
    }
    // The API server validates the new status against the stored spec (SS-32).
    let proposed = Job { spec: stored.spec.clone(), ..attempted.clone() };
    let Some(broken) = would_refuse_status(&settings.rules, &stored, &proposed) else {
        if event.delivery.injected {
            return;
        }
        if track.is_mirrored() && is_by_validation(event, &message) {
            return mirror::refused(track, event, Some(&proposed), message, settings);
        }
        if track.manager.executor && message.contains(" is invalid: ") {
            track.results.judged += 1;
            let (expected, found) = ("a status that validation accepts".into(), Operand::Text(message));
            let broken =
                Broken { req: Req::SS37, what: "response to the status write", expected, found, known: None };
            track.report(event, &write, broken, Vec::new());
            return;
        }
        track.trouble.refusal.refused(event, it.message.as_deref());
        track.warn(event, format!("a status write was refused for a reason that no rule names: {message}"));
        return;
    };
    if track.is_mirrored() {
        let cause = format!("{}: {message}", broken.req);
        return mirror::refused(track, event, Some(&proposed), cause, settings);
    }
    let rules = &settings.rules;
    let known = known::of_refusal(track, rules, &stored, &proposed, refused).or_else(|| {
        let is_of_ready = known::sole_rule(rules, &stored, &proposed) == Some(Req::SS19);
        let hides = is_of_ready && track.was_refused_for_hidden_active(event, settings, &proposed);
        hides.then_some(Req::BO02)
    });
    track.trouble.status_refused(known.filter(|_| track.is_built_in()));
    let req = known.unwrap_or(if track.manager.executor { Req::SS37 } else { broken.req });
    let found = Operand::Text(format!("{}: {}", broken.req, message));
    track.results.judged += 1;
    let broken = Broken { req, what: broken.what, expected: broken.expected, found, known };
    track.report(event, &write, broken, Vec::new());
}

/// Returns `true` for a refusal by validation, or of a request that is no Job. Webhooks and quotas have other messages.
fn is_by_validation(event: &Event, message: &str) -> bool {
    let is_malformed = event.code == BAD_REQUEST && !message.contains("admission webhook");
    !event.delivery.injected && (is_malformed || message.contains(" is invalid: "))
}

/// The API server answers 404 only for an object that is gone. The trace shows the Job, so something is missing.
fn missing(track: &mut Track, event: &Event, it: &JobEvent) {
    let is_of_it = it.attempted.as_ref().is_some_and(|job| job.uid == track.id.uid);
    if is_of_it
        && !event.arrival.has_near_successor
        && event.name == track.id.name
        && track.shown().is_some_and(|job| !job.deleting)
        && track.coverage.gap.is_none()
    {
        let reason =
            format!("the API server answers 404 to a status write, but Job {} exists", track.id.name);
        track.reserve(Note::on(event, reason));
    }
}

/// SS-32: a conflict needs a concurrent write.
fn conflict(track: &mut Track, event: &Event, it: &JobEvent) {
    let (Some(base), Some(stored)) = (it.base, track.coverage.version) else { return };
    let recent = match (&track.times.replaced, event.when, track.times.changed) {
        (_, Some(when), Some(changed)) => changed >= when.received,
        _ => true,
    };
    let uid_differs = it.attempted.as_ref().is_some_and(|job| job.uid != track.id.uid);
    // A conflict of UIDs: the request was meant for another Job of this name.
    let precondition = it.message.as_deref().is_some_and(|message| message.contains("Precondition failed"));
    let explained = base != stored || recent || uid_differs || precondition || track.coverage.gap.is_some();
    if !explained && event.arrival.has_near_successor {
        return track.reserve(Note::on(event, NEXT_WRITE.to_owned()));
    }
    let mut findings = Findings::new();
    let expected = "accepted, since the request has the stored resourceVersion";
    findings.require(Req::SS32, explained, "response to the status write", expected, "409 Conflict");
    track.take_uncounted(event, &"refused status write", findings);
}

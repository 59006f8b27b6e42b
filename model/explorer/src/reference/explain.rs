//! The decision of a sync as text, for counterexamples.

use jobcheck_spec::job::{JobSpec, JobStatus};

use crate::process::io::{Io, Replies};
use crate::process::read::Read;
use crate::process::settings::Settings;
use crate::reference::claim::claim;
use crate::reference::decide::{Termination, decide};
use crate::reference::sync::completes;
use crate::reference::tally::Tally;

/// The end that a sync with this input decides on, with its reason; `None` if it decides nothing new.
#[must_use]
pub fn decision(read: &Read, settings: &Settings<'_>) -> Option<String> {
    let job = read.job.as_ref()?;
    if settings.leaves_alone(job) || job.status.is_finished() || read.finished_unseen {
        return None;
    }
    let replies = Replies::default();
    let mut io = Io::replaying(&replies, None);
    if claim(job, read, settings, &mut io) != Ok(None) {
        return None;
    }
    let spec = &*job.spec;
    let tally = Tally::of(job, read, settings);
    let termination = match decide(spec, &job.status, read, &tally, &mut io) {
        Ok(termination) => termination,
        // The message names one of the pods at random.
        Err(_) => return Some("PodFailurePolicy: several pods match a FailJob rule".to_owned()),
    };
    let active = i32::try_from(tally.active.len()).unwrap_or(i32::MAX);
    let termination = termination.or_else(|| completes(job, read, settings, &tally, active));
    let termination = termination.filter(|termination| !termination.is_stored)?;
    let is_complete = termination.reason.as_ref() == "CompletionsReached";
    let waits = if is_complete || settings.has_seen_all_pods(read) {
        ""
    } else {
        ", as soon as the Pod cache shows every pod"
    };
    Some(format!("{}: {}{waits}", termination.reason, why(&termination, spec, &job.status, read, &tally)))
}

fn why(
    termination: &Termination,
    spec: &JobSpec,
    status: &JobStatus,
    read: &Read,
    tally: &Tally<'_>,
) -> String {
    match &*termination.reason {
        "BackoffLimitExceeded" if tally.restarts() > 0 => {
            format!("{} restarts, backoffLimit {}", tally.restarts(), spec.backoff_limit.unwrap_or_default())
        }
        "BackoffLimitExceeded" if tally.failed <= i64::from(spec.backoff_limit.unwrap_or_default()) => {
            let limit = spec.backoff_limit.unwrap_or_default();
            format!("{} syncs failed or found a failed pod, backoffLimit {limit}", read.requeues + 1)
        }
        "BackoffLimitExceeded" => {
            format!("{} failed, backoffLimit {}", tally.failed, spec.backoff_limit.unwrap_or_default())
        }
        "DeadlineExceeded" => {
            let start = status.start_time.unwrap_or(read.now);
            let deadline = spec.active_deadline_seconds.unwrap_or_default();
            format!("{} s since startTime, activeDeadlineSeconds {deadline}", read.now.since(start))
        }
        "FailedIndexes" | "MaxFailedIndexesExceeded" => {
            let failed = tally.failed_indexes.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("failed indexes \"{failed}\", {} completed", tally.succeeded)
        }
        "SuccessPolicy" => format!("completed indexes \"{}\"", tally.completed),
        "CompletionsReached" => {
            let wanted = spec.completions.map_or("nil".to_owned(), |completions| completions.to_string());
            format!("{} succeeded, completions {wanted}", tally.succeeded)
        }
        _ => termination.message.to_string(),
    }
}

//! Scopes in which a Job is deleted and recreated while pods and memory of the previous Job remain.

use super::run_by_the_algorithm;
use crate::env::user::UserAction;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, scope};
use jobcheck_spec::constants::Constants;
use jobcheck_spec::job::JobSpec;

/// All scopes of this module.
#[must_use]
pub fn recreation() -> Vec<Scope> {
    vec![without_lag(), delay(), indexed(), failed_request(), lost_response(), delayed_request()]
}

/// A user deletes the owner of the Job at any time, and recreates the Job. The Job cache may lack the last
/// version of the previous Job, its deletion, and the creation. The Pod cache lags by `lag`.
fn recreated_job(name: &'static str, about: &'static str, spec: JobSpec, pods: usize, lag: usize) -> Scope {
    let user = vec![UserAction::DeleteOwner, UserAction::Recreate];
    let base = run_by_the_algorithm(Scope { user, ..scope(name, about, spec, pods) }, lag);
    Scope { job_lag: 3, ..base }
}

/// The scope in which the Job cache may lack only the deletion and the creation.
fn lacking_two_events(base: Scope) -> Scope {
    Scope { job_lag: 2, ..base }
}

fn without_lag() -> Scope {
    let about = "the Job is deleted with its owner and recreated; the caches do not lag";
    let base = recreated_job("recreation/in-time", about, many(1, 1), 2, 0);
    Scope { job_lag: 0, ..base }
}

fn delay() -> Scope {
    let about =
        "the Job is recreated during the delay after a failure; the Job cache may show the previous Job";
    let spec = JobSpec { backoff_limit: Some(1), ..many(1, 1) };
    let base = lacking_two_events(recreated_job("recreation/delay", about, spec, 2, 0));
    Scope { ticks: 1, constants: Constants { pod_failure_backoff_ms: 1000, ..base.constants }, ..base }
}

fn indexed() -> Scope {
    let about = "a Job with two indexes is recreated; the indexes of the previous Job do not count";
    lacking_two_events(recreated_job("recreation/indexed", about, many_indexes(2, 1), 2, 1))
}

fn failed_request() -> Scope {
    let about = "the Job is recreated, and one request fails";
    let base = recreated_job("recreation/failed-request", about, many(1, 1), 2, 1);
    Scope { faults: Faults { failures: 1, ..Faults::default() }, ..base }
}

fn lost_response() -> Scope {
    let about = "the Job is recreated, and one response is lost";
    let base = lacking_two_events(recreated_job("recreation/lost-answer", about, many(1, 1), 1, 1));
    Scope { faults: Faults { losses: 1, ..Faults::default() }, ..base }
}

fn delayed_request() -> Scope {
    let about = "the Job is recreated; the process crashes, and its last request may be handled when the new Job exists";
    let faults = Faults { crashes: 1, ..Faults::default() };
    let base = lacking_two_events(recreated_job("recreation/late-request", about, many(1, 1), 1, 1));
    Scope { faults, delayed_requests: true, ..base }
}

/// The scopes for progress: without lag, or with the smallest lag with which a deletion can be missed.
#[must_use]
pub fn progress_of_recreation() -> [Scope; 2] {
    let about = "the Job is deleted with its owner and recreated; a watch may break meanwhile";
    let stale = lacking_two_events(recreated_job("progress/recreation-stale", about, many(1, 1), 2, 1));
    [Scope { name: "progress/recreation", ..without_lag() }, stale]
        .map(|scope| Scope { progress: true, ..scope })
}

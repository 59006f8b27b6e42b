//! Scopes in which a Job is deleted, and created again under its name, while pods of it and memory of it are left.

use super::run_by_the_algorithm;
use crate::env::user::UserAction;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{many, many_indexes, scope};
use jobcheck_spec::constants::Constants;
use jobcheck_spec::job::JobSpec;

/// All of them.
#[must_use]
pub fn recreation() -> Vec<Scope> {
    vec![in_time(), delay(), indexed(), failed_request(), lost_answer(), late_request()]
}

/// The Job goes by its owner, however far it is, and comes again. The Job cache may lack the end of the former Job, its
/// deletion, and the creation; the Pod cache lags by `lag`.
fn again(name: &'static str, about: &'static str, spec: JobSpec, pods: usize, lag: usize) -> Scope {
    let user = vec![UserAction::DeleteOwner, UserAction::Recreate];
    let base = run_by_the_algorithm(Scope { user, ..scope(name, about, spec, pods) }, lag);
    Scope { job_lag: 3, ..base }
}

/// The same, where the Job cache may lack the deletion and the creation alone.
fn shortly(base: Scope) -> Scope {
    Scope { job_lag: 2, ..base }
}

fn in_time() -> Scope {
    let about = "the Job goes and comes again; the caches show everything at once";
    let base = again("recreation/in-time", about, many(1, 1), 2, 0);
    Scope { job_lag: 0, ..base }
}

fn delay() -> Scope {
    let about =
        "the same after a failure, the delay of which runs on; the Job cache may show the one for the other";
    let spec = JobSpec { backoff_limit: Some(1), ..many(1, 1) };
    let base = shortly(again("recreation/delay", about, spec, 2, 0));
    Scope { ticks: 1, constants: Constants { pod_failure_backoff_ms: 1000, ..base.constants }, ..base }
}

fn indexed() -> Scope {
    let about = "the same of two indexes: those of the former Job are not those of the new one";
    shortly(again("recreation/indexed", about, many_indexes(2, 1), 2, 1))
}

fn failed_request() -> Scope {
    let about = "the same, and a request fails";
    let base = again("recreation/failed-request", about, many(1, 1), 2, 1);
    Scope { faults: Faults { failures: 1, ..Faults::default() }, ..base }
}

fn lost_answer() -> Scope {
    let about = "the same, and an answer is lost";
    let base = shortly(again("recreation/lost-answer", about, many(1, 1), 1, 1));
    Scope { faults: Faults { losses: 1, ..Faults::default() }, ..base }
}

fn late_request() -> Scope {
    let about = "the same, and the process dies, whose request may be handled when another Job has the name";
    let faults = Faults { crashes: 1, ..Faults::default() };
    let base = shortly(again("recreation/late-request", about, many(1, 1), 1, 1));
    Scope { faults, delayed_requests: true, ..base }
}

/// One of them, for progress: nothing lags, or both caches lag by as little as a deletion may be missed with.
#[must_use]
pub fn progress_of_recreation() -> [Scope; 2] {
    let about = "the Job goes and comes again, and a watch may break meanwhile";
    let stale = shortly(again("progress/recreation-stale", about, many(1, 1), 2, 1));
    [Scope { name: "progress/recreation", ..in_time() }, stale].map(|scope| Scope { progress: true, ..scope })
}

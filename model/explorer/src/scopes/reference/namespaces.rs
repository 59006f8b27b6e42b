//! Scopes in which a user deletes the namespace, with the pods and Jobs in it (PC-12).
//!
//! They are for algorithms only. The specification does not describe what a process knows from responses.

use super::run_by_the_algorithm;
use crate::env::user::UserAction;
use crate::process::steps::Faults;
use crate::scope::Scope;
use crate::scopes::{limited_per_index, many, many_indexes, scope};
use jobcheck_spec::job::JobSpec;

fn namespace(name: &'static str, about: &'static str, spec: JobSpec, lag: usize) -> Scope {
    let user = vec![UserAction::DeleteNamespace];
    run_by_the_algorithm(Scope { user, ..scope(name, about, spec, 2) }, lag)
}

fn per_index() -> JobSpec {
    limited_per_index(1, many_indexes(1, 1))
}

/// The scopes for safety.
#[must_use]
pub fn namespaces() -> [Scope; 4] {
    let about = "two completions, one after the other; a user deletes the namespace, so that pod creations are refused";
    let fails = Faults { failures: 1, ..Faults::default() };
    let crashes = Faults { crashes: 1, ..Faults::default() };
    let of_an_index =
        "one index with one retry; a user deletes the namespace, so that the index gets no replacement";
    [
        namespace("stale-caches/terminating-namespace", about, many(2, 1), 2),
        namespace("stale-caches/terminating-namespace-per-index", of_an_index, per_index(), 2),
        Scope { faults: fails, ..namespace("failed-request/terminating-namespace", about, many(2, 1), 1) },
        Scope { faults: crashes, ..namespace("crash/terminating-namespace", about, many(2, 1), 1) },
    ]
}

/// The scopes for progress.
#[must_use]
pub fn progress_of_namespaces() -> [Scope; 2] {
    let about = "two completions, one after the other; a user deletes the namespace";
    let of_an_index =
        "one index with one retry; a user deletes the namespace, so that the index gets no replacement";
    [
        namespace("progress/terminating-namespace", about, many(2, 1), 1),
        namespace("progress/terminating-namespace-per-index", of_an_index, per_index(), 1),
    ]
}

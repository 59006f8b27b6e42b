//! Scopes in which a namespace is deleted, and the pods and Jobs in it with it (PC-12): of algorithms alone, for the
//! specification says nothing of what a process was told.

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

/// The small ones.
#[must_use]
pub fn namespaces() -> [Scope; 4] {
    let about = "two completions, one at a time; the namespace is deleted, and takes no pods any more";
    let fails = Faults { failures: 1, ..Faults::default() };
    let crashes = Faults { crashes: 1, ..Faults::default() };
    let of_an_index = "one retry for an index; the namespace is deleted, and no replacement comes";
    [
        namespace("stale-caches/terminating-namespace", about, many(2, 1), 2),
        namespace("stale-caches/terminating-namespace-per-index", of_an_index, per_index(), 2),
        Scope { faults: fails, ..namespace("failed-request/terminating-namespace", about, many(2, 1), 1) },
        Scope { faults: crashes, ..namespace("crash/terminating-namespace", about, many(2, 1), 1) },
    ]
}

/// Those that are looked at for progress.
#[must_use]
pub fn progress_of_namespaces() -> [Scope; 2] {
    let about = "two completions, one at a time; the namespace is deleted";
    let of_an_index = "one retry for an index; the namespace is deleted, and no replacement comes";
    [
        namespace("progress/terminating-namespace", about, many(2, 1), 1),
        namespace("progress/terminating-namespace-per-index", of_an_index, per_index(), 1),
    ]
}

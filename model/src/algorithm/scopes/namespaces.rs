//! Scopes in which a namespace is deleted, and the Jobs and pods in it with it (PC-12): of algorithms alone, for the
//! specification says nothing of what a process was told.

use super::run_by_the_algorithm;
use crate::algorithm::steps::Faults;
use crate::env::user::UserAction;
use crate::scope::Scope;
use crate::scopes::{many, scope};

fn namespace(name: &'static str, about: &'static str, lag: usize) -> Scope {
    let user = vec![UserAction::DeleteNamespace];
    run_by_the_algorithm(Scope { user, ..scope(name, about, many(2, 1), 2) }, lag)
}

/// The small ones.
#[must_use]
pub fn namespaces() -> [Scope; 3] {
    let about = "two completions, one at a time; the namespace is deleted, and takes no pods any more";
    let fails = Faults { failures: 1, ..Faults::default() };
    let crashes = Faults { crashes: 1, ..Faults::default() };
    [
        namespace("stale-caches/terminating-namespace", about, 2),
        Scope { faults: fails, ..namespace("failed-request/terminating-namespace", about, 1) },
        Scope { faults: crashes, ..namespace("crash/terminating-namespace", about, 1) },
    ]
}

/// The one that is looked at for progress.
#[must_use]
pub fn progress_of_namespaces() -> Scope {
    namespace("progress/terminating-namespace", "two completions, one at a time; the namespace is deleted", 1)
}

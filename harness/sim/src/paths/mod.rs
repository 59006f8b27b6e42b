//! Generated tests: paths of the graph of a scope, replayed step by step on the shipped controllers and the embedded API
//! server.
//!
//! A path is made of steps of the model: what users, kubelets and collectors do, what reaches a cache, that a second
//! passes, that a process dies, that one of its requests is handled, fails, or loses its answer. What others do is done by
//! requests of theirs. A sync reads the JSON that its caches would show, and plans by the shipped code; its requests are
//! the shipped ones, to the byte. After each step this is compared:
//!
//! - the calls that the process wants next are those that the path may go on with, and it wakes when the path says;
//! - the server's answer is what the model says;
//! - what the server holds, projected, is the world of the path ([`mod@compare`] names what is left out).
//!
//! A difference is an error in one of them: the model's environment or its API server, the adapter in `explore/`, the bodies
//! of the shipped requests, or the embedded API server.
//!
//! # What is not replayed
//!
//! - Work queues and watches: the path says when a sync starts, and how much a cache lacks; what it shows is the history of
//!   the server at that revision.
//! - After an answer that was lost the shipped runtime first asks what is stored; here, as in the model, it may sync at once.
//! - The order of UIDs is chance: where the environment of the model chooses another one than the server has drawn, two of
//!   them are exchanged, as if it had drawn them so.
//! - Without delays after failures the pods of the model carry no times. Where it lets the environment choose among pods that
//!   were created at different times here, the plan may take another one, and the path ends.
//! - A pod that has ended, is being deleted, and loses its last finalizer is gone at once here; in the model it goes later.
//!   A step of such a pod ends the path, unless it is its removal.

mod bench;
mod compare;
mod environment;
mod orphan;
mod read;
mod scopes;
mod step;
mod sync;
mod ttl;
mod walk;
mod worker;

use std::collections::BTreeMap;

use jobcheck_apiserver::request::Request;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::step::{Step, StepKind};

use self::read::Reader;
pub use self::scopes::scopes;
pub use self::walk::walk;

/// What replays paths.
#[derive(Debug, Default)]
pub struct Rig {
    reader: Reader,
    mutations: Mutations,
    tamper: Option<fn(&mut Request)>,
}

impl Rig {
    /// One whose controllers plan with these departures; as they are shipped, with none.
    #[must_use]
    pub fn with(mutations: Mutations) -> Rig {
        Rig { mutations, ..Rig::default() }
    }

    /// One that does this to each request of a sync before it is sent.
    #[must_use]
    pub fn tampering(tamper: fn(&mut Request)) -> Rig {
        Rig { tamper: Some(tamper), ..Rig::default() }
    }
}

/// What the paths of a scope came to.
#[derive(Clone, Debug)]
pub struct Walked {
    /// The scope.
    pub scope: &'static str,
    /// Paths from the beginning to where they end.
    pub paths: usize,
    /// Steps that were taken and compared; those of a prefix that paths share once.
    pub steps: usize,
    /// How many steps the graph has; `None` where they are more than were allowed.
    pub graph: Option<usize>,
    /// How often steps of each kind were taken ([`StepKind::ALL`]).
    pub taken: Vec<usize>,
    /// Paths that ended because the server, or the order of UIDs, did not let them go on; by the reason.
    pub cut: BTreeMap<&'static str, usize>,
    /// The first difference.
    pub difference: Option<Difference>,
}

/// What happens is not what the path says.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The steps up to there.
    pub path: Vec<Step>,
    /// What is different.
    pub why: String,
}

impl Walked {
    /// Whether every step between any two worlds of the graph was taken.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.graph == Some(self.steps) && self.cut.is_empty()
    }

    fn of(scope: &'static str) -> Walked {
        Walked {
            scope,
            paths: 0,
            steps: 0,
            graph: None,
            taken: vec![0; StepKind::ALL.len()],
            cut: BTreeMap::new(),
            difference: None,
        }
    }
}

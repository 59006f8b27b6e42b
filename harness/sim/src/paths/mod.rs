//! Paths of the graph of a scope, replayed step by step on the shipped controllers and the embedded API server.
//!
//! A path consists of steps of the model. Users, kubelets, and collectors act, events reach a cache, time passes, and
//! processes crash. A request is handled, fails, or loses its response. Each step of the environment is replayed as
//! its requests. A sync reads the JSON that its caches would show, and plans with the shipped code. Its requests are
//! the shipped ones, to the byte. After each step the replay is compared with the path:
//!
//! - The next calls of a process are those of the path, and the time of its next sync is the same.
//! - The response of the server is that of the model.
//! - The stored objects, projected onto the model's types, are the state of the path. The module `compare` lists the properties
//!   that are omitted.
//!
//! A difference is a defect of the model, the adapter in `controller/adapter`, the shipped requests, or the embedded
//! API server.
//!
//! # Abstractions
//!
//! - Work queues and watches are not replayed. The path decides when a sync starts and how far a cache lags. The cache then
//!   shows the history of the server at that revision.
//! - After a lost response the shipped runtime first reads the stored object. Here, as in the model, it may sync at once.
//! - The order of UIDs is random. If the path requires another order than the generated one, two UIDs are swapped
//!   everywhere.
//! - In scopes without backoff delays the pods of the model have no times. Pods that are equal there may have different
//!   creation times here. If the plan therefore takes another pod, the path ends.
//! - A terminated pod that is being deleted is removed here with its last finalizer, and in the model later. Any other step
//!   on such a pod ends the path.

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

/// The settings and caches of a replay.
#[derive(Debug, Default)]
pub struct Rig {
    reader: Reader,
    mutations: Mutations,
    tamper: Option<fn(&mut Request)>,
}

impl Rig {
    /// Returns a rig whose controllers have these defects. The shipped ones have none.
    #[must_use]
    pub fn with(mutations: Mutations) -> Rig {
        Rig { mutations, ..Rig::default() }
    }

    /// Returns a rig that changes each request of a sync before it is sent.
    #[must_use]
    pub fn tampering(tamper: fn(&mut Request)) -> Rig {
        Rig { tamper: Some(tamper), ..Rig::default() }
    }
}

/// The result of replaying the paths of a scope.
#[derive(Clone, Debug)]
pub struct Walked {
    /// The scope.
    pub scope: &'static str,
    /// The number of paths.
    pub paths: usize,
    /// The number of replayed steps. A common prefix of paths counts once.
    pub steps: usize,
    /// The number of steps of the graph. `None`: more than the limit.
    pub graph: Option<usize>,
    /// The number of steps of each kind ([`StepKind::ALL`]).
    pub taken: Vec<usize>,
    /// The numbers of paths that ended at an abstraction of the model, by its reason.
    pub cut: BTreeMap<&'static str, usize>,
    /// The first difference.
    pub difference: Option<Difference>,
}

/// A difference between a path and its replay.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The steps up to the difference.
    pub path: Vec<Step>,
    /// The difference.
    pub why: String,
}

impl Walked {
    /// Returns true if every step of the graph was replayed.
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

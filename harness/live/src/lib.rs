//! Targets `live`, `builtin`, and `external`: scenarios on a real API server.
//!
//! Each run has a namespace of its own, so that many can go on side by side. The harness acts as every user and every
//! kubelet. Its pods name a scheduler that does not exist, and are bound to a Node object of the harness.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use jobcheck_live::{Access, Manager, Plan, TestCluster, run};
//! use jobcheck_scenario::Scenario;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example(scenario: Arc<Scenario>) -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = Arc::new(TestCluster::open(Access::default(), None, false).await?);
//! let plan = Plan {
//!     manager: Manager::External,
//!     managed_by: Some("example.com/controller".to_owned()),
//!     rules: cluster.rules(),
//!     at_once: 0,
//!     patience: None,
//!     has_audit_log: false,
//!     allow_known: false,
//! };
//! let outcome = run(&cluster, &scenario, &plan, &CancellationToken::new()).await?;
//! println!("{:?}", outcome.exit());
//! cluster.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! | part | item |
//! | --- | --- |
//! | the cluster: access, namespaces, permissions | [`TestCluster`] |
//! | the Node of the pods | `node` |
//! | the controllers that manage the Jobs | [`Manager`] |
//! | the scenarios that cannot be run, with the reason | [`unsupported()`] |
//! | a run: the order of steps, and waits | `play`, [`patience`] |
//! | users and kubelets over HTTP, and a cache filled by watches | `namespace`, `connection`, `cache` |
//! | controllers as processes, and the fault proxy before them | `controller`, `leader` |
//! | faults in requests and watches | `play::faults` |
//! | the recording, from an audit log or from watches | `recording` |
//! | disruptions of the cluster | [`TestCluster::disrupt`] |
//! | cleanup after killed processes | `orphan_cleanup` |
//!
//! # Guarantees
//!
//! The verdict is that of the recorded trace, by the code that judges every trace. A run waits for each expectation. One
//! that is not met in time makes the run inconclusive, never wrong: a real clock proves no absence.
//!
//! # Caveats
//!
//! Quiescence cannot be observed on a real cluster. A run is treated as quiescent if nothing was written in its namespace
//! for [`QUIET`].

mod cache;
mod connection;
mod controller;
mod disruption;
mod error;
mod leader;
mod namespace;
mod node;
mod orphan_cleanup;
pub mod patience;
mod play;
mod recording;
mod test_cluster;
mod unsupported;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::runtime::{Finding, QuiescentState};
use jobcheck_scenario::{Scenario, TargetName};
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::Input;
use tokio_util::sync::CancellationToken;

pub use disruption::Disruption;
pub use error::Error;
pub use jobcheck_record::{Access, AccessError};
pub use play::QUIET;
pub use test_cluster::TestCluster;
pub use unsupported::{needs_process, unsupported};

/// The controllers that manage the Jobs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// The shipped controllers. Each run starts its own process.
    Shipped {
        /// The program and its arguments, to which flags of `jobcheck controller` are appended.
        command: Vec<OsString>,
        /// If true, they include the TTL-after-finished controller. Otherwise the cluster has one.
        ttl: bool,
    },
    /// kube-controller-manager.
    BuiltIn {
        /// The words that start kube-controller-manager, if each run starts its own behind a fault proxy. `None`: one
        /// kube-controller-manager runs already for all runs.
        program: Option<Vec<OsString>>,
    },
    /// A controller that was not started by the run.
    External,
}

/// The settings of runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The controllers that manage the Jobs.
    pub manager: Manager,
    /// `spec.managedBy` of every Job whose scenario sets none.
    pub managed_by: Option<String>,
    /// The rules of the API server.
    pub rules: RuleSet,
    /// A bit mask of the first 64 steps. A step whose bit is set happens as soon as it is possible. Other steps
    /// without a condition happen at quiescence.
    pub at_once: u64,
    /// The maximum time to wait for a step or an expectation. `None`: the time that the scenario needs, which
    /// [`patience::needed`] computes.
    pub patience: Option<Duration>,
    /// If true, runs can read an audit log of the API server, in which single requests are identified.
    pub has_audit_log: bool,
    /// If true, documented deviations of the built-in controller (KNOWN) do not make a run fail.
    pub allow_known: bool,
}

impl Plan {
    /// The name of the target in scenarios.
    #[must_use]
    pub fn target(&self) -> TargetName {
        match self.manager {
            Manager::Shipped { .. } => TargetName::Live,
            Manager::BuiltIn { .. } => TargetName::BuiltIn,
            Manager::External => TargetName::External,
        }
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The step or expectation that was not met in time, or the reason why the recording is incomplete.
    pub unmet: Option<String>,
    /// The verdict on the trace.
    pub report: ReplayReport,
    /// The trace, in the native format.
    pub trace: Vec<u8>,
    /// The number of requests in the trace, or of watch events if there was no audit log.
    pub records: usize,
    /// The states at quiescence.
    pub states: Vec<QuiescentState>,
}

impl Outcome {
    /// The first problem of the run, if there is one.
    #[must_use]
    pub fn found(&self) -> Option<Finding> {
        Finding::first(&self.report, self.unmet.as_deref())
    }

    /// The exit code of the run (`docs/reference/judging.md`, section 5).
    #[must_use]
    pub fn exit(&self) -> Exit {
        match (self.report.exit_code, &self.unmet) {
            (Exit::Conforms, Some(_)) => Exit::Inconclusive,
            (exit, _) => exit,
        }
    }
}

/// Runs a scenario in a namespace of its own, which is removed afterwards. Callers check [`unsupported()`] first.
///
/// # Errors
///
/// The API server does not respond or refuses a Job of the scenario, the controllers end, or `stop` was cancelled.
pub async fn run(
    cluster: &Arc<TestCluster>,
    scenario: &Arc<Scenario>,
    plan: &Plan,
    stop: &CancellationToken,
) -> Result<Outcome, Error> {
    let namespace = cluster.make_namespace(&scenario.name).await?;
    let (here, what, how, until) = (Arc::clone(cluster), Arc::clone(scenario), plan.clone(), stop.clone());
    let inside = namespace.clone();
    let played = tokio::task::spawn_blocking(move || play::play(&here, &inside, &what, &how, &until)).await;
    // The namespace is removed also after an error. After an interruption, a cluster that belongs to the run is
    // removed as a whole.
    let is_left = stop.is_cancelled() && cluster.is_own();
    let removed = if is_left { Ok(()) } else { cluster.remove_namespace(&namespace).await };
    let played = played.map_err(|error| Error::Internal(error.to_string()))??;
    removed?;
    let trace = played.lines.bytes();
    let inputs = vec![Input::Bytes(scenario.name.clone(), trace.clone())];
    let judging = Judging { allow_known: plan.allow_known, ..Judging::default() };
    let report = judge(&[inputs], &judging, &mut |_, _| {});
    Ok(Outcome { unmet: played.unmet, report, records: played.lines.records(), trace, states: played.states })
}

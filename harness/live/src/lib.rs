//! Targets `live`, `builtin` and `external`: scenarios on a real API server.
//!
//! | what | where |
//! | --- | --- |
//! | a cluster: how it is reached, the namespaces, and who may do what there | [`Site`] |
//! | the Node of its pods | `node` |
//! | who manages the Jobs | [`Manager`] |
//! | what cannot be run there, and why | [`unfit`] |
//! | a run: whose turn it is, what is waited for | `play` |
//! | users and kubelets, over HTTP; what the watches have shown | `stage`, `connection`, `seen` |
//! | the controllers as a process, and the fault proxy before it | `controller`, `leader` |
//! | what becomes of their requests and watches | `play::faults` |
//! | the audit log, or the watches, as a native trace | `recording` |
//! | what happens to the cluster itself meanwhile | [`Site::trouble`] |
//! | what a killed run left behind | `leftovers` |
//!
//! A run has a namespace of its own, so that many may go on side by side. The harness is every user and every kubelet:
//! pods name a scheduler that there is not, and are bound to a Node object whose kubelet it seems to be, too.
//!
//! # Guarantees
//!
//! The verdict is that of the trace, by the code that judges every trace. What the scenario expects is waited for; what
//! has not come after [`Plan::patience`] makes the run inconclusive, never wrong: a real clock proves no absence.
//!
//! # Caveats
//!
//! That everybody is at rest cannot be seen on a real cluster. It is taken to be so when nothing was written in the
//! namespace for [`QUIET`], twice the second for which Job controllers collect events of pods.

mod connection;
mod controller;
mod error;
mod leader;
mod leftovers;
mod node;
mod play;
mod recording;
mod seen;
mod site;
mod stage;
mod trouble;
mod unfit;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::runtime::{Found, Rest};
use jobcheck_scenario::{Scenario, TargetName};
use jobcheck_traces::Input;
use tokio_util::sync::CancellationToken;

pub use error::Error;
pub use jobcheck_record::Access;
pub use play::QUIET;
pub use site::Site;
pub use trouble::Trouble;
pub use unfit::{needs_process, unfit};

/// Who manages the Jobs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manager {
    /// The shipped controllers, a process for each run.
    Shipped {
        /// The program, and its arguments, to which flags of `jobcheck controller` are added.
        command: Vec<OsString>,
        /// Whether the TTL-after-finished controller is theirs; else it is the cluster's.
        ttl: bool,
    },
    /// kube-controller-manager.
    BuiltIn {
        /// The control plane as a program, if each run is to start a kube-controller-manager of its own, which a fault
        /// proxy keeps in its namespace; else there is one for all, which runs already.
        program: Option<PathBuf>,
    },
    /// A controller that somebody else has started.
    External,
}

/// How scenarios are run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who manages the Jobs.
    pub manager: Manager,
    /// `spec.managedBy` of every Job that names no manager itself.
    pub managed_by: Option<String>,
    /// The steps that happen as soon as they are possible, a bit for each of the first 64; the others happen once
    /// everybody is at rest, unless they say themselves when.
    pub at_once: u64,
    /// How long a step, or what is expected, is waited for.
    pub patience: Duration,
    /// Whether the API server keeps an audit log that the runs can read: in it requests are known again.
    pub has_audit_log: bool,
    /// Whether documented deviations of the built-in are excused.
    pub allow_known: bool,
}

impl Plan {
    /// The target that this is, as scenarios name it.
    #[must_use]
    pub fn target(&self) -> TargetName {
        match self.manager {
            Manager::Shipped { .. } => TargetName::Live,
            Manager::BuiltIn { .. } => TargetName::BuiltIn,
            Manager::External => TargetName::External,
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// What did not come in time, or could not be recorded.
    pub unmet: Option<String>,
    /// What the trace is judged to be.
    pub report: ReplayReport,
    /// The trace, in the native format.
    pub trace: Vec<u8>,
    /// Requests in it; of watches, events.
    pub records: usize,
    /// What stood at each rest.
    pub rests: Vec<Rest>,
}

impl Outcome {
    /// What is wrong first, if anything.
    #[must_use]
    pub fn found(&self) -> Option<Found> {
        Found::first(&self.report, self.unmet.as_deref())
    }

    /// The exit code of the run (judging.md 5).
    #[must_use]
    pub fn exit(&self) -> Exit {
        match (self.report.exit_code, &self.unmet) {
            (Exit::Conforms, Some(_)) => Exit::Inconclusive,
            (exit, _) => exit,
        }
    }
}

/// Runs a scenario in a namespace of its own, which is removed behind it. What cannot be run, [`unfit`] tells before.
///
/// # Errors
///
/// The API server is not reached, refuses a Job of the scenario, or the controllers end; or `stop` was cancelled.
pub async fn run(
    site: &Arc<Site>,
    scenario: &Arc<Scenario>,
    plan: &Plan,
    stop: &CancellationToken,
) -> Result<Outcome, Error> {
    let namespace = site.make_namespace(&scenario.name).await?;
    let (here, what, how, until) = (Arc::clone(site), Arc::clone(scenario), plan.clone(), stop.clone());
    let inside = namespace.clone();
    let played = tokio::task::spawn_blocking(move || play::play(&here, &inside, &what, &how, &until)).await;
    // Its Jobs are nobody's any more, whatever came of them. Where all of it ends, a cluster of its own goes as a whole.
    let is_left = stop.is_cancelled() && site.is_own();
    let removed = if is_left { Ok(()) } else { site.remove_namespace(&namespace).await };
    let played = played.map_err(|error| Error::Internal(error.to_string()))??;
    removed?;
    let trace = played.lines.bytes();
    let inputs = vec![Input::Bytes(scenario.name.clone(), trace.clone())];
    let judging = Judging { allow_known: plan.allow_known, ..Judging::default() };
    let report = judge(&[inputs], &judging, &mut |_, _| {});
    Ok(Outcome { unmet: played.unmet, report, records: played.lines.records(), trace, rests: played.rests })
}

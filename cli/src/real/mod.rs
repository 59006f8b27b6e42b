//! Runs of scenarios on real API servers, for `run` and `fuzz`: a cluster, who manages Jobs there, and the end of it all.

mod args;
mod ground;

use std::ffi::OsString;
use std::sync::Arc;

use anstream::eprintln;
use jobcheck_cluster::{Cluster, Controllers, Log, Version, log_file};
use jobcheck_controller::runtime::signals;
use jobcheck_judge::report::Exit;
use jobcheck_live::{AccessError, Error, Manager, Outcome, Plan, TestCluster, unsupported};
use jobcheck_scenario::Scenario;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

pub use self::args::{PaceArgs, WayArgs};
use self::ground::Ground;
use crate::cluster::Progress;
use crate::run::Target;

/// By what the shipped controllers know their Jobs beside others, unless the user says otherwise.
const MANAGED_BY: &str = "jobcheck.dev/live";

/// Threads, and the signal to stop: one for all targets, whoever stops one wants no other.
pub struct Real {
    /// The threads.
    pub runtime: Runtime,
    /// Cancelled by a signal.
    pub stop: CancellationToken,
}

impl Real {
    /// Listens to signals from now on.
    ///
    /// # Errors
    ///
    /// The operating system gives no threads, or takes no handler.
    pub fn new() -> Result<Real, Error> {
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("cannot start threads: {error}")))?;
        let stop = {
            let _inside = runtime.enter();
            signals::listen().map_err(|error| Error::Internal(format!("cannot take signals: {error}")))?
        };
        Ok(Real { runtime, stop })
    }
}

/// Where runs are to be made, and how.
pub struct Wish<'a> {
    /// What manages the Jobs.
    pub target: Target,
    /// What a control plane of its own has of kube-controller-manager.
    pub controllers: Controllers,
    /// The way to a cluster; without one, a control plane of its own is started.
    pub way: &'a WayArgs,
    /// The version of Kubernetes that is started.
    pub version: Version,
    /// How the runs go.
    pub pace: &'a PaceArgs,
    /// The steps that happen as soon as they are possible, a bit for each.
    pub at_once: u64,
    /// Whether an external controller manages Jobs there, too.
    pub is_beside_external: bool,
}

/// A cluster on which runs are made.
pub struct Arena {
    /// What the runs have there.
    pub site: Arc<TestCluster>,
    /// How they are made.
    pub plan: Plan,
    /// The control plane that was started for them.
    pub own: Option<Cluster>,
}

impl Arena {
    /// Finds the cluster, or starts it.
    ///
    /// # Errors
    ///
    /// There is none, or not everything may be done there; or `stop` was cancelled.
    pub async fn open(
        wish: &Wish<'_>,
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<Arena, Error> {
        let ground = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Error::Interrupted),
            ground = ground::of(wish, progress) => ground?,
        };
        let plan = plan(wish, &ground)?;
        let site = TestCluster::open(ground.access, ground.audit_log, ground.own.is_some()).await?;
        if let Some(version) = site.of_unknown_version() {
            eprintln!(
                "note: the cluster is Kubernetes {version}, whose rules are not known: those of 1.36 are judged by"
            );
        }
        Ok(Arena { site: Arc::new(site), plan, own: ground.own })
    }

    /// Removes what the runs have made, whatever came of them.
    ///
    /// # Errors
    ///
    /// Something stays.
    pub async fn close(self) -> Result<(), Error> {
        let closed = self.site.close().await;
        if let Some(cluster) = self.own {
            cluster.stop()?;
        }
        closed
    }
}

fn plan(wish: &Wish<'_>, ground: &Ground) -> Result<Plan, Error> {
    let is_free = ground.is_free;
    let given = wish.way.managed_by.clone();
    let (manager, managed_by) = match wish.target {
        // Where there is none, each run has its own.
        Target::BuiltIn => (Manager::BuiltIn { program: ground.program.clone().filter(|_| is_free) }, None),
        Target::External => (Manager::External, given),
        Target::Live | Target::Model | Target::Sim => {
            let this = std::env::current_exe().map_err(|error| Error::Internal(error.to_string()))?;
            let command: Vec<OsString> = vec![this.into(), "controller".into()];
            // Where no other controller takes Jobs without it, it is not needed.
            let needed = (!is_free).then(|| MANAGED_BY.to_owned());
            // That of an external controller is not to have two.
            let given = given.filter(|_| !wish.is_beside_external);
            (Manager::Shipped { command, ttl: is_free }, given.or(needed))
        }
    };
    let PaceArgs { patience, allow_known, .. } = *wish.pace;
    let has_audit_log = ground.audit_log.is_some();
    Ok(Plan { manager, managed_by, at_once: wish.at_once, patience, has_audit_log, allow_known })
}

/// Waits until a part of the control plane that was started for the runs ends by itself, and says which, and what it said
/// last. Of another cluster nobody knows.
pub async fn lost(own: Option<&mut Cluster>) -> Error {
    let Some(cluster) = own else { return std::future::pending().await };
    let component = cluster.failure().await;
    let log = Log::end_of(&log_file(cluster.folder(), &component));
    AccessError::NoCluster(format!("{component} ended{log}")).into()
}

/// What a scenario came to.
pub enum Came {
    /// It was run.
    Ran(Box<Outcome>),
    /// It cannot be run there, and why.
    NotRun(String),
    /// Something failed.
    Failed(Error),
}

/// Runs a scenario, if it can be run.
pub async fn play(
    site: &Arc<TestCluster>,
    scenario: &Arc<Scenario>,
    plan: &Plan,
    stop: &CancellationToken,
) -> Came {
    if let Some(why) = unsupported(scenario, plan) {
        return Came::NotRun(why);
    }
    if stop.is_cancelled() {
        return Came::Failed(Error::Interrupted);
    }
    match jobcheck_live::run(site, scenario, plan, stop).await {
        Ok(outcome) => Came::Ran(Box::new(outcome)),
        Err(error) => Came::Failed(error),
    }
}

/// What an error comes to.
pub fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Internal(_) => Exit::Internal,
        Error::Refused(_) => Exit::Unreadable,
        _ => Exit::Environment,
    }
}

//! Runs of scenarios on real API servers, for `run` and `fuzz`.
//!
//! [`Session`] has the threads and the signal to stop. [`Prepared::open`] finds or starts the cluster of a [`Request`],
//! [`play`] runs a scenario there, and [`Prepared::close`] removes everything that the runs have made.

mod args;
mod provision;

use std::ffi::OsString;
use std::sync::Arc;

use jobcheck_cluster::{Cluster, Controllers, Log, Programs, Version, log_file};
use jobcheck_judge::report::Exit;
use jobcheck_live::{AccessError, Error, Manager, Outcome, Plan, TestCluster, unsupported};
use jobcheck_scenario::Scenario;
use jobcheck_spec::apiserver::RuleSet;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::signals;

pub use self::args::{ConnectionArgs, HEADING, LimitArgs, OwnArgs, own};
use self::provision::{Provisioned, provision};
use crate::cluster::Progress;
use crate::output;
use crate::run::Target;

/// The value of `spec.managedBy` for the shipped controllers next to others, unless the user names another.
const MANAGED_BY: &str = "jobcheck.dev/live";

/// The threads and the signal to stop that all targets of a call share.
pub struct Session {
    /// The threads.
    pub runtime: Runtime,
    /// Cancelled by SIGINT or SIGTERM.
    pub stop: CancellationToken,
}

impl Session {
    /// Starts the threads, and listens to signals.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread or a signal handler.
    pub fn new() -> Result<Session, Error> {
        let runtime = Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Internal(format!("cannot start threads: {error}")))?;
        let stop = {
            let _inside = runtime.enter();
            signals::listen()
                .map_err(|error| Error::Internal(format!("cannot listen to signals: {error}")))?
        };
        Ok(Session { runtime, stop })
    }
}

/// A cluster that is needed for runs, and the settings of the runs.
pub struct Request<'a> {
    /// The target, which determines the manager of the Jobs.
    pub target: Target,
    /// The controllers of kube-controller-manager on a control plane that is started for the runs.
    pub controllers: Controllers,
    /// The cluster; without one, a control plane is started.
    pub connection: &'a ConnectionArgs,
    /// Programs of the user in that control plane.
    pub own: &'a OwnArgs,
    /// The version of Kubernetes that is started.
    pub version: Version,
    /// The limits of the runs.
    pub limits: &'a LimitArgs,
    /// A bit for each step: set if the step happens as soon as it is possible.
    pub at_once: u64,
    /// True if an external controller manages Jobs there, too.
    pub is_beside_external: bool,
}

/// A cluster that is ready for runs.
pub struct Prepared {
    /// The part of the cluster that belongs to the runs.
    pub site: Arc<TestCluster>,
    /// The settings of each run.
    pub plan: Plan,
    /// The control plane that was started for the runs.
    pub own: Option<Cluster>,
}

impl Prepared {
    /// Finds the cluster, or starts it.
    ///
    /// # Errors
    ///
    /// There is no cluster, a permission is missing, or `stop` was cancelled.
    pub async fn open(
        request: &Request<'_>,
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<Prepared, Error> {
        let cluster = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Error::Interrupted),
            cluster = provision(request, progress) => cluster?,
        };
        let (access, audit_log) = (cluster.access.clone(), cluster.audit_log.clone());
        let site = TestCluster::open(access, audit_log, cluster.own.is_some()).await?;
        let plan = plan(request, &cluster, site.rules())?;
        if let Some(version) = site.of_unknown_version() {
            output::note(format!(
                "the cluster is Kubernetes {version}, which is not supported; the rules of 1.36 apply"
            ));
        }
        Ok(Prepared { site: Arc::new(site), plan, own: cluster.own })
    }

    /// Removes everything that the runs have made.
    ///
    /// # Errors
    ///
    /// Something could not be removed.
    pub async fn close(self) -> Result<(), Error> {
        let closed = self.site.close().await;
        if let Some(cluster) = self.own {
            cluster.stop()?;
        }
        closed
    }
}

fn plan(request: &Request<'_>, cluster: &Provisioned, rules: RuleSet) -> Result<Plan, Error> {
    let has_no_controllers = cluster.has_no_controllers;
    let given = request.connection.managed_by.clone();
    let (manager, managed_by) = match request.target {
        // Without a kube-controller-manager for all runs, each run starts its own.
        Target::BuiltIn => {
            let program = cluster.programs.as_ref().filter(|_| has_no_controllers);
            (Manager::BuiltIn { program: program.map(Programs::controller_manager) }, None)
        }
        Target::External => (Manager::External, given),
        Target::Live | Target::Model | Target::Sim => {
            let this = std::env::current_exe().map_err(|error| Error::Internal(error.to_string()))?;
            let command: Vec<OsString> = vec![this.into(), "controller".into()];
            // Other controllers take the Jobs that name no manager.
            let needed = (!has_no_controllers).then(|| MANAGED_BY.to_owned());
            // The value of an external controller must not have two controllers.
            let given = given.filter(|_| !request.is_beside_external);
            (Manager::Shipped { command, ttl: has_no_controllers }, given.or(needed))
        }
    };
    let LimitArgs { patience, allow_known, .. } = *request.limits;
    let has_audit_log = cluster.audit_log.is_some();
    Ok(Plan { manager, managed_by, rules, at_once: request.at_once, patience, has_audit_log, allow_known })
}

/// Waits until a component of the control plane that was started for the runs ends by itself. Returns the error with the
/// end of its log. Never returns for other clusters.
pub async fn lost(own: Option<&mut Cluster>) -> Error {
    let Some(cluster) = own else { return std::future::pending().await };
    let component = cluster.failure().await;
    let log = Log::end_of(&log_file(cluster.folder(), &component));
    AccessError::NoCluster(format!("{component} ended{log}")).into()
}

/// The result of an attempt to run a scenario.
pub enum Attempt {
    /// It was run.
    Ran(Box<Outcome>),
    /// The target cannot run it, for this reason.
    NotRun(String),
    /// Something failed.
    Failed(Error),
}

/// Runs a scenario, if the target can run it.
pub async fn play(
    site: &Arc<TestCluster>,
    scenario: &Arc<Scenario>,
    plan: &Plan,
    stop: &CancellationToken,
) -> Attempt {
    if let Some(why) = unsupported(scenario, plan) {
        return Attempt::NotRun(why);
    }
    if stop.is_cancelled() {
        return Attempt::Failed(Error::Interrupted);
    }
    match jobcheck_live::run(site, scenario, plan, stop).await {
        Ok(outcome) => Attempt::Ran(Box::new(outcome)),
        Err(error) => Attempt::Failed(error),
    }
}

/// The exit code of an error.
pub fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Internal(_) => Exit::Internal,
        Error::Refused(_) => Exit::Unreadable,
        _ => Exit::Environment,
    }
}

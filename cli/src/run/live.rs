//! Scenarios on a real API server: the cluster, many runs at a time, and the end of it all.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anstream::eprintln;
use futures_util::future::join_all;
use jobcheck_cluster::down::sweep;
use jobcheck_cluster::status::{self, Health};
use jobcheck_cluster::{
    Cluster, Controllers, Home, Kind, Name, Plane, Spec, Up, Version, audit_log, program, up,
};
use jobcheck_controller::runtime::signals;
use jobcheck_harness::report::Exit;
use jobcheck_harness::scenario::Scenario;
use jobcheck_live::{Access, Error, Manager, Plan, Site, needs_process, unfit};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::args::RunArgs;
use super::report::{Came, Run};
use super::target::Target;
use crate::args::Global;
use crate::cluster::Progress;

/// By what the shipped controllers know their Jobs beside others, unless the user says otherwise.
const MANAGED_BY: &str = "jobcheck.dev/live";
/// How long a control plane may take to be ready.
const READY: std::time::Duration = std::time::Duration::from_secs(120);

/// A scenario, and its file.
pub type Named = (String, Arc<Scenario>);

/// What all targets on real API servers share: threads, and the signal to stop.
pub struct Real {
    runtime: Runtime,
    stop: CancellationToken,
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

    /// Runs the scenarios on this target, in their order.
    pub fn run_all(&self, target: Target, scenarios: &[Named], args: &RunArgs, global: &Global) -> Vec<Run> {
        let progress = Progress::new(!global.quiet);
        let tally = Tally {
            room: Arc::new(Semaphore::new(usize::try_from(args.live.parallel).unwrap_or(1))),
            done: AtomicUsize::new(0),
            all: scenarios.len(),
            progress: &progress,
        };
        let tally = &tally;
        let parts = parts(target, scenarios, args).into_iter().map(|(controllers, numbers)| async move {
            let named: Vec<Named> = numbers.iter().map(|number| scenarios[*number].clone()).collect();
            let done = Part { target, controllers, args, tally }.run(&named, &self.stop).await;
            let done = done.unwrap_or_else(|error| none(target, &named, &error));
            numbers.into_iter().zip(done).collect::<Vec<_>>()
        });
        let mut runs: Vec<(usize, Run)> =
            self.runtime.block_on(join_all(parts)).into_iter().flatten().collect();
        runs.sort_by_key(|(number, _)| *number);
        runs.into_iter().map(|(_, run)| run).collect()
    }
}

/// The runs that could not be made, for one reason.
pub fn none(target: Target, scenarios: &[Named], error: &Error) -> Vec<Run> {
    scenarios.iter().map(|named| failure(target, named, error)).collect()
}

/// A run that could not be made.
fn failure(target: Target, (file, scenario): &Named, error: &Error) -> Run {
    let exit = match error {
        Error::Internal(_) => Exit::Internal,
        Error::Refused(_) => Exit::Unreadable,
        _ => Exit::Environment,
    };
    let came = Came::Failed { why: error.to_string(), exit };
    Run { file: file.clone(), scenario: Arc::clone(scenario), target, came, elapsed: Default::default() }
}

/// Where the scenarios run.
struct Ground {
    access: Access,
    audit_log: Option<PathBuf>,
    /// The control plane that was started for this; it ends with this value.
    own: Option<Cluster>,
    /// That control plane as a program.
    program: Option<PathBuf>,
    /// Whether no other controllers of Jobs and of TTLs are there.
    is_free: bool,
}

/// What the runs of a target share, wherever they are.
struct Tally<'a> {
    /// For so many runs at a time.
    room: Arc<Semaphore>,
    done: AtomicUsize,
    all: usize,
    progress: &'a Progress,
}

/// Scenarios that run on one cluster, which has these controllers if it is one of the run's own.
struct Part<'a> {
    target: Target,
    controllers: Controllers,
    args: &'a RunArgs,
    tally: &'a Tally<'a>,
}

/// Which scenarios run together, by their numbers. On a control plane of its own, `builtin` has one kube-controller-manager
/// for all; those in which something happens to it have each one of their own, on another control plane without it.
fn parts(target: Target, scenarios: &[Named], args: &RunArgs) -> Vec<(Controllers, Vec<usize>)> {
    let all = 0..scenarios.len();
    if target != Target::BuiltIn {
        return vec![(Controllers::Collectors, all.collect())];
    }
    let (alone, together): (Vec<usize>, Vec<usize>) =
        all.partition(|number| is_own(args) && needs_process(&scenarios[*number].1));
    let both = [(Controllers::BuiltIn, together), (Controllers::Collectors, alone)];
    both.into_iter().filter(|(_, numbers)| !numbers.is_empty()).collect()
}

/// Whether the run starts a control plane.
fn is_own(args: &RunArgs) -> bool {
    let live = &args.live;
    live.cluster.is_none() && live.kubeconfig.is_none() && live.context.is_none()
}

impl Part<'_> {
    async fn run(&self, scenarios: &[Named], stop: &CancellationToken) -> Result<Vec<Run>, Error> {
        let ground = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Error::Interrupted),
            ground = self.ground() => ground?,
        };
        let plan = self.plan(&ground)?;
        let site = Site::open(ground.access, ground.audit_log, ground.own.is_some()).await?;
        if let Some(version) = site.of_unknown_version() {
            eprintln!(
                "note: the cluster is Kubernetes {version}, whose rules are not known: those of 1.36 are judged by"
            );
        }
        let site = Arc::new(site);
        let many = Many { target: self.target, plan, site: Arc::clone(&site), stop: stop.clone() };
        let runs = many.run(scenarios, self.tally).await;
        // What the runs have made goes, whatever came of them.
        let closed = site.close().await;
        if let Some(cluster) = ground.own {
            cluster.stop()?;
        }
        closed?;
        Ok(runs)
    }

    /// The cluster that was asked for, or one of its own.
    async fn ground(&self) -> Result<Ground, Error> {
        let live = &self.args.live;
        if let Some(name) = &live.cluster {
            return known(self.target, name).await;
        }
        if live.kubeconfig.is_some() || live.context.is_some() {
            let access = Access { kubeconfig: live.kubeconfig.clone(), context: live.context.clone() };
            return Ok(Ground { access, audit_log: None, own: None, program: None, is_free: false });
        }
        let version = self.args.kubernetes.unwrap_or_default();
        started(self.target, self.controllers, version, self.tally.progress).await
    }

    fn plan(&self, ground: &Ground) -> Result<Plan, Error> {
        let (args, is_free) = (self.args, ground.is_free);
        let live = &args.live;
        let given = live.managed_by.clone();
        let (manager, managed_by) = match self.target {
            // Where there is none, each run has its own.
            Target::BuiltIn => {
                (Manager::BuiltIn { program: ground.program.clone().filter(|_| is_free) }, None)
            }
            Target::External => (Manager::External, given),
            Target::Live | Target::Model | Target::Sim => {
                let this = std::env::current_exe().map_err(|error| Error::Internal(error.to_string()))?;
                let command: Vec<OsString> = vec![this.into(), "controller".into()];
                // Where no other controller takes Jobs without it, it is not needed.
                let needed = (!is_free).then(|| MANAGED_BY.to_owned());
                // That of an external controller is not to have two.
                let given = given.filter(|_| !args.targets.contains(&Target::External));
                (Manager::Shipped { command, ttl: is_free }, given.or(needed))
            }
        };
        let (at_once, patience, allow_known) = (args.seed, live.patience, live.allow_known);
        let has_audit_log = ground.audit_log.is_some();
        Ok(Plan { manager, managed_by, at_once, patience, has_audit_log, allow_known })
    }
}

/// A cluster of `jobcheck cluster up`.
async fn known(target: Target, name: &Name) -> Result<Ground, Error> {
    let found = status::one(&Home::find()?, name).await;
    let there = found.filter(|it| it.health == Health::Ready);
    let Some((status, state)) = there.and_then(|it| it.state.clone().map(|state| (it, state))) else {
        let with = if target == Target::BuiltIn { "--with built-in " } else { "" };
        let up = format!("start it with jobcheck cluster up {with}--name {name}");
        return Err(Error::NoCluster(format!("{name} is not there, or not ready: {up}")));
    };
    if target == Target::BuiltIn && state.kind != Kind::BuiltIn {
        let up = format!("jobcheck cluster up --with built-in --name {name}");
        return Err(Error::NoCluster(format!(
            "cluster {name} is a {}, without the Job controller: {up}",
            state.kind
        )));
    }
    let access = Access { kubeconfig: Some(status.kubeconfig), context: None };
    let audit_log = Some(audit_log(&status.folder)).filter(|file| file.is_file());
    let is_free = state.kind != Kind::BuiltIn;
    Ok(Ground { access, audit_log, own: None, program: None, is_free })
}

/// A control plane that lasts as long as the runs.
async fn started(
    target: Target,
    controllers: Controllers,
    version: Version,
    progress: &Progress,
) -> Result<Ground, Error> {
    let home = Home::find()?;
    for name in sweep(&home)? {
        eprintln!("note: cluster {name} was left by a process that is gone: it is cleared");
    }
    let program = program::built(&home.builds(), version, &mut |what| progress.say(what)).await?;
    progress.show(&format!("{}: starting a control plane", target.name()));
    let of = if target == Target::BuiltIn && controllers == Controllers::Collectors { "-alone" } else { "" };
    let name = format!("run-{}{of}-{}", target.name(), std::process::id());
    let name = name.parse().map_err(|_| Error::Internal(format!("the name {name}")))?;
    let spec = Spec {
        name,
        plane: Plane::Real { program: program.clone(), controllers },
        version,
        port: None,
        timeout: READY,
    };
    let Up::Started(cluster) = up(&home, &spec).await? else {
        return Err(Error::Internal(format!("cluster {} runs already", spec.name)));
    };
    let access = Access { kubeconfig: Some(cluster.kubeconfig()), context: None };
    let audit_log = Some(audit_log(cluster.folder()));
    let is_free = controllers == Controllers::Collectors;
    Ok(Ground { access, audit_log, own: Some(cluster), program: Some(program), is_free })
}

/// Many runs at a time.
struct Many {
    target: Target,
    plan: Plan,
    site: Arc<Site>,
    stop: CancellationToken,
}

impl Many {
    async fn run(&self, scenarios: &[Named], tally: &Tally<'_>) -> Vec<Run> {
        let mut under_way = JoinSet::new();
        for (number, (file, scenario)) in scenarios.iter().enumerate() {
            let (site, plan, stop) = (Arc::clone(&self.site), self.plan.clone(), self.stop.clone());
            let (file, scenario, room, target) =
                (file.clone(), Arc::clone(scenario), Arc::clone(&tally.room), self.target);
            under_way.spawn(async move {
                let _room = room.acquire_owned().await;
                (number, one(target, (file, scenario), &site, &plan, &stop).await)
            });
        }
        let mut done: Vec<(usize, Run)> = Vec::new();
        while let Some(run) = under_way.join_next().await {
            done.extend(run.ok());
            let (target, so_far) = (self.target.name(), tally.done.fetch_add(1, Ordering::Relaxed) + 1);
            tally.progress.show(&format!("{target}: {so_far} of {} scenarios", tally.all));
        }
        let mut runs: Vec<Option<Run>> = scenarios.iter().map(|_| None).collect();
        done.into_iter().for_each(|(number, run)| runs[number] = Some(run));
        let panicked = Error::Internal("a run panicked".to_owned());
        let all = scenarios.iter().zip(runs);
        all.map(|(named, run)| run.unwrap_or_else(|| failure(self.target, named, &panicked))).collect()
    }
}

async fn one(target: Target, named: Named, site: &Arc<Site>, plan: &Plan, stop: &CancellationToken) -> Run {
    let begun = Instant::now();
    let came = match unfit(&named.1, plan) {
        Some(why) => Came::NotRun(why),
        None if stop.is_cancelled() => return failure(target, &named, &Error::Interrupted),
        None => match jobcheck_live::run(site, &named.1, plan, stop).await {
            Ok(outcome) => Came::Live(Box::new(outcome)),
            Err(error) => return failure(target, &named, &error),
        },
    };
    let (file, scenario) = named;
    Run { file, scenario, target, came, elapsed: begun.elapsed() }
}

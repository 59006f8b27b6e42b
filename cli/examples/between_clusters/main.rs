//! A manager that mirrors Jobs between two clusters: the protocol of `model/managers` as a process.
//!
//! ```text
//! cargo run -p jobcheck --example between_clusters -- --manager FILE --worker FILE --managed-by example.com/mirror
//! jobcheck conform --profile mirror --managed-by example.com/mirror --cluster manager=hub --cluster worker=one
//! ```
//!
//! `jobcheck_managers::protocol::decide` makes every decision. This program fills its caches, and sends its requests.
//! `--defect NAME` makes it wrong in one way, so that the tests can show that the suite notices.

mod clients;
mod copies;
mod defects;
mod status;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use jiff::Timestamp;
use jobcheck_managers::protocol::{LocalView, Memory, Request, WorkerView, decide};
use jobcheck_projection::Projector;
use jobcheck_spec::Time;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::Store;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::clients::{Key, cache, client, version};
use crate::defects::Defect;

/// Mirror Jobs between two clusters.
#[derive(Debug, Parser)]
struct Cli {
    /// Kubeconfig file of the cluster of the Jobs.
    #[arg(long, value_name = "FILE")]
    manager: PathBuf,
    /// Kubeconfig file of the cluster of the copies.
    #[arg(long, value_name = "FILE")]
    worker: PathBuf,
    /// Value of `spec.managedBy` of the Jobs to manage.
    #[arg(long, value_name = "VALUE")]
    managed_by: String,
    /// The defect that this manager has.
    #[arg(long, value_enum, value_name = "NAME")]
    defect: Option<Defect>,
    /// Only every second Job gets the wrong requests of the defect.
    #[arg(long, requires = "defect")]
    every_second: bool,
}

/// The interval at which a manager with the defect `hot-loop` or `restless` writes.
const TICK: Duration = Duration::from_millis(500);
/// The time after a request without an answer.
const PAUSE: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let (changed, mut changes) = tokio::sync::mpsc::unbounded_channel();
    let (manager, worker) = (client(&cli.manager).await?, client(&cli.worker).await?);
    let (locals, copies) = (cache(&manager, &changed), cache(&worker, &changed));
    locals.wait_until_ready().await?;
    copies.wait_until_ready().await?;
    let mut mirror = Mirror {
        manager,
        worker,
        locals,
        copies,
        changed,
        managed_by: cli.managed_by,
        defect: cli.defect,
        every_second: cli.every_second,
        met: Vec::new(),
        awaited: BTreeSet::new(),
        sent: HashMap::new(),
    };
    mirror.all().await;
    loop {
        tokio::select! {
            Some((namespace, name)) = changes.recv() => mirror.one(&namespace, &name).await,
            () = tokio::time::sleep(TICK), if cli.defect.is_some_and(Defect::repeats) => mirror.all().await,
        }
    }
}

struct Mirror {
    manager: Client,
    worker: Client,
    locals: Store<Job>,
    copies: Store<Job>,
    /// The Jobs to decide about.
    changed: UnboundedSender<Key>,
    managed_by: String,
    defect: Option<Defect>,
    /// Only every second Job gets the wrong requests.
    every_second: bool,
    /// The UIDs of the Jobs so far.
    met: Vec<String>,
    /// The Jobs whose copy was created, and is not in the cache yet.
    awaited: BTreeSet<Key>,
    /// The version of the object from which the last request was computed. The cache must show a newer one first.
    sent: HashMap<(bool, Key), String>,
}

impl Mirror {
    async fn all(&mut self) {
        let jobs = self.locals.state().into_iter().chain(self.copies.state());
        let keys: BTreeSet<Key> =
            jobs.map(|job| (job.namespace().unwrap_or_default(), job.name_any())).collect();
        for (namespace, name) in keys {
            self.one(&namespace, &name).await;
        }
    }

    async fn one(&mut self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        let is_of = |job: &Job| job.name_any() == name && job.namespace().as_deref() == Some(namespace);
        let local = self.locals.find(is_of);
        let copy = self.copies.find(is_of);
        let local = local.map(|job| json!(*job)).filter(|job| self.is_mine(job));
        let copy = copy.map(|job| json!(*job)).filter(|job| self.is_of_mine(job));
        let (local_version, copy_version) = (version(local.as_ref()), version(copy.as_ref()));
        if copy.is_some() {
            self.awaited.remove(&key);
        }
        let is_stale = |on_worker: bool, version: &str| {
            self.sent
                .get(&(on_worker, key.clone()))
                .is_some_and(|sent| sent == version && !version.is_empty())
        };
        if is_stale(false, &local_version) || is_stale(true, &copy_version) {
            return;
        }
        self.meet(local.as_ref());
        for request in self.requests(local.as_ref(), copy.as_ref(), &key) {
            let on_worker = !matches!(request, Action::Write(_));
            let version = if on_worker { copy_version.clone() } else { local_version.clone() };
            if let Action::Decided(Request::Create(..)) = &request {
                self.awaited.insert(key.clone());
            }
            match self.send(&request, local.as_ref(), copy.as_ref(), &key).await {
                Ok(()) if self.defect.is_some_and(Defect::writes_blindly) && !on_worker => {}
                Ok(()) => drop(self.sent.insert((on_worker, key.clone()), version)),
                Err(error) => {
                    self.awaited.remove(&key);
                    // A wrong request stays wrong until something changes. After other failures nothing may change.
                    if !is_refused_for_good(&error) && self.defect != Some(Defect::GivesUp) {
                        self.again(key.clone());
                    }
                }
            }
        }
    }

    /// Decides about a Job again after a while.
    fn again(&self, key: Key) {
        let changed = self.changed.clone();
        tokio::spawn(async move {
            tokio::time::sleep(PAUSE).await;
            // The receiver lives as long as the process.
            let _ = changed.send(key);
        });
    }

    /// Notes a Job when it is seen for the first time.
    fn meet(&mut self, local: Option<&Value>) {
        let uid = local.and_then(|job| job["metadata"]["uid"].as_str());
        if let Some(uid) = uid.filter(|uid| !self.met.iter().any(|known| known == uid)) {
            self.met.push(uid.to_owned());
        }
    }

    fn is_wrong(&self, local: Option<&Value>) -> bool {
        let uid = local.and_then(|job| job["metadata"]["uid"].as_str());
        let number = self.met.iter().position(|known| Some(&**known) == uid);
        !self.every_second || number.is_some_and(|number| number % 2 == 1)
    }

    fn is_mine(&self, job: &Value) -> bool {
        let is_any = self.defect == Some(Defect::WritesStrangers) && job["spec"]["managedBy"].is_string();
        is_any || job["spec"]["managedBy"] == *self.managed_by
    }

    /// Copies of other managers are left alone. One without a manager is the Job of somebody else, who keeps the name.
    fn is_of_mine(&self, copy: &Value) -> bool {
        let manager = &copy["metadata"]["annotations"][copies::MANAGER];
        manager.is_null() || *manager == *self.managed_by
    }

    fn requests(&self, local: Option<&Value>, copy: Option<&Value>, key: &Key) -> Vec<Action> {
        let mut projector = Projector::new();
        let view = local.and_then(|job| projector.job(&job.to_string()).ok());
        let view = view.map(|it| LocalView { job: it.job, assigned: Some(0) });
        let mut seen = copy.and_then(|copy| copies::view(copy, &mut projector));
        if let (Some(defect), Some(seen)) = (self.defect, &mut seen) {
            defect.distort(seen, view.as_ref());
        }
        let awaited = if self.awaited.contains(key) { vec![0] } else { Vec::new() };
        let now = Time(Timestamp::now().as_second());
        let workers = [WorkerView::Known(seen.map(Box::new))];
        let decided = decide(Some(view.as_ref()), &workers, &Memory { awaited }, now);
        let actions = decided.into_iter().filter_map(|request| match (request, local) {
            (Request::Write(new), Some(job)) => Some(Action::Write(status::patch(&new, &job["status"]))),
            (Request::Write(_), None) => None,
            (request, _) => Some(Action::Decided(request)),
        });
        match self.defect.filter(|_| self.is_wrong(local)) {
            Some(defect) => defect.apply(actions.collect(), local, copy, now),
            None => actions.collect(),
        }
    }

    async fn send(
        &self,
        action: &Action,
        local: Option<&Value>,
        copy: Option<&Value>,
        (namespace, name): &Key,
    ) -> Result<(), kube::Error> {
        let locals: Api<Job> = Api::namespaced(self.manager.clone(), namespace);
        let copies: Api<Job> = Api::namespaced(self.worker.clone(), namespace);
        let params = PatchParams::default();
        let request = match action {
            Action::Write(status) => {
                let metadata = json!({"resourceVersion": version(local)});
                let patch = Patch::Merge(json!({"metadata": metadata, "status": status}));
                return locals.patch_status(name, &params, &patch).await.map(drop);
            }
            Action::Decided(request) => request,
        };
        match request {
            Request::Create(_, base) => {
                let Some(local) = local else { return Ok(()) };
                let mut copy = copies::copy_of(local, *base, &self.managed_by);
                if self.defect.is_some_and(Defect::has_no_finalizer) {
                    copy["metadata"]["finalizers"] = json!([]);
                }
                let copy = serde_json::from_value(copy).map_err(kube::Error::SerdeError)?;
                copies.create(&PostParams::default(), &copy).await.map(drop)
            }
            Request::Suspend(_, suspend) => {
                let patch =
                    json!({"metadata": {"resourceVersion": version(copy)}, "spec": {"suspend": suspend}});
                copies.patch(name, &params, &Patch::Merge(patch)).await.map(drop)
            }
            Request::Delete(_) => copies.delete(name, &DeleteParams::foreground()).await.map(drop),
            Request::Release(_) => {
                let left: Vec<&Value> =
                    copies::finalizers(copy).filter(|it| **it != copies::FINALIZER).collect();
                let patch = json!({"metadata": {"resourceVersion": version(copy), "finalizers": left}});
                copies.patch(name, &params, &Patch::Merge(patch)).await.map(drop)
            }
            Request::Write(_) => Ok(()),
        }
    }
}

/// Returns true if the same request would be refused again.
fn is_refused_for_good(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 403 | 404 | 422))
}

/// A request to send.
#[derive(Debug)]
enum Action {
    /// A status of the local Job, as a patch.
    Write(Value),
    /// A request to the worker.
    Decided(Request),
}

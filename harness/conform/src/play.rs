//! The steps of a run: users, somebody on the workers, and waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jobcheck_record::watch::text;
use jobcheck_report::judge::Unmet;
use jobcheck_spec::Req;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::awaited::{consequence, is_met, local};
use crate::board::{Board, MANAGER, STRANGER, is_copy, is_deleting};
use crate::cluster::{Cluster, Played, jobs};
use crate::command::Command;
use crate::error::Error;
use crate::field::NOBODY;
use crate::kubelet;
use crate::scenario::{Awaited, Scenario, Shape, Step};
use crate::settings::{Hook, Settings};

/// The name of the Job.
pub(crate) const NAME: &str = "conform";
/// The name of a Job of somebody else on the cluster of the manager.
const OTHER: &str = "stranger";
/// The name of one on a worker. It differs, so that a copy of the other one is not refused for its name.
const RESIDENT: &str = "resident";
/// The time by which a rest is longer than the clocks may differ, because some times have no fractions of a second.
const BEYOND: Duration = Duration::from_secs(2);
/// The number of conflicts after which a condition is not added any longer.
const CONFLICTS: u32 = 20;
/// The exit code of a pod that fails.
const FAILS: i32 = 1;

/// A run in progress.
pub(crate) struct Play<'a> {
    pub scenario: &'a Scenario,
    pub settings: &'a Settings,
    /// The manager's cluster, and the workers.
    pub clusters: &'a [Arc<Cluster>],
    pub namespace: &'a str,
    pub board: Receiver<Board>,
    /// The kubelets let every pod succeed.
    pub all_succeed: Arc<AtomicBool>,
    pub stop: &'a CancellationToken,
    /// The objects that the run has met so far.
    pub met: Met,
}

/// The objects that a run has met so far.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// The UIDs of the Job: of each incarnation.
    pub uids: Vec<String>,
    /// The newest incarnation, as it was created.
    pub created: Option<Value>,
    /// The UIDs of the copies that a step has found.
    pub copies: BTreeSet<String>,
    /// The newest copy that a step has found: its worker, name and UID.
    pub copy: Option<(usize, String, String)>,
    /// The newest copy on each worker that a step has found: its name and UID.
    pub on: BTreeMap<usize, (String, String)>,
    /// The copies whose status the suite has written.
    pub reported: BTreeSet<String>,
    /// The pods that a step has ended.
    pods: BTreeSet<String>,
    /// The Jobs of others as they were created, each with its cluster.
    pub strangers: Vec<(usize, Value)>,
    /// The number of objects that were offered.
    pub offers: usize,
    /// The number of Jobs that the built-in controller has started.
    pub built_in: usize,
}

impl Met {
    /// Notes the Job as it was created.
    pub(crate) fn incarnation(&mut self, created: Value) {
        self.uids.push(text(&created, "uid").to_owned());
        self.created = Some(created);
    }
}

impl Play<'_> {
    /// Performs the steps. Returns the wait that took too long.
    pub(crate) async fn steps(&mut self) -> Result<Option<Unmet>, Error> {
        let scenario = self.scenario;
        for (number, step) in scenario.steps.iter().enumerate() {
            if let Some(unmet) = self.step(step).await? {
                let of_all = format!("step {} of {}", number + 1, scenario.steps.len());
                return Ok(Some(Unmet { why: format!("{of_all}: {}", unmet.why), ..unmet }));
            }
        }
        Ok(None)
    }

    /// Performs one step.
    pub(crate) async fn step(&mut self, step: &Step) -> Result<Option<Unmet>, Error> {
        match step {
            Step::CreateJob => self.create().await?,
            Step::Report(member, status) => return self.report(*member, *status).await,
            Step::DeleteMember(member) => self.delete_member(*member).await?,
            Step::Offer(kind, value, answer) => return self.offer(*kind, *value, *answer).await,
            Step::Create(kind, value) => return self.create_with(*kind, *value).await,
            Step::Change(kind, value) => return self.change(*kind, *value).await,
            Step::ChangeWithStatus(value) => return self.change_with_status(value).await,
            Step::BuiltInWorks => return self.built_in_works().await,
            Step::PodSucceeds => return self.end_pod(0).await,
            Step::PodFails => return self.end_pod(FAILS).await,
            Step::AllSucceed => {
                self.all_succeed.store(true, Ordering::Relaxed);
                // The kubelets look at the pods with the next change, and find those that run already here.
                self.end_running_pods().await?;
            }
            Step::Suspend => self.edit(json!({"suspend": true})).await?,
            Step::Resume => self.edit(json!({"suspend": false})).await?,
            Step::Scale(parallelism) => self.edit(json!({"parallelism": parallelism})).await?,
            Step::DeleteJob => {
                let path = jobs(self.namespace, NAME);
                self.delete(MANAGER, Played::User, &path, "Background").await?;
            }
            Step::DeleteCopy => {
                if let Some((worker, name, _)) = self.met.copy.clone() {
                    let path = jobs(self.namespace, &name);
                    self.delete(worker, Played::Somebody, &path, "Foreground").await?;
                }
            }
            Step::Strangers => {
                self.stranger(MANAGER, OTHER).await?;
                self.on_workers(RESIDENT).await?;
            }
            Step::TakeName => self.on_workers(NAME).await?,
            Step::RemoveStrangers => {
                for (cluster, created) in std::mem::take(&mut self.met.strangers) {
                    let path = jobs(self.namespace, text(&created, "name"));
                    self.delete(cluster, Played::Somebody, &path, "Background").await?;
                }
            }
            Step::AddCondition => self.add_condition().await?,
            Step::Hook(name) => self.hook(name).await?,
            Step::Await(awaited) => return self.wait(*awaited).await,
        }
        Ok(None)
    }

    async fn on_workers(&mut self, name: &str) -> Result<(), Error> {
        for worker in 1..self.clusters.len() {
            self.stranger(worker, name).await?;
        }
        Ok(())
    }

    async fn create(&mut self) -> Result<(), Error> {
        let job = self.job(NAME, self.settings.managed_by.as_deref());
        let created = self.post(MANAGER, Played::User, &job).await?;
        self.met.incarnation(created);
        Ok(())
    }

    /// The Job of the scenario, with this name and this value of `managedBy`.
    pub(crate) fn job(&self, name: &str, managed_by: Option<&str>) -> Value {
        let mut spec = spec(self.scenario.job);
        if let Some(value) = managed_by {
            spec["managedBy"] = json!(value);
        }
        let (labels, annotations) = (&self.settings.labels, &self.settings.annotations);
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "spec": spec,
            "metadata": {"name": name, "labels": labels, "annotations": annotations},
        })
    }

    /// Creates a Job of somebody else. On a worker it is suspended, so that it needs no pod. On the cluster of the manager
    /// its own manager is absent, and a manager that takes it has a reason to start it.
    async fn stranger(&mut self, cluster: usize, name: &str) -> Result<(), Error> {
        let mut spec = spec(Shape { suspend: cluster != MANAGER, ..Shape::default() });
        if cluster == MANAGER {
            spec["managedBy"] = json!(NOBODY);
        }
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job", "spec": spec,
            "metadata": {"name": name, "labels": {STRANGER: "true"}},
        });
        let created = self.post(cluster, Played::Somebody, &job).await?;
        self.met.strangers.push((cluster, created));
        Ok(())
    }

    pub(crate) async fn post(&self, cluster: usize, played: Played, job: &Value) -> Result<Value, Error> {
        let here = &self.clusters[cluster];
        let created = here.send(played, "POST", &jobs(self.namespace, ""), job).await?;
        created.ok_or_else(|| here.failed(format!("the Job {} exists already", text(job, "name"))))
    }

    async fn edit(&self, spec: Value) -> Result<(), Error> {
        let (path, patch) = (jobs(self.namespace, NAME), json!({"spec": spec}));
        self.clusters[MANAGER].send(Played::User, "PATCH", &path, &patch).await.map(drop)
    }

    /// Adds a condition that no Job controller knows. A conflict with the manager is tried again.
    async fn add_condition(&self) -> Result<(), Error> {
        let path = format!("{}/status", jobs(self.namespace, NAME));
        let condition = json!({
            "type": "jobcheck.dev/Seen", "status": "True", "reason": "Seen", "message": "",
            "lastProbeTime": kubelet::now(), "lastTransitionTime": kubelet::now(),
        });
        let add = |board: &Board| {
            let job = local(board, &self.met)?;
            let mut all = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
            all.push(condition.clone());
            let metadata = json!({"resourceVersion": job["metadata"]["resourceVersion"]});
            Some(json!({"metadata": metadata, "status": {"conditions": all}}))
        };
        for _ in 0..CONFLICTS {
            let Some(patch) = self.until(add).await? else { break };
            if self.clusters[MANAGER].send(Played::Somebody, "PATCH", &path, &patch).await?.is_some() {
                return Ok(());
            }
        }
        let why = "a condition cannot be added: the status is changed again and again";
        Err(self.clusters[MANAGER].failed(why))
    }

    pub(crate) async fn delete(
        &self,
        cluster: usize,
        by: Played,
        path: &str,
        propagation: &str,
    ) -> Result<(), Error> {
        let options = json!({"propagationPolicy": propagation});
        self.clusters[cluster].send(by, "DELETE", path, &options).await.map(drop)
    }

    async fn hook(&self, name: &str) -> Result<(), Error> {
        let failed = |why: String| Error::Hook { hook: name.to_owned(), why };
        let Some(Hook { command }) = self.settings.hooks.get(name) else {
            return Err(failed("there is no command".to_owned()));
        };
        let mut command = Command::start(command, self.namespace).map_err(failed)?;
        tokio::select! {
            () = self.stop.cancelled() => Err(Error::Interrupted),
            ended = command.end(self.settings.patience) => ended.map_err(failed),
        }
    }

    /// Ends the oldest running pod of the copy.
    async fn end_pod(&mut self, code: i32) -> Result<Option<Unmet>, Error> {
        let Some((worker, _, copy)) = self.met.copy.clone() else {
            return Ok(Some(unmet("no copy was found before".to_owned(), None)));
        };
        let done = self.met.pods.clone();
        let first = move |board: &Board| {
            let pods = board.clusters[worker].pods.values();
            let mut running: Vec<&Value> = pods
                .filter(|pod| is_running(pod) && is_owned(pod, &copy))
                .filter(|pod| !done.contains(text(pod, "uid")))
                .collect();
            running.sort_by_key(|pod| (text(pod, "creationTimestamp"), text(pod, "name")));
            running.first().map(|pod| (text(pod, "uid").to_owned(), text(pod, "name").to_owned()))
        };
        let Some((uid, name)) = self.until(first).await? else {
            let why = "no pod of the copy runs; does a Job controller run on the worker?";
            return Ok(Some(unmet(why.to_owned(), None)));
        };
        self.met.pods.insert(uid);
        kubelet::end(&self.clusters[worker], self.namespace, &name, code).await?;
        Ok(None)
    }

    async fn end_running_pods(&mut self) -> Result<(), Error> {
        for worker in 1..self.clusters.len() {
            let running: Vec<String> = {
                let board = self.board.borrow();
                let pods = board.clusters[worker].pods.values().filter(|pod| is_running(pod));
                pods.map(|pod| text(pod, "name").to_owned()).collect()
            };
            for name in running {
                kubelet::end(&self.clusters[worker], self.namespace, &name, 0).await?;
            }
        }
        Ok(())
    }

    async fn wait(&mut self, awaited: Awaited) -> Result<Option<Unmet>, Error> {
        let found = match awaited {
            Awaited::Copy => self.find_copy(None).await?,
            Awaited::CopyOn(worker) => self.find_copy(Some(worker)).await?,
            Awaited::Rest(seconds) => self.rest(Duration::from_secs(seconds)).await?,
            Awaited::RestBeyondSkew => self.rest(self.settings.skew() + BEYOND).await?,
            _ => {
                let met = &self.met;
                self.until(|board| is_met(awaited, board, met).then_some(())).await?.is_some()
            }
        };
        Ok((!found).then(|| {
            let board = self.board.borrow();
            let (broken, more) = consequence(self.scenario, awaited, &board, &self.met);
            let waited = self.settings.patience;
            unmet(format!("{} was not there after {waited:?}{more}", awaited.sentence()), broken)
        }))
    }

    async fn find_copy(&mut self, on: Option<usize>) -> Result<bool, Error> {
        let (uids, known) = (self.met.uids.clone(), self.met.copies.clone());
        let newest = move |board: &Board| {
            let workers = board.clusters.iter().enumerate().skip(1);
            let workers = workers.filter(|(at, _)| on.is_none_or(|on| on == *at));
            let all = workers.flat_map(|(at, it)| it.jobs.values().map(move |job| (at, job)));
            let mut new = all.filter(|(_, job)| is_copy(job, NAME, &uids) && !is_deleting(job));
            let (at, copy) = new.find(|(_, job)| !known.contains(text(job, "uid")))?;
            Some((at, text(copy, "name").to_owned(), text(copy, "uid").to_owned()))
        };
        let found = self.until(newest).await?;
        if let Some(copy) = &found {
            self.met.copies.insert(copy.2.clone());
            self.met.on.insert(copy.0, (copy.1.clone(), copy.2.clone()));
            self.met.copy = found.clone();
        }
        Ok(found.is_some())
    }

    /// Waits until nothing was written for this time.
    async fn rest(&self, quiet: Duration) -> Result<bool, Error> {
        let end = Instant::now() + self.settings.patience.max(quiet * 2);
        loop {
            let until = self.board.borrow().changed.max(Instant::now() - quiet) + quiet;
            if until > end {
                return Ok(false);
            }
            tokio::select! {
                () = self.stop.cancelled() => return Err(Error::Interrupted),
                () = sleep_until(until) => {}
            }
            if self.board.borrow().changed + quiet <= Instant::now() {
                return Ok(true);
            }
        }
    }

    /// Waits until a function of the board has a value. `None`: it had none in time.
    pub(crate) async fn until<T>(
        &self,
        mut what: impl FnMut(&Board) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let (mut board, end) = (self.board.clone(), Instant::now() + self.settings.patience);
        loop {
            if let Some(found) = what(&board.borrow_and_update()) {
                return Ok(Some(found));
            }
            tokio::select! {
                () = self.stop.cancelled() => return Err(Error::Interrupted),
                changed = timeout_at(end, board.changed()) => match changed {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => return Ok(None),
                },
            }
        }
    }
}

pub(crate) fn unmet(why: String, broken: Option<Req>) -> Unmet {
    Unmet { why, broken: broken.map(|req| req.id().to_owned()) }
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && !is_deleting(pod)
}

pub(crate) fn is_owned(pod: &Value, uid: &str) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.into_iter().any(|owner| owner["uid"] == uid)
}

/// The specification of a Job. No scheduler has the name of its pods, and they satisfy the strictest Pod Security Standard. They
/// ask for some time of a processor, since a queue may leave alone what asks for nothing.
fn spec(shape: Shape) -> Value {
    let container = json!({
        "name": "main", "image": "none", "resources": {"requests": {"cpu": "1m"}},
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    });
    let mut spec = json!({
        "completions": shape.completions.max(1),
        "parallelism": shape.parallelism.max(1),
        "backoffLimit": shape.backoff_limit,
        "suspend": shape.suspend,
        "template": {"spec": {
            "restartPolicy": "Never", "schedulerName": "jobcheck", "containers": [container],
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        }},
    });
    if shape.indexed {
        spec["completionMode"] = json!("Indexed");
    }
    if let Some(seconds) = shape.ttl {
        spec["ttlSecondsAfterFinished"] = json!(seconds);
    }
    spec
}

//! An aggregator: it divides each Job between member clusters, and sums up the statuses of the parts.
//!
//! ```text
//! cargo run -p jobcheck --example sum_of_clusters -- --manager FILE --member FILE --member FILE \
//!     --managed-by example.com/sum
//! jobcheck conform --profile aggregate --managed-by example.com/sum \
//!     --cluster manager=hub --cluster member=one --cluster member=two
//! ```
//!
//! A finalizer keeps a part until its counts are stored in an annotation of the Job, in the write of the status that has
//! them. So the counters never fall, whatever happens to a part. The failure of any part fails the Job. Suspension and
//! scaling are left out. `--defect NAME` makes it wrong in one way, so that the tests can show that the suite notices.

#[path = "../between_clusters/clients.rs"]
mod clients;
mod parts;
mod sum;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::Store;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::clients::{Key, cache, client, version};
use crate::sum::Defect;

/// Sum up Jobs of several clusters.
#[derive(Debug, Parser)]
struct Cli {
    /// Kubeconfig file of the cluster of the Jobs.
    #[arg(long, value_name = "FILE")]
    manager: PathBuf,
    /// Kubeconfig file of a cluster of parts.
    #[arg(long = "member", value_name = "FILE", required = true)]
    members: Vec<PathBuf>,
    /// Value of `spec.managedBy` of the Jobs to manage.
    #[arg(long, value_name = "VALUE")]
    managed_by: String,
    /// The defect that this aggregator has.
    #[arg(long, value_enum, value_name = "NAME")]
    defect: Option<Defect>,
}

/// The interval at which what was refused is tried again.
const AGAIN: Duration = Duration::from_millis(500);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let (changed, mut changes) = tokio::sync::mpsc::unbounded_channel();
    let manager = client(&cli.manager).await?;
    let locals = cache(&manager, &changed);
    locals.wait_until_ready().await?;
    let mut members = Vec::new();
    for file in &cli.members {
        let member = client(file).await?;
        let parts = cache(&member, &changed);
        parts.wait_until_ready().await?;
        members.push((member, parts));
    }
    let Cli { managed_by, defect, .. } = cli;
    let (sent, awaited, refused) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut all = Aggregator { manager, locals, members, managed_by, defect, sent, awaited, refused };
    loop {
        tokio::select! {
            Some(key) = changes.recv() => all.one(&key).await,
            () = tokio::time::sleep(AGAIN), if !all.refused.is_empty() => {
                for key in std::mem::take(&mut all.refused) {
                    all.one(&key).await;
                }
            }
        }
    }
}

struct Aggregator {
    manager: Client,
    locals: Store<Job>,
    members: Vec<(Client, Store<Job>)>,
    managed_by: String,
    defect: Option<Defect>,
    /// The version from which the last status was computed. The cache must show a newer one first.
    sent: HashMap<Key, String>,
    /// The parts that were created, and are not in the cache yet.
    awaited: BTreeSet<(usize, Key)>,
    /// The Jobs whose status was refused. For the defect `restless`: all.
    refused: BTreeSet<Key>,
}

impl Aggregator {
    async fn one(&mut self, key: &Key) {
        let is_of = |job: &Job| job.name_any() == key.1 && job.namespace().as_deref() == Some(&*key.0);
        let local = self.locals.find(is_of).map(|job| json!(*job));
        let takes_all = self.defect == Some(Defect::TakesStrangers);
        let local = local.filter(|job| takes_all || job["spec"]["managedBy"] == *self.managed_by);
        let mut found = Vec::new();
        for (at, (_, parts)) in self.members.iter().enumerate() {
            let part = parts.find(is_of).map(|job| json!(*job));
            if part.is_some() {
                self.awaited.remove(&(at, key.clone()));
            }
            found.push(part.filter(|it| parts::manager(it) == Some(&*self.managed_by)));
        }
        let local = local.filter(|job| job["metadata"]["deletionTimestamp"].is_null());
        match local {
            Some(local) => self.sum(&local, &found, key).await,
            None => self.release(&found, key, |_| true).await,
        }
    }

    /// Writes the sum, or makes the parts what the stored one says.
    async fn sum(&mut self, local: &Value, found: &[Option<Value>], key: &Key) {
        if self.defect == Some(Defect::Restless) {
            self.refused.insert(key.clone());
        }
        if self.sent.get(key) == Some(&version(Some(local))) {
            return;
        }
        let own: Vec<&Value> = found.iter().flatten().filter(|it| parts::is_of(it, local)).collect();
        if let Some(patch) = sum::patch(local, &own, self.defect) {
            let jobs: Api<Job> = Api::namespaced(self.manager.clone(), &key.0);
            match jobs.patch_status(&key.1, &PatchParams::default(), &Patch::Merge(patch)).await {
                Ok(_) => drop(self.sent.insert(key.clone(), version(Some(local)))),
                Err(_) => drop(self.refused.insert(key.clone())),
            }
            return;
        }
        let counted = parts::counted(local);
        let is_done = |part: &Value| !parts::is_of(part, local) || counted.contains_key(parts::uid(part));
        self.release(found, key, is_done).await;
        if !sum::is_decided(&local["status"]) {
            self.create(local, found, key).await;
        }
    }

    /// Creates the parts that are missing.
    async fn create(&mut self, local: &Value, found: &[Option<Value>], key: &Key) {
        let is_missing = |at: &usize| found[*at].is_none() && !self.awaited.contains(&(*at, key.clone()));
        let mut missing: Vec<usize> = (0..found.len()).filter(is_missing).collect();
        let is_changing = |part: &Value| !parts::is_of(part, local) || parts::is_leaving(part);
        if self.awaited.iter().any(|(_, of)| of == key) || found.iter().flatten().any(is_changing) {
            return;
        }
        let own: Vec<&Value> = found.iter().flatten().collect();
        let mut left = parts::left(local, &own);
        while let Some(at) = missing.pop() {
            let share = left / (i64::try_from(missing.len()).unwrap_or(0) + 1);
            left -= share;
            let Ok(part) = serde_json::from_value(parts::part_of(local, share, &self.managed_by)) else {
                continue;
            };
            let jobs: Api<Job> = Api::namespaced(self.members[at].0.clone(), &key.0);
            if share > 0 && jobs.create(&PostParams::default(), &part).await.is_ok() {
                self.awaited.insert((at, key.clone()));
            }
        }
    }

    /// Deletes parts whose Job is gone, and removes the finalizer of those that are no longer needed.
    async fn release(&self, found: &[Option<Value>], key: &Key, is_done: impl Fn(&Value) -> bool) {
        for (part, (member, _)) in found.iter().zip(&self.members) {
            let Some(part) = part.as_ref().filter(|part| is_done(part)) else { continue };
            let jobs: Api<Job> = Api::namespaced(member.clone(), &key.0);
            // The next change leads to a new decision.
            let _ = match parts::is_leaving(part) {
                false => jobs.delete(&key.1, &DeleteParams::background()).await.map(drop),
                true => {
                    let none =
                        json!({"metadata": {"resourceVersion": version(Some(part)), "finalizers": []}});
                    jobs.patch(&key.1, &PatchParams::default(), &Patch::Merge(none)).await.map(drop)
                }
            };
        }
    }
}

//! Reads back the stored objects of one Job after a write with unknown outcome (quorum reads), so that the caches can be
//! compared with them.

use std::collections::BTreeSet;

use jobcheck_controller::answer::Failure;
use jobcheck_controller::values::Uid;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams, PartialObjectMeta};

use super::cached::{CachedJob, PodStore};
use super::own_writes::OwnWrites;
use super::reflector::Version;
use super::rest;
use super::store::Cached;
use crate::failure::of_kube;

/// The result of reading back a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// The versions that the caches have to show are known.
    Exists,
    /// The Job does not exist any more, which the cache will show.
    Deleted,
}

/// The page size of the LIST.
const PAGE: u32 = 500;

/// Reads the Job and its pods, and sets the versions that the caches have to show.
///
/// # Errors
///
/// The failure of a read. The outcome of the write is still unknown then.
pub async fn read_back(
    client: &Client,
    pods: &PodStore,
    own_writes: &OwnWrites,
    job: &CachedJob,
) -> Result<ReadBack, Failure> {
    let uid = &job.facts.uid;
    let stored = rest::get_job(client, job.key()).await?;
    let Some(stored) = stored.filter(|stored| stored.metadata.uid.as_deref() == Some(uid.as_str())) else {
        return Ok(ReadBack::Deleted);
    };
    let version = number(stored.metadata.resource_version.as_deref());
    // The cache is read before the list, so that a pod which only the cache has is really deleted.
    let cached: BTreeSet<Uid> = pods.lookup(|index| {
        let own = index.of_job(uid).chain(index.ownerless(&job.key().namespace));
        own.filter(|pod| job.selector.matches(&pod.labels)).map(|pod| pod.uid().clone()).collect()
    });
    let listed = list(client, job).await?;
    let newest = listed.iter().map(|(_, version)| *version).max().unwrap_or(0);
    let stored_pods: BTreeSet<Uid> = listed.into_iter().map(|(uid, _)| uid).collect();
    let deleted = cached.difference(&stored_pods).cloned().collect();
    own_writes.read_back(job.key(), uid, version, newest, deleted);
    Ok(ReadBack::Exists)
}

/// Lists the UIDs and versions of the pods that the Job selects.
async fn list(client: &Client, job: &CachedJob) -> Result<Vec<(Uid, Version)>, Failure> {
    let Some(query) = job.selector.query() else { return Ok(Vec::new()) };
    let api: Api<Pod> = Api::namespaced(client.clone(), &job.key().namespace);
    let mut page = ListParams::default().labels(&query).limit(PAGE);
    let mut found = Vec::new();
    loop {
        let list = api.list_metadata(&page).await.map_err(|error| of_kube(&error))?;
        found.extend(list.items.iter().map(|pod: &PartialObjectMeta<Pod>| {
            let uid = pod.metadata.uid.as_deref().unwrap_or_default();
            (Uid::new(uid), number(pod.metadata.resource_version.as_deref()))
        }));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(found),
        }
    }
}

fn number(version: Option<&str>) -> Version {
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}

//! Proves that the caches are fresh for one Job: asks the API server what is stored (quorum reads), so that the caches
//! can be held against it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams, PartialObjectMeta};

use super::kept::{KeptJob, PodStore};
use super::own_writes::OwnWrites;
use super::reflector::Version;
use super::rest;
use super::store::Kept;
use crate::answer::Failure;
use crate::values::Uid;

/// What is stored of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The caches know now how far they have to come.
    Proved,
    /// The Job is not there any more; the cache will show it.
    Gone,
}

/// Answers in one page.
const PAGE: u32 = 500;

/// Asks for the Job and its pods. After it the doubt about the Job is over.
///
/// # Errors
/// What the API server says, or that it said nothing: the doubt stays.
pub async fn prove(
    client: &Client,
    pods: &PodStore,
    own_writes: &OwnWrites,
    job: &KeptJob,
) -> Result<Stored, Failure> {
    let uid = &job.facts.uid;
    let stored = rest::get_job(client, job.key()).await?;
    let Some(stored) = stored.filter(|stored| stored.metadata.uid.as_deref() == Some(uid.as_str())) else {
        return Ok(Stored::Gone);
    };
    let version = number(stored.metadata.resource_version.as_deref());
    // Read before the list, so that what it holds and the list does not is gone indeed.
    let held: BTreeSet<Uid> = pods.lookup(|index| {
        let own = index.of_job(uid).chain(index.unowned(&job.key().namespace));
        own.filter(|pod| job.selector.matches(&pod.labels)).map(|pod| pod.uid().clone()).collect()
    });
    let listed = list(client, job).await?;
    let newest = listed.iter().map(|(_, version)| *version).max().unwrap_or(0);
    let there: BTreeSet<Uid> = listed.into_iter().map(|(uid, _)| uid).collect();
    let gone = held.difference(&there).cloned().collect();
    own_writes.proved(job.key(), uid, version, newest, gone);
    Ok(Stored::Proved)
}

/// UIDs and versions of the pods that the Job selects.
async fn list(client: &Client, job: &KeptJob) -> Result<Vec<(Uid, Version)>, Failure> {
    let Some(query) = job.selector.query() else { return Ok(Vec::new()) };
    let api: Api<Pod> = Api::namespaced(client.clone(), &job.key().namespace);
    let mut page = ListParams::default().labels(&query).limit(PAGE);
    let mut found = Vec::new();
    loop {
        let list = api.list_metadata(&page).await.map_err(|error| Failure::from_kube(&error))?;
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

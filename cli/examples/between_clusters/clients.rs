//! Clients and caches of several clusters.

use std::path::Path;

use futures_util::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::Store;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

/// A client that sends each request once.
pub async fn client(kubeconfig: &Path) -> anyhow::Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static("between-clusters/1")));
    Ok(Client::try_from(config)?)
}

/// The namespace and the name of a Job.
pub type Key = (String, String);

/// A cache that a watch fills. Each change is reported.
pub fn cache(client: &Client, changed: &UnboundedSender<Key>) -> Store<Job> {
    let (reader, writer) = reflector::store();
    let watch = watcher(Api::<Job>::all(client.clone()), watcher::Config::default()).default_backoff();
    let changed = changed.clone();
    let filled = reflector(writer, watch).touched_objects().for_each(move |job| {
        if let Ok(job) = job {
            // The receiver lives as long as the process.
            let _ = changed.send((job.namespace().unwrap_or_default(), job.name_any()));
        }
        std::future::ready(())
    });
    tokio::spawn(filled);
    reader
}

/// The version of an object; empty if there is none.
pub fn version(object: Option<&Value>) -> String {
    let version = object.and_then(|it| it["metadata"]["resourceVersion"].as_str());
    version.unwrap_or_default().to_owned()
}

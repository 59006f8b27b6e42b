//! The objects of a run on all clusters, as watches show them.

use std::collections::BTreeMap;
use std::sync::Arc;

use jobcheck_record::watch::{Listed, WatchTarget, WatchUpdate, follow, list, text};
use jobcheck_traces::{Resource, WatchKind};
use serde_json::Value;
use tokio::sync::watch::Sender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::recording::Recording;

/// The position of the manager's cluster. The workers follow.
pub(crate) const MANAGER: usize = 0;

/// The objects on all clusters.
#[derive(Debug)]
pub(crate) struct Board {
    /// The objects of each cluster.
    pub clusters: Vec<Objects>,
    /// The time of the last change.
    pub changed: Instant,
}

/// The objects of a namespace.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// The Jobs by name.
    pub jobs: BTreeMap<String, Value>,
    /// The last version of each Job that was removed.
    pub removed: Vec<Value>,
    /// The pods by name.
    pub pods: BTreeMap<String, Value>,
}

impl Objects {
    fn put(&mut self, resource: Resource, kind: WatchKind, object: Value) {
        let name = text(&object, "name").to_owned();
        let is_gone = kind == WatchKind::Deleted;
        match (resource, is_gone) {
            (Resource::Jobs, true) => {
                self.jobs.remove(&name);
                self.removed.push(object);
            }
            (Resource::Jobs, false) => drop(self.jobs.insert(name, object)),
            (Resource::Pods, true) => drop(self.pods.remove(&name)),
            (Resource::Pods, false) => drop(self.pods.insert(name, object)),
        }
    }

    fn replace(&mut self, resource: Resource, listed: Listed) {
        let objects: BTreeMap<String, Value> =
            listed.objects.into_iter().map(|it| (text(&it, "name").to_owned(), it)).collect();
        if resource == Resource::Pods {
            self.pods = objects;
            return;
        }
        let is_gone = |old: &Value| {
            objects.get(text(old, "name")).is_none_or(|new| text(new, "uid") != text(old, "uid"))
        };
        let gone = self.jobs.values().filter(|old| is_gone(old)).cloned();
        self.removed.extend(gone);
        self.jobs = objects;
    }

    /// Every Job that was ever seen, in its last version.
    pub(crate) fn all_jobs(&self) -> impl Iterator<Item = &Value> {
        self.removed.iter().chain(self.jobs.values())
    }
}

/// The state before a watch shows anything.
pub(crate) fn empty(clusters: usize) -> Board {
    Board { clusters: (0..clusters).map(|_| Objects::default()).collect(), changed: Instant::now() }
}

/// Fills the board from watches, and records what they show. The watches end with the set.
pub(crate) async fn watch(
    board: &Sender<Board>,
    clusters: &[Arc<Cluster>],
    recordings: &[Arc<Recording>],
    namespace: &str,
    tasks: &mut JoinSet<()>,
) -> Result<(), Error> {
    for (at, cluster) in clusters.iter().enumerate() {
        for resource in [Resource::Jobs, Resource::Pods] {
            let target = WatchTarget { namespace: Some(namespace.to_owned()), resource };
            let listed = list(&cluster.client, &target).await.map_err(|why| cluster.failed(why))?;
            let version = listed.version.clone();
            let (board, recording) = (board.clone(), Arc::clone(&recordings[at]));
            let show = move |update| {
                recording.watched(resource, &update);
                update_board(&board, at, resource, update);
                !board.is_closed()
            };
            tasks.spawn(follow(cluster.client.clone(), target, version, show));
        }
    }
    Ok(())
}

fn update_board(board: &Sender<Board>, at: usize, resource: Resource, update: WatchUpdate) {
    board.send_if_modified(|board| {
        let objects = &mut board.clusters[at];
        match update {
            WatchUpdate::Event { kind, object } => objects.put(resource, kind, object),
            WatchUpdate::Relisted { listed, .. } => objects.replace(resource, listed),
            WatchUpdate::Open | WatchUpdate::Ended | WatchUpdate::Reached(_) | WatchUpdate::Lost(_) => {
                return false;
            }
        }
        board.changed = Instant::now();
        true
    });
}

/// Returns true if the status has this condition.
pub(crate) fn has(job: &Value, condition: &str) -> bool {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == condition && it["status"] == "True")
}

/// Returns true if the Job has an end.
pub(crate) fn has_ended(job: &Value) -> bool {
    has(job, "Complete") || has(job, "Failed")
}

/// Returns true if an object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Returns true if a Job of a worker is a copy. A copy has the name of the Job, or its UID in a label or an annotation.
pub(crate) fn is_copy(other: &Value, name: &str, uids: &[String]) -> bool {
    other["metadata"]["labels"].get(STRANGER).is_none() && is_named_after(other, name, uids)
}

/// Returns true if a Job has this name, or one of these UIDs in a label or an annotation.
pub(crate) fn is_named_after(other: &Value, name: &str, uids: &[String]) -> bool {
    let metadata = &other["metadata"];
    let values = ["labels", "annotations"].iter().filter_map(|it| metadata[*it].as_object());
    let has_uid = values
        .flat_map(|it| it.values())
        .filter_map(Value::as_str)
        .any(|value| uids.iter().any(|uid| uid == value));
    has_uid || metadata["name"] == name
}

/// The label of Jobs that the suite creates in the name of somebody else.
pub(crate) const STRANGER: &str = "jobcheck.dev/stranger";

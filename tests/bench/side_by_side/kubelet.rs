//! A kubelet that ends every pod as fast as it appears.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jobcheck_record::watch::{self, Scope, Shown, text};
use jobcheck_traces::Resource;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::Result;
use crate::measure::Fate;

/// Requests of it at a time.
const AT_ONCE: usize = 64;

/// What it has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Pods that were ended since it was asked last to begin anew.
    pub ended: u32,
    /// When the last was.
    pub last: Option<Instant>,
}

/// The kubelet of a namespace; it ends with this value.
pub struct Kubelet {
    done: Arc<Mutex<Done>>,
    fate: Arc<Mutex<Fate>>,
    task: JoinHandle<()>,
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Kubelet {
    /// Begins.
    ///
    /// # Errors
    /// The API server does not answer.
    pub async fn begin(client: Client, namespace: &str) -> Result<Kubelet> {
        let scope = Scope { namespace: Some(namespace.to_owned()), resource: Resource::Pods };
        let version = watch::list(&client, &scope).await?.version;
        let (done, fate) = (Arc::new(Mutex::new(Done::default())), Arc::new(Mutex::new(Fate::Succeed)));
        let (room, here) = (Arc::new(Semaphore::new(AT_ONCE)), (Arc::clone(&done), Arc::clone(&fate)));
        let asked = client.clone();
        let out = move |shown| {
            if let Shown::Event { object, .. } = shown
                && object["status"]["phase"] == "Pending"
                && object["metadata"]["deletionTimestamp"].is_null()
            {
                let (client, room, done) = (asked.clone(), Arc::clone(&room), Arc::clone(&here.0));
                let fate = *here.1.lock().unwrap_or_else(PoisonError::into_inner);
                tokio::spawn(async move {
                    let _room = room.acquire_owned().await;
                    if end(&client, &object, fate).await.is_ok() {
                        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                        *done = Done { ended: done.ended + 1, last: Some(Instant::now()) };
                    }
                });
            }
            true
        };
        let task = tokio::spawn(watch::follow(client, scope, version, out));
        Ok(Kubelet { done, fate, task })
    }

    /// Forgets what it has done, and ends pods like this from now on.
    pub fn anew(&self, fate: Fate) {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Done::default();
        *self.fate.lock().unwrap_or_else(PoisonError::into_inner) = fate;
    }

    /// What it has done.
    pub fn done(&self) -> Done {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn end(client: &Client, pod: &Value, fate: Fate) -> Result<()> {
    let phase = match fate {
        Fate::Succeed => "Succeeded",
        Fate::Fail => "Failed",
    };
    let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
    let body = json!({"status": {"phase": phase}}).to_string().into_bytes();
    let request = http::Request::patch(format!("/api/v1/namespaces/{namespace}/pods/{name}/status"))
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(body)?;
    client.request::<Value>(request).await?;
    Ok(())
}

//! Keeps a cache in step with the API server: LIST, then WATCH, and LIST again where the watch has lost its thread.
//!
//! Not kube's `watcher`: that one hides bookmarks, and with them how far a cache has come; its delays come from the
//! operating system's entropy; and it cannot be told to list again.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use kube::api::{Api, ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::jitter::Jitter;
use crate::answer::Failure;

/// A resourceVersion as a number: those of one API server can be compared (KEP-5504).
pub type Version = u64;

/// What a [`Reflector`] feeds.
pub trait Cache<K>: Send + Sync + 'static {
    /// What is kept of an object.
    type Kept: Send;

    /// Takes from an object what is kept; nothing if the object is of no interest.
    fn keep(&self, object: K, version: Version) -> Option<Self::Kept>;
    /// These are all objects, as of this version. What is not among them is gone.
    fn replace(&self, objects: Vec<Self::Kept>, version: Version);
    /// The object came into being or changed.
    fn apply(&self, object: K, version: Version);
    /// The object is gone; this was its last state.
    fn remove(&self, object: K, version: Version);
    /// Nothing has happened up to this version that was not told.
    fn advance(&self, version: Version);
}

/// Feeds one cache.
#[derive(Debug)]
pub struct Reflector<K, C> {
    api: Api<K>,
    cache: Arc<C>,
    relist: Arc<Notify>,
    jitter: Jitter,
    resource: &'static str,
}

/// Why a watch ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The server closed it, in good order; go on from this version.
    Closed(Version),
    /// It broke; go on from this version, after a while.
    Broken(Version, String),
    /// The version is too old, or the cache is in doubt: list again.
    Relist(String),
}

/// Objects in one answer to a LIST.
const PAGE: u32 = 500;
/// The server ends a watch after so many seconds; kube's limit on a silent connection is 295 s.
const WATCH_SECONDS: u32 = 290;
/// The delay after the first failure, doubled each time, up to the longest: client-go's.
const BACKOFF: Duration = Duration::from_millis(800);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

impl<K, C> Reflector<K, C>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    C: Cache<K>,
{
    /// A reflector of what `api` shows. `relist`: tell it to make the cache anew, when a loss is suspected.
    #[must_use]
    pub fn new(api: Api<K>, cache: Arc<C>, relist: Arc<Notify>, resource: &'static str) -> Self {
        Reflector { api, cache, relist, jitter: Jitter::seeded(resource), resource }
    }

    /// Feeds the cache until `stop`. It never gives up: without an API server it tries again and again.
    pub async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.follow() => {}
        }
    }

    async fn follow(&mut self) {
        let mut failures = 0;
        loop {
            match self.list().await {
                Ok(version) => {
                    failures = 0;
                    debug!(resource = self.resource, version, "listed");
                    self.watch_from(version).await;
                }
                Err(failure) => {
                    warn!(resource = self.resource, %failure, "cannot list");
                    failures += 1;
                    self.back_off(failures).await;
                }
            }
        }
    }

    /// Reads all pages, all of them as of one version, of which the API server makes sure that it is the newest: a
    /// LIST without a version is a quorum read.
    async fn list(&self) -> Result<Version, Failure> {
        let mut kept = Vec::new();
        let mut page = ListParams::default().limit(PAGE);
        loop {
            let list = self.api.list(&page).await.map_err(|error| Failure::from_kube(&error))?;
            let version = number(list.metadata.resource_version.as_deref().unwrap_or_default())?;
            for object in list.items {
                let version = version_of(&object)?;
                kept.extend(self.cache.keep(object, version));
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => {
                    self.cache.replace(kept, version);
                    return Ok(version);
                }
            }
        }
    }

    /// Watches until the cache has to be made anew.
    async fn watch_from(&mut self, mut version: Version) {
        let mut failures = 0;
        loop {
            let relist = Arc::clone(&self.relist);
            let end = tokio::select! {
                () = relist.notified() => End::Relist("a loss is suspected".to_owned()),
                end = self.watch(version) => end,
            };
            match end {
                End::Closed(reached) => {
                    // A server that closes at once must not be asked in a tight loop.
                    failures = if reached == version { failures + 1 } else { 0 };
                    version = reached;
                    if failures > 0 {
                        self.back_off(failures).await;
                    }
                }
                End::Broken(reached, why) => {
                    warn!(resource = self.resource, version = reached, why, "watch broke");
                    failures = if reached == version { failures + 1 } else { 1 };
                    version = reached;
                    self.back_off(failures).await;
                }
                End::Relist(why) => {
                    info!(resource = self.resource, version, why, "listing again");
                    return;
                }
            }
        }
    }

    async fn watch(&self, mut version: Version) -> End {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let stream = match self.api.watch(&params, &version.to_string()).await {
            Ok(stream) => stream,
            Err(error) => return end(Failure::from_kube(&error), version),
        };
        let mut stream = std::pin::pin!(stream);
        while let Some(event) = stream.next().await {
            match event.map_err(|error| Failure::from_kube(&error)).and_then(|event| self.take(event)) {
                Ok(reached) => version = version.max(reached),
                Err(failure) => return end(failure, version),
            }
        }
        End::Closed(version)
    }

    /// Feeds one event; returns its version.
    fn take(&self, event: WatchEvent<K>) -> Result<Version, Failure> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let version = version_of(&object)?;
                self.cache.apply(object, version);
                Ok(version)
            }
            WatchEvent::Deleted(object) => {
                let version = version_of(&object)?;
                self.cache.remove(object, version);
                Ok(version)
            }
            WatchEvent::Bookmark(bookmark) => {
                let version = number(&bookmark.metadata.resource_version)?;
                self.cache.advance(version);
                Ok(version)
            }
            WatchEvent::Error(status) => Err(Failure::from_status(&status)),
        }
    }

    async fn back_off(&mut self, failures: u32) {
        let doubled =
            2_u32.checked_pow(failures.saturating_sub(1)).and_then(|times| BACKOFF.checked_mul(times));
        let delay = doubled.unwrap_or(BACKOFF_MAX).min(BACKOFF_MAX);
        sleep(self.jitter.spread(delay, 1.0)).await;
    }
}

/// 410, and objects that make no sense, mean that the thread is lost.
fn end(failure: Failure, version: Version) -> End {
    match failure {
        Failure::Expired(why) => End::Relist(why),
        other => End::Broken(version, other.to_string()),
    }
}

fn version_of<K: Resource>(object: &K) -> Result<Version, Failure> {
    number(object.meta().resource_version.as_deref().unwrap_or_default())
        .map_err(|failure| Failure::Ambiguous(format!("{}: {failure}", object.name_any())))
}

fn number(version: &str) -> Result<Version, Failure> {
    version.parse().map_err(|_| Failure::Ambiguous(format!("resourceVersion {version:?} is not a number")))
}

#[cfg(test)]
mod tests;

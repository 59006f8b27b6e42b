//! Keeps a cache up to date: LIST, then WATCH, and another LIST after a watch has failed.
//!
//! This is not kube's `watcher`, for three reasons. That one hides bookmarks, and with them the version of a cache. Its
//! delays depend on the entropy of the operating system. It has no way to request a relist.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use jobcheck_access::{Readable, Unreadable};
use jobcheck_controller::answer::Failure;
use kube::api::{Api, ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::jitter::Jitter;
use crate::failure::of_kube;

/// A resourceVersion as a number. The numbers of one API server can be compared (KEP-5504).
pub type Version = u64;

/// A cache that a [`Reflector`] updates.
pub trait Cache<K>: Send + Sync + 'static {
    /// The cache entry of an object.
    type Entry: Send;

    /// Returns the cache entry of an object; none if the object is not cached.
    fn entry(&self, object: K, version: Version) -> Option<Self::Entry>;
    /// Replaces all entries with those of a list of this version. Objects without an entry in it are deleted.
    fn replace(&self, entries: Vec<Self::Entry>, version: Version);
    /// Adds or updates an object.
    fn apply(&self, object: K, version: Version);
    /// Removes a deleted object, which had this last state.
    fn remove(&self, object: K, version: Version);
    /// Advances the version of the cache. All events up to it were delivered.
    fn advance(&self, version: Version);
}

/// Updates one cache.
#[derive(Debug)]
pub struct Reflector<K, C> {
    api: Api<Readable<K>>,
    cache: Arc<C>,
    relist: Arc<Notify>,
    jitter: Jitter,
    resource: &'static str,
    staleness: Arc<Staleness>,
}

/// True once the LISTs of a reflector have failed for so long that nobody should rely on its cache.
#[derive(Debug, Default)]
pub struct Staleness(AtomicBool);

impl Staleness {
    /// Returns whether all LISTs of the last [`STALE_AFTER`] have failed.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The end of a watch.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The server closed the watch. It resumes at this version.
    Closed(Version),
    /// The watch failed. It resumes at this version after a delay.
    Broken(Version, String),
    /// This version, which the watch has reached, is too old.
    Relist(Version, String),
}

/// The reason for a relist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The version that the watch has reached is too old.
    Expired,
    /// Somebody has asked for it.
    Asked,
}

/// The page size of a LIST.
const PAGE: u32 = 500;
/// The maximum number of pages. More objects than that do not fit into etcd.
const MAX_PAGES: u32 = 10_000;
/// The maximum time for a page of a LIST. A server that sends a byte now and then would otherwise take for ever. The API
/// server itself ends a request after 60 s.
const PAGE_TIME: Duration = Duration::from_secs(90);
/// The number of pages after which the progress of a LIST is logged.
const LOG_PAGES: u32 = 500;
/// The seconds after which the server ends a watch. kube ends a silent connection after 295 s.
const WATCH_SECONDS: u32 = 290;
/// The delay after the first failure. It doubles with each further failure up to the maximum, as in client-go.
const BACKOFF: Duration = Duration::from_millis(800);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// The time since the first of several failed LISTs after which a cache is stale.
pub const STALE_AFTER: Duration = Duration::from_secs(120);
/// The time after a LIST from which on an expired version is no failure: a LIST now and then is what a server can bear.
const LASTING: Duration = Duration::from_secs(5);

impl<K, C> Reflector<K, C>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    C: Cache<K>,
{
    /// Returns a reflector of the objects of `api`. A notification of `relist` requests a relist.
    #[must_use]
    pub fn new(api: Api<Readable<K>>, cache: Arc<C>, relist: Arc<Notify>, resource: &'static str) -> Self {
        let staleness = Arc::default();
        Reflector { api, cache, relist, jitter: Jitter::seeded(resource), resource, staleness }
    }

    /// True while its cache is stale, also while it runs.
    #[must_use]
    pub fn staleness(&self) -> Arc<Staleness> {
        Arc::clone(&self.staleness)
    }

    /// Updates the cache until `stop`. Failed requests are retried without an end.
    pub async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.follow() => {}
        }
    }

    async fn follow(&mut self) {
        let (mut failures, mut failing) = (0, None);
        loop {
            match self.list().await {
                Ok(version) => {
                    failing = None;
                    self.staleness.0.store(false, Ordering::Relaxed);
                    debug!(resource = self.resource, version, "listed");
                    let listed = Instant::now();
                    // A version that expires soon is a failure, whatever the watch has shown. The server forgets
                    // versions faster than it lists them, and each LIST makes that worse.
                    if self.watch_from(version).await == Ended::Expired && listed.elapsed() < LASTING {
                        failures += 1;
                        self.back_off(failures).await;
                    } else {
                        failures = 0;
                    }
                }
                Err(failure) => {
                    warn!(resource = self.resource, %failure, "cannot list");
                    let since = *failing.get_or_insert_with(Instant::now);
                    self.staleness.0.store(since.elapsed() >= STALE_AFTER, Ordering::Relaxed);
                    failures += 1;
                    self.back_off(failures).await;
                }
            }
        }
    }

    /// Lists all objects at one version. A LIST without a version is a quorum read, so this is the latest version.
    async fn list(&self) -> Result<Version, Failure> {
        let mut entries = Vec::new();
        let mut page = ListParams::default().limit(PAGE);
        for number_of_page in 1..=MAX_PAGES {
            if number_of_page % LOG_PAGES == 0 {
                info!(resource = self.resource, pages = number_of_page, objects = entries.len(), "listing");
            }
            let list = timeout(PAGE_TIME, self.api.list(&page)).await;
            let late = |_| Failure::Ambiguous(format!("no whole page within {} s", PAGE_TIME.as_secs()));
            let list = list.map_err(late)?.map_err(|error| of_kube(&error))?;
            let version = number(list.metadata.resource_version.as_deref().unwrap_or_default())?;
            for object in list.items {
                let version = version_of(&object)?;
                entries.extend(self.read(object).and_then(|object| self.cache.entry(object, version)));
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => {
                    self.cache.replace(entries, version);
                    return Ok(version);
                }
            }
        }
        Err(Failure::Ambiguous(format!("the list has more than {MAX_PAGES} pages")))
    }

    /// Watches until a relist is necessary.
    async fn watch_from(&mut self, mut version: Version) -> Ended {
        let mut failures = 0;
        loop {
            let relist = Arc::clone(&self.relist);
            let end = tokio::select! {
                () = relist.notified() => {
                    info!(resource = self.resource, version, "relisting, since a lost event is suspected");
                    return Ended::Asked;
                }
                end = self.watch(version) => end,
            };
            match end {
                End::Closed(reached) => {
                    // A server that closes every watch at once is not polled in a tight loop.
                    failures = if reached == version { failures + 1 } else { 0 };
                    version = reached;
                    if failures > 0 {
                        self.back_off(failures).await;
                    }
                }
                End::Broken(reached, why) => {
                    warn!(resource = self.resource, version = reached, why, "the watch failed");
                    failures = if reached == version { failures + 1 } else { 1 };
                    version = reached;
                    self.back_off(failures).await;
                }
                End::Relist(reached, why) => {
                    info!(resource = self.resource, version = reached, why, "relisting");
                    return Ended::Expired;
                }
            }
        }
    }

    async fn watch(&self, mut version: Version) -> End {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let stream = match self.api.watch(&params, &version.to_string()).await {
            Ok(stream) => stream,
            Err(error) => return end(of_kube(&error), version),
        };
        let mut stream = std::pin::pin!(stream);
        while let Some(event) = stream.next().await {
            match event.map_err(|error| of_kube(&error)).and_then(|event| self.take(event)) {
                Ok(reached) => version = version.max(reached),
                Err(failure) => return end(failure, version),
            }
        }
        End::Closed(version)
    }

    /// Applies one event. Returns its version.
    fn take(&self, event: WatchEvent<Readable<K>>) -> Result<Version, Failure> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let version = version_of(&object)?;
                match self.read(object) {
                    Some(object) => self.cache.apply(object, version),
                    None => self.cache.advance(version),
                }
                Ok(version)
            }
            WatchEvent::Deleted(object) => {
                let version = version_of(&object)?;
                match self.read(object) {
                    Some(object) => self.cache.remove(object, version),
                    None => self.cache.advance(version),
                }
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

    /// The object, unless it cannot be read. Then its cached state stays, and the next LIST leaves it out.
    fn read(&self, object: Readable<K>) -> Option<K> {
        match object.read() {
            Ok(object) => Some(object),
            Err(unreadable) => {
                let Unreadable { metadata, why } = *unreadable;
                let [namespace, name] = [metadata.namespace, metadata.name].map(Option::unwrap_or_default);
                let name = format!("{namespace}/{name}");
                warn!(resource = self.resource, name, why, "ignoring an object that cannot be read");
                None
            }
        }
    }

    async fn back_off(&mut self, failures: u32) {
        let doubled =
            2_u32.checked_pow(failures.saturating_sub(1)).and_then(|times| BACKOFF.checked_mul(times));
        let delay = doubled.unwrap_or(BACKOFF_MAX).min(BACKOFF_MAX);
        sleep(self.jitter.spread(delay, 1.0)).await;
    }
}

/// A 410 requires a relist; after any other failure the watch resumes.
fn end(failure: Failure, version: Version) -> End {
    match failure {
        Failure::Expired(why) => End::Relist(version, why),
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

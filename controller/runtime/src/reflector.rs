//! Keeps a cache up to date: LIST, then WATCH, and another LIST after a watch has failed.
//!
//! This is not kube's `watcher`, for three reasons. That one hides the versions of LISTs, and with them that of a cache. Its
//! delays depend on the entropy of the operating system. It has no way to request a relist.
//!
//! A cache never moves backwards. A LIST with an older version than the cache has one of two reasons:
//!
//! - The API server lags. The LIST is dropped then, and the watch continues.
//! - etcd was restored, and has another history. The server refuses the version of the cache then. The versions of this
//!   process belong to the former history, so everything begins anew, as after a restart.
//!
//! Only LISTs and events advance the version of a cache. An own write counts as seen once the cache has reached its version
//! (SY-03). A wrong bookmark must not bring that about, and a right one need not: an event shows each write.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use jobcheck_access::{Readable, Unreadable, refuses_version};
use jobcheck_controller::answer::Failure;
use kube::Resource;
use kube::api::{Api, ListParams, ObjectMeta, WatchParams};
use kube::core::{Status, WatchEvent};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::jitter::Jitter;
use super::store::Unread;
use crate::failure::of_kube;

/// A resourceVersion as a number. The numbers of one API server can be compared (KEP-5504).
pub type Version = u64;

/// A cache that a [`Reflector`] updates.
pub trait Cache<K>: Send + Sync + 'static {
    /// The cache entry of an object.
    type Entry: Send;

    /// Returns the cache entry of an object; none if the object is not cached.
    ///
    /// # Errors
    ///
    /// The object cannot be read.
    fn entry(&self, object: K, version: Version) -> Result<Option<Self::Entry>, Box<Unreadable>>;
    /// Replaces all entries with those of a list of this version. Objects that the list does not contain are deleted. Those
    /// that exist and cannot be read keep their entries.
    fn replace(&self, entries: Vec<Self::Entry>, unread: Vec<Unread>, version: Version);
    /// Adds or updates an object. If the object cannot be read, it keeps its entry.
    fn apply(&self, object: K, version: Version);
    /// Removes a deleted object, which had this last state.
    fn remove(&self, object: K, version: Version);
    /// Keeps the entry of an object that was added or updated and cannot be read.
    fn keep_unread(&self, object: Option<Unread>, version: Version);
    /// Removes a deleted object, whose last state cannot be read.
    fn remove_unread(&self, object: Option<Unread>, version: Version);
}

/// A complete LIST.
struct Listed<E> {
    /// The entries of the objects that are cached.
    entries: Vec<E>,
    /// The objects that exist and cannot be read.
    unread: Vec<Unread>,
    /// The version of the LIST.
    version: Version,
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
    /// Cancelled when the API server has another history than the cache.
    another_history: CancellationToken,
    /// The version of the last LIST or event.
    shown: Version,
    /// The number of failures since the last success.
    failures: u32,
    /// The number of consecutive watches that the server has closed at once, without an event.
    short_watches: u32,
    /// The time of the first of the last LISTs, which have all failed.
    failing: Option<Instant>,
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
    /// A relist is necessary for these reasons. The watch has reached this version.
    Relist(Version, Ended, String),
}

/// The reason for a relist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The server refuses the version that the watch has reached, or contradicts it.
    Refused,
    /// The watch cannot get past an event.
    Stuck,
    /// The server has closed several watches at once.
    Short,
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
/// The time before which a watch without an event is short. client-go lists after such a watch.
const SHORT: Duration = Duration::from_secs(1);
/// The number of short watches in a row after which a LIST follows each.
const SHORT_WATCHES: u32 = 3;

impl<K, C> Reflector<K, C>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    C: Cache<K>,
{
    /// Returns a reflector of the objects of `api`. A notification of `relist` requests a relist.
    ///
    /// It cancels `another_history`, and ends, if the API server has another history than the cache.
    #[must_use]
    pub fn new(
        api: Api<Readable<K>>,
        cache: Arc<C>,
        relist: Arc<Notify>,
        resource: &'static str,
        another_history: CancellationToken,
    ) -> Self {
        Reflector {
            api,
            cache,
            relist,
            jitter: Jitter::seeded(resource),
            resource,
            staleness: Arc::default(),
            another_history,
            shown: 0,
            failures: 0,
            short_watches: 0,
            failing: None,
        }
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
        let mut ended = Ended::Asked;
        loop {
            match self.list().await {
                Ok(list) if list.version >= self.shown => ended = self.begin_at(list).await,
                Ok(Listed { version, .. }) if ended == Ended::Refused => {
                    let shown = self.shown;
                    warn!(
                        resource = self.resource,
                        version, shown, "etcd has another history: beginning anew"
                    );
                    return self.another_history.cancel();
                }
                Ok(Listed { version, .. }) => ended = self.go_on(version).await,
                Err(failure) => {
                    warn!(resource = self.resource, %failure, "cannot list");
                    self.list_failed();
                    let delay = self.delay();
                    sleep(delay).await;
                }
            }
        }
    }

    /// Replaces the cache by this LIST, and watches from there.
    async fn begin_at(&mut self, list: Listed<C::Entry>) -> Ended {
        let version = list.version;
        self.cache.replace(list.entries, list.unread, version);
        (self.shown, self.failing) = (version, None);
        self.staleness.0.store(false, Ordering::Relaxed);
        debug!(resource = self.resource, version, "listed");
        let listed = Instant::now();
        let ended = self.watch_from(version, Duration::ZERO).await;
        // A version that expires soon is a failure, whatever the watch has shown. The server forgets versions faster than it
        // lists them, and each LIST makes that worse.
        if ended != Ended::Asked && listed.elapsed() < LASTING {
            self.failures += 1;
            let delay = self.delay();
            sleep(delay).await;
        } else {
            self.failures = 0;
        }
        ended
    }

    /// Keeps the cache, which is newer than a LIST of this version, and watches on. The next LIST is not soon.
    async fn go_on(&mut self, version: Version) -> Ended {
        warn!(
            resource = self.resource,
            version,
            shown = self.shown,
            "ignoring a list that is older than the cache"
        );
        self.list_failed();
        let delay = self.delay();
        let next = Instant::now() + delay;
        let ended = self.watch_from(self.shown, delay).await;
        if ended != Ended::Refused {
            sleep_until(next).await;
        }
        ended
    }

    fn list_failed(&mut self) {
        let since = *self.failing.get_or_insert_with(Instant::now);
        self.staleness.0.store(since.elapsed() >= STALE_AFTER, Ordering::Relaxed);
        self.failures += 1;
    }

    /// Lists all objects at one version. A LIST without a version is a quorum read, so this is the latest version.
    async fn list(&self) -> Result<Listed<C::Entry>, Failure> {
        let (mut entries, mut unread) = (Vec::new(), Vec::new());
        let mut page = ListParams::default().limit(PAGE);
        for number_of_page in 1..=MAX_PAGES {
            if number_of_page % LOG_PAGES == 0 {
                info!(resource = self.resource, pages = number_of_page, objects = entries.len(), "listing");
            }
            let list = timeout(PAGE_TIME, self.api.list(&page)).await;
            let late = |_| Failure::Ambiguous(format!("no whole page within {} s", PAGE_TIME.as_secs()));
            let list = list.map_err(late)?.map_err(|error| of_kube(&error))?;
            let version = list.metadata.resource_version.unwrap_or_default();
            let no_number = || Failure::Ambiguous(format!("resourceVersion {version:?} is not a number"));
            let version = number(&version).ok_or_else(no_number)?;
            for object in list.items {
                match read(object).and_then(|(object, version)| self.cache.entry(object, version)) {
                    Ok(entry) => entries.extend(entry),
                    Err(unreadable) => unread.extend(Unread::of(self.resource, &unreadable)),
                }
            }
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(Listed { entries, unread, version }),
            }
        }
        Err(Failure::Ambiguous(format!("the list has more than {MAX_PAGES} pages")))
    }

    /// Watches until a relist is necessary. For some time at the beginning nobody can ask for one.
    async fn watch_from(&mut self, mut version: Version, undisturbed: Duration) -> Ended {
        let begun = Instant::now();
        let mut failures = 0;
        loop {
            let relist = Arc::clone(&self.relist);
            let asked = async {
                sleep_until(begun + undisturbed).await;
                relist.notified().await;
            };
            let opened = Instant::now();
            let end = tokio::select! {
                () = asked => {
                    info!(resource = self.resource, version, "relisting, since a lost event is suspected");
                    return Ended::Asked;
                }
                end = self.watch(version) => end,
            };
            match end {
                End::Closed(reached) => {
                    if self.is_one_of_many_short(reached == version && opened.elapsed() < SHORT) {
                        return Ended::Short;
                    }
                    // A server that closes every watch at once is not polled in a tight loop.
                    failures = if reached == version { failures + 1 } else { 0 };
                    version = reached;
                    if failures > 0 {
                        sleep(delay(&mut self.jitter, failures)).await;
                    }
                }
                End::Broken(reached, why) => {
                    warn!(resource = self.resource, version = reached, why, "the watch failed");
                    failures = if reached == version { failures + 1 } else { 1 };
                    version = reached;
                    sleep(delay(&mut self.jitter, failures)).await;
                }
                End::Relist(reached, ended, why) => {
                    info!(resource = self.resource, version = reached, why, "relisting");
                    return ended;
                }
            }
        }
    }

    /// Counts a watch that the server has closed. Returns true if this watch and those before it were short.
    ///
    /// A server that closes each watch at once shows its changes only to a LIST.
    fn is_one_of_many_short(&mut self, is_short: bool) -> bool {
        self.short_watches = if is_short { self.short_watches.saturating_add(1) } else { 0 };
        if self.short_watches == SHORT_WATCHES {
            warn!(resource = self.resource, "watches end at once without an event: listing after each");
        }
        self.short_watches >= SHORT_WATCHES
    }

    async fn watch(&mut self, mut version: Version) -> End {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let api = self.api.clone();
        let stream = match api.watch(&params, &version.to_string()).await {
            Ok(stream) => stream,
            Err(error) => return end(&error, version),
        };
        let mut stream = std::pin::pin!(stream);
        while let Some(event) = stream.next().await {
            let reached = match event {
                Ok(event) => self.take(event, version),
                Err(error) => Err(end(&error, version)),
            };
            match reached {
                Ok(reached) => version = reached,
                Err(end) => return end,
            }
        }
        End::Closed(version)
    }

    /// Applies one event of a watch that has reached this version. Returns the version that it has reached then.
    fn take(&mut self, event: WatchEvent<Readable<K>>, reached: Version) -> Result<Version, End> {
        let (is_deleted, object) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (false, object),
            WatchEvent::Deleted(object) => (true, object),
            WatchEvent::Bookmark(bookmark) => {
                let version = number(&bookmark.metadata.resource_version);
                return Ok(version.map_or(reached, |version| version.max(reached)));
            }
            WatchEvent::Error(status) => return Err(refused(&status, reached)),
        };
        let version = version_of(object.meta());
        let object = read(object).map_err(|unreadable| Unread::of(self.resource, &unreadable));
        // An event without a version has no place among the others.
        let Some(version) = version else { return Ok(reached) };
        if version < reached {
            let why = format!("an event of version {version} follows one of version {reached}");
            return Err(End::Relist(reached, Ended::Refused, why));
        }
        self.shown = version;
        match object {
            Ok((object, _)) if is_deleted => self.cache.remove(object, version),
            Ok((object, _)) => self.cache.apply(object, version),
            Err(unread) if is_deleted => self.cache.remove_unread(unread, version),
            Err(unread) => self.cache.keep_unread(unread, version),
        }
        Ok(version)
    }

    /// The delay after the last failure.
    fn delay(&mut self) -> Duration {
        delay(&mut self.jitter, self.failures)
    }
}

/// The delay after this number of failures.
fn delay(jitter: &mut Jitter, failures: u32) -> Duration {
    let doubled = 2_u32.checked_pow(failures.saturating_sub(1)).and_then(|times| BACKOFF.checked_mul(times));
    let delay = doubled.unwrap_or(BACKOFF_MAX).min(BACKOFF_MAX);
    jitter.spread(delay, 1.0)
}

/// The end of a watch that has reached this version by an error.
fn end(error: &kube::Error, version: Version) -> End {
    match error {
        kube::Error::Api(status) => refused(status, version),
        error => match of_kube(error) {
            Failure::Expired(why) => End::Relist(version, Ended::Stuck, why),
            other => End::Broken(version, other.to_string()),
        },
    }
}

/// The end of a watch by a response of the API server. A version that it refuses requires a relist; after any other failure
/// the watch resumes.
fn refused(status: &Status, version: Version) -> End {
    let why = Failure::from_status(status).to_string();
    if refuses_version(status) {
        End::Relist(version, Ended::Refused, why)
    } else {
        End::Broken(version, why)
    }
}

/// The object and its version. An object without a version cannot be read.
fn read<K: Resource>(object: Readable<K>) -> Result<(K, Version), Box<Unreadable>> {
    let object = object.read()?;
    match version_of(object.meta()) {
        Some(version) => Ok((object, version)),
        None => Err(Box::new(Unreadable {
            metadata: object.meta().clone(),
            why: "its resourceVersion is missing, or no number".to_owned(),
        })),
    }
}

fn version_of(metadata: &ObjectMeta) -> Option<Version> {
    metadata.resource_version.as_deref().and_then(number)
}

fn number(version: &str) -> Option<Version> {
    version.parse().ok()
}

#[cfg(test)]
mod tests;

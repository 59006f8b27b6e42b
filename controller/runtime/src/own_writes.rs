//! Read your own writes: the versions that the caches must show before a Job is synced again (SY-03).
//!
//! A decision from a cache without the last writes of its process would repeat them: it would create or count pods twice
//! (B01). Therefore each acknowledged write registers its version here, and a sync waits until the caches show it.
//! Versions of one API server can be compared as numbers (KEP-5504). If etcd is restored, they go back. Then a new term
//! begins, whose caches and own writes have versions of the new history only ([`super::term`]).
//!
//! A write with an unknown outcome has no version. Before the next sync of its Job the stored objects are read from the
//! API server, and the caches must show their versions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jobcheck_controller::values::Uid;
use tokio::time::Instant;

use super::reflector::Version;
use super::store::ObjectKey;

/// The versions that the caches must show, for each Job.
#[derive(Debug, Default)]
pub struct OwnWrites {
    jobs: Mutex<BTreeMap<ObjectKey, Expected>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Expected {
    uid: Uid,
    job: Version,
    pods: Version,
    /// Pods that did not exist any more when the stored objects were read back.
    deleted_pods: BTreeSet<Uid>,
    unknown_outcome: bool,
    /// The time of the last write, from which on the caches have to show it.
    since: Instant,
}

/// The freshness of the caches for one Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The caches show every write of this process.
    Fresh,
    /// The outcome of a write is unknown, so the stored objects have to be read back first.
    Unknown,
    /// A cache does not show a write yet.
    Behind {
        /// `jobs` or `pods`.
        resource: &'static str,
        /// The time since the last write, or since the stored objects were read back.
        waited: Duration,
    },
}

/// The state of the caches.
#[derive(Clone, Copy)]
pub struct Reached<'a> {
    /// The latest version of the cache of Jobs.
    pub jobs: Version,
    /// The latest version of the cache of pods.
    pub pods: Version,
    /// Returns true if the cache of pods has the pod with this UID.
    pub has_pod: &'a dyn Fn(&Uid) -> bool,
}

impl OwnWrites {
    /// Registers an acknowledged write of the Job with its version.
    pub fn wrote_job(&self, key: &ObjectKey, uid: &Uid, version: Version) {
        self.change(key, uid, |expected| expected.job = expected.job.max(version));
    }

    /// Registers an acknowledged write of a pod of the Job with its version.
    pub fn wrote_pod(&self, key: &ObjectKey, uid: &Uid, version: Version) {
        self.change(key, uid, |expected| expected.pods = expected.pods.max(version));
    }

    /// Registers a write for the Job with an unknown outcome.
    pub fn outcome_unknown(&self, key: &ObjectKey, uid: &Uid) {
        self.change(key, uid, |expected| expected.unknown_outcome = true);
    }

    /// Registers the stored objects after they were read back.
    ///
    /// The versions are those of the Job and of its latest pod. `deleted` has the cached pods that do not exist any more.
    pub fn read_back(&self, key: &ObjectKey, uid: &Uid, job: Version, pods: Version, deleted: BTreeSet<Uid>) {
        self.change(key, uid, |expected| {
            expected.job = expected.job.max(job);
            expected.pods = expected.pods.max(pods);
            expected.deleted_pods.extend(deleted);
            expected.unknown_outcome = false;
        });
    }

    /// Compares the caches with the writes for the Job. Writes for another UID do not matter.
    pub fn check(&self, key: &ObjectKey, uid: &Uid, reached: Reached<'_>, now: Instant) -> Freshness {
        let mut jobs = self.lock();
        let Some(expected) = jobs.get_mut(key).filter(|expected| expected.uid == *uid) else {
            jobs.remove(key);
            return Freshness::Fresh;
        };
        if expected.unknown_outcome {
            return Freshness::Unknown;
        }
        expected.deleted_pods.retain(|pod| (reached.has_pod)(pod));
        let behind = if reached.jobs < expected.job {
            "jobs"
        } else if reached.pods < expected.pods || !expected.deleted_pods.is_empty() {
            "pods"
        } else {
            jobs.remove(key);
            return Freshness::Fresh;
        };
        Freshness::Behind { resource: behind, waited: now.saturating_duration_since(expected.since) }
    }

    /// Drops the versions of a deleted Job.
    pub fn forget(&self, key: &ObjectKey, uid: &Uid) {
        let mut jobs = self.lock();
        if jobs.get(key).is_some_and(|expected| expected.uid == *uid) {
            jobs.remove(key);
        }
    }

    /// Drops the versions of any Job with this name.
    pub fn forget_name(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    fn change(&self, key: &ObjectKey, uid: &Uid, change: impl FnOnce(&mut Expected)) {
        let mut jobs = self.lock();
        let empty = || Expected {
            uid: uid.clone(),
            job: 0,
            pods: 0,
            deleted_pods: BTreeSet::new(),
            unknown_outcome: false,
            since: Instant::now(),
        };
        let expected = jobs.entry(key.clone()).or_insert_with(empty);
        if expected.uid != *uid {
            *expected = empty();
        }
        change(expected);
        expected.since = Instant::now();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Expected>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::new("ns", "job")
    }

    fn check(writes: &OwnWrites, jobs: Version, pods: Version, cached: &[&str]) -> Freshness {
        let has_pod = |uid: &Uid| cached.contains(&uid.as_str());
        writes.check(&key(), &Uid::new("u"), Reached { jobs, pods, has_pod: &has_pod }, Instant::now())
    }

    fn behind(resource: &'static str) -> Freshness {
        Freshness::Behind { resource, waited: Duration::ZERO }
    }

    /// SY-03.
    #[tokio::test(start_paused = true)]
    async fn a_sync_waits_until_both_caches_show_the_newest_write() {
        let writes = OwnWrites::default();
        let uid = Uid::new("u");
        assert_eq!(check(&writes, 0, 0, &[]), Freshness::Fresh);
        writes.wrote_job(&key(), &uid, 10);
        writes.wrote_pod(&key(), &uid, 12);
        writes.wrote_pod(&key(), &uid, 11);
        assert_eq!(check(&writes, 9, 99, &[]), behind("jobs"));
        assert_eq!(check(&writes, 10, 11, &[]), behind("pods"));
        assert_eq!(check(&writes, 10, 12, &[]), Freshness::Fresh);
        // The versions are dropped then.
        assert_eq!(check(&writes, 0, 0, &[]), Freshness::Fresh);
    }

    #[tokio::test(start_paused = true)]
    async fn the_waiting_time_is_reported() {
        let writes = OwnWrites::default();
        writes.wrote_pod(&key(), &Uid::new("u"), 5);
        assert_eq!(check(&writes, 0, 4, &[]), behind("pods"));
        tokio::time::advance(Duration::from_secs(7)).await;
        let waited = Duration::from_secs(7);
        assert_eq!(check(&writes, 0, 4, &[]), Freshness::Behind { resource: "pods", waited });
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_ambiguous_response_the_caches_are_stale_until_proved() {
        let writes = OwnWrites::default();
        let uid = Uid::new("u");
        writes.outcome_unknown(&key(), &uid);
        assert_eq!(check(&writes, 99, 99, &[]), Freshness::Unknown);
        writes.read_back(&key(), &uid, 20, 30, BTreeSet::from([Uid::new("p1")]));
        assert_eq!(check(&writes, 19, 30, &["p1"]), behind("jobs"));
        assert_eq!(check(&writes, 20, 30, &["p1"]), behind("pods"));
        assert_eq!(check(&writes, 20, 29, &["p1"]), behind("pods"));
        assert_eq!(check(&writes, 20, 30, &["p2"]), Freshness::Fresh);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_of_the_same_name_inherits_nothing() {
        let writes = OwnWrites::default();
        writes.wrote_job(&key(), &Uid::new("previous"), 50);
        writes.outcome_unknown(&key(), &Uid::new("previous"));
        assert_eq!(check(&writes, 0, 0, &[]), Freshness::Fresh);
        writes.wrote_job(&key(), &Uid::new("previous"), 50);
        writes.wrote_job(&key(), &Uid::new("u"), 60);
        writes.forget(&key(), &Uid::new("previous"));
        assert_eq!(check(&writes, 59, 0, &[]), behind("jobs"));
        writes.forget(&key(), &Uid::new("u"));
        assert_eq!(check(&writes, 0, 0, &[]), Freshness::Fresh);
    }
}

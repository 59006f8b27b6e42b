//! Read your own writes: which versions the caches must show before a Job is synced again (SY-03).
//!
//! A decision from a cache that does not show the process's own last writes does things twice: it creates the pods
//! again that it has just created, and counts the pods again that it has just counted (B01). So each acknowledged write
//! leaves its version here, and a sync waits until the caches have come so far. Versions of one API server can be
//! compared as numbers (KEP-5504).
//!
//! A write without a certain answer leaves none. After it the caches are *in doubt*: before the next sync of the Job
//! what is stored is read from the API server, and the caches must come that far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::reflector::Version;
use super::store::ObjectKey;
use crate::values::Uid;

/// What is expected of the caches, by Job.
#[derive(Debug, Default)]
pub struct OwnWrites {
    jobs: Mutex<BTreeMap<ObjectKey, Expected>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Expected {
    uid: Uid,
    job: Version,
    pods: Version,
    /// Pods that were gone when the API server was asked.
    gone: BTreeSet<Uid>,
    in_doubt: bool,
    /// When a sync was first put off for this.
    waiting: Option<Instant>,
}

/// Whether the caches can be relied on for a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// They show all that this process wrote.
    Fresh,
    /// The API server has to be asked first what is stored: the outcome of a write is not known.
    InDoubt,
    /// A cache is behind.
    Behind {
        /// `jobs` or `pods`.
        resource: &'static str,
        /// How long syncs were put off for it.
        waited: Duration,
    },
}

/// How far the caches have come.
#[derive(Clone, Copy)]
pub struct Reached<'a> {
    /// The highest version that the cache of Jobs has heard of.
    pub jobs: Version,
    /// The highest version that the cache of pods has heard of.
    pub pods: Version,
    /// Whether the cache of pods holds a pod.
    pub holds: &'a dyn Fn(&Uid) -> bool,
}

impl OwnWrites {
    /// A write of the Job was answered with this version.
    pub fn wrote_job(&self, key: &ObjectKey, uid: &Uid, version: Version) {
        self.change(key, uid, |expected| expected.job = expected.job.max(version));
    }

    /// A write of one of the Job's pods was answered with this version.
    pub fn wrote_pod(&self, key: &ObjectKey, uid: &Uid, version: Version) {
        self.change(key, uid, |expected| expected.pods = expected.pods.max(version));
    }

    /// A write for the Job had no certain answer.
    pub fn doubt(&self, key: &ObjectKey, uid: &Uid) {
        self.change(key, uid, |expected| expected.in_doubt = true);
    }

    /// The API server was asked: the Job has this version, the newest of its pods that one, and these pods, which the
    /// cache held, are not there. Ends the doubt.
    pub fn proved(&self, key: &ObjectKey, uid: &Uid, job: Version, pods: Version, gone: BTreeSet<Uid>) {
        self.change(key, uid, |expected| {
            expected.job = expected.job.max(job);
            expected.pods = expected.pods.max(pods);
            expected.gone.extend(gone);
            expected.in_doubt = false;
        });
    }

    /// Whether the caches show all that was written for the Job. What is of another UID is nothing.
    pub fn check(&self, key: &ObjectKey, uid: &Uid, reached: Reached<'_>, now: Instant) -> Freshness {
        let mut jobs = self.lock();
        let Some(expected) = jobs.get_mut(key).filter(|expected| expected.uid == *uid) else {
            jobs.remove(key);
            return Freshness::Fresh;
        };
        if expected.in_doubt {
            return Freshness::InDoubt;
        }
        expected.gone.retain(|pod| (reached.holds)(pod));
        let behind = if reached.jobs < expected.job {
            "jobs"
        } else if reached.pods < expected.pods || !expected.gone.is_empty() {
            "pods"
        } else {
            jobs.remove(key);
            return Freshness::Fresh;
        };
        let since = *expected.waiting.get_or_insert(now);
        Freshness::Behind { resource: behind, waited: now.saturating_duration_since(since) }
    }

    /// The Job is gone.
    pub fn forget(&self, key: &ObjectKey, uid: &Uid) {
        let mut jobs = self.lock();
        if jobs.get(key).is_some_and(|expected| expected.uid == *uid) {
            jobs.remove(key);
        }
    }

    /// There is no Job of this name.
    pub fn forget_name(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    fn change(&self, key: &ObjectKey, uid: &Uid, change: impl FnOnce(&mut Expected)) {
        let mut jobs = self.lock();
        let nothing = || Expected {
            uid: uid.clone(),
            job: 0,
            pods: 0,
            gone: BTreeSet::new(),
            in_doubt: false,
            waiting: None,
        };
        let expected = jobs.entry(key.clone()).or_insert_with(nothing);
        if expected.uid != *uid {
            *expected = nothing();
        }
        change(expected);
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

    fn check(writes: &OwnWrites, jobs: Version, pods: Version, held: &[&str]) -> Freshness {
        let holds = |uid: &Uid| held.contains(&uid.as_str());
        writes.check(&key(), &Uid::new("u"), Reached { jobs, pods, holds: &holds }, Instant::now())
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
        // It is forgotten then.
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
        writes.doubt(&key(), &uid);
        assert_eq!(check(&writes, 99, 99, &[]), Freshness::InDoubt);
        writes.proved(&key(), &uid, 20, 30, BTreeSet::from([Uid::new("p1")]));
        assert_eq!(check(&writes, 19, 30, &["p1"]), behind("jobs"));
        assert_eq!(check(&writes, 20, 30, &["p1"]), behind("pods"));
        assert_eq!(check(&writes, 20, 29, &["p1"]), behind("pods"));
        assert_eq!(check(&writes, 20, 30, &["p2"]), Freshness::Fresh);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_of_the_same_name_inherits_nothing() {
        let writes = OwnWrites::default();
        writes.wrote_job(&key(), &Uid::new("former"), 50);
        writes.doubt(&key(), &Uid::new("former"));
        assert_eq!(check(&writes, 0, 0, &[]), Freshness::Fresh);
        writes.wrote_job(&key(), &Uid::new("former"), 50);
        writes.wrote_job(&key(), &Uid::new("u"), 60);
        writes.forget(&key(), &Uid::new("former"));
        assert_eq!(check(&writes, 59, 0, &[]), behind("jobs"));
        writes.forget(&key(), &Uid::new("u"));
        assert_eq!(check(&writes, 0, 0, &[]), Freshness::Fresh);
    }
}

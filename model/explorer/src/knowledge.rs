//! The knowledge of a manager whose caches lag: [`Knowledge`], and the [`PodCache`] that follows from it.
//!
//! A cache is modelled by the changes that it lacks, so that a cache that is up to date costs nothing. A manager also
//! knows its own writes before its caches show them; each missing change that it made itself carries an [`OwnWrite`].

use std::sync::Arc;

use jobcheck_spec::backoff::BackoffRecord;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::{Clocks, Time};
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::{Backoff, Interpretation, View};

/// The knowledge of a manager beyond the stored objects that its caches show.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Knowledge {
    /// The version of the Job that the specification's Job cache still shows; `None` if it shows the stored one. A
    /// process keeps several such versions in [`Process::job_behind`](crate::process::state::Process::job_behind)
    /// instead.
    pub old_job: Option<Arc<Job>>,
    /// Changes of pods that the Pod cache does not show yet, oldest first.
    pub behind: Vec<Unseen>,
    /// The failures from which the global backoff delay follows.
    pub backoff: BackoffRecord,
    /// The feature gates of the manager's process.
    pub gates: Gates,
}

/// A change of a pod that the Pod cache does not show yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unseen {
    /// The pod.
    pub uid: Uid,
    /// The pod before the change; `None` if the change created it.
    pub before: Option<Pod>,
    /// The manager's own write that made the change, if the manager made it.
    pub own: Option<OwnWrite>,
    /// True if a request of the manager was answered 404: the pod no longer exists.
    pub missed: bool,
}

/// A write of the manager to a pod, which it knows without its cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnWrite {
    /// The pod as the response showed it.
    pub after: Pod,
    /// True if the write created the pod.
    pub created: bool,
    /// True if the sync that made the write has ended.
    pub earlier_sync: bool,
}

impl Knowledge {
    /// The knowledge of a manager whose caches are up to date, in a process with these feature gates.
    #[must_use]
    pub fn up_to_date(gates: Gates) -> Knowledge {
        Knowledge { gates, ..Knowledge::default() }
    }

    /// Returns true if both caches of the specification's manager show what is stored.
    #[must_use]
    pub fn is_up_to_date(&self) -> bool {
        self.old_job.is_none() && self.behind.is_empty()
    }

    /// The Job in the specification's Job cache; `None` if the cache shows that the Job is gone.
    #[must_use]
    pub fn cached_job<'a>(&'a self, stored: Option<&'a Arc<Job>>) -> Option<&'a Arc<Job>> {
        self.old_job.as_ref().or(stored)
    }

    /// The Pod cache of the specification's manager.
    #[must_use]
    pub fn pod_cache(&self, stored: &Arc<Pods>, job: Option<&Arc<Job>>) -> PodCache {
        let incarnation = incarnation::of(self.cached_job(job).map(AsRef::as_ref));
        PodCache::of(stored, &self.behind, incarnation)
    }

    /// Notes a change of a pod in etcd. If the cache then lacks more than `lag` changes, it shows the oldest of them,
    /// which ends the sync.
    pub fn note_pod(&mut self, unseen: Unseen, lag: usize) {
        self.behind.push(unseen);
        let too_many = self.behind.len().saturating_sub(lag);
        if too_many > 0 {
            self.behind.drain(..too_many);
            self.end_sync();
        }
    }

    /// Ends the sync: a status was written, or a cache advanced. All writes so far belong to an earlier sync.
    pub fn end_sync(&mut self) {
        for own in self.behind.iter_mut().filter_map(|unseen| unseen.own.as_mut()) {
            own.earlier_sync = true;
        }
    }

    /// Restarts the process. Its successor lists the pods: the cache shows at least the last write of the predecessor
    /// (SY-10), and the memory is empty (BO-05).
    pub fn restart(&mut self) {
        let last = self.behind.iter().rposition(|unseen| unseen.own.is_some());
        self.behind.drain(..last.map_or(0, |last| last + 1));
        for unseen in &mut self.behind {
            unseen.missed = false;
        }
        self.backoff = BackoffRecord::default();
    }
}

/// The Pod cache of a manager, before and after the writes of its current sync.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodCache {
    /// [`View::cache`].
    pub cache: Arc<Pods>,
    /// [`View::post`].
    pub post: Arc<Pods>,
    /// Ownerless pods, as the manager knows them after its writes.
    pub ownerless: Arc<Pods>,
    /// [`View::expectations_met`].
    pub expectations_met: bool,
    /// [`View::deletion_unseen`].
    pub deletion_unseen: bool,
}

impl PodCache {
    /// The Pod cache of the manager of the Job of this incarnation. It lacks the changes in `behind`.
    #[must_use]
    pub fn of(stored: &Arc<Pods>, behind: &[Unseen], incarnation: u8) -> PodCache {
        if behind.is_empty() {
            let (cache, ownerless) = stored.divided(incarnation);
            return PodCache {
                post: cache.clone(),
                cache,
                ownerless,
                expectations_met: true,
                deletion_unseen: false,
            };
        }
        let mut cache = before(stored, behind);
        let mut post = cache.clone();
        let (mut expectations_met, mut deletion_unseen) = (true, false);
        for unseen in behind {
            if unseen.missed {
                // A 404 proves that no finalizer holds the pod. The rest of the cached pod is left as it is.
                remove_finalizer(&mut cache, unseen.uid);
                remove_finalizer(&mut post, unseen.uid);
                deletion_unseen = true;
            }
            let Some(own) = &unseen.own else { continue };
            // FT-25, FT-26: a sync adopts and releases pods before it counts them.
            let changes_owner =
                cache.get(unseen.uid).is_some_and(|pod| pod.controlled != own.after.controlled);
            if own.earlier_sync || changes_owner {
                cache.set(unseen.uid, Some(own.after.clone()));
            }
            if own.earlier_sync {
                expectations_met &= !own.created;
                // A deletion that leaves the finalizer in place sets no expectation (TC-07, FT-17).
                deletion_unseen |= own.after.deleting && !own.after.finalizer;
            }
            post.set(unseen.uid, Some(own.after.clone()));
        }
        let (cache, _) = Arc::new(cache).divided(incarnation);
        let (post, ownerless) = Arc::new(post).divided(incarnation);
        PodCache { cache, post, ownerless, expectations_met, deletion_unseen }
    }

    /// Notes that the sync adopted or released a pod, or found that it is gone (`None`). The sync counts pods after
    /// that, so that `cache` changes too.
    pub fn change_owner(&mut self, uid: Uid, pod: Option<&Pod>) {
        let part = |controlled: bool| pod.filter(|pod| pod.controlled == controlled).cloned();
        Arc::make_mut(&mut self.cache).set(uid, part(true));
        Arc::make_mut(&mut self.post).set(uid, part(true));
        Arc::make_mut(&mut self.ownerless).set(uid, part(false));
    }

    /// The view on which a manager with this cache decides.
    #[must_use]
    pub fn view<'a>(
        &'a self,
        job: &'a Job,
        now: Time,
        record: &BackoffRecord,
        constants: &'a Constants,
    ) -> View<'a> {
        let mut view = View {
            job,
            cache: &self.cache,
            post: &self.post,
            ownerless: Some(&self.ownerless),
            settled: None,
            expectations_met: self.expectations_met,
            deletion_unseen: self.deletion_unseen,
            deletes_failed: false,
            namespace_terminating: false,
            earliest: None,
            not_before: None,
            finalizers_removed: 0,
            latest: Some(now),
            backoff: Backoff::default(),
            constants,
            gates: Gates::ON,
            interpretation: Interpretation::Ideal,
            clocks: Clocks::One,
        };
        view.backoff = record.in_view(&view);
        view
    }
}

/// The pods as they were before these changes.
#[must_use]
pub fn before(stored: &Pods, changes: &[Unseen]) -> Pods {
    let mut pods = stored.clone();
    for unseen in changes.iter().rev() {
        pods.set(unseen.uid, unseen.before.clone());
    }
    pods
}

fn remove_finalizer(pods: &mut Pods, uid: Uid) {
    let finalizer_removed = pods.get(uid).map(|pod| Pod { finalizer: false, ..pod.clone() });
    if finalizer_removed.is_some() {
        pods.set(uid, finalizer_removed);
    }
}

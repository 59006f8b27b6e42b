//! The state that the explorer moves through: what etcd holds, what each manager has seen, and what really
//! happened.
//!
//! # Caveats
//!
//! A cache is modelled by what it lacks ([`Manager::behind`]), so that a cache that is up to date costs
//! nothing. Names, labels and namespaces are constant: nothing in this model decides by them.

use std::sync::Arc;

use crate::ghost::GhostHistory;
use crate::process::state::Process;
use crate::process::steps::{DelayedRequest, Faults};
use crate::reference::ttl::TtlController;
use crate::scope::FoundPod;
use jobcheck_spec::backoff::BackoffRecord;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::pods::Pods;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::{Backoff, Interpretation, View};

/// Number of a Job in a [`World`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u8);

/// A cluster, as far as its Jobs go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The one clock.
    pub now: Time,
    /// How much of the scope's script has happened; 0 where it has none.
    pub position: u16,
    /// The Jobs, dead ones included.
    pub job_states: Vec<JobState>,
}

/// One Job with its pods, from its creation until everything of it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobState {
    /// The Job as etcd holds it; `None` once it is gone.
    pub job: Option<Arc<Job>>,
    /// Its pods as etcd holds them.
    pub pods: Arc<Pods>,
    /// What its manager knows, where the specification itself is explored.
    pub manager: Manager,
    /// The processes that manage it, where an algorithm is explored.
    pub processes: Vec<Process>,
    /// The TTL controller, where its algorithm is explored.
    pub ttl: Option<Box<TtlController>>,
    /// The request of a dead process that may still reach the server.
    pub delayed: Option<DelayedRequest>,
    /// The faults so far.
    pub faults: Faults,
    /// How often a process with other gates took over ([`crate::env::rollouts`]).
    pub rollouts: u8,
    /// What really happened: ghost history, which no guard reads.
    pub ghost: GhostHistory,
    /// What the user has done already: one bit for each of the scope's actions.
    pub used: u16,
}

/// What a manager remembers and has not seen yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Manager {
    /// The version that its Job cache still shows, if that is not the stored one.
    pub old_job: Option<Arc<Job>>,
    /// Changes of pods that its Pod cache does not show yet, oldest first.
    pub behind: Vec<Unseen>,
    /// The delays of the global backoff.
    pub backoff: BackoffRecord,
    /// The feature gates of its process.
    pub gates: Gates,
}

/// A change of a pod that the Pod cache does not show yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unseen {
    /// The pod.
    pub uid: Uid,
    /// The pod before the change.
    pub before: Option<Pod>,
    /// What the manager knows of the change without its cache, if the change was its own.
    pub own: Option<OwnWrite>,
    /// Whether the process was told that there is no such pod any more.
    pub missed: bool,
}

/// A write of the manager to a pod, which it knows of without its cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnWrite {
    /// The pod as the answer to the write showed it.
    pub after: Pod,
    /// Whether the write created the pod.
    pub created: bool,
    /// Whether the sync that did it is over.
    pub earlier_sync: bool,
}

impl World {
    /// The Job of this number.
    #[must_use]
    pub fn job_state(&self, job: JobId) -> &JobState {
        &self.job_states[usize::from(job.0)]
    }

    /// The Job of this number, to change it.
    pub fn job_state_mut(&mut self, job: JobId) -> &mut JobState {
        &mut self.job_states[usize::from(job.0)]
    }

    /// The Jobs with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (JobId, &JobState)> {
        (0u8..).map(JobId).zip(&self.job_states)
    }
}

impl JobState {
    /// A Job that was just created.
    #[must_use]
    pub fn new(job: Job) -> JobState {
        let ghost = GhostHistory::new(&job);
        JobState {
            job: Some(Arc::new(job)),
            pods: Arc::new(Pods::new()),
            manager: Manager::default(),
            processes: Vec::new(),
            ttl: None,
            delayed: None,
            faults: Faults::default(),
            rollouts: 0,
            ghost,
            used: 0,
        }
    }

    /// The Job with the fields of those features alone that were on in every process so far: of what others did
    /// properties say nothing.
    #[must_use]
    pub fn read_job(&self) -> Option<Arc<Job>> {
        self.job.as_ref().map(|job| self.ghost.gates.read(job))
    }

    /// A pod is there that the manager did not create, and that all caches show.
    pub fn find(&mut self, found: FoundPod) {
        let uid = self.ghost.next_uid();
        let FoundPod { controlled, phase } = found;
        let pod = Pod { controlled, phase, ..Pod::new(uid) };
        let finished = pod.is_terminated().then(Time::default);
        let pod = Pod { finished, ..pod };
        self.ghost.created_unasked(&pod);
        self.ghost.pod_changed(&pod);
        Arc::make_mut(&mut self.pods).set(uid, Some(pod));
    }

    /// The Job as the manager's Job cache shows it; `None` where it shows that the Job is gone.
    #[must_use]
    pub fn cached_job(&self) -> Option<&Arc<Job>> {
        self.manager.old_job.as_ref().or(self.job.as_ref())
    }

    /// Changes the stored Job by somebody else's hand: the manager's cache shows the version before, if it may
    /// lag at all.
    pub fn set_job(&mut self, job: Option<Job>, cache_lags: bool) {
        let before = self.job.take();
        self.job = job.map(Arc::new);
        if let Some(delayed) = &mut self.delayed {
            delayed.conflicts = true;
        }
        for process in &mut self.processes {
            if let Some(before) = &before {
                process.note_job(Some(before.clone()), None);
            }
        }
        if cache_lags && self.processes.is_empty() {
            self.manager.old_job = before;
        }
    }

    /// A pod changes in etcd by somebody else's hand, or goes. The Pod cache lags by `lag` changes at most.
    pub fn set_pod(&mut self, uid: Uid, after: Option<Pod>, lag: usize) {
        let before = Arc::make_mut(&mut self.pods).set(uid, after);
        let unseen = Unseen { uid, before, own: None, missed: false };
        for process in &mut self.processes {
            process.note_pod(unseen.clone());
        }
        if self.processes.is_empty() {
            self.fall_behind(unseen, lag);
        }
    }

    /// The manager changes or creates a pod.
    pub fn write_pod(&mut self, after: Pod, lag: usize) {
        let uid = after.uid;
        let before = Arc::make_mut(&mut self.pods).set(uid, Some(after.clone()));
        let own = OwnWrite { after, created: before.is_none(), earlier_sync: false };
        self.fall_behind(Unseen { uid, before, own: Some(own), missed: false }, lag);
    }

    fn fall_behind(&mut self, unseen: Unseen, lag: usize) {
        self.manager.behind.push(unseen);
        let too_many = self.manager.behind.len().saturating_sub(lag);
        if too_many > 0 {
            self.manager.behind.drain(..too_many);
            self.manager.end_sync();
        }
    }

    /// The states of the Pod cache that a [`View`] is made of.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let incarnation = incarnation::of(self.cached_job().map(AsRef::as_ref));
        Seen::of(&self.pods, &self.manager.behind, incarnation)
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

impl Manager {
    /// A status write was made, or a cache advanced: what the manager did so far belongs to an earlier sync.
    pub fn end_sync(&mut self) {
        for own in self.behind.iter_mut().filter_map(|unseen| unseen.own.as_mut()) {
            own.earlier_sync = true;
        }
    }

    /// Its process dies, and a successor lists the pods: its cache shows no less than the last write of the
    /// predecessor (SY-10), and what was only in memory is gone (BO-05).
    pub fn restart(&mut self) {
        let last = self.behind.iter().rposition(|unseen| unseen.own.is_some());
        self.behind.drain(..last.map_or(0, |last| last + 1));
        for unseen in &mut self.behind {
            unseen.missed = false;
        }
        self.backoff = BackoffRecord::default();
    }
}

impl Seen {
    /// A pod is adopted or given up, or found gone then: that comes before its sync looks at the pods.
    pub fn changes_hands(&mut self, uid: Uid, pod: Option<&Pod>) {
        let part = |controlled: bool| pod.filter(|pod| pod.controlled == controlled).cloned();
        Arc::make_mut(&mut self.cache).set(uid, part(true));
        Arc::make_mut(&mut self.post).set(uid, part(true));
        Arc::make_mut(&mut self.ownerless).set(uid, part(false));
    }

    /// What the manager of the Job of this incarnation knows whose cache lacks these changes.
    #[must_use]
    pub fn of(stored: &Arc<Pods>, behind: &[Unseen], incarnation: u8) -> Seen {
        if behind.is_empty() {
            let (cache, ownerless) = stored.divided(incarnation);
            return Seen {
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
                // Nothing holds the pod any more, that much is known; what else it was, it still seems to be.
                remove_finalizer(&mut cache, unseen.uid);
                remove_finalizer(&mut post, unseen.uid);
                deletion_unseen = true;
            }
            let Some(own) = &unseen.own else { continue };
            // FT-25, FT-26: adopted and given up before the pods are counted.
            let changes_hands =
                cache.get(unseen.uid).is_some_and(|pod| pod.controlled != own.after.controlled);
            if own.earlier_sync || changes_hands {
                cache.set(unseen.uid, Some(own.after.clone()));
            }
            if own.earlier_sync {
                expectations_met &= !own.created;
                // Where the finalizer stays, nothing is expected (TC-07, FT-17).
                deletion_unseen |= own.after.deleting && !own.after.finalizer;
            }
            post.set(unseen.uid, Some(own.after.clone()));
        }
        let (cache, _) = Arc::new(cache).divided(incarnation);
        let (post, ownerless) = Arc::new(post).divided(incarnation);
        Seen { cache, post, ownerless, expectations_met, deletion_unseen }
    }
}

/// Nothing holds the pod any more.
fn remove_finalizer(pods: &mut Pods, uid: Uid) {
    let finalizer_removed = pods.get(uid).map(|pod| Pod { finalizer: false, ..pod.clone() });
    if finalizer_removed.is_some() {
        pods.set(uid, finalizer_removed);
    }
}

/// The Pod cache of a manager, before and after the writes of its current sync.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// [`View::cache`].
    pub cache: Arc<Pods>,
    /// [`View::post`].
    pub post: Arc<Pods>,
    /// Pods without a controller, as it knows them after its writes.
    pub ownerless: Arc<Pods>,
    /// [`View::expectations_met`].
    pub expectations_met: bool,
    /// [`View::deletion_unseen`].
    pub deletion_unseen: bool,
}

impl Seen {
    /// The view of a manager that has seen this much.
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
        };
        view.backoff = record.in_view(&view);
        view
    }
}

//! The memory of a process about its Jobs between syncs. Nothing of it is needed after a restart (SY-10).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observed::PodFacts;
use jobcheck_controller::values::Uid;

use super::store::ObjectKey;

/// The memory of each Job, and the UIDs of deleted Jobs.
#[derive(Debug, Default)]
pub struct Memories {
    jobs: Mutex<BTreeMap<ObjectKey, Memory>>,
    settled: Mutex<BTreeMap<ObjectKey, Settled>>,
    deleted_jobs: Mutex<BTreeSet<Uid>>,
}

/// The pods of a Job whose finalizer this process has removed and that its syncs do not read any more.
///
/// A large Job has many of them. They return to the memory of the Job if a sync reads them again, for example because a
/// user restored the finalizer (S-05).
#[derive(Debug)]
struct Settled {
    job: Uid,
    pods: BTreeSet<Uid>,
    /// The number of pods at which deleted ones are dropped.
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 1024;

/// The maximum number of UIDs of deleted Jobs. Beyond it all are dropped, and the API server is asked again.
const DELETED_JOBS_MAX: usize = 16_384;

impl Memories {
    /// Returns the memory of the Job with this name. It may belong to a previous Job; the decision compares the UID.
    #[must_use]
    pub fn of(&self, key: &ObjectKey) -> Memory {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }

    /// Adds these pods, which a sync reads, to the memory of the Job, as far as they were settled.
    pub fn restore_settled(&self, key: &ObjectKey, job: &Uid, pods: &[PodFacts], memory: &mut Memory) {
        let mut all = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(settled) = all.get_mut(key).filter(|settled| settled.job == *job) else { return };
        let again = pods.iter().map(|pod| &pod.uid).filter(|uid| settled.pods.remove(*uid));
        let again: Vec<Uid> = again.cloned().collect();
        if !again.is_empty() && memory.uid.as_ref() != Some(job) {
            *memory = Memory { uid: Some(job.clone()), ..Memory::default() };
        }
        memory.finalizer_removed.extend(again);
    }

    /// Stores settled pods of a Job, apart from its memory. `exists` returns true as long as the cache has the pod.
    pub fn keep_settled(&self, key: &ObjectKey, job: &Uid, pods: Vec<Uid>, exists: impl Fn(&Uid) -> bool) {
        if pods.is_empty() {
            return;
        }
        let mut all = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = || Settled { job: job.clone(), pods: BTreeSet::new(), sweep_at: FIRST_SWEEP };
        let settled = all.entry(key.clone()).or_insert_with(empty);
        if settled.job != *job {
            *settled = empty();
        }
        settled.pods.extend(pods);
        if settled.pods.len() >= settled.sweep_at {
            settled.pods.retain(exists);
            settled.sweep_at = (settled.pods.len() * 2).max(FIRST_SWEEP);
        }
    }

    /// Replaces the memory of the Job with this name.
    pub fn set(&self, key: &ObjectKey, memory: Memory) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if memory == (Memory { uid: memory.uid.clone(), ..Memory::default() }) {
            jobs.remove(key);
        } else {
            jobs.insert(key.clone(), memory);
        }
    }

    /// Drops the memory of a deleted Job.
    pub fn forget(&self, key: &ObjectKey, uid: &Uid) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.get(key).is_some_and(|memory| memory.uid.as_ref() == Some(uid)) {
            jobs.remove(key);
        }
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled.get(key).is_some_and(|settled| settled.job == *uid) {
            settled.remove(key);
        }
    }

    /// Drops the memory of any Job with this name.
    pub fn forget_name(&self, key: &ObjectKey) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Registers the UID of a deleted Job. No Job gets this UID again.
    pub fn add_deleted_job(&self, uid: &Uid) {
        let mut deleted = self.deleted_jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if deleted.len() >= DELETED_JOBS_MAX {
            deleted.clear();
        }
        deleted.insert(uid.clone());
    }

    /// Returns true if the Job with this UID is known to be deleted.
    #[must_use]
    pub fn is_deleted(&self, uid: &Uid) -> bool {
        self.deleted_jobs.lock().unwrap_or_else(PoisonError::into_inner).contains(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jobcheck_controller::job::observe::{self, PodSelector};

    #[test]
    fn only_nonempty_memories_are_stored() {
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        let (uid, previous) = (Uid::new("u"), Uid::new("previous"));
        let finalizer_removed = BTreeSet::from([Uid::new("p")]);
        let memory = Memory { uid: Some(uid.clone()), finalizer_removed, ..Memory::default() };
        memories.set(&key, memory.clone());
        assert_eq!(memories.of(&key), memory);
        memories.forget(&key, &previous);
        assert_eq!(memories.of(&key), memory);
        memories.set(&key, Memory { uid: Some(uid.clone()), ..Memory::default() });
        assert!(memories.jobs.lock().unwrap().is_empty());
        memories.set(&key, memory);
        memories.forget(&key, &uid);
        assert_eq!(memories.of(&key), Memory::default());
        memories.add_deleted_job(&previous);
        assert!(memories.is_deleted(&previous) && !memories.is_deleted(&uid));
    }

    fn pod(uid: &str) -> PodFacts {
        let pod = serde_json::from_value(serde_json::json!({
            "metadata": {"name": uid, "uid": uid, "resourceVersion": "1"},
        }));
        observe::pod(&pod.unwrap(), &Uid::new("u"), &PodSelector::nothing()).unwrap()
    }

    fn restored(memories: &Memories, job: &str, pods: &[&str]) -> Vec<String> {
        let (mut memory, pods) = (Memory::default(), pods.iter().map(|uid| pod(uid)).collect::<Vec<_>>());
        memories.restore_settled(&ObjectKey::new("ns", "a"), &Uid::new(job), &pods, &mut memory);
        memory.finalizer_removed.iter().map(ToString::to_string).collect()
    }

    fn keep_settled(memories: &Memories, job: &str, pods: &[&str]) {
        let pods = pods.iter().map(|uid| Uid::new(uid)).collect();
        memories.keep_settled(&ObjectKey::new("ns", "a"), &Uid::new(job), pods, |_| true);
    }

    /// S-05.
    #[test]
    fn a_settled_pod_that_is_read_again_is_remembered() {
        let memories = Memories::default();
        keep_settled(&memories, "u", &["p", "q"]);
        assert_eq!(restored(&memories, "another", &["p"]), [""; 0]);
        assert_eq!(restored(&memories, "u", &["p", "r"]), ["p"]);
        // The memory of the Job has it now.
        assert_eq!(restored(&memories, "u", &["p"]), [""; 0]);
        keep_settled(&memories, "another", &["s"]);
        assert_eq!(restored(&memories, "u", &["q"]), [""; 0]);
        assert_eq!(restored(&memories, "another", &["s"]), ["s"]);
    }

    #[test]
    fn settled_pods_are_dropped_with_their_job_or_when_they_are_deleted() {
        let (memories, key) = (Memories::default(), ObjectKey::new("ns", "a"));
        keep_settled(&memories, "u", &["p"]);
        memories.forget(&key, &Uid::new("previous"));
        assert_eq!(memories.settled.lock().unwrap().len(), 1);
        memories.forget(&key, &Uid::new("u"));
        keep_settled(&memories, "u", &[]);
        assert!(memories.settled.lock().unwrap().is_empty());
        let pods: Vec<Uid> = (0..FIRST_SWEEP).map(|number| Uid::new(&number.to_string())).collect();
        let exists = |uid: &Uid| uid.as_str().len() == 3;
        memories.keep_settled(&key, &Uid::new("u"), pods[1..].to_vec(), exists);
        assert_eq!(memories.settled.lock().unwrap()[&key].pods.len(), FIRST_SWEEP - 1);
        memories.keep_settled(&key, &Uid::new("u"), pods[..1].to_vec(), exists);
        let settled = memories.settled.lock().unwrap();
        assert_eq!((settled[&key].pods.len(), settled[&key].sweep_at), (900, 1800));
    }
}

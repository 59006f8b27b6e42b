//! What a process remembers of Jobs between syncs. Nothing of it is needed after a restart (SY-10).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::store::ObjectKey;
use crate::job::memory::Memory;
use crate::job::observed::PodFacts;
use crate::values::Uid;

/// The memory of each Job, and Jobs that are known to be gone.
#[derive(Debug, Default)]
pub struct Memories {
    jobs: Mutex<BTreeMap<ObjectKey, Memory>>,
    settled: Mutex<BTreeMap<ObjectKey, Settled>>,
    gone: Mutex<BTreeSet<Uid>>,
}

/// Pods of a Job that this process has released and that its syncs do not read any more: a large Job has many. They are
/// remembered once more if a sync reads them again, as when somebody puts the finalizer back (S-05).
#[derive(Debug)]
struct Settled {
    job: Uid,
    pods: BTreeSet<Uid>,
    /// Pods that are gone are looked for when there are so many.
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 1024;

/// Jobs that are remembered as gone; beyond that all are forgotten, and asked for again.
const GONE: usize = 16_384;

impl Memories {
    /// What is remembered of the Job of this name. It may be of a former one: the decision looks at the UID.
    #[must_use]
    pub fn of(&self, key: &ObjectKey) -> Memory {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }

    /// Adds to the memory of a Job what is known of these pods, which a sync reads.
    pub fn recall(&self, key: &ObjectKey, job: &Uid, pods: &[PodFacts], memory: &mut Memory) {
        let mut all = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(settled) = all.get_mut(key).filter(|settled| settled.job == *job) else { return };
        let again = pods.iter().map(|pod| &pod.uid).filter(|uid| settled.pods.remove(*uid));
        let again: Vec<Uid> = again.cloned().collect();
        if !again.is_empty() && memory.uid.as_ref() != Some(job) {
            *memory = Memory { uid: Some(job.clone()), ..Memory::default() };
        }
        memory.finalizer_removed.extend(again);
    }

    /// Keeps these released pods of a Job, which its syncs do not read any more, apart from its memory, as long as they are
    /// there.
    pub fn put_away(&self, key: &ObjectKey, job: &Uid, pods: Vec<Uid>, is_there: impl Fn(&Uid) -> bool) {
        if pods.is_empty() {
            return;
        }
        let mut all = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = || Settled { job: job.clone(), pods: BTreeSet::new(), sweep_at: FIRST_SWEEP };
        let settled = all.entry(key.clone()).or_insert_with(nothing);
        if settled.job != *job {
            *settled = nothing();
        }
        settled.pods.extend(pods);
        if settled.pods.len() >= settled.sweep_at {
            settled.pods.retain(is_there);
            settled.sweep_at = (settled.pods.len() * 2).max(FIRST_SWEEP);
        }
    }

    /// Remembers this from now on.
    pub fn set(&self, key: &ObjectKey, memory: Memory) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if memory == (Memory { uid: memory.uid.clone(), ..Memory::default() }) {
            jobs.remove(key);
        } else {
            jobs.insert(key.clone(), memory);
        }
    }

    /// The Job is gone.
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

    /// There is no Job of this name.
    pub fn forget_name(&self, key: &ObjectKey) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// No Job with this UID will ever be seen again.
    pub fn job_is_gone(&self, uid: &Uid) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.len() >= GONE {
            gone.clear();
        }
        gone.insert(uid.clone());
    }

    /// Whether the Job is known to be gone.
    #[must_use]
    pub fn is_gone(&self, uid: &Uid) -> bool {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).contains(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::observe::{self, PodSelector};

    #[test]
    fn only_nonempty_memories_are_stored() {
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        let (uid, former) = (Uid::new("u"), Uid::new("former"));
        let finalizer_removed = BTreeSet::from([Uid::new("p")]);
        let memory = Memory { uid: Some(uid.clone()), finalizer_removed, ..Memory::default() };
        memories.set(&key, memory.clone());
        assert_eq!(memories.of(&key), memory);
        memories.forget(&key, &former);
        assert_eq!(memories.of(&key), memory);
        memories.set(&key, Memory { uid: Some(uid.clone()), ..Memory::default() });
        assert!(memories.jobs.lock().unwrap().is_empty());
        memories.set(&key, memory);
        memories.forget(&key, &uid);
        assert_eq!(memories.of(&key), Memory::default());
        memories.job_is_gone(&former);
        assert!(memories.is_gone(&former) && !memories.is_gone(&uid));
    }

    fn pod(uid: &str) -> PodFacts {
        let pod = serde_json::from_value(serde_json::json!({
            "metadata": {"name": uid, "uid": uid, "resourceVersion": "1"},
        }));
        observe::pod(&pod.unwrap(), &Uid::new("u"), &PodSelector::nothing()).unwrap()
    }

    fn finalizer_removed(memories: &Memories, job: &str, pods: &[&str]) -> Vec<String> {
        let (mut memory, pods) = (Memory::default(), pods.iter().map(|uid| pod(uid)).collect::<Vec<_>>());
        memories.recall(&ObjectKey::new("ns", "a"), &Uid::new(job), &pods, &mut memory);
        memory.finalizer_removed.iter().map(ToString::to_string).collect()
    }

    fn put_away(memories: &Memories, job: &str, pods: &[&str]) {
        let pods = pods.iter().map(|uid| Uid::new(uid)).collect();
        memories.put_away(&ObjectKey::new("ns", "a"), &Uid::new(job), pods, |_| true);
    }

    /// S-05.
    #[test]
    fn a_settled_pod_that_is_read_again_is_remembered() {
        let memories = Memories::default();
        put_away(&memories, "u", &["p", "q"]);
        assert_eq!(finalizer_removed(&memories, "namesake", &["p"]), [""; 0]);
        assert_eq!(finalizer_removed(&memories, "u", &["p", "r"]), ["p"]);
        // It is in the memory of the Job then.
        assert_eq!(finalizer_removed(&memories, "u", &["p"]), [""; 0]);
        put_away(&memories, "namesake", &["s"]);
        assert_eq!(finalizer_removed(&memories, "u", &["q"]), [""; 0]);
        assert_eq!(finalizer_removed(&memories, "namesake", &["s"]), ["s"]);
    }

    #[test]
    fn settled_pods_are_dropped_with_their_job_or_when_they_are_deleted() {
        let (memories, key) = (Memories::default(), ObjectKey::new("ns", "a"));
        put_away(&memories, "u", &["p"]);
        memories.forget(&key, &Uid::new("former"));
        assert_eq!(memories.settled.lock().unwrap().len(), 1);
        memories.forget(&key, &Uid::new("u"));
        put_away(&memories, "u", &[]);
        assert!(memories.settled.lock().unwrap().is_empty());
        let pods: Vec<Uid> = (0..FIRST_SWEEP).map(|number| Uid::new(&number.to_string())).collect();
        let there = |uid: &Uid| uid.as_str().len() == 3;
        memories.put_away(&key, &Uid::new("u"), pods[1..].to_vec(), there);
        assert_eq!(memories.settled.lock().unwrap()[&key].pods.len(), FIRST_SWEEP - 1);
        memories.put_away(&key, &Uid::new("u"), pods[..1].to_vec(), there);
        let settled = memories.settled.lock().unwrap();
        assert_eq!((settled[&key].pods.len(), settled[&key].sweep_at), (900, 1800));
    }
}

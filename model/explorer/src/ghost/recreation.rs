//! The history of recreated Jobs (PC-29).

use super::GhostHistory;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

/// The first UID of pods that were created for a Job that no longer exists.
const FIRST_FOREIGN_UID: u128 = 500;

impl GhostHistory {
    /// The history of the next Job of the same name.
    #[must_use]
    pub fn of_recreated(&self, job: &Job) -> GhostHistory {
        let own = u8::try_from(self.pods.len()).unwrap_or(u8::MAX);
        GhostHistory {
            incarnation: self.incarnation + 1,
            former: self.former.saturating_add(own),
            foreign_pods: self.foreign_pods,
            ..GhostHistory::new(job)
        }
    }

    /// Returns true if the pod belongs to this Job, and not to a previous one.
    #[must_use]
    pub fn owns(&self, pod: &Pod) -> bool {
        pod.incarnation == self.incarnation
    }

    /// The UID that this pod gets when it is created.
    #[must_use]
    pub fn uid_of(&self, pod: &Pod) -> Uid {
        if self.owns(pod) { self.next_uid() } else { Uid(FIRST_FOREIGN_UID + u128::from(self.foreign_pods)) }
    }

    /// Returns true if at least this many pods were created for the Job of this pod; for a previous Job,
    /// since its end.
    #[must_use]
    pub fn has_enough_like(&self, pod: &Pod, most: usize) -> bool {
        let created = if self.owns(pod) { self.pods.len() } else { usize::from(self.foreign_pods) };
        created >= most
    }
}

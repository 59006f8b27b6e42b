//! Jobs of one name, one after the other (PC-29).

use super::GhostHistory;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

/// UIDs of pods that no Job of the present has, from here on.
const STRANGERS: u128 = 500;

impl GhostHistory {
    /// The history of the next Job of the name.
    #[must_use]
    pub fn again(&self, job: &Job) -> GhostHistory {
        let own = u8::try_from(self.pods.len()).unwrap_or(u8::MAX);
        GhostHistory {
            incarnation: self.incarnation + 1,
            former: self.former.saturating_add(own),
            strangers: self.strangers,
            ..GhostHistory::new(job)
        }
    }

    /// Whether the pod is one of this Job: not of another one of the name.
    #[must_use]
    pub fn owns(&self, pod: &Pod) -> bool {
        pod.incarnation == self.incarnation
    }

    /// The UID that this pod gets when it is created.
    #[must_use]
    pub fn uid_of(&self, pod: &Pod) -> Uid {
        if self.owns(pod) { self.next_uid() } else { Uid(STRANGERS + u128::from(self.strangers)) }
    }

    /// Whether so many pods were created for this Job; or, where the pod is of a former one, for that since then.
    #[must_use]
    pub fn has_enough_like(&self, pod: &Pod, most: usize) -> bool {
        let created = if self.owns(pod) { self.pods.len() } else { usize::from(self.strangers) };
        created >= most
    }
}

//! Jobs of one name, one after the other: a name that is used again is another Job, by its UID (PC-29, BO-06, MB-09).
//!
//! In a [`World`](crate::world::World) the Jobs that ever bore a name share one
//! [`Life`](crate::world::Life), because the controllers of Kubernetes keep what they remember by namespace and name.
//! Which of them a pod belongs to is its incarnation: 0 is the first Job of the name.

use crate::job::Job;
use crate::pod::Pod;
use crate::uid::Uid;

/// UIDs of the Jobs of one incarnation come together.
const JOBS: u128 = 1000;

/// The UID of a Job: `number` is that of its name.
#[must_use]
pub fn uid(number: u128, incarnation: u8) -> Uid {
    Uid(JOBS * (1 + u128::from(incarnation)) + number)
}

/// Which Job of its name it is; where there is none, the first one.
#[must_use]
pub fn of(job: Option<&Job>) -> u8 {
    let blocks = job.map_or(1, |job| job.uid.0 / JOBS);
    u8::try_from(blocks.saturating_sub(1)).unwrap_or(u8::MAX)
}

/// PC-29: whether the pod's controller is another Job of the name.
#[must_use]
pub fn is_of_another(pod: &Pod, job: Option<&Job>) -> bool {
    pod.controlled && job.is_some() && pod.incarnation != of(job)
}

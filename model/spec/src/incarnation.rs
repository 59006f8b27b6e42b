//! Recreated Jobs in the explorer: Jobs with one name and different UIDs (PC-29, BO-06, MB-09).
//!
//! The Kubernetes controllers key their memory by namespace and name. The explorer therefore keeps all Jobs of one
//! name together, and numbers them: the first has *incarnation* 0, the next 1. The UID of a Job contains its
//! incarnation. Traces have real UIDs and do not use this module.

use crate::job::Job;
use crate::pod::Pod;
use crate::uid::Uid;

/// The number of UIDs that each incarnation has.
const JOBS: u128 = 1000;

/// The UID of the Job with this incarnation, whose name has the given number below 1000.
#[must_use]
pub fn uid(number: u128, incarnation: u8) -> Uid {
    Uid(JOBS * (1 + u128::from(incarnation)) + number)
}

/// The incarnation of a Job; 0 if there is no Job.
#[must_use]
pub fn of(job: Option<&Job>) -> u8 {
    let blocks = job.map_or(1, |job| job.uid.0 / JOBS);
    u8::try_from(blocks.saturating_sub(1)).unwrap_or(u8::MAX)
}

/// Returns whether another Job of the same name controls the pod (PC-29).
#[must_use]
pub fn is_of_another(pod: &Pod, job: Option<&Job>) -> bool {
    pod.controlled && job.is_some() && pod.incarnation != of(job)
}

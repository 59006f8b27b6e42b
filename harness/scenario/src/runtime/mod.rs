//! What runs of a scenario have in common, whether the API server is embedded or real.
//!
//! | what | where |
//! | --- | --- |
//! | what users, kubelets and others do, as requests of theirs | [`act`], [`create_job`], [`create_pod`] |
//! | what a scenario says of a Job and its pods, asked of what there is | [`Standing`] |
//! | whether a request of a controller is the one that a step waits for | [`Asked`] |
//! | how it is refused where the step says so, and what a trace says of that | [`refusal`], [`announced_as`] |
//! | how a Job stood whenever all was at rest, to be compared | [`Rest`] |
//! | what happened, as a native trace | [`Lines`] |
//!
//! Who runs a scenario has a [`Cluster`], decides whose turn it is, and what time is.

mod acts;
mod asked;
mod claims;
mod cluster;
mod found;
mod lines;
mod pods;
mod refusal;

pub use acts::{
    Choose, act, create_job, create_pod, failed_by_pod_gc, mirrored, preempted, with_other_labels,
    without_owner,
};
pub use asked::Asked;
pub use claims::{Facts, Rest, Standing, objection, pods_of};
pub use cluster::{Cluster, Created};
pub use found::Found;
pub use lines::{Lines, gates_told, header};
pub use pods::{completion_index, is_to_be_removed};
pub use refusal::{announced_as, refusal};

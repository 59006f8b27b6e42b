//! The scenario runtime: the code that runs on an embedded and on a real API server share.
//!
//! | part | item |
//! | --- | --- |
//! | steps of users, kubelets, and other clients, as requests | [`act`], [`create_job`], [`create_pod`] |
//! | claims about a Job and its pods, evaluated on a cluster | [`ObservedJob`], [`objection`] |
//! | the request of a controller for which a step waits | [`SentRequest`] |
//! | the refusal of a request, and its fault in a trace | [`refusal()`], [`fault_kind`] |
//! | the states at quiescence, for comparison between targets | [`QuiescentState`] |
//! | the native trace of a run | [`TraceLines`] |
//! | the first finding of a run | [`Finding`] |
//!
//! A target implements [`Cluster`], and decides the order of events and the time.

mod claims;
mod cluster;
mod finding;
mod pods;
mod refusal;
mod sent_request;
mod steps;
mod trace_lines;

pub use claims::{Facts, ObservedJob, QuiescentState, describe_pods, objection};
pub use cluster::{Cluster, Created};
pub use finding::Finding;
pub use pods::{completion_index, is_to_be_removed};
pub use refusal::{fault_kind, refusal};
pub use sent_request::SentRequest;
pub use steps::{
    Choose, act, create_job, create_pod, failed_by_pod_gc, mirrored, preempted, with_other_labels,
    without_owner,
};
pub use trace_lines::{TraceLines, header, rollout_gates};

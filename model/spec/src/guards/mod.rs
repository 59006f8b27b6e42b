//! Guards: the rules for the writes of Job controllers, other managers of Jobs, and the TTL-after-finished controller.
//!
//! One function judges one kind of write. It consists of named guards, and each guard cites the requirement that it
//! decides. The rules of the API server are in [`crate::apiserver`].
//!
//! | write | function | reads |
//! | --- | --- | --- |
//! | creation of a pod | [`creation::judge_creation`] | a view |
//! | the same: the form of the pod | [`birth::judge_birth`], [`birth::judge_copy`] | the truth, and a view of the template |
//! | the same, after a refusal | [`creation::judge_retry`] | the time since the refusal |
//! | deletion of a pod | [`deletion::judge_deletion`] | a view |
//! | removal of the tracking finalizer | [`finalizer_removal::may_remove_finalizer_by_truth`] | the truth |
//! | the same, if the truth shows no reason for it | [`finalizer_removal::judge_finalizer_removal`] | a view |
//! | adoption and release of a pod | [`adoption::judge_adoption`], [`adoption::judge_release`] | the truth |
//! | status write of an executor: decisions and reported counts | [`status::judge_status_write`] | a view |
//! | the same: conditions, counters, pods at the end | [`status::judge_status_shape`], [`counting::judge_counting_truth`], [`status::judge_terminal_truth`] | the truth |
//! | the same, by a process with gates off | [`without_interim::WithoutInterim`] | both |
//! | the same: times | [`times::judge_times`], [`times::judge_by_later_event`] | the truth, and the times of other events |
//! | status write of any manager | [`contract::judge_contract`] | the truth |
//! | writes of a manager that writes status alone | [`mirror`] | the truth, and the writes before |
//! | write of the Job by its executor, once it has finished | [`contract::judge_spec_after_finish`] | the truth |
//! | deletion of a Job by the TTL controller | [`ttl::judge_ttl_deletion`] | the versions that it may have read |
//! | any other write of the TTL controller | [`ttl::judge_ttl_write`] | the request |
//! | write to a Job, or a pod, of another manager | [`ownership`] | `managedBy` |
//! | write of the built-in controller to a part that belongs to others | [`ownership::judge_metadata`], [`ownership::judge_patch`] | the truth, and the request |
//!
//! A guard that reads a [`View`](crate::view::View) judges a decision: the write is admitted if the guard holds in some
//! allowed view. A guard that reads the truth gets what etcd held, and no stale cache excuses the write
//! (`docs/reference/judging.md`, section 1).
//!
//! [`decision`], [`suspend`], and [`backlog`] are parts of the judgement of a status write. [`diagnosis`] chooses the
//! requirement that a finding reports, and never whether there is a finding.

pub mod adoption;
pub mod backlog;
pub mod birth;
pub mod contract;
pub mod copies;
mod copies_before;
mod copies_equal;
pub mod counting;
pub mod creation;
pub mod decision;
pub mod deletion;
pub mod diagnosis;
pub mod finalizer_removal;
pub mod mirror;
pub mod mirror_counts;
pub mod mirror_metadata;
pub mod mirror_times;
pub mod ownership;
pub mod status;
pub mod sums;
pub mod suspend;
pub mod times;
pub mod ttl;
pub mod without_interim;
pub mod work;

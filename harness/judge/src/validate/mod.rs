//! Decides whether a behaviour of the specification explains a recorded trace.
//!
//! [`Validator::feed`] takes records in the order of the trace, [`Validator::finish`] returns the verdicts. A record
//! passes these stages:
//!
//! | stage | modules | result |
//! | --- | --- | --- |
//! | normalise | `contents`, [`normalize`], [`actor`], `activity`, [`event`], `mishaps`, `repetitions` | an [`event::Event`] for each record |
//! | order | [`sequence`], `bindings` | the order in which etcd accepted the writes |
//! | route | [`router`], [`tracks`], `parked`, `pod_routes`, `hidden`, `births`, `ownerless`, `relists` | the Job of each event |
//! | record | [`track`], [`history`], [`pod_records`], `backoff`, `clock`, [`observed`] | the state of etcd, and what the manager may have read |
//! | judge | `job_writes`, `pod_writes`, `refused_pods`, `refused_status`, `refusal`, `birth`, `pod_api`, `managers`, `times` | guards on the true state |
//! | explain | [`frontier`], `explain`, `hypotheses`, `uncertain`, `late`, `hidden_active`, `known`, `known_pods` | guards on the views that the manager may have had, and assumptions if none admits the write |
//! | wait | `owed`, `owed_work`, `standing`, `idle` | obligations that are still open |
//! | doubt | `gaps`, `disorder`, [`setbacks`], `settings` | reasons for *inconclusive* |
//! | conclude | `conclusion`, [`verdict`], `unlisted` | the verdict on each Job |
//! | report | `names`, `fates`, `life`, `primary`, `wanted` | what reports show beside the verdicts |
//!
//! Memory is bounded. The validator keeps the living objects, 16 bytes for each pod UID of a living Job, the reorder
//! window, and ids of recent events. Finished Jobs are compressed.

mod account;
mod activity;
pub mod actor;
mod addresses;
mod backoff;
mod bindings;
mod births;
mod by_name;
pub mod caches;
mod claims;
mod clock;
mod clocks;
mod conclusion;
mod contents;
mod coverage;
mod deadline_overflow;
pub mod delivery;
mod disorder;
mod entry;
mod escapes;
pub mod etcds;
mod event;
mod explain;
mod fates;
#[cfg(test)]
mod fixtures;
pub mod frontier;
mod gaps;
mod hearsay;
mod hidden;
mod hidden_active;
mod hidden_kubelets;
pub mod history;
mod hypotheses;
mod idle;
mod job_metadata;
mod job_version;
mod job_writes;
mod known;
mod known_pods;
mod late;
mod late_work;
mod life;
mod lost_requests;
mod managers;
mod mirror;
mod mirror_metadata;
mod mishaps;
mod names;
pub mod normalize;
pub mod observed;
mod options;
mod owed;
mod owed_work;
mod own_deletions;
pub mod own_write;
mod ownerless;
mod ownership;
mod parked;
mod patches;
mod pod_api;
pub mod pod_records;
mod pod_routes;
mod pod_writes;
mod point;
mod primary;
mod process;
mod refusal;
mod refused_pods;
mod refused_status;
mod relists;
mod repetitions;
mod results;
pub mod router;
pub mod sequence;
pub mod setbacks;
mod settings;
mod standing;
mod status_patch;
mod story;
mod strangers;
mod streams;
mod summary;
mod timeline;
mod times;
pub mod track;
pub mod tracks;
mod uncertain;
mod unlisted;
mod unlogged;
mod unsettled;
mod unshown;
mod unversioned;
pub mod verdict;
mod wanted;
mod watched_pods;
mod without_interim;

pub use actor::Role;
pub(crate) use contents::propagation;
pub use contents::{Content, Contents};
pub(crate) use event::{Body as ObjectBody, CONFLICT, JobEvent, SERVER_ERROR};
pub use life::{Life, PodLife};
pub use mirror::Profile;
pub(crate) use mirror::{AT_WORK, is_of_environment};
pub(crate) use names::replaced;
pub use options::Options;
pub(crate) use owed::PATIENCE;
pub use router::Validator;
pub use summary::Summary;
pub use unlisted::{Kept, Reported, Unlisted};
pub(crate) use unlogged::Resting;
pub use unlogged::{Kinds, Log, Logged};
pub use verdict::{JobVerdict, Note, Outcome, Unreadable, Violation};
pub use wanted::{Others, Wanted, is_named};

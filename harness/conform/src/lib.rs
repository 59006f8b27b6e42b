//! Conformance scenarios for what somebody else has started: `jobcheck conform`, profiles mirror, aggregate, and field.
//!
//! The suite creates the Jobs on the cluster of the manager, and plays the users there. No image, node or network is
//! needed: a pod names a scheduler that does not exist, and its status is written by the suite.
//!
//! | profile | under test | the suite also plays |
//! | --- | --- | --- |
//! | mirror | a manager, and the Job controllers of its workers | the kubelets and users of the workers |
//! | aggregate | a manager | the Job controllers and users of its members |
//! | field | the API server, and the built-in controller | – |
//!
//! | part | item |
//! | --- | --- |
//! | the scenarios, as data | [`Profile`], [`Scenario`], [`Step`], `mirror`, `aggregate`, `field` |
//! | a cluster, its audit log, and the permissions that are needed | [`Cluster`] |
//! | what every run shares: the value of `managedBy`, hooks, patience | [`Settings`] |
//! | the objects of a namespace, from watches | `board` |
//! | users and kubelets | `play`, `kubelet` |
//! | the Job controllers of members; values of `managedBy` | `members`, `values` |
//! | what is waited for, and what it means if it does not come | `awaited` |
//! | the trace of each cluster | `recording` |
//! | faults between the manager and its API server | [`Faults`] |
//! | a run from the namespace to the verdict | [`run()`] |
//!
//! # Guarantees
//!
//! - A run fails only for a requirement. The judge finds it broken in the traces, or a wait that took too long breaks it.
//!   Every other wait that takes too long makes the run inconclusive.
//! - The traces are on disk before anything is removed, also after an interruption.
//!
//! # Caveats
//!
//! A copy has the namespace of its Job, and its name or its UID in a label or an annotation. Other copies are not found.

mod aggregate;
mod awaited;
mod board;
mod cluster;
mod command;
mod error;
mod faults;
mod field;
mod kubelet;
mod members;
mod mirror;
mod play;
mod recording;
mod run;
mod scenario;
mod settings;
mod values;

pub use cluster::Cluster;
pub use error::Error;
pub use faults::Faults;
pub use mirror::HOOKS;
pub use run::{missing, not_run, run};
pub use scenario::{Answer, Awaited, Kind, Profile, Reported, Scenario, Shape, Step};
pub use settings::{Hook, Settings};

//! Conformance scenarios for a manager of Jobs that somebody else has started: `jobcheck conform --profile mirror`.
//!
//! The suite creates the Jobs on the cluster of the manager. It plays the users there, and the kubelets and users of the
//! workers. The controllers under test do everything else. No image, node or network is needed: a pod names a scheduler
//! that does not exist, and its status is written by the suite.
//!
//! | part | item |
//! | --- | --- |
//! | the scenarios, as data | [`Scenario`], [`Step`], [`mirror::SCENARIOS`] |
//! | a cluster, its audit log, and the permissions that are needed | [`Cluster`] |
//! | what every run shares: the value of `managedBy`, hooks, patience | [`Settings`] |
//! | the objects of a namespace, from watches | `board` |
//! | users and kubelets | `play`, `kubelet` |
//! | the trace of each cluster | `recording` |
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

mod board;
mod cluster;
mod error;
mod kubelet;
pub mod mirror;
mod play;
mod recording;
mod run;
mod scenario;
mod settings;

pub use cluster::Cluster;
pub use error::Error;
pub use run::{not_run, run};
pub use scenario::{Awaited, Scenario, Shape, Step};
pub use settings::{Hook, Settings};

//! Local clusters, which run in the background of this machine: the embedded API server over HTTP, or a real control
//! plane (etcd, kube-apiserver, kube-controller-manager) that is built with Go from published modules.
//!
//! | what | where |
//! | --- | --- |
//! | starting one, and the handle that stops it | [`up`], [`Cluster`] |
//! | restarting a component of one | [`Cluster::restart`] |
//! | stopping, and clearing what dead processes left | [`mod@down`] |
//! | what there is, and how it is | [`mod@status`] |
//! | the folder of all clusters, and one process for each name | [`home`], `lock` |
//! | which processes are a cluster's | [`process`] |
//! | which versions there are, and building the control plane | [`Version`], [`program`] |
//! | the server that the background process is | [`embedded`] |
//!
//! # Guarantees
//!
//! A cluster has an owner until it is detached: a process that holds the lock of its name. Where the owner has died,
//! whatever way, the next [`up`] or [`down::down`] of any cluster ends what it left. Every process of a cluster carries
//! the cluster's folder in its environment, so that it is found even if its start was the last thing that the owner did.
//!
//! # Caveats
//!
//! Processes are found in `/proc`: without one, nothing is started.

mod clear;
mod control_plane;
pub mod down;
pub mod embedded;
mod error;
mod files;
mod health;
pub mod home;
mod kubeconfig;
mod launch;
mod lock;
mod name;
pub mod process;
pub mod program;
mod restart;
mod secrets;
mod state;
pub mod status;
mod up;
mod usage;

pub use jobcheck_spec::apiserver::Version;

pub use error::{Error, Log, told};
pub use home::Home;
pub use launch::log as log_file;
pub use name::Name;
pub use restart::Ended;
pub use state::{Component, Kind, State};
pub use up::{Cluster, Controllers, Plane, Spec, Up, audit_log, up};
pub use usage::Usage;

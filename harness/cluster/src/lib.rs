//! Local clusters in the background of this machine.
//!
//! A cluster is the embedded API server over HTTP, or a real control plane: etcd, kube-apiserver, and
//! kube-controller-manager. The control plane is built once with Go from published modules.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use jobcheck_cluster::{Controllers, Home, Plane, Spec, Up, Version, program, up};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let (home, version) = (Home::find()?, Version::default());
//! let program = program::built(&home.builds(), version, &mut |message| eprintln!("{message}")).await?;
//! let plane = Plane::Real { programs: program.into(), controllers: Controllers::BuiltIn };
//! let timeout = Duration::from_secs(120);
//! let spec = Spec { name: "example".parse()?, plane, version, port: None, timeout };
//! if let Up::Started(cluster) = up(&home, &spec).await? {
//!     println!("export KUBECONFIG={}", cluster.kubeconfig().display());
//!     cluster.stop()?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | part | item |
//! | --- | --- |
//! | starting a cluster, and the handle that stops it | [`up()`], [`Cluster`] |
//! | restarting a component; pausing and resuming one | [`Cluster::restart`], [`set_work`] |
//! | programs of others in the place of ours | [`Own`] |
//! | stopping clusters, and removing those of dead owners | [`mod@down`] |
//! | the clusters of this machine, and their health | [`mod@status`] |
//! | the folder of all clusters | [`home`] |
//! | the processes of a cluster | [`process`] |
//! | versions of Kubernetes, and building the control plane | [`Version`], [`program`] |
//! | the background process of the embedded server | [`embedded`] |
//! | kubeconfigs and tokens | [`Kubeconfig`], [`token`] |
//!
//! # Guarantees
//!
//! A cluster has an owner until it is detached: a process that holds the lock of its name. If the owner has died, the
//! next [`up()`] or [`down::down`] of any cluster removes the cluster. Every process of a cluster has the cluster's
//! folder in its environment. So it is found even if its owner died right after starting it.
//!
//! # Caveats
//!
//! Processes are found in `/proc`. Without it no cluster is started.

mod audit_file;
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
mod own;
mod pause;
pub mod process;
pub mod program;
mod restart;
mod secrets;
mod state;
pub mod status;
mod up;
mod usage;

pub use jobcheck_spec::apiserver::Version;

pub use error::{Error, Log};
pub use home::Home;
pub use kubeconfig::Kubeconfig;
pub use launch::log as log_file;
pub use name::Name;
pub use own::Own;
pub use pause::{Work, set_work};
pub use restart::Ended;
pub use secrets::token;
pub use state::{Component, Kind, State};
pub use up::{Cluster, Controllers, Plane, Programs, Spec, Up, audit_log, up};
pub use usage::Usage;

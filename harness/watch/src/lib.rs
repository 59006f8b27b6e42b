//! Judges the Jobs of a cluster continuously, from its audit events.
//!
//! The records of each Job are kept apart, in a file of its own. A Job is judged from time to time while it lives, and a
//! last time when it has been finished or gone for a while. Then its file is removed, or kept as evidence.
//!
//! ```
//! use jobcheck_record::Sink;
//! use jobcheck_watch::{Service, Settings};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let mut news = Vec::new();
//! let mut service = Service::open(Settings::at(folder.path())).unwrap();
//! service.gap("nothing was seen before".to_owned()).unwrap();
//! news.extend(service.look(0).unwrap());
//! service.keep_reported().unwrap();
//! assert!(news.is_empty());
//! assert_eq!(service.metrics().matches("jobcheck_watch_gaps_total 1").count(), 1);
//! ```
//!
//! | item | content |
//! | --- | --- |
//! | [`Service`], [`Settings`], [`Limits`] | the records of a cluster, and what is known of its living Jobs |
//! | [`News`] | findings and verdicts, as they come |
//! | [`Output`] | the file with their lines |
//! | [`room_for`] | the size that the folder may have |
//! | `jobs`, `owners` | which Jobs a record belongs to |
//! | `spool`, `held`, `concluded` | the files of Jobs, pods that a Job may adopt, and the Jobs that were judged |
//! | `shares` | limits that the namespaces share |
//! | `watchdog`, `rests` | the time and the memory of a judgement, and whose turn it is |
//! | `metrics` | the numbers |
//!
//! # Guarantees
//!
//! - Memory is bounded by the number of living Jobs and pods ([`Limits::jobs`]), and by what one judgement may use
//!   ([`Limits::memory`]). The disk is bounded ([`Limits::folder_bytes`]). If a limit is exceeded, the namespace that uses
//!   the most gives way.
//! - One Job cannot stop the service. A judgement ends after [`Limits::time`]. A Job is dropped if the process has died
//!   twice while it was judged.
//! - A Job of which records may be missing is inconclusive, never a violation for that reason. A restart marks a gap,
//!   unless the source continues exactly where it was.
//! - A Job whose creation was not recorded never conforms.
//! - A verdict or a finding is returned again after a restart until the caller has acknowledged it
//!   ([`Service::keep_reported`]). Then it is never returned again. A crash between its output and the acknowledgement
//!   repeats it, so that each is reported at least once.
//!
//! # Caveats
//!
//! A Job is judged by its own records. Facts that only the records of other Jobs show are not known, such as that its
//! controller was not idle. `docs/guide/watch-audit.md` lists the consequences.

mod concluded;
mod disk;
mod error;
mod held;
mod jobs;
mod metrics;
mod news;
mod output;
mod owners;
mod rests;
mod service;
mod settings;
mod shares;
mod spool;
mod watchdog;

pub use disk::room_for;
pub use error::Error;
pub use news::News;
pub use output::Output;
pub use service::Service;
pub use settings::{Limits, Settings};

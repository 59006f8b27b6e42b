//! Records the changes of Jobs and pods on any cluster as a native trace, which `jobcheck replay` judges.
//!
//! There are three sources: watches, an audit log, and an audit webhook. Each writes to a [`Trace`] until a token is
//! cancelled:
//!
//! ```no_run
//! use jobcheck_record::{Access, Target, Trace, WatchConfig, watches};
//! use jobcheck_traces::Header;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Access::default().client().await?;
//! let config = WatchConfig { namespaces: vec!["default".to_owned()], labels: None };
//! config.check(&client).await?;
//!
//! let mut trace = Trace::begin(&Target::Stdout, &Header::default())?;
//! let stop = CancellationToken::new();
//! watches(&client, &config, &mut trace, &stop, &mut |_| {}).await?;
//! trace.end()?;
//! # Ok(())
//! # }
//! ```
//!
//! | part | item |
//! | --- | --- |
//! | access to a cluster by a kubeconfig, and its permissions | [`Access`], [`permission`] |
//! | lists and watches, also for other crates | [`watch`] |
//! | a recording from watches | [`watches()`], [`WatchConfig`] |
//! | a recording from an audit log that is followed, or that is complete | [`audit_log()`], [`whole_audit_log()`] |
//! | a recording from an audit webhook, and its limits | [`webhook()`], [`Load`] |
//! | the part of an audit log that a run adds to it | [`AuditTail`] |
//! | the output, and others that take records of audit sources | [`Trace`], [`Tally`], [`Sink`] |
//!
//! # Guarantees
//!
//! Every place where changes may be missing is marked as a gap, which makes the verdict inconclusive. At any time the file
//! consists of complete lines.
//!
//! # Caveats
//!
//! Watches show neither actors nor refused requests. An object that is created and deleted while a watch is interrupted is
//! not recorded.

mod access;
mod audit;
mod change;
mod error;
mod followed;
pub mod permission;
mod recent;
mod reorder;
mod selection;
mod sink;
mod tail;
mod tally;
mod trace;
pub mod watch;
mod watches;

pub use access::{Access, version};
pub use audit::{AuditLog, Load, Position, Token, Webhook, audit_log, webhook, whole_audit_log};
pub use error::{AccessError, Error};
pub use selection::Labels;
pub use sink::Sink;
pub use tail::AuditTail;
pub use tally::Tally;
pub use trace::{Target, Trace};
pub use watches::{WatchConfig, watches};

/// A message during a recording.
#[derive(Clone, Debug)]
pub enum Notice<'a> {
    /// A sentence for the user.
    Note(String),
    /// The counts so far.
    Progress(&'a Tally),
}

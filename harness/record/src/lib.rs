//! Records what happens to Jobs and pods on any cluster, as a native trace.
//!
//! | what | where |
//! | --- | --- |
//! | the way to a cluster, as kubectl takes it; what may be done there | [`Access`], [`permission`] |
//! | lists and watches, also for others | [`watch`] |
//! | a recording by watches | [`watches()`], [`Watching`], `selection` |
//! | a recording by an audit log that is followed, or by a webhook that is served | [`audit_log()`], [`webhook()`] |
//! | the file that is written | [`Trace`] |
//!
//! # Guarantees
//!
//! What may be missing is marked as a gap, which makes the verdict inconclusive. The file holds whole lines at any time.
//!
//! # Caveats
//!
//! Watches show neither who wrote nor what was refused. An object that was created and deleted while a watch was broken
//! off is not seen.

mod access;
mod audit;
mod change;
mod error;
mod hold;
pub mod permission;
mod selection;
mod trace;
pub mod watch;
mod watches;

pub use access::{Access, version};
pub use audit::{AuditLog, Webhook, audit_log, webhook};
pub use error::Error;
pub use selection::Labels;
pub use trace::{Tally, Target, Trace};
pub use watches::{Watching, watches};

/// What is to be told while a recording goes on.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// Something that a user should know.
    Note(String),
    /// How far the recording is.
    Progress(&'a Tally),
}

//! Recordings by audit events: of an audit log that is followed, or of a webhook that is served.

mod events;
mod file;
mod webhook;

pub use file::{AuditLog, audit_log};
pub use webhook::{Webhook, webhook};

//! Recordings from audit events: from an audit log that is followed, or from a webhook.

mod events;
mod file;
mod webhook;

pub use file::{AuditLog, audit_log};
pub use webhook::{Webhook, webhook};

//! Recordings from audit events: from an audit log that is followed, or from a webhook.

mod events;
mod file;
mod token;
mod webhook;

pub use file::{AuditLog, Position, audit_log};
pub use token::Token;
pub use webhook::{Webhook, webhook};

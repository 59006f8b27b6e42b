//! Recordings from audit events: from an audit log that is followed or complete, or from a webhook.

mod certificate;
mod events;
mod file;
mod line;
mod load;
mod part;
mod token;
mod webhook;
mod whole;

pub use file::{AuditLog, Position, audit_log};
pub use load::Load;
pub use token::Token;
pub use webhook::{Webhook, webhook};
pub use whole::whole_audit_log;

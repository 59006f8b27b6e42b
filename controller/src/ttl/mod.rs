//! The TTL-after-finished controller.

pub mod observe;
pub mod plan;

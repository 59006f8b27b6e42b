//! The TTL-after-finished controller.

pub mod plan;

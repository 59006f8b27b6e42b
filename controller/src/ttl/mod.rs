//! The TTL-after-finished controller: its pure decision ([`mod@plan`]), and the conversion of API objects ([`observe`]).

pub mod observe;
pub mod plan;

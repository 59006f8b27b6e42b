//! A process that manages Jobs, whatever decides for it: its caches, its memory, its queue, and its requests.

pub mod commit;
pub mod deliveries;
pub mod informer;
pub mod io;
pub(crate) mod lag;
pub mod memory;
pub mod recreated;
pub mod state;
pub mod steps;

//! A process that manages Jobs, whatever decides for it: its caches, its memory, its queue, and its requests.

pub mod commit;
pub mod decisions;
pub mod deliveries;
pub mod informer;
pub mod io;
pub mod memory;
pub mod read;
pub mod recreated;
pub mod settings;
pub mod state;
pub mod steps;
pub mod ttl;

//! A process that manages Jobs, whatever subject decides for it: its caches, its memory, its work queue, and
//! its requests.
//!
//! | file | content |
//! | --- | --- |
//! | [`state`] | the state of a process and of its sync |
//! | [`steps`] | the steps of a process, faults included |
//! | [`io`] | how a sync, written as one function, stops at each API call |
//! | [`commit`] | the effect of a request on the server, and its judgement by the guards |
//! | [`read`] | the input of a sync |
//! | [`settings`] | the parameters of a process |
//! | [`decisions`] | the interface to a subject: the decisions of its controllers |
//! | [`memory`] | what a process remembers between syncs |
//! | [`recreated`] | what happens to that memory when a Job is recreated |
//! | [`informer`] | watch events and relists |
//! | [`deliveries`] | when events reach the caches, with a partial-order reduction |
//! | [`ttl`] | the process of the TTL-after-finished controller |

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

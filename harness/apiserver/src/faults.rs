//! Faults: who decides that a request goes wrong, before or after it is carried out.

use jiff::Timestamp;

use crate::error::ApiError;
use crate::request::{Reply, Request};
use crate::watch::{Gate, WatchInfo};

/// What a fault does to the answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The client gets this instead: 409, 429, 500, 504, ...
    Answer(ApiError),
    /// The client gets nothing: the connection ends.
    Drop,
}

/// Decides which requests go wrong.
///
/// Guarantees: every request is asked about once before it is carried out, and, if it was, once after.
pub trait Faults: Send {
    /// Before anything is done: with a fault nothing is.
    fn before(&mut self, _now: Timestamp, _request: &Request) -> Option<Fault> {
        None
    }

    /// After everything is done: with a fault the answer is lost, what was written stays.
    fn after(
        &mut self,
        _now: Timestamp,
        _request: &Request,
        _outcome: &Result<Reply, ApiError>,
    ) -> Option<Fault> {
        None
    }

    /// What a watch that begins lets through. It can be changed later
    /// ([`Watches::set_gate`](crate::watch::Watches::set_gate)).
    fn watch_gate(&mut self, _watch: &WatchInfo) -> Gate {
        Gate::Open
    }
}

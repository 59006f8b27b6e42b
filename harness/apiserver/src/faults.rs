//! Faults: the requests that fail, before or after they are carried out.

use jiff::Timestamp;

use crate::error::ApiError;
use crate::request::{Reply, Request};
use crate::watch::{Gate, WatchInfo};

/// The effect of a fault on the response.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The client gets this response instead: 409, 429, 500, 504, …
    Answer(ApiError),
    /// As [`Fault::Answer`], but something before the server responds, so that the server has no audit event.
    Intercept(ApiError),
    /// The client gets no response: the connection ends.
    Drop,
}

/// Decides which requests fail.
///
/// # Guarantees
///
/// Every request is passed once before it is carried out and, if it was carried out, once after that.
pub trait Faults: Send {
    /// Called before a request is carried out. A returned fault prevents that.
    fn before(&mut self, _now: Timestamp, _request: &Request) -> Option<Fault> {
        None
    }

    /// Called after a request was carried out. With a returned fault the response is lost, and the writes stay.
    fn after(
        &mut self,
        _now: Timestamp,
        _request: &Request,
        _outcome: &Result<Reply, ApiError>,
    ) -> Option<Fault> {
        None
    }

    /// The events that a new watch may deliver. [`Watches::set_gate`](crate::watch::Watches::set_gate) changes it
    /// later.
    fn watch_gate(&mut self, _watch: &WatchInfo) -> Gate {
        Gate::Open
    }
}

//! A server that several connections share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

use super::clock::Clock;
use super::held::Held;
use super::lines::EventLines;
use crate::server::Server;

/// A server and its clock, for several owners.
///
/// # Guarantees
///
/// A change through [`SharedServer::with`] wakes the watches.
#[derive(Clone)]
pub struct SharedServer(Arc<Inner>);

struct Inner {
    server: Mutex<Server>,
    changed: watch::Sender<u64>,
    held: Held,
    events: EventLines,
    clock: Box<dyn Clock>,
}

impl fmt::Debug for SharedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedServer").finish_non_exhaustive()
    }
}

impl SharedServer {
    /// Returns a shared server.
    #[must_use]
    pub fn new(server: Server, clock: impl Clock + 'static) -> SharedServer {
        let (changed, _) = watch::channel(0);
        let held = Held::at_most(server.config.unread_bytes);
        let (server, events) = (Mutex::new(server), EventLines::new(held.clone()));
        SharedServer(Arc::new(Inner { server, changed, held, events, clock: Box::new(clock) }))
    }

    /// The current time of its clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Calls a function with the server and the time, and wakes the watches.
    pub fn with<T>(&self, act: impl FnOnce(&mut Server, Timestamp) -> T) -> T {
        let now = self.now();
        let done = act(&mut self.lock(), now);
        self.0.changed.send_modify(|count| *count = count.wrapping_add(1));
        done
    }

    /// Calls a function that changes no object. No watch is woken.
    pub(super) fn peek<T>(&self, act: impl FnOnce(&mut Server, Timestamp) -> T) -> T {
        let now = self.now();
        act(&mut self.lock(), now)
    }

    /// The bytes of large responses that clients have not taken yet. [`Config::unread_bytes`](crate::Config::unread_bytes)
    /// bounds them.
    #[must_use]
    pub fn unread_bytes(&self) -> usize {
        self.0.held.bytes()
    }

    /// The large responses that clients have not taken yet.
    pub(super) fn held(&self) -> &Held {
        &self.0.held
    }

    /// The lines of events.
    pub(super) fn events(&self) -> &EventLines {
        &self.0.events
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// A request that panicked is a defect, but other requests can still be handled.
    fn lock(&self) -> MutexGuard<'_, Server> {
        self.0.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

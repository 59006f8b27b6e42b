//! The native trace of a run.

use std::sync::{Arc, Mutex, PoisonError};

use jobcheck_apiserver::audit::AuditSink;
use jobcheck_scenario::runtime::TraceLines;
use serde_json::Value;

/// The recording of a run in the native format (`docs/reference/trace-format.md`).
#[derive(Debug)]
pub struct Recorder {
    lines: TraceLines,
    /// The audit events that were not converted to lines yet.
    events: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    /// Returns a recording with this header.
    #[must_use]
    pub fn new(header: Value) -> Recorder {
        Recorder { lines: TraceLines::new(header), events: Arc::default() }
    }

    /// The receiver of the API server's audit events.
    #[must_use]
    pub fn sink(&self) -> AuditSink {
        let events = Arc::clone(&self.events);
        AuditSink::new(false, move |event| {
            events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        })
    }

    /// Converts the received audit events to lines.
    pub fn gather(&mut self) {
        let events = std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner));
        events.iter().for_each(|event| self.lines.add_event(event));
    }

    /// Adds a line that is not an audit event.
    pub fn note(&mut self, kind: &str, line: Value) {
        self.gather();
        self.lines.note(kind, line);
    }

    /// Sets the time at which the last request of this user agent was received.
    pub fn was_received(&mut self, agent: &str, time: &str) {
        self.gather();
        self.lines.was_received(agent, time);
    }

    /// The number of requests so far.
    pub fn requests(&mut self) -> usize {
        self.gather();
        self.lines.requests()
    }

    /// The bytes of the trace.
    pub fn bytes(&mut self) -> Vec<u8> {
        self.gather();
        self.lines.bytes()
    }
}

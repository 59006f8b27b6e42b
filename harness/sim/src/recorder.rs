//! The native trace of a run.

use std::sync::{Arc, Mutex, PoisonError};

use jobcheck_apiserver::audit::AuditSink;
use jobcheck_scenario::runtime::Lines;
use serde_json::Value;

/// What happened so far, in lines of the native format (`docs/reference/trace-format.md`).
#[derive(Debug)]
pub struct Recorder {
    lines: Lines,
    /// Audit events that are no lines yet.
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    /// A trace that begins with this header.
    #[must_use]
    pub fn new(header: Value) -> Recorder {
        Recorder { lines: Lines::new(header), heard: Arc::default() }
    }

    /// Where the API server sends its audit events.
    #[must_use]
    pub fn sink(&self) -> AuditSink {
        let heard = Arc::clone(&self.heard);
        AuditSink::new(false, move |event| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        })
    }

    /// Makes lines of what the API server has heard.
    pub fn gather(&mut self) {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner));
        heard.iter().for_each(|event| self.lines.heard(event));
    }

    /// Adds a line of its own.
    pub fn note(&mut self, kind: &str, line: Value) {
        self.gather();
        self.lines.note(kind, line);
    }

    /// The request of this agent that was answered last had been on its way since then.
    pub fn was_received(&mut self, agent: &str, time: &str) {
        self.gather();
        self.lines.was_received(agent, time);
    }

    /// Requests so far.
    pub fn requests(&mut self) -> usize {
        self.gather();
        self.lines.requests()
    }

    /// The trace as a file holds it.
    pub fn bytes(&mut self) -> Vec<u8> {
        self.gather();
        self.lines.bytes()
    }
}

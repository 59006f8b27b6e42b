//! The service with its output.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jobcheck_controller_runtime::http::Status;
use jobcheck_controller_runtime::prometheus_text::from_open_metrics;
use jobcheck_judge::report::Exit;
use jobcheck_judge::validate::Outcome;
use jobcheck_record::{Error, Load, Position, Sink};
use jobcheck_traces::Body;
use jobcheck_watch::{News, Output, Service};

use super::events::{Counts, Queue};
use crate::text::in_json;

/// The time between two looks at the Jobs that are due.
const LOOK: Duration = Duration::from_secs(1);

/// The content of the port.
#[derive(Debug, Default)]
pub struct Shown {
    metrics: Mutex<String>,
    is_ready: AtomicBool,
    /// The numbers of Events on Jobs.
    pub events: Counts,
    /// The load of the webhook, if there is one.
    load: OnceLock<Arc<Load>>,
    /// The lines of the audit log that are audit events, and those that are not.
    lines: [AtomicU64; 2],
}

impl Shown {
    /// Shows the load of the webhook.
    pub fn show_load(&self, load: Arc<Load>) {
        // There is one webhook.
        let _ = self.load.set(load);
    }
}

impl Status for Shown {
    fn not_ready(&self) -> Option<String> {
        if !self.is_ready.load(Ordering::Relaxed) {
            return Some("the audit events are not read yet".to_owned());
        }
        let [readable, unreadable] = &self.lines;
        if readable.load(Ordering::Relaxed) == 0 && unreadable.load(Ordering::Relaxed) > 0 {
            return Some("no line of the audit log is an audit event".to_owned());
        }
        let is_full = self.load.get().is_some_and(|load| load.is_full());
        is_full.then(|| "events are refused, because too much memory is used".to_owned())
    }

    fn metrics(&self) -> String {
        let text = self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut text = from_open_metrics(&text);
        let lost = self.events.lost();
        let help = "Events on Jobs that could not be created.";
        text += &metric("jobcheck_watch_lost_events_total", "counter", help, lost);
        let [_, unreadable] = &self.lines;
        let unreadable = unreadable.load(Ordering::Relaxed);
        let help = "Lines of the audit log that are no audit events.";
        text += &metric("jobcheck_watch_unreadable_lines_total", "counter", help, unreadable);
        if let Some(load) = self.load.get() {
            let help = "Requests to the webhook that were refused.";
            text += &metric("jobcheck_watch_refused_requests_total", "counter", help, load.refused());
            let help = "Size of the events that wait for older ones, in bytes.";
            text += &metric("jobcheck_watch_waiting_bytes", "gauge", help, load.waiting() as u64);
        }
        text
    }
}

/// A metric without labels, in the text format of Prometheus.
fn metric(name: &str, kind: &str, help: &str, value: u64) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n")
}

/// The error for an output that cannot be opened or written.
pub fn unwritten(error: &std::io::Error) -> Error {
    Error::Sink(format!("cannot write the output: {error}"))
}

/// Takes records, looks at the Jobs that are due, and passes on the news.
pub struct Watching {
    service: Service,
    out: Output,
    events: Option<Queue>,
    shown: Arc<Shown>,
    allow_known: bool,
    violated: bool,
    looked: Instant,
    /// The time at which the last record was taken.
    taken: Instant,
}

impl Watching {
    /// Puts the parts together.
    pub fn new(
        service: Service,
        out: Output,
        events: Option<Queue>,
        shown: Arc<Shown>,
        allow_known: bool,
    ) -> Watching {
        let now = Instant::now();
        Watching { service, out, events, shown, allow_known, violated: false, looked: now, taken: now }
    }

    /// The place up to which the source was read before.
    pub fn position(&self) -> Option<Position> {
        self.service.position()
    }

    /// From now on the source is read.
    pub fn is_ready(&self) {
        self.shown.is_ready.store(true, Ordering::Relaxed);
        *self.shown.metrics.lock().unwrap_or_else(PoisonError::into_inner) = self.service.metrics();
    }

    /// The end. Living Jobs are judged for the last time if nothing follows; otherwise the next process judges them.
    pub fn end(mut self, is_complete: bool) -> Result<Exit, Error> {
        let failed = |error: jobcheck_watch::Error| Error::Sink(error.to_string());
        let news = if is_complete { self.service.conclude().map_err(failed)? } else { self.service.pause() };
        self.report(news)?;
        Ok(if self.violated { Exit::Violates } else { Exit::Conforms })
    }

    fn look(&mut self) -> Result<(), Error> {
        let idle = i64::try_from(self.taken.elapsed().as_micros()).unwrap_or(i64::MAX);
        let news = self.service.look(idle).map_err(|error| Error::Sink(error.to_string()))?;
        self.report(news)?;
        *self.shown.metrics.lock().unwrap_or_else(PoisonError::into_inner) = self.service.metrics();
        self.looked = Instant::now();
        Ok(())
    }

    fn report(&mut self, news: Vec<News>) -> Result<(), Error> {
        let mut lines = String::new();
        for one in &news {
            lines.push_str(&in_json(one.line()));
            lines.push('\n');
            self.violated |= self.counts(one);
        }
        if !lines.is_empty() {
            self.out.write(&lines).map_err(|error| unwritten(&error))?;
        }
        // A finding that was not written is found again after a restart, and gets its Event then.
        if let Some(events) = &self.events {
            news.into_iter().for_each(|one| events.add(one));
        }
        // A restart repeats everything that was not written.
        self.service.keep_reported().map_err(|error| Error::Sink(error.to_string()))
    }

    fn counts(&self, news: &News) -> bool {
        match news {
            News::Finding { finding, .. } => finding.known.is_none() || !self.allow_known,
            News::Verdict { verdict, .. } => *verdict == Outcome::Violates && !self.allow_known,
        }
    }
}

impl Sink for Watching {
    fn write(&mut self, body: &Body<'_>) -> Result<(), Error> {
        self.taken = Instant::now();
        self.service.write(body)
    }

    fn gap(&mut self, reason: String) -> Result<(), Error> {
        self.service.gap(reason)
    }

    fn lines(&mut self, readable: u64, unreadable: u64) {
        for (shown, count) in self.shown.lines.iter().zip([readable, unreadable]) {
            shown.store(count, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.looked.elapsed() < LOOK { Ok(()) } else { self.look() }
    }

    fn read_up_to(&mut self, position: &Position) -> Result<(), Error> {
        self.service.read_up_to(position)
    }
}

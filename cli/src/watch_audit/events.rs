//! Events on Jobs that violate.
//!
//! A finding is reported once its line is in the output, and its Event is created later. So the end of the process waits for
//! the Events, for a bounded time, and reports how many are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jobcheck_traces::format_micros;
use jobcheck_watch::News;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::watching::Shown;
use crate::output;

/// The findings that may wait. More are counted as lost.
const WAITING: usize = 1_000;

/// The longest message that the API server takes.
const LONGEST: usize = 1_024;

/// The time in which the API server must answer, so that one request does not delay all others for ever.
const ANSWER: Duration = Duration::from_secs(30);

/// The numbers of Events.
#[derive(Debug, Default)]
pub struct Counts {
    /// The findings that need one.
    needed: AtomicU64,
    created: AtomicU64,
    /// Those that could not be created, or for which there was no room.
    lost: AtomicU64,
}

impl Counts {
    /// The number of Events that could not be created.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn add(&self, is_created: bool) {
        let counter = if is_created { &self.created } else { &self.lost };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports the Events that are not created, in one line. The process ends, so that those that wait are lost.
    pub fn give_up(&self) {
        let created = self.created.load(Ordering::Relaxed);
        let lost = self.needed.load(Ordering::Relaxed).saturating_sub(created);
        if lost > 0 {
            let events = output::count(lost, "Event");
            output::note(format!("{events} could not be created; the findings are in the output"));
        }
    }
}

/// The findings that wait for their Events.
#[derive(Debug)]
pub struct Queue {
    sender: mpsc::Sender<News>,
    shown: Arc<Shown>,
}

impl Queue {
    /// Adds a finding. Other news have no Event.
    pub fn add(&self, news: News) {
        if !matches!(news, News::Finding { .. }) {
            return;
        }
        self.shown.events.needed.fetch_add(1, Ordering::Relaxed);
        if self.sender.try_send(news).is_err() {
            self.shown.events.add(false);
        }
    }
}

/// The task that creates Events.
#[derive(Debug)]
pub struct Creation {
    task: JoinHandle<()>,
    shown: Arc<Shown>,
}

impl Creation {
    /// Starts a task that creates an Event for each finding of a queue, and ends with the queue.
    pub fn start(client: Client, shown: Arc<Shown>) -> (Queue, Creation) {
        let (sender, mut findings) = mpsc::channel(WAITING);
        let counted = Arc::clone(&shown);
        let task = tokio::spawn(async move {
            while let Some(news) = findings.recv().await {
                let created = timeout(ANSWER, create(&client, &news)).await;
                counted.events.add(created.ok().flatten().is_some());
            }
        });
        (Queue { sender, shown: Arc::clone(&shown) }, Creation { task, shown })
    }

    /// Waits until the Events of the queue, which was dropped, are created, but no longer than this time.
    pub async fn end(mut self, longest: Duration) {
        if timeout(longest, &mut self.task).await.is_err() {
            self.task.abort();
            // Nothing is counted after this.
            let _ = self.task.await;
        }
        self.shown.events.give_up();
    }
}

async fn create(client: &Client, news: &News) -> Option<()> {
    let event = event_of(news, now()?)?;
    let namespace = event["metadata"]["namespace"].as_str()?;
    let path = format!("/api/v1/namespaces/{namespace}/events");
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(serde_json::to_vec(&event).ok()?)
        .ok()?;
    client.request::<Value>(request).await.ok().map(drop)
}

/// The time, as RFC 3339.
fn now() -> Option<String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    format_micros(i64::try_from(since.as_micros()).ok()?)
}

/// The Event for a finding; `None` for other news.
fn event_of(news: &News, now: String) -> Option<Value> {
    let News::Finding { job, uid, finding } = news else { return None };
    let (namespace, name) = job.split_once('/')?;
    let id = finding.requirement.map_or("", |id| id.0.id());
    let difference = &finding.difference;
    let message = format!(
        "{id}: {} ({}: expected {}, found {})",
        finding.sentence, difference.what, difference.expected, difference.found
    );
    let message: String = message.chars().take(LONGEST).collect();
    Some(json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"namespace": namespace, "generateName": "jobcheck-"},
        "involvedObject": {"apiVersion": "batch/v1", "kind": "Job", "namespace": namespace, "name": name, "uid": uid},
        "type": "Warning", "reason": "SpecificationViolated", "message": message,
        "source": {"component": "jobcheck"}, "reportingComponent": "jobcheck.dev/watch-audit",
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    }))
}

//! Events on Jobs that violate.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use jobcheck_traces::format_micros;
use jobcheck_watch::News;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::watching::Shown;

/// The findings that may wait. More are counted as lost.
const WAITING: usize = 1_000;

/// The longest message that the API server takes.
const LONGEST: usize = 1_024;

/// Starts a task that creates an Event for each finding.
pub fn start(client: Client, shown: Arc<Shown>) -> mpsc::Sender<News> {
    let (sender, mut findings) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        while let Some(news) = findings.recv().await {
            if create(&client, &news).await.is_none() {
                shown.lost_events.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    sender
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

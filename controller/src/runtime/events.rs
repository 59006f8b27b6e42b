//! Records `events.k8s.io/v1` Events (family EV) beside the work: a sync never waits for one.
//!
//! As client-go does it:
//! - the same event again is counted in the `series` of the first (one PATCH);
//! - after ten different messages for one reason within ten minutes the rest is combined into one event;
//! - one object gets 25 events at once, and then one in five minutes.
//!
//! An event that finds the channel full, or that the API server refuses, is dropped: events are a courtesy.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as ApiEvent, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::rate_limit::TokenBucket;
use super::store::ObjectKey;
use crate::answer::Failure;
use crate::job::command::Event;
use crate::values::{Text, Uid};

/// The Job that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regarding {
    /// Its name.
    pub key: ObjectKey,
    /// Its UID.
    pub uid: Uid,
}

/// Takes events without waiting.
#[derive(Clone, Debug)]
pub struct Recorder {
    sender: mpsc::Sender<(Regarding, Event)>,
}

/// Writes what its [`Recorder`]s take.
pub struct Writer {
    receiver: mpsc::Receiver<(Regarding, Event)>,
    client: Client,
    instance: String,
    book: Book,
}

/// Events that may wait to be written.
const WAITING: usize = 1000;
/// `reportingController`: clients look for the built-in's name (EV).
const REPORTER: &str = "job-controller";
/// Attempts to write one event when the server does not answer.
const ATTEMPTS: u32 = 3;

/// A recorder and its writer. `instance`: the process, such as its host name.
#[must_use]
pub fn channel(client: Client, instance: &str) -> (Recorder, Writer) {
    let (sender, receiver) = mpsc::channel(WAITING);
    // The API refuses more than 128 bytes.
    let instance: String = instance.chars().filter(char::is_ascii).take(128).collect();
    (Recorder { sender }, Writer { receiver, client, instance, book: Book::default() })
}

impl Recorder {
    /// Has the event written, some time.
    pub fn record(&self, regarding: &Regarding, event: &Event) {
        if self.sender.try_send((regarding.clone(), event.clone())).is_err() {
            debug!(job = %regarding.key, reason = %event.reason, "event dropped: too many wait");
        }
    }
}

impl Writer {
    /// Writes events until all recorders are gone.
    pub async fn run(mut self) {
        while let Some((regarding, event)) = self.receiver.recv().await {
            let Some(entry) = self.book.enter(&regarding, &event, Instant::now()) else {
                debug!(job = %regarding.key, reason = %event.reason, "event dropped: too many of this Job");
                continue;
            };
            let written = self.write(&regarding, &event, entry).await;
            if let Err(failure) = written {
                warn!(job = %regarding.key, reason = %event.reason, %failure, "event not written");
            }
        }
    }

    async fn write(&mut self, regarding: &Regarding, event: &Event, entry: Entry) -> Result<(), Failure> {
        let api: Api<ApiEvent> = Api::namespaced(self.client.clone(), &regarding.key.namespace);
        if let Some((name, count)) = entry.again {
            let series = EventSeries { count, last_observed_time: MicroTime(Timestamp::now()) };
            // Nothing else may change in an Event.
            let patch = Patch::Merge(json!({"series": series}));
            let params = PatchParams::default();
            match retried(|| api.patch(&name, &params, &patch)).await {
                // It has been deleted: events live for an hour.
                Err(Failure::NotFound(_)) => {}
                other => return other.map(drop),
            }
        }
        let stored = self.fresh(regarding, event, &entry.note);
        let params = PostParams::default();
        retried(|| api.create(&params, &stored)).await?;
        if let Some(name) = stored.metadata.name {
            self.book.named(regarding, &entry.key, name);
        }
        Ok(())
    }

    fn fresh(&self, regarding: &Regarding, event: &Event, note: &str) -> ApiEvent {
        let now = Timestamp::now();
        let name = format!("{}.{:x}", regarding.key.name, now.as_nanosecond());
        ApiEvent {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(regarding.key.namespace.to_string()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            action: Some(event.reason.to_string()),
            reason: Some(event.reason.to_string()),
            type_: Some(if event.warning { "Warning" } else { "Normal" }.to_owned()),
            note: Some(note.to_owned()),
            regarding: Some(ObjectReference {
                api_version: Some("batch/v1".to_owned()),
                kind: Some("Job".to_owned()),
                namespace: Some(regarding.key.namespace.to_string()),
                name: Some(regarding.key.name.to_string()),
                uid: Some(regarding.uid.to_string()),
                ..ObjectReference::default()
            }),
            reporting_controller: Some(REPORTER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            ..ApiEvent::default()
        }
    }
}

/// Tries again where the answer is lost or no: a second event of one name is refused, and does no harm.
async fn retried<T, F, Fut>(call: F) -> Result<T, Failure>
where
    F: Fn() -> Fut,
    Fut: Future<Output = kube::Result<T>>,
{
    let mut attempt = 1;
    loop {
        let failure = match call().await {
            Ok(done) => return Ok(done),
            Err(error) => Failure::from_kube(&error),
        };
        let worth_trying = matches!(failure, Failure::Ambiguous(_) | Failure::Throttled(_));
        if !worth_trying || attempt == ATTEMPTS {
            return Err(failure);
        }
        sleep(Duration::from_secs(u64::from(attempt))).await;
        attempt += 1;
    }
}

/// What was written lately, by Job.
#[derive(Debug, Default)]
struct Book {
    jobs: BTreeMap<Uid, Page>,
    /// Jobs in the order in which they came, for forgetting.
    order: VecDeque<Uid>,
}

#[derive(Debug)]
struct Page {
    bucket: TokenBucket,
    written: BTreeMap<SameEvent, Written>,
}

/// Type, reason and message; without a message, the combined event of that reason.
type SameEvent = (bool, Text, Option<Text>);

#[derive(Debug)]
struct Written {
    name: Option<String>,
    count: i32,
    at: Instant,
}

/// How an event is to be written.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    key: SameEvent,
    note: String,
    /// The name of the event that counts it, and the new count.
    again: Option<(String, i32)>,
}

/// Jobs that the book remembers.
const JOBS: usize = 4096;
/// Events of one Job at once.
const BURST: u32 = 25;
/// Then one in 300 seconds.
const REFILL: f64 = 1.0 / 300.0;
/// Different messages of one reason before they are combined.
const DIFFERENT: usize = 10;
/// How long an event counts as a recent one.
const RECENT: Duration = Duration::from_secs(600);
/// The API takes 1024 bytes.
const NOTE: usize = 1024;

impl Book {
    fn enter(&mut self, regarding: &Regarding, event: &Event, now: Instant) -> Option<Entry> {
        let page = self.page(&regarding.uid);
        page.written.retain(|_, written| now.saturating_duration_since(written.at) < RECENT);
        page.bucket.take(now).ok()?;
        let exact: SameEvent = (event.warning, event.reason.clone(), Some(event.message.clone()));
        let alike = page.written.keys().filter(|key| key.0 == event.warning && key.1 == event.reason).count();
        let combine = alike >= DIFFERENT && !page.written.contains_key(&exact);
        let key = if combine { (event.warning, event.reason.clone(), None) } else { exact };
        let note = match combine {
            true => cut(&format!("(combined from similar events): {}", event.message)),
            false => cut(&event.message),
        };
        let written = page.written.entry(key.clone()).or_insert(Written { name: None, count: 0, at: now });
        written.count = written.count.saturating_add(1);
        written.at = now;
        let again = written.name.clone().map(|name| (name, written.count));
        Some(Entry { key, note, again })
    }

    fn named(&mut self, regarding: &Regarding, key: &SameEvent, name: String) {
        if let Some(written) = self.jobs.get_mut(&regarding.uid).and_then(|page| page.written.get_mut(key)) {
            written.name = Some(name);
        }
    }

    fn page(&mut self, uid: &Uid) -> &mut Page {
        if !self.jobs.contains_key(uid) {
            if self.order.len() >= JOBS
                && let Some(oldest) = self.order.pop_front()
            {
                self.jobs.remove(&oldest);
            }
            self.order.push_back(uid.clone());
        }
        self.jobs
            .entry(uid.clone())
            .or_insert_with(|| Page { bucket: TokenBucket::new(REFILL, BURST), written: BTreeMap::new() })
    }
}

/// As much of the text as the API takes, whole characters.
fn cut(text: &str) -> String {
    let end = (0..=NOTE.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use http_body_util::{BodyExt, Full};
    use kube::client::Body;
    use serde_json::Value;

    use super::*;

    fn job(name: &str) -> Regarding {
        Regarding { key: ObjectKey::new("ns", name), uid: Uid::new(name) }
    }

    /// Writes the events, and returns method, path and body of all requests. The codes are the first answers.
    async fn written(events: Vec<(Regarding, Event)>, codes: &[u16]) -> Vec<(String, Value)> {
        let seen: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let codes = Arc::new(Mutex::new(codes.iter().copied().collect::<VecDeque<_>>()));
        let service = tower::service_fn({
            let seen = Arc::clone(&seen);
            move |request: Request<Body>| {
                let (seen, codes) = (Arc::clone(&seen), Arc::clone(&codes));
                async move {
                    let line = format!("{} {}", request.method(), request.uri().path());
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let body: Value = serde_json::from_slice(&body).unwrap();
                    seen.lock().unwrap().push((line, body.clone()));
                    let code = codes.lock().unwrap().pop_front().unwrap_or(200);
                    let answer = match code {
                        200 => json!({"metadata": {"name": "e"}, "eventTime": null}),
                        code => json!({"kind": "Status", "status": "Failure", "code": code, "message": "m"}),
                    };
                    let body = Full::new(bytes::Bytes::from(answer.to_string()));
                    Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
                }
            }
        });
        let (recorder, writer) = channel(Client::new(service, "ns"), "host-a");
        for (regarding, event) in events {
            recorder.record(&regarding, &event);
        }
        drop(recorder);
        writer.run().await;
        seen.lock().unwrap().clone()
    }

    /// EV-07.
    #[tokio::test(start_paused = true)]
    async fn an_event_names_the_job_and_the_controller() {
        let seen = written(vec![(job("sum"), Event::normal("Completed", "Job completed"))], &[]).await;
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].0, "POST /apis/events.k8s.io/v1/namespaces/ns/events");
        let event = &seen[0].1;
        for (field, expected) in [
            ("type", "Normal"),
            ("reason", "Completed"),
            ("note", "Job completed"),
            ("reportingController", "job-controller"),
            ("reportingInstance", "host-a"),
        ] {
            assert_eq!(event[field], expected, "{field}");
        }
        assert_eq!(event["regarding"]["kind"], "Job");
        assert_eq!(event["regarding"]["uid"], "sum");
        assert!(event["action"].is_string() && event["eventTime"].is_string());
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_event_again_is_counted() {
        let event = Event::warning("FailedCreate", "Error creating: no");
        let seen =
            written(vec![(job("a"), event.clone()), (job("a"), event.clone()), (job("b"), event)], &[]).await;
        let lines: Vec<&str> = seen.iter().map(|(line, _)| line.split(' ').next().unwrap()).collect();
        assert_eq!(lines, ["POST", "PATCH", "POST"]);
        assert_eq!(seen[1].1["series"]["count"], 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_event_is_created_again() {
        let event = Event::normal("Suspended", "Job suspended");
        let seen = written(vec![(job("a"), event.clone()), (job("a"), event)], &[200, 404]).await;
        let lines: Vec<&str> = seen.iter().map(|(line, _)| line.split(' ').next().unwrap()).collect();
        assert_eq!(lines, ["POST", "PATCH", "POST"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_huge_job_gets_a_bounded_number_of_events() {
        let events = (0..500).map(|pod| (job("huge"), Event::created(&format!("huge-{pod}")))).collect();
        let seen = written(events, &[]).await;
        assert_eq!(seen.len(), 25);
        let notes: Vec<&str> = seen.iter().filter_map(|(_, body)| body["note"].as_str()).collect();
        assert_eq!(notes.len(), DIFFERENT + 1);
        assert_eq!(notes[DIFFERENT], "(combined from similar events): Created pod: huge-10");
        assert_eq!(seen[24].1["series"]["count"], 15);
    }

    #[tokio::test(start_paused = true)]
    async fn an_ambiguous_failure_is_tried_three_times_and_a_refusal_once() {
        let one = || vec![(job("a"), Event::normal("Resumed", "Job resumed"))];
        assert_eq!(written(one(), &[500, 503, 500, 500]).await.len(), 3);
        assert_eq!(written(one(), &[500, 200]).await.len(), 2);
        assert_eq!(written(one(), &[403]).await.len(), 1);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        assert_eq!(cut(&"ä".repeat(600)).len(), 1024);
        assert_eq!(cut(&format!("x{}", "ä".repeat(600))).len(), 1023);
        assert_eq!(cut("short"), "short");
    }
}

//! Records `events.k8s.io/v1` Events in the background (family EV). A sync never waits for an event.
//!
//! The rules are those of client-go:
//!
//! - A repeated event is counted in the `series` of the first one, with one PATCH.
//! - After ten different messages of one reason within ten minutes, further messages are combined into one event.
//! - One Job gets 25 events at once, and then one event in five minutes.
//!
//! An event is dropped if too many events are waiting, or if the API server refuses it.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_controller::answer::Failure;
use jobcheck_controller::job::command::Event;
use jobcheck_controller::values::Uid;
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
use crate::failure::of_kube;

/// The Job of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regarding {
    /// The namespace and the name.
    pub key: ObjectKey,
    /// The UID.
    pub uid: Uid,
}

/// Accepts events without waiting. Clones feed the same [`Writer`].
#[derive(Clone, Debug)]
pub struct Recorder {
    sender: mpsc::Sender<(Regarding, Event)>,
}

/// Writes the events of its [`Recorder`]s.
pub struct Writer {
    receiver: mpsc::Receiver<(Regarding, Event)>,
    client: Client,
    instance: String,
    correlator: Correlator,
}

/// The maximum number of events that wait to be written.
const CAPACITY: usize = 1000;
/// `reportingController`: the name of the built-in controller, for which clients look (EV).
const REPORTER: &str = "job-controller";
/// The number of attempts to write one event.
const ATTEMPTS: u32 = 3;

/// Returns a recorder and its writer. `instance` identifies the process, for example by its host name.
#[must_use]
pub fn channel(client: Client, instance: &str) -> (Recorder, Writer) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    // The API refuses a `reportingInstance` of more than 128 bytes.
    let instance: String = instance.chars().filter(char::is_ascii).take(128).collect();
    (Recorder { sender }, Writer { receiver, client, instance, correlator: Correlator::default() })
}

impl Recorder {
    /// Queues an event. The writer writes it later.
    pub fn record(&self, regarding: &Regarding, event: &Event) {
        if self.sender.try_send((regarding.clone(), event.clone())).is_err() {
            debug!(job = %regarding.key, reason = %event.reason, "event dropped: too many events are waiting");
        }
    }
}

impl Writer {
    /// Writes events until all recorders are dropped.
    pub async fn run(mut self) {
        while let Some((regarding, event)) = self.receiver.recv().await {
            let Some(entry) = self.correlator.correlate(&regarding, &event, Instant::now()) else {
                debug!(job = %regarding.key, reason = %event.reason, "event dropped: too many events of this Job");
                continue;
            };
            let written = self.write(&regarding, &event, entry).await;
            if let Err(failure) = written {
                warn!(job = %regarding.key, reason = %event.reason, %failure, "cannot write an event");
            }
        }
    }

    async fn write(&mut self, regarding: &Regarding, event: &Event, entry: Entry) -> Result<(), Failure> {
        let api: Api<ApiEvent> = Api::namespaced(self.client.clone(), &regarding.key.namespace);
        if let Some((stored, count)) = entry.series {
            let series = EventSeries { count, last_observed_time: MicroTime(Timestamp::now()) };
            // The API server refuses any other change of an Event.
            let patch = Patch::Merge(json!({"series": series}));
            let params = PatchParams::default();
            let name = name(regarding, stored);
            match with_retries(|| api.patch(&name, &params, &patch)).await {
                // Events are deleted after an hour, by default.
                Err(Failure::NotFound(_)) => {}
                other => return other.map(drop),
            }
        }
        let now = Timestamp::now();
        let new = self.new_event(regarding, event, &entry.note, now);
        let params = PostParams::default();
        with_retries(|| api.create(&params, &new)).await?;
        self.correlator.set_stored(regarding, entry.key, now);
        Ok(())
    }

    fn new_event(&self, regarding: &Regarding, event: &Event, note: &str, now: Timestamp) -> ApiEvent {
        ApiEvent {
            metadata: ObjectMeta {
                name: Some(name(regarding, now)),
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

/// The name of an event that is first written at this time.
fn name(regarding: &Regarding, at: Timestamp) -> String {
    format!("{}.{:x}", regarding.key.name, at.as_nanosecond())
}

/// Repeats a call after an unknown outcome or a 429. This is safe: the API server refuses a second event with one name.
async fn with_retries<T, F, Fut>(call: F) -> Result<T, Failure>
where
    F: Fn() -> Fut,
    Fut: Future<Output = kube::Result<T>>,
{
    let mut attempt = 1;
    loop {
        let failure = match call().await {
            Ok(done) => return Ok(done),
            Err(error) => of_kube(&error),
        };
        let worth_trying = matches!(failure, Failure::Ambiguous(_) | Failure::Throttled(_));
        if !worth_trying || attempt == ATTEMPTS {
            return Err(failure);
        }
        sleep(Duration::from_secs(u64::from(attempt))).await;
        attempt += 1;
    }
}

/// The recent events of each Job.
///
/// It keeps digests and numbers instead of texts: a busy controller has events of thousands of Jobs in here.
#[derive(Debug, Default)]
struct Correlator {
    jobs: BTreeMap<Uid, JobEvents>,
    /// The Jobs in the order of their first event. The oldest one is dropped first.
    order: VecDeque<Uid>,
    digests: RandomState,
}

#[derive(Debug)]
struct JobEvents {
    bucket: TokenBucket,
    written: Vec<WrittenEvent>,
}

/// Digests of type and reason, and of these with the message. The combined event of a reason has no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EventKey {
    reason: u64,
    message: Option<u64>,
}

#[derive(Debug)]
struct WrittenEvent {
    key: EventKey,
    /// The time in the name of the first event of the series, which is stored.
    stored: Option<Timestamp>,
    count: i32,
    at: Instant,
}

/// The form in which an event is written.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    key: EventKey,
    note: String,
    /// The time in the name of the first event of the series, and the new count; none for a new event.
    series: Option<(Timestamp, i32)>,
}

/// The maximum number of Jobs with recent events.
const JOBS: usize = 4096;
/// The number of events of one Job at once.
const BURST: u32 = 25;
/// The rate of further events of one Job, per second.
const REFILL: f64 = 1.0 / 300.0;
/// The number of different messages of one reason before further ones are combined.
const DIFFERENT: usize = 10;
/// The time for which an event is recent.
const RECENT: Duration = Duration::from_secs(600);
/// The maximum length of `note`, in bytes.
const NOTE_MAX: usize = 1024;

impl Correlator {
    /// Returns the form of an event; none if the Job has too many events.
    fn correlate(&mut self, regarding: &Regarding, event: &Event, now: Instant) -> Option<Entry> {
        let reason = self.digests.hash_one((event.warning, &event.reason));
        let exact = EventKey { reason, message: Some(self.digests.hash_one(&event.message)) };
        let JobEvents { bucket, written } = self.events_of(&regarding.uid);
        written.retain(|written| now.saturating_duration_since(written.at) < RECENT);
        bucket.take(now).ok()?;
        let similar = written.iter().filter(|written| written.key.reason == reason).count();
        let combine = similar >= DIFFERENT && !written.iter().any(|written| written.key == exact);
        let key = if combine { EventKey { message: None, ..exact } } else { exact };
        let note = match combine {
            true => cut(&format!("(combined from similar events): {}", event.message)),
            false => cut(&event.message),
        };
        let place = written.iter().position(|written| written.key == key).unwrap_or_else(|| {
            // Most Jobs have few events.
            written.reserve_exact(1);
            written.push(WrittenEvent { key, stored: None, count: 0, at: now });
            written.len() - 1
        });
        let written = &mut written[place];
        written.count = written.count.saturating_add(1);
        written.at = now;
        let count = written.count;
        Some(Entry { key, note, series: written.stored.map(|stored| (stored, count)) })
    }

    fn set_stored(&mut self, regarding: &Regarding, key: EventKey, stored: Timestamp) {
        let events = self.jobs.get_mut(&regarding.uid);
        let written = events.and_then(|events| events.written.iter_mut().find(|it| it.key == key));
        if let Some(written) = written {
            written.stored = Some(stored);
        }
    }

    fn events_of(&mut self, uid: &Uid) -> &mut JobEvents {
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
            .or_insert_with(|| JobEvents { bucket: TokenBucket::new(REFILL, BURST), written: Vec::new() })
    }
}

/// The text, cut to the maximum length between two characters.
fn cut(text: &str) -> String {
    let end = (0..=NOTE_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::testing::{failure, server};

    fn job(name: &str) -> Regarding {
        Regarding { key: ObjectKey::new("ns", name), uid: Uid::new(name) }
    }

    /// Writes the events, and returns method, path, and body of all requests. `codes` are the codes of the first responses.
    async fn written(events: Vec<(Regarding, Event)>, codes: &[u16]) -> Vec<(String, Value)> {
        let codes = codes.to_vec();
        let (client, requests) = server(move |_, number| match codes.get(number - 1) {
            None | Some(200) => (200, json!({"metadata": {"name": "e"}, "eventTime": null})),
            Some(code) => failure(*code),
        });
        let (recorder, writer) = channel(client, "host-a");
        for (regarding, event) in events {
            recorder.record(&regarding, &event);
        }
        drop(recorder);
        writer.run().await;
        let requests = requests.lock().unwrap();
        requests.clone()
    }

    /// EV-07.
    #[tokio::test(start_paused = true)]
    async fn an_event_names_the_job_and_the_controller() {
        let requests = written(vec![(job("sum"), Event::normal("Completed", "Job completed"))], &[]).await;
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].0, "POST /apis/events.k8s.io/v1/namespaces/ns/events");
        let event = &requests[0].1;
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
        let requests =
            written(vec![(job("a"), event.clone()), (job("a"), event.clone()), (job("b"), event)], &[]).await;
        let lines: Vec<&str> = requests.iter().map(|(line, _)| line.split(' ').next().unwrap()).collect();
        assert_eq!(lines, ["POST", "PATCH", "POST"]);
        assert_eq!(requests[1].1["series"]["count"], 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_event_is_created_again() {
        let event = Event::normal("Suspended", "Job suspended");
        let requests = written(vec![(job("a"), event.clone()), (job("a"), event)], &[200, 404]).await;
        let lines: Vec<&str> = requests.iter().map(|(line, _)| line.split(' ').next().unwrap()).collect();
        assert_eq!(lines, ["POST", "PATCH", "POST"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_huge_job_gets_a_bounded_number_of_events() {
        let events = (0..500).map(|pod| (job("huge"), Event::created(&format!("huge-{pod}")))).collect();
        let requests = written(events, &[]).await;
        assert_eq!(requests.len(), 25);
        let notes: Vec<&str> = requests.iter().filter_map(|(_, body)| body["note"].as_str()).collect();
        assert_eq!(notes.len(), DIFFERENT + 1);
        assert_eq!(notes[DIFFERENT], "(combined from similar events): Created pod: huge-10");
        assert_eq!(requests[24].1["series"]["count"], 15);
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

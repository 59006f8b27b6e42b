//! The execution of the plan of a Job over HTTP. The [`Enactment`] decides the order of the calls.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};

use futures_util::{Stream, StreamExt, stream};
use jobcheck_controller::answer::{Answer, Failure};
use jobcheck_controller::job::call::{Call, Written};
use jobcheck_controller::job::command::{Event, Metric, NewPod, Plan};
use jobcheck_controller::job::enactment::{Enactment, Outcome};
use jobcheck_controller::job::observed::CompletionMode;
use jobcheck_controller::job::requests::{self, PodTemplate};
use kube::Client;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::cached::CachedJob;
use super::events::{Recorder, Regarding};
use super::job_sync::now;
use super::metrics::Metrics;
use super::own_writes::OwnWrites;
use super::rest::{self, version};
use super::store::Cached;
use super::turn::{self, Turn};

/// The number of concurrent requests of one batch. It is small, so that a large Job does not delay the requests of other
/// Jobs at the rate limit (KEP-2307, SC-02).
pub const CONCURRENT_REQUESTS: usize = 16;

/// The failure of requests after the stop.
const STOPPING: &str = "the process is stopping, or is not the leader any more";

/// Executes plans.
#[derive(Clone)]
pub struct Enactor {
    /// The client of the requests.
    pub client: Client,
    /// The versions that the caches have to show.
    pub own_writes: Arc<OwnWrites>,
    /// The recorder of events.
    pub recorder: Recorder,
    /// The metrics.
    pub metrics: Metrics,
    /// After its cancellation no command starts.
    pub stop: CancellationToken,
}

/// The execution of one plan.
struct Run<'a> {
    enactor: &'a Enactor,
    job: &'a CachedJob,
    turn: &'a Turn<'a>,
    /// Prepared for the first new pod.
    template: OnceLock<PodTemplate>,
}

impl Enactor {
    /// Executes the plan, or as much of it as its turn admits.
    pub async fn enact(&self, job: &CachedJob, plan: &Plan, turn: &Turn<'_>) -> Outcome {
        let run = Run { enactor: self, job, turn, template: OnceLock::new() };
        plan.events.iter().for_each(|event| run.record(event));
        let facts = &job.facts;
        let mut enactment = Enactment::new(plan, facts.uid.clone(), facts.resource_version.clone());
        while !enactment.is_over() {
            if let Some(why) = run.is_over() {
                enactment.abandon(why);
                break;
            }
            let calls = enactment.take_all();
            let requests: Vec<_> = calls.iter().map(|call| run.make(call)).collect();
            let mut answers = pin!(concurrently(requests));
            for call in &calls {
                let Some(answer) = answers.next().await else { break };
                if let Some(step) = enactment.answered(call, &answer, now()) {
                    step.events.iter().for_each(|event| run.record(event));
                    step.metrics.iter().for_each(|metric| self.count(metric));
                }
            }
        }
        enactment.outcome()
    }

    fn count(&self, metric: &Metric) {
        let mode = |indexed: bool| if indexed { "Indexed" } else { "NonIndexed" };
        let metrics = &self.metrics;
        match metric {
            Metric::JobFinished { indexed, succeeded, reason } => {
                metrics.job_finished(mode(*indexed), *succeeded, reason);
            }
            Metric::PodsFinished { indexed, succeeded, by } => {
                metrics.pods_finished(mode(*indexed), *succeeded, *by);
            }
            Metric::PodCreated { reason, succeeded } => metrics.pods_created(reason.label(), *succeeded, 1),
            Metric::PodFailureHandled { action } => metrics.pod_failures_handled(action, 1),
            Metric::IndexesFinished { succeeded, per_index, by } => {
                metrics.indexes_finished(*succeeded, *per_index, *by);
            }
        }
    }
}

impl Run<'_> {
    /// Makes a call, and records its effects on the caches, the events, and the counters.
    async fn make(&self, call: &Call) -> Answer {
        let answer = self.send(call).await;
        self.expect(call.written(&answer));
        call.event(&answer).iter().for_each(|event| self.record(event));
        call.metric(&answer).iter().for_each(|metric| self.enactor.count(metric));
        answer
    }

    /// The reason for which no more request is sent, if there is one.
    fn is_over(&self) -> Option<Failure> {
        if self.enactor.stop.is_cancelled() {
            return Some(Failure::NotSent(STOPPING.to_owned()));
        }
        self.turn.is_over().then(turn::left_over)
    }

    async fn send(&self, call: &Call) -> Answer {
        // The rest of a batch may still be waiting when the process stops or loses the lease, or when the turn ends.
        self.turn.admits();
        if let Some(why) = self.is_over() {
            return Err(why);
        }
        let facts = &self.job.facts;
        let request = requests::request(call, facts, |pod| self.pod(pod));
        rest::ask(&self.enactor.client, &facts.namespace, &request).await
    }

    fn pod(&self, pod: &NewPod) -> Value {
        let facts = &self.job.facts;
        let indexed = facts.spec.completion_mode == CompletionMode::Indexed;
        self.template.get_or_init(|| PodTemplate::new(facts, &self.job.template, indexed)).pod(pod)
    }

    fn expect(&self, written: Option<Written>) {
        let (own_writes, key, uid) = (&self.enactor.own_writes, self.job.key(), &self.job.facts.uid);
        match written {
            Some(Written::Job(stored)) => own_writes.wrote_job(key, uid, version(&stored)),
            Some(Written::Pod(stored)) => own_writes.wrote_pod(key, uid, version(&stored)),
            Some(Written::Unknown) => own_writes.outcome_unknown(key, uid),
            None => {}
        }
    }

    fn record(&self, event: &Event) {
        let regarding = Regarding { key: self.job.key().clone(), uid: self.job.facts.uid.clone() };
        self.enactor.recorder.record(&regarding, event);
    }
}

/// Sends independent requests concurrently. The responses are in the order of the requests.
fn concurrently<F: Future>(requests: Vec<F>) -> impl Stream<Item = F::Output> {
    stream::iter(requests).buffered(CONCURRENT_REQUESTS)
}

#[cfg(test)]
mod tests;

//! Carries out the plan for a Job: in its order, and no further than its first failure allows.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use kube::{Client, ResourceExt};
use tokio_util::sync::CancellationToken;

use super::answer::Failure;
use super::events::{Recorder, Regarding};
use super::job_sync::now;
use super::kept::KeptJob;
use super::metrics::Metrics;
use super::own_writes::OwnWrites;
use super::rest::{self, Written};
use super::store::Kept;
use crate::job::command::{
    Command, Creation, Event, Metric, Plan, PodRef, Release, StatusWrite, Step, policy_action_label,
};
use crate::job::creation::batches;
use crate::job::observed::{CompletionMode, Memory};
use crate::job::requests::{self, PodTemplate};
use crate::values::ResourceVersion;

/// Requests of one batch that are on their way at a time. Few enough that a huge Job does not fill the queue before the
/// rate limit for all others (KEP-2307, SC-02).
pub const AT_A_TIME: usize = 16;

/// Why requests are not sent at the end.
const STOPPING: &str = "the process is stopping, or no longer leads";

/// What carrying out needs, apart from the plan.
#[derive(Clone)]
pub struct Enactor {
    /// Where requests go.
    pub client: Client,
    /// Which versions the caches have to show.
    pub own_writes: Arc<OwnWrites>,
    /// Where events go.
    pub recorder: Recorder,
    /// Metrics.
    pub metrics: Metrics,
    /// No command begins after this.
    pub stop: CancellationToken,
}

/// What became of a plan.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// What to remember.
    pub memory: Memory,
    /// The failures, in their order. None: everything was done, or a pod turned out to be gone.
    pub failures: Vec<Failure>,
}

/// What became of a command.
#[derive(Debug, PartialEq, Eq)]
enum Done {
    /// All of it succeeded.
    Whole,
    /// A pod was gone: no error, and the caches will show the rest.
    Gone,
    Failed(Failure),
}

/// One plan being carried out.
struct Run<'a> {
    enactor: &'a Enactor,
    job: &'a KeptJob,
    memory: Mutex<Memory>,
    /// The version that the next status write expects.
    version: ResourceVersion,
}

impl Enactor {
    /// Carries out the plan.
    pub async fn enact(&self, job: &KeptJob, plan: &Plan) -> Outcome {
        self.tell(job, &plan.events);
        let mut run = Run {
            enactor: self,
            job,
            memory: Mutex::new(plan.memory.clone()),
            version: job.facts.resource_version.clone(),
        };
        let mut failures = Vec::new();
        'plan: for sequence in &plan.sequences {
            for step in sequence {
                if self.stop.is_cancelled() {
                    failures.push(Failure::NotSent(STOPPING.to_owned()));
                    break 'plan;
                }
                match run.step(step).await {
                    Done::Whole => {}
                    Done::Gone => break,
                    Done::Failed(failure) => {
                        failures.push(failure);
                        if step.command.ends_plan() {
                            break 'plan;
                        }
                        break;
                    }
                }
            }
        }
        let memory = run.memory.into_inner().unwrap_or_else(PoisonError::into_inner);
        Outcome { memory, failures }
    }

    fn tell(&self, job: &KeptJob, events: &[Event]) {
        let regarding = Regarding { key: job.key().clone(), uid: job.facts.uid.clone() };
        events.iter().for_each(|event| self.recorder.record(&regarding, event));
    }

    fn count(&self, metric: &Metric) {
        let mode = |indexed: bool| if indexed { "Indexed" } else { "NonIndexed" };
        match metric {
            Metric::JobFinished { indexed, succeeded, reason } => {
                self.metrics.job_finished(mode(*indexed), *succeeded, reason);
            }
            Metric::PodsFinished { indexed, succeeded, by } => {
                self.metrics.pods_finished(mode(*indexed), *succeeded, *by);
            }
            Metric::IndexesFinished { succeeded, per_index, by } => {
                self.metrics.indexes_finished(*succeeded, *per_index, *by);
            }
        }
    }
}

impl Run<'_> {
    async fn step(&mut self, step: &Step) -> Done {
        let done = match &step.command {
            Command::WriteStatus(write) => self.write_status(write).await,
            Command::ReleasePods(pods) => self.release(pods).await,
            Command::CreatePods(creation) => self.create(creation).await,
            Command::DeletePods(pods) => self.delete(pods).await,
            Command::AdoptPods(pods) => self.adopt(pods).await,
            Command::GiveUpPods(pods) => self.give_up(pods).await,
        };
        if done == Done::Whole {
            self.enactor.tell(self.job, &step.events);
            step.metrics.iter().for_each(|metric| self.enactor.count(metric));
        }
        done
    }

    async fn write_status(&mut self, write: &StatusWrite) -> Done {
        let path = format!("{}/status", rest::job(self.job.key()));
        let body = requests::status_patch(write, &self.job.facts.uid, &self.version);
        match self.certain(rest::patch(&self.enactor.client, &path, &body).await) {
            Ok(written) => {
                self.version = ResourceVersion::new(&written.metadata.resource_version);
                self.enactor.own_writes.wrote_job(self.job.key(), &self.job.facts.uid, written.version());
                Done::Whole
            }
            Err(failure) => Done::Failed(failure),
        }
    }

    async fn release(&self, pods: &[Release]) -> Done {
        let each: Vec<_> = pods
            .iter()
            .map(|release| async move {
                let path = self.path(&release.pod);
                let body = requests::release_patch(&release.pod.uid);
                let answer = self.pod_write(rest::patch(&self.enactor.client, &path, &body)).await;
                if matches!(answer, Ok(_) | Err(Failure::NotFound(_))) {
                    self.remember(|memory| memory.released.insert(release.pod.uid.clone()));
                }
                if answer.is_ok()
                    && let Some(action) = release.policy_action.and_then(policy_action_label)
                {
                    self.enactor.metrics.pod_failures_handled(action, 1);
                }
                answer
            })
            .collect();
        gone_is_no_error(together(each).await)
    }

    async fn create(&self, creation: &Creation) -> Done {
        let facts = &self.job.facts;
        let indexed = facts.spec.completion_mode == CompletionMode::Indexed;
        let template = PodTemplate::new(facts, &self.job.template, indexed);
        let path = rest::pods(&facts.namespace);
        let mut rest_of = creation.pods.as_slice();
        for size in batches(creation.pods.len()) {
            let (batch, later) = rest_of.split_at(size);
            rest_of = later;
            let (template, path) = (&template, &path);
            let each: Vec<_> = batch
                .iter()
                .map(|pod| async move {
                    let body = template.pod(pod);
                    let answer = self.pod_write(rest::create(&self.enactor.client, path, &body)).await;
                    if matches!(answer, Err(Failure::NamespaceTerminating(_))) {
                        self.remember(|memory| memory.refused = Some(now()));
                    }
                    self.report_creation(creation, &answer);
                    answer
                })
                .collect();
            // PC-11: after a failure the rest is left out.
            if let Some(failure) = first_failure(together(each).await) {
                return Done::Failed(failure);
            }
        }
        Done::Whole
    }

    fn report_creation(&self, creation: &Creation, answer: &Result<Written, Failure>) {
        self.enactor.metrics.pods_created(creation.reason.label(), answer.is_ok(), 1);
        let event = match answer {
            Ok(written) => Event::created(&written.metadata.name),
            // PC-12.
            Err(Failure::NamespaceTerminating(_) | Failure::NotSent(_)) => return,
            Err(failure) => Event::create_failed(&told(failure)),
        };
        self.enactor.tell(self.job, &[event]);
    }

    async fn delete(&self, pods: &[PodRef]) -> Done {
        let each: Vec<_> = pods
            .iter()
            .map(|pod| async move {
                let (path, options) = (self.path(pod), requests::pod_deletion(&pod.uid));
                let answer = self.pod_write(rest::delete(&self.enactor.client, &path, &options)).await;
                if matches!(answer, Ok(_) | Err(Failure::NotFound(_))) {
                    self.remember(|memory| memory.deleted.insert(pod.uid.clone()));
                }
                match &answer {
                    Ok(_) => self.enactor.tell(self.job, &[Event::deleted(&pod.name)]),
                    Err(Failure::NotFound(_) | Failure::NotSent(_)) => {}
                    Err(failure) => self.enactor.tell(self.job, &[Event::delete_failed(&told(failure))]),
                }
                answer
            })
            .collect();
        gone_is_no_error(together(each).await)
    }

    /// FT-24.
    async fn adopt(&self, pods: &[PodRef]) -> Done {
        let fresh = match rest::get_job(&self.enactor.client, self.job.key()).await {
            Ok(fresh) => fresh,
            Err(failure) => return Done::Failed(failure),
        };
        let is_same = fresh.is_some_and(|fresh| {
            let uid = fresh.uid();
            uid.as_deref() == Some(self.job.facts.uid.as_str()) && fresh.metadata.deletion_timestamp.is_none()
        });
        if !is_same {
            return Done::Failed(Failure::Conflict("the Job is gone, or is being deleted".to_owned()));
        }
        let each: Vec<_> = pods
            .iter()
            .map(|pod| async move {
                let body = requests::adoption_patch(pod, &self.job.facts);
                self.pod_write(rest::patch(&self.enactor.client, &self.path(pod), &body)).await
            })
            .collect();
        first_failure(together(each).await).map_or(Done::Whole, Done::Failed)
    }

    /// FT-26.
    async fn give_up(&self, pods: &[PodRef]) -> Done {
        let each: Vec<_> = pods
            .iter()
            .map(|pod| async move {
                let body = requests::give_up_patch(&pod.uid, &self.job.facts.uid);
                match self.pod_write(rest::patch(&self.enactor.client, &self.path(pod), &body)).await {
                    Err(Failure::NotFound(_) | Failure::Refused { code: 422, .. }) => Ok(Written::default()),
                    answer => answer,
                }
            })
            .collect();
        first_failure(together(each).await).map_or(Done::Whole, Done::Failed)
    }

    /// Keeps the version of a write of a pod.
    async fn pod_write(
        &self,
        call: impl Future<Output = Result<Written, Failure>>,
    ) -> Result<Written, Failure> {
        // The rest of a batch may still wait for its turn when the process stops, or the lease is lost.
        if self.enactor.stop.is_cancelled() {
            return Err(Failure::NotSent(STOPPING.to_owned()));
        }
        let written = self.certain(call.await)?;
        self.enactor.own_writes.wrote_pod(self.job.key(), &self.job.facts.uid, written.version());
        Ok(written)
    }

    /// After an answer that is none the caches are in doubt.
    fn certain(&self, answer: Result<Written, Failure>) -> Result<Written, Failure> {
        if answer.as_ref().is_err_and(Failure::is_ambiguous) {
            self.enactor.own_writes.doubt(self.job.key(), &self.job.facts.uid);
        }
        answer
    }

    fn path(&self, pod: &PodRef) -> String {
        rest::pod(&self.job.facts.namespace, &pod.name)
    }

    fn remember<R>(&self, change: impl FnOnce(&mut Memory) -> R) -> R {
        change(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sends requests that do not depend on each other; the answers in the order of the requests.
async fn together<F: Future>(requests: Vec<F>) -> Vec<F::Output> {
    stream::iter(requests).buffered(AT_A_TIME).collect().await
}

fn first_failure(answers: Vec<Result<Written, Failure>>) -> Option<Failure> {
    answers.into_iter().find_map(Result::err)
}

fn gone_is_no_error(answers: Vec<Result<Written, Failure>>) -> Done {
    let (mut gone, mut failed) = (false, None);
    for answer in answers {
        match answer {
            Ok(_) => {}
            Err(Failure::NotFound(_)) => gone = true,
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    match (failed, gone) {
        (Some(failure), _) => Done::Failed(failure),
        (None, true) => Done::Gone,
        (None, false) => Done::Whole,
    }
}

/// The API server's own message, as upstream puts it into events.
fn told(failure: &Failure) -> String {
    match failure {
        Failure::NotFound(message)
        | Failure::Conflict(message)
        | Failure::AlreadyExists(message)
        | Failure::NamespaceTerminating(message)
        | Failure::Expired(message)
        | Failure::Refused { message, .. }
        | Failure::Throttled(message)
        | Failure::NotSent(message)
        | Failure::Ambiguous(message) => message.clone(),
    }
}

#[cfg(test)]
mod tests;

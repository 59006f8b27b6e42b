//! From the commands of a plan to requests, one after the other, and what answers do to the rest.

use std::collections::VecDeque;
use std::sync::Arc;

use jobcheck_apiserver::request::{
    DeleteOptions, PatchKind, Preconditions, Request, Response, Subresource, Verb,
};
use jobcheck_apiserver::resource::Resource;
use jobcheck_controller::job::command::{Command, Plan, PodRef, Step};
use jobcheck_controller::job::creation::batches;
use jobcheck_controller::job::observed::{JobFacts, Memory};
use jobcheck_controller::job::requests::{
    PodTemplate, adoption_patch, give_up_patch, release_patch, status_patch,
};
use jobcheck_controller::runtime::answer::Failure;
use jobcheck_controller::values::{ResourceVersion, Time, Uid};
use serde_json::Value;

use crate::cluster::NAMESPACE;

/// A request of a sync, and what it is for.
#[derive(Clone, Debug)]
pub struct Call {
    /// The request.
    pub request: Request,
    /// What it is for.
    pub what: What,
}

/// What a request of a sync is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// PATCH of the status.
    Status,
    /// PATCH that removes the tracking finalizer of a pod.
    Release(Uid),
    /// POST of a pod.
    Create,
    /// DELETE of a pod.
    Delete(Uid),
    /// GET of the Job before pods are adopted (FT-24).
    Look,
    /// PATCH that adopts a pod.
    Adopt,
    /// PATCH that gives a pod up.
    GiveUp,
}

/// What an answer comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Good,
    Gone,
    Bad,
}

/// A plan that is being enacted.
#[derive(Clone, Debug)]
pub struct Enactment {
    /// The Job that it was made for.
    pub job: JobFacts,
    template: Arc<PodTemplate>,
    version: ResourceVersion,
    sequences: VecDeque<VecDeque<Step>>,
    /// Batches of the step under way.
    batches: VecDeque<Vec<Call>>,
    /// Calls of the batch under way that were not made yet.
    open: Vec<Call>,
    /// Whether a call of the step under way went wrong, so that nothing of its sequence follows.
    stuck: bool,
    /// Whether a call has failed, so that the Job is to be synced again.
    failed: bool,
}

impl Enactment {
    /// Of a plan for this Job, which has this template.
    #[must_use]
    pub fn new(job: JobFacts, template: Arc<PodTemplate>, plan: &Plan) -> Enactment {
        Enactment {
            version: job.resource_version.clone(),
            template,
            sequences: plan.sequences.iter().map(|steps| steps.iter().cloned().collect()).collect(),
            batches: VecDeque::new(),
            open: Vec::new(),
            stuck: false,
            failed: false,
            job,
        }
    }

    /// Whether a call has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// The calls of which any may be made next; none once all is done.
    pub fn open(&mut self) -> &[Call] {
        while self.open.is_empty() {
            if let Some(batch) = self.batches.pop_front() {
                self.open = batch;
                continue;
            }
            if std::mem::take(&mut self.stuck)
                && let Some(sequence) = self.sequences.front_mut()
            {
                sequence.clear();
            }
            match self.sequences.front_mut().map(VecDeque::pop_front) {
                None => break,
                Some(None) => drop(self.sequences.pop_front()),
                Some(Some(step)) => self.batches = self.calls(&step.command),
            }
        }
        &self.open
    }

    /// Makes the call of this number.
    pub fn take(&mut self, number: usize) -> Option<Call> {
        (number < self.open.len()).then(|| self.open.remove(number))
    }

    /// What came of a call, if the answer came.
    pub fn answered(&mut self, call: &Call, response: Option<&Response>, memory: &mut Memory, now: Time) {
        let answer = self.answer(call, response, memory, now);
        if answer == Answer::Good {
            return;
        }
        self.stuck = true;
        self.failed |= answer == Answer::Bad;
        match call.what {
            // The rest was decided as if this succeeds (`Command::ends_plan`).
            What::Status | What::Look | What::Adopt | What::GiveUp => {
                self.sequences.clear();
                self.batches.clear();
            }
            // PC-11: no batch follows one with a failure.
            What::Create => self.batches.clear(),
            What::Release(_) | What::Delete(_) => {}
        }
    }

    fn answer(&mut self, call: &Call, response: Option<&Response>, memory: &mut Memory, now: Time) -> Answer {
        let Some(response) = response else { return Answer::Bad };
        let code = response.code();
        let good = (200..300).contains(&code);
        match &call.what {
            What::Release(uid) if good || code == 404 => drop(memory.released.insert(uid.clone())),
            What::Delete(uid) if good || code == 404 => drop(memory.deleted.insert(uid.clone())),
            What::Status if good => {
                if let Some(version) = stored_version(response) {
                    self.version = ResourceVersion::new(&version.to_string());
                }
            }
            What::Look if good && !self.is_the_job(response) => return Answer::Bad,
            What::Create if namespace_goes(response) => {
                memory.refused = Some(now);
                return Answer::Bad;
            }
            What::GiveUp if matches!(code, 404 | 422) => return Answer::Good,
            _ => {}
        }
        match (&call.what, code) {
            _ if good => Answer::Good,
            (What::Release(_) | What::Delete(_), 404) => Answer::Gone,
            _ => Answer::Bad,
        }
    }

    /// FT-24: the same Job, which is not being deleted.
    fn is_the_job(&self, response: &Response) -> bool {
        let job = response.clone().object().ok();
        job.is_some_and(|job| {
            let metadata = &job["metadata"];
            metadata["uid"] == self.job.uid.as_str() && metadata["deletionTimestamp"].is_null()
        })
    }

    fn calls(&self, command: &Command) -> VecDeque<Vec<Call>> {
        let job = &self.job;
        let one = |call: Call| VecDeque::from([vec![call]]);
        let all = |calls: Vec<Call>| VecDeque::from([calls]);
        match command {
            Command::WriteStatus(write) => {
                let body = status_patch(write, &job.uid, &self.version);
                let request = patch(Resource::Jobs, &job.name, body).on(Subresource::Status);
                one(Call { request, what: What::Status })
            }
            Command::ReleasePods(pods) => all(pods
                .iter()
                .map(|it| pod_call(&it.pod, release_patch(&it.pod.uid), What::Release(it.pod.uid.clone())))
                .collect()),
            Command::CreatePods(creation) => {
                let mut pods = creation.pods.iter();
                let batch = |size| {
                    pods.by_ref().take(size).map(|pod| self.creation(self.template.pod(pod))).collect()
                };
                batches(creation.pods.len()).map(batch).collect()
            }
            Command::DeletePods(pods) => all(pods.iter().map(deletion).collect()),
            Command::AdoptPods(pods) => {
                let get = Verb::Get { resource_version: None };
                let request = Request::new(Resource::Jobs, Some(NAMESPACE), Some(&job.name), get);
                let look = Call { request, what: What::Look };
                let adopt = pods.iter().map(|pod| pod_call(pod, adoption_patch(pod, job), What::Adopt));
                VecDeque::from([vec![look], adopt.collect()])
            }
            Command::GiveUpPods(pods) => all(pods
                .iter()
                .map(|pod| pod_call(pod, give_up_patch(&pod.uid, &job.uid), What::GiveUp))
                .collect()),
        }
    }

    fn creation(&self, pod: Value) -> Call {
        let request = Request::new(Resource::Pods, Some(NAMESPACE), None, Verb::Create(pod));
        Call { request, what: What::Create }
    }
}

fn patch(resource: Resource, name: &str, body: Value) -> Request {
    let verb = Verb::Patch { kind: PatchKind::Strategic, body };
    Request::new(resource, Some(NAMESPACE), Some(name), verb)
}

fn pod_call(pod: &PodRef, body: Value, what: What) -> Call {
    Call { request: patch(Resource::Pods, &pod.name, body), what }
}

fn deletion(pod: &PodRef) -> Call {
    Call { request: delete(pod, None), what: What::Delete(pod.uid.clone()) }
}

/// DELETE of a pod by the orphan path, if it is as it was seen.
#[must_use]
pub fn orphan_deletion(pod: &PodRef) -> Request {
    delete(pod, Some(pod.resource_version.as_str().to_owned()))
}

fn delete(pod: &PodRef, resource_version: Option<String>) -> Request {
    let uid = Some(pod.uid.as_str().to_owned());
    let preconditions = Some(Preconditions { uid, resource_version });
    let verb = Verb::Delete(DeleteOptions { preconditions, ..DeleteOptions::default() });
    Request::new(Resource::Pods, Some(NAMESPACE), Some(&pod.name), verb)
}

/// PATCH of a pod.
#[must_use]
pub fn pod_patch(pod: &PodRef, body: Value) -> Request {
    patch(Resource::Pods, &pod.name, body)
}

/// PC-12, as the shipped runtime reads it.
fn namespace_goes(response: &Response) -> bool {
    let status =
        response.outcome.as_ref().err().and_then(|error| serde_json::from_value(error.status()).ok());
    status.is_some_and(|status| matches!(Failure::from_status(&status), Failure::NamespaceTerminating(_)))
}

/// `metadata.resourceVersion` of the object in an answer.
#[must_use]
pub fn stored_version(response: &Response) -> Option<u64> {
    let object = response.clone().object().ok()?;
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

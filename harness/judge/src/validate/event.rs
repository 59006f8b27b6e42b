//! What a trace says, brought to one shape: a request with its effect on one object, or a mark.
//!
//! Audit logs, watch streams and native traces differ in what they show; from here on they do not, except
//! that some facts are absent.

use std::sync::Arc;

use jobcheck_spec::guards::ttl::JobDeletion;
use jobcheck_spec::job::{Job, JobSpec, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Form, Interval, Place, Resource, Verb};

use super::actor::ActorId;
use super::observed::Observer;
use jobcheck_projection::{Metadata, PodBirth, PodObject};

/// One thing that happened.
#[derive(Debug)]
pub struct Event {
    /// Its number in the order of judgement.
    pub order: u64,
    /// Whether it was read after later ones had been put in order.
    pub late: bool,
    /// Whether its sender never heard the answer, so that only its caches tell it what came of the request.
    pub unheard: bool,
    /// Whether a fault refused it, as the trace says, so that its answer says nothing of the API server.
    pub injected: bool,
    /// Whether its sender may have been replaced while it was under way: the actor was silent for a second or more
    /// then, and sent other requests before this one was answered.
    pub overlapped: bool,
    /// Whether its sender was dead when it was handled: what it was decided from is as old as its receipt.
    pub posthumous: bool,
    /// Which of the controllers sent it whose caches the trace tells of.
    pub observer: Option<Observer>,
    /// Where the trace says so.
    pub place: Place,
    /// The form of that file.
    pub form: Form,
    /// When the API server worked on it.
    pub when: Option<Interval>,
    /// Who asked for it; a watch does not tell.
    pub actor: Option<ActorId>,
    /// The verb; a watch tells a deletion only.
    pub verb: Option<Verb>,
    /// Whether it was about the `status` subresource.
    pub is_status: bool,
    /// HTTP status; 200 in a watch.
    pub code: u16,
    /// `metadata.resourceVersion` that the write produced.
    pub version: Option<u64>,
    /// `metadata.resourceVersion` of an accepted request's answer, whether the write produced it or not.
    pub answered: Option<u64>,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// Whether a watch shows the object a second time from its beginning: it was interrupted before.
    pub relisted: bool,
    /// What happened to which object.
    pub body: Body,
}

/// The object of an [`Event`].
#[derive(Debug)]
pub enum Body {
    /// A Job.
    Job(Box<JobEvent>),
    /// A Pod.
    Pod(Box<PodEvent>),
    /// Pods that a deletecollection removed, as they were before.
    PodCollection(Vec<PodObject>),
    /// Jobs that a deletecollection removed, as they were before.
    JobCollection(Vec<Job>),
    /// A pod, known by its name alone, was evicted.
    Evicted,
    /// A pod, known by its name alone, was bound to a node.
    Bound,
    /// Something that the trace does not show happened here.
    Gap(String),
    /// A controller was restarted, or leadership changed: its memory is empty.
    Restart,
    /// The Job controller lists Jobs, pods, or both: what came and went since its watch broke it never sees.
    Relist(Option<Resource>),
}

impl Body {
    /// Whether the object is gone with it.
    pub fn is_gone(&self) -> bool {
        match self {
            Body::Job(job) => job.gone,
            Body::Pod(pod) => pod.gone,
            Body::PodCollection(_)
            | Body::JobCollection(_)
            | Body::Evicted
            | Body::Bound
            | Body::Gap(_)
            | Body::Restart
            | Body::Relist(_) => false,
        }
    }
}

/// A request on a Job.
#[derive(Debug)]
pub struct JobEvent {
    /// Its UID, where the trace shows it.
    pub uid: Option<Uid>,
    /// The Job after the request, or its last state where it is gone.
    pub after: Option<Arc<Job>>,
    /// Metadata after the request, where the answer held no more.
    pub metadata: Option<Metadata>,
    /// Whether the Job is gone.
    pub gone: bool,
    /// `metadata.resourceVersion` of the request: what it was computed from.
    pub base: Option<u64>,
    /// What a refused request asked for.
    pub attempted: Option<Box<Job>>,
    /// What a DELETE asked for.
    pub deletion: Option<JobDeletion>,
    /// Whether the trace's level hides the answer.
    pub hidden: bool,
    /// The refusal's message.
    pub message: Option<String>,
}

/// A request on a Pod.
#[derive(Debug)]
pub struct PodEvent {
    /// Its UID, where the trace shows it.
    pub uid: Option<Uid>,
    /// The pod after the request, or its last state where it is gone.
    pub after: Option<PodObject>,
    /// Metadata after the request, where the answer held no more.
    pub metadata: Option<Metadata>,
    /// The pod that a refused creation asked for.
    pub attempted: Option<Box<Pod>>,
    /// What its creator wrote, of a creation.
    pub birth: Option<Box<PodBirth>>,
    /// Whether the pod is gone.
    pub gone: bool,
    /// Whether a PATCH speaks of owners, where the trace shows its body.
    pub names_owner: Option<bool>,
    /// Whether it speaks of finalizers.
    pub names_finalizers: Option<bool>,
    /// Whether the trace's level hides the answer.
    pub hidden: bool,
    /// The refusal's message.
    pub message: Option<String>,
}

impl JobEvent {
    /// An answer that tells nothing of the Job.
    #[must_use]
    pub fn nothing() -> JobEvent {
        JobEvent {
            uid: None,
            after: None,
            metadata: None,
            gone: false,
            base: None,
            attempted: None,
            deletion: None,
            hidden: false,
            message: None,
        }
    }

    /// A new state of a Job.
    #[must_use]
    pub fn state(after: Arc<Job>) -> JobEvent {
        JobEvent { uid: Some(after.uid), after: Some(after), ..JobEvent::nothing() }
    }
}

impl Event {
    /// Whether the API server accepted it.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether both are about objects of one resource and name.
    pub fn is_of_the_object_of(&self, other: &Event) -> bool {
        let is_of_its_resource =
            matches!((&self.body, &other.body), (Body::Job(_), Body::Job(_)) | (Body::Pod(_), Body::Pod(_)));
        self.name == other.name && is_of_its_resource
    }

    /// The latest instant at which it was made, in whole seconds.
    #[must_use]
    pub fn latest(&self) -> Option<Time> {
        self.when.map(|when| Time(when.done.div_euclid(1_000_000)))
    }
}

/// The specifications of living Jobs, which pods are judged by.
pub type Specs = rustc_hash::FxHashMap<Uid, Arc<JobSpec>>;

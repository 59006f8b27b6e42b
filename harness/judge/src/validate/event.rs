//! Events: the records of a trace in one form, each with its effect on one object.
//!
//! Audit logs, watch streams, and native traces show different facts. An event has the same fields for all three, and a
//! fact that the form does not show is absent.

use std::sync::Arc;

use jobcheck_spec::birth::Birth;
use jobcheck_spec::guards::ttl::JobDeletion;
use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::{Form, Interval, Place, Resource, Verb};

use super::actor::ActorId;
use super::clocks::CLOCKS_DIFFER;
use super::delivery::{Delivery, Response, Sender};
use super::status_patch::StatusPatch;
use jobcheck_projection::{JobObject, Metadata, PodObject};

/// The HTTP status of a write that lost against another one, since it was made on an old version.
pub const CONFLICT: u16 = 409;
/// The status of a request about an object that does not exist.
pub const NOT_FOUND: u16 = 404;
/// The HTTP statuses from this one on leave open if a write was stored.
pub const SERVER_ERROR: u16 = 500;

/// A request, a watch event, or a mark.
#[derive(Debug)]
pub struct Event {
    /// Position in the order of judgement.
    pub order: u64,
    /// Its place among the other events of the input.
    pub arrival: Arrival,
    /// The agreement between sender and server.
    pub delivery: Delivery,
    /// The place in the inputs.
    pub place: Place,
    /// The form of the file.
    pub form: Form,
    /// The time during which the API server handled the request.
    pub when: Option<Interval>,
    /// The sender; a watch does not show it.
    pub actor: Option<ActorId>,
    /// The verb; in a watch, `delete` or none.
    pub verb: Option<Verb>,
    /// The request concerned the `status` subresource.
    pub is_status: bool,
    /// HTTP status; 200 in a watch.
    pub code: u16,
    /// The `metadata.resourceVersion` that the write produced.
    pub version: Option<u64>,
    /// The `metadata.resourceVersion` in the response to an accepted request, which the write need not have produced.
    pub answered: Option<u64>,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// The object, and the effect on it.
    pub body: Body,
}

/// The place of an event among the other events of the input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// It was read after later events had been put in order.
    pub late: bool,
    /// A list shows the object. The watch was interrupted after the first of these versions, and until the second one at least.
    pub interrupted: Option<(u64, u64)>,
    /// A watch shows the object as new, perhaps in a list. This is the version before the list.
    pub listed_after: Option<u64>,
    /// Its stream has shown a later version before, so that it is part of a list.
    pub is_listed: bool,
    /// The time at which a watch showed it, in microseconds.
    pub shown_at: Option<i64>,
    /// Another write of the object came so soon behind this refused request that it may have been handled before.
    pub has_near_successor: bool,
}

/// The object of an [`Event`].
#[derive(Debug)]
pub enum Body {
    /// A Job.
    Job(Box<JobEvent>),
    /// A pod.
    Pod(Box<PodEvent>),
    /// The pods that a deletecollection removed, in their last state.
    PodCollection(Vec<PodObject>),
    /// The Jobs of a deletecollection, in their last state, with the finalizers that it leaves. It removes those without any.
    JobCollection(Vec<JobObject>),
    /// The eviction of a pod that is known by its name only.
    Evicted,
    /// The binding of a pod that is known by its name only.
    Bound,
    /// Writes may be missing here.
    Gap(Gap),
    /// A deletion of all objects of a namespace, or of some, without their list: the reason why those of the namespace are not known.
    UnseenCollection(Resource, String),
    /// The controller with this name was restarted, or another replica became the leader. Its memory is empty.
    Restart(String),
    /// The Job controller lists Jobs, pods, or both again. It never sees objects that were created and deleted in
    /// between.
    Relist(Option<Resource>),
}

/// Missing writes.
#[derive(Debug)]
pub struct Gap {
    /// The reason.
    pub reason: String,
    /// Objects that were deleted in the gap.
    pub gone: Vec<Uid>,
    /// The version until which a watch was interrupted at least, if a list has revealed the gap.
    pub until: Option<u64>,
}

/// The one object that a [`Body`] is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its UID, if the trace shows it.
    pub uid: Option<Uid>,
    /// The version that the request was computed from.
    pub base: Option<u64>,
    /// It is being deleted after the event.
    pub is_deleting: bool,
    /// It is gone with the event.
    pub is_gone: bool,
}

impl Body {
    /// The object, if there is one.
    pub fn subject(&self) -> Option<Subject> {
        let (uid, base, is_deleting, is_gone) = match self {
            Body::Job(it) => (it.uid, it.base, it.after.as_ref().is_some_and(|job| job.deleting), it.gone),
            Body::Pod(it) => {
                (it.uid, it.base, it.after.as_ref().is_some_and(|pod| pod.pod.deleting), it.gone)
            }
            Body::PodCollection(_)
            | Body::JobCollection(_)
            | Body::Evicted
            | Body::Bound
            | Body::Gap(_)
            | Body::UnseenCollection(..)
            | Body::Restart(_)
            | Body::Relist(_) => return None,
        };
        Some(Subject { uid, base, is_deleting, is_gone })
    }

    /// Returns `true` if the object is gone with this event.
    pub fn is_gone(&self) -> bool {
        self.subject().is_some_and(|subject| subject.is_gone)
    }

    /// The UID of the object, if it is gone with this event.
    pub fn departed(&self) -> Option<Uid> {
        self.subject().filter(|subject| subject.is_gone)?.uid
    }
}

/// Returns `true` for the HTTP statuses with which a request is accepted.
pub fn is_success(code: u16) -> bool {
    (200..300).contains(&code)
}

/// The effect of a request on a Job.
#[derive(Debug)]
pub struct JobEvent {
    /// UID, if the trace shows it.
    pub uid: Option<Uid>,
    /// The Job after the request, or its last state if it is gone.
    pub after: Option<Arc<Job>>,
    /// The metadata after the request, if the response contains nothing else.
    pub metadata: Option<Metadata>,
    /// The Job is gone.
    pub gone: bool,
    /// `metadata.resourceVersion` in the request: the version that it was computed from.
    pub base: Option<u64>,
    /// The Job in a refused request.
    pub attempted: Option<Box<Job>>,
    /// The status that a refused PATCH asks for.
    pub patch: Option<Box<StatusPatch>>,
    /// The request may change metadata: it is no PATCH, or a PATCH that mentions labels, annotations, finalizers or owner
    /// references.
    pub writes_metadata: bool,
    /// The options of a DELETE.
    pub deletion: Option<JobDeletion>,
    /// The audit level hides the response.
    pub hidden: bool,
    /// The message of a refusal.
    pub message: Option<String>,
}

/// The effect of a request on a pod.
#[derive(Debug)]
pub struct PodEvent {
    /// UID, if the trace shows it.
    pub uid: Option<Uid>,
    /// The pod after the request, or its last state if it is gone.
    pub after: Option<PodObject>,
    /// The metadata after the request, if the response contains nothing else.
    pub metadata: Option<Metadata>,
    /// The pod in a refused creation.
    pub attempted: Option<Box<Pod>>,
    /// The same pod as it was stored, if a later record shows that the refusal was none.
    pub stored: Option<Box<Pod>>,
    /// The created pod.
    pub birth: Option<Box<Birth>>,
    /// The pod is gone.
    pub gone: bool,
    /// A PATCH contains owner references; `None` if the trace hides its body.
    pub names_owner: Option<bool>,
    /// A PATCH contains finalizers; `None` if the trace hides its body.
    pub names_finalizers: Option<bool>,
    /// The first field of a PATCH that is neither a finalizer nor an owner reference; of a PUT by a Job controller, the subresource.
    pub other_field: Option<String>,
    /// `metadata.resourceVersion` in a PUT by a Job controller.
    pub base: Option<u64>,
    /// A PATCH removes all finalizers, whoever has set them.
    pub clears_finalizers: bool,
    /// The audit level hides the response.
    pub hidden: bool,
    /// A PATCH lists a finalizer of somebody else.
    pub lists_foreign_finalizer: bool,
    /// The response is hidden, and the request only removes the tracking finalizer.
    pub removes_finalizer: bool,
    /// A DELETE asks for a grace period of 0.
    pub forced: bool,
    /// The message of a refusal.
    pub message: Option<String>,
}

/// The response of an overloaded API server. Clients send the same request again within the sync.
pub(super) const TOO_MANY_REQUESTS: u16 = 429;

/// The upper bound for the time of a request by every clock, in whole seconds. A timer of whole seconds rings within
/// milliseconds, so that any difference would make it early.
pub(super) fn latest(when: Interval) -> Time {
    Time(when.done.saturating_add(CLOCKS_DIFFER).div_euclid(1_000_000))
}

impl JobEvent {
    /// An event that shows nothing of the Job.
    #[must_use]
    pub fn nothing() -> JobEvent {
        JobEvent {
            uid: None,
            after: None,
            metadata: None,
            gone: false,
            base: None,
            attempted: None,
            patch: None,
            writes_metadata: false,
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
    /// Returns `true` if the API server accepted the request.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        is_success(self.code)
    }

    /// Returns `true` for a server error, after which a write may have been committed.
    #[must_use]
    pub fn has_server_error(&self) -> bool {
        self.code >= SERVER_ERROR
    }

    /// Returns `true` for a server error after which the write may have been stored. An injected one was not sent on.
    #[must_use]
    pub fn may_be_stored(&self) -> bool {
        self.has_server_error() && !self.delivery.injected
    }

    /// The newest version of an object in a collection that is deleted. It was listed before.
    #[must_use]
    pub fn listed(&self) -> Option<u64> {
        match &self.body {
            Body::PodCollection(pods) => pods.iter().filter_map(|pod| pod.metadata.resource_version).max(),
            Body::JobCollection(jobs) => jobs.iter().filter_map(|job| job.metadata.resource_version).max(),
            _ => None,
        }
    }

    /// Returns `true` if the request may come from another process, or another time, than its place shows.
    #[must_use]
    pub fn is_displaced(&self) -> bool {
        self.is_posthumous() || self.may_be_late() || self.arrival.late
    }

    /// Returns `true` for a response after which the client may wait, and send the request again.
    #[must_use]
    pub fn may_be_sent_again(&self) -> bool {
        self.code == TOO_MANY_REQUESTS || self.has_server_error()
    }

    /// Returns `true` if the sender got no response.
    #[must_use]
    pub fn is_unheard(&self) -> bool {
        self.delivery.response == Response::Lost
    }

    /// Returns `true` if the sender had been terminated when the request was handled.
    #[must_use]
    pub fn is_posthumous(&self) -> bool {
        self.delivery.sender == Sender::Replaced
    }

    /// Returns `true` if the sender may have been replaced while the request was in flight.
    #[must_use]
    pub fn may_be_late(&self) -> bool {
        self.delivery.sender == Sender::MaybeReplaced
    }

    /// Returns `true` if both events concern the same resource and name.
    pub fn is_of_the_object_of(&self, other: &Event) -> bool {
        let is_of_its_resource =
            matches!((&self.body, &other.body), (Body::Job(_), Body::Job(_)) | (Body::Pod(_), Body::Pod(_)));
        self.name == other.name && is_of_its_resource
    }

    /// The end of the event by the clock of its API server, in whole seconds.
    #[must_use]
    pub fn end(&self) -> Option<Time> {
        self.when.map(|when| Time(when.done.div_euclid(1_000_000)))
    }

    /// The upper bound for the time of the event by every clock, in whole seconds.
    #[must_use]
    pub fn latest(&self) -> Option<Time> {
        self.when.map(latest)
    }
}

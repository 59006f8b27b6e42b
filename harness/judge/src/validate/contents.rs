//! The content of records: the objects in them, mapped to those of the specification.
//!
//! It depends on nothing but the record, so another thread may compute it while the judge is at earlier records.

use std::sync::Arc;

use jobcheck_projection::{JobObject, Metadata, PodObject, ProjectError, Projector};
use jobcheck_spec::Uid;
use jobcheck_spec::apiserver::{Propagation, finalizers_after_delete};
use jobcheck_spec::guards::ttl::JobDeletion;
use jobcheck_traces::{
    Answer, Body as Operand, Fault, FaultKind, Level, Mark, MarkKind, Object, Record, Request, Resource,
    Subresource, Verb, WatchKind, Watched,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::actor::Role;
use super::escapes::plain;
use super::event::{Body, Gap, JobEvent, PodEvent, SERVER_ERROR, latest};
use super::status_patch::StatusPatch;

/// The content of a record; `None` if the record contains none.
pub type Content = Result<Option<Body>, ProjectError>;

/// Reads the content of records.
#[derive(Debug, Default)]
pub struct Contents {
    projector: Projector,
}

/// Body of a DELETE request.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeleteOptions {
    preconditions: Option<Preconditions>,
    propagation_policy: Option<String>,
    /// The predecessor of `propagationPolicy`.
    orphan_dependents: Option<bool>,
    grace_period_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
struct Preconditions {
    uid: Option<String>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

impl Contents {
    /// The content of a record.
    ///
    /// # Errors
    ///
    /// An object has a field of a wrong type.
    pub fn of(&mut self, record: &Record<'_>) -> Content {
        match &record.body {
            Operand::Request(request) => self.request(request),
            Operand::Watched(watched) => self.watched(watched).map(Some),
            Operand::Mark(mark) => Ok(mark_body(mark)),
            Operand::Fault(fault) => Ok(lists(fault).then_some(Body::Relist(fault.resource))),
            Operand::Header(_) | Operand::Observed(_) | Operand::Expected(_) => Ok(None),
        }
    }

    fn watched(&mut self, watched: &Watched<'_>) -> Result<Body, ProjectError> {
        let gone = watched.kind == WatchKind::Deleted;
        Ok(match watched.resource {
            Resource::Jobs => Body::Job(Box::new(self.job_state(watched.object, gone)?)),
            Resource::Pods => Body::Pod(Box::new(match watched.kind {
                WatchKind::Added => self.pod_creation(watched.object, None)?,
                WatchKind::Modified | WatchKind::Deleted => self.pod_state(watched.object, gone)?,
            })),
        })
    }

    fn request(&mut self, request: &Request<'_>) -> Content {
        let is_other = matches!(request.subresource, Subresource::Other(_));
        if request.dry_run || (is_other && request.resource == Resource::Jobs) {
            return Ok(None);
        }
        let hidden = is_hidden(request);
        Ok(Some(match (request.resource, request.verb) {
            (_, Verb::DeleteCollection) if !request.is_accepted() => return Ok(None),
            (resource, Verb::DeleteCollection) => self.collection(request, resource)?,
            (Resource::Pods, _) if request.subresource == Subresource::Other("eviction") => Body::Evicted,
            (Resource::Pods, _) if request.subresource == Subresource::Other("binding") => Body::Bound,
            (Resource::Jobs, _) => Body::Job(Box::new(self.job_request(request, hidden)?)),
            (Resource::Pods, _) => Body::Pod(Box::new(self.pod_request(request, hidden)?)),
        }))
    }

    fn job_request(&mut self, request: &Request<'_>, hidden: bool) -> Result<JobEvent, ProjectError> {
        let mut event = match (request.answer, request.response.filter(|_| request.is_accepted())) {
            (Answer::Whole, Some(object)) => self.job_state(object, false)?,
            (Answer::Metadata, Some(object)) => {
                let metadata = self.projector.metadata(object.text())?;
                let gone = metadata.deletion_timestamp.is_some() && metadata.finalizers.is_empty();
                JobEvent { uid: Some(metadata.uid), gone, metadata: Some(metadata), ..JobEvent::nothing() }
            }
            (Answer::Absent | Answer::Status | Answer::Other, _) | (_, None) => {
                JobEvent { uid: request.uid.map(Uid::parse), ..JobEvent::nothing() }
            }
        };
        event.hidden = hidden;
        event.message = request.message.map(str::to_owned);
        let asked = request.request.map(|object| plain(object.text()));
        event.base = asked.as_deref().and_then(base_version);
        event.writes_metadata =
            request.verb == Verb::Update || asked.as_deref().is_some_and(mentions_metadata);
        if request.verb == Verb::Delete {
            event.deletion = Some(deletion(request));
            let finalizer_left = event.after.as_ref().is_some_and(|job| !job.finalizers.is_empty());
            // Without a response, the Job may wait for a finalizer.
            event.gone = request.is_accepted() && !hidden && !finalizer_left && event.metadata.is_none();
        }
        if !request.is_accepted() && request.verb == Verb::Update {
            event.attempted = request
                .request
                .and_then(|object| self.projector.job(object.text()).ok())
                .map(|job| Box::new(job.job));
        }
        if !request.is_accepted() && request.verb == Verb::Patch && request.subresource == Subresource::Status
        {
            let patch = request.request.and_then(|it| StatusPatch::read(it.text(), &mut self.projector));
            event.patch = patch.map(Box::new);
        }
        Ok(event)
    }

    fn job_state(&mut self, object: Object<'_>, gone: bool) -> Result<JobEvent, ProjectError> {
        let job = self.projector.job(object.text())?.job;
        let gone = gone || (job.deleting && job.finalizers.is_empty());
        Ok(JobEvent { gone, ..JobEvent::state(Arc::new(job)) })
    }

    fn pod_request(&mut self, request: &Request<'_>, hidden: bool) -> Result<PodEvent, ProjectError> {
        let mut event = match (request.answer, request.response.filter(|_| request.is_accepted())) {
            (Answer::Whole, Some(object)) => match request.verb {
                Verb::Create => self.pod_creation(object, request.request)?,
                Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection => {
                    self.pod_state(object, false)?
                }
            },
            (Answer::Metadata, Some(object)) => {
                let metadata = self.projector.metadata(object.text())?;
                let gone = vanishes(&metadata);
                PodEvent { uid: Some(metadata.uid), metadata: Some(metadata), gone, ..no_pod() }
            }
            (Answer::Absent | Answer::Status | Answer::Other, _) | (_, None) => {
                PodEvent { uid: request.uid.map(Uid::parse), ..no_pod() }
            }
        };
        let patch = request.request.filter(|_| request.verb == Verb::Patch);
        let patch = patch.map(|object| plain(object.text()));
        let names = |field: &str| patch.as_ref().map(|patch| patch.contains(field));
        event.names_owner = names("ownerReferences");
        event.names_finalizers = names("finalizers");
        if request.verb == Verb::Create && (hidden || !request.is_accepted()) {
            self.pod_wish(request, &mut event);
        }
        let options = request.request.filter(|_| request.verb == Verb::Delete);
        let options = options.and_then(|object| object.read::<DeleteOptions>().ok());
        event.forced = options.is_some_and(|options| options.grace_period_seconds == Some(0));
        event.hidden = hidden;
        event.message = request.message.map(str::to_owned);
        Ok(event)
    }

    /// Reads the body of a refused creation. A client may send anything, so an unreadable body is ignored.
    fn pod_wish(&mut self, request: &Request<'_>, event: &mut PodEvent) {
        let Some(asked) = request.request else { return };
        event.metadata = self.projector.metadata(asked.text()).ok();
        event.attempted = self.projector.pod(asked.text(), None).ok().map(|object| Box::new(object.pod));
        event.birth = self.projector.birth(asked.text()).ok().map(Box::new);
    }

    /// A created pod, as it was stored and as it was asked for.
    fn pod_creation(
        &mut self,
        created: Object<'_>,
        asked: Option<Object<'_>>,
    ) -> Result<PodEvent, ProjectError> {
        let (pod, birth) = self.projector.created(created.text(), asked.map(Object::text))?;
        Ok(PodEvent { birth: Some(Box::new(birth)), ..pod_event(pod, false) })
    }

    fn pod_state(&mut self, object: Object<'_>, gone: bool) -> Result<PodEvent, ProjectError> {
        Ok(pod_event(self.pod_object(object.text())?, gone))
    }

    fn pod_object(&mut self, text: &str) -> Result<PodObject, ProjectError> {
        self.projector.pod(text, None)
    }

    /// The objects of a deletecollection. The response lists them in the state before. The Jobs get the finalizers that the
    /// deletion leaves.
    fn collection(&mut self, request: &Request<'_>, resource: Resource) -> Result<Body, ProjectError> {
        let list = request.response.and_then(|object| object.read::<List<'_>>().ok());
        let is_unknown = request.code >= SERVER_ERROR;
        let Some(list) = list.filter(|_| request.level == Level::RequestResponse && !is_unknown) else {
            let what = if is_unknown { "had a server error" } else { "has no recorded response" };
            let reason = format!("a deletecollection of {} {what}", resource.name());
            return Ok(Body::UnseenCollection(resource, reason));
        };
        let texts = list.items.iter().map(|item| item.get());
        match resource {
            Resource::Jobs => {
                let asked = propagation(&deletion(request));
                let deleted = |mut object: JobObject| {
                    object.job.finalizers = finalizers_after_delete(asked, &object.job);
                    object
                };
                let jobs: Result<Vec<JobObject>, ProjectError> =
                    texts.map(|text| self.projector.job(text).map(deleted)).collect();
                jobs.map(Body::JobCollection)
            }
            Resource::Pods => {
                let pods: Result<Vec<PodObject>, ProjectError> =
                    texts.map(|text| self.pod_object(text)).collect();
                pods.map(Body::PodCollection)
            }
        }
    }
}

/// Returns `true` if it is not known what an accepted request has stored. The audit level hides the response, or the client
/// asked for one that shows too little.
pub(super) fn is_hidden(request: &Request<'_>) -> bool {
    request.is_accepted() && (request.level != Level::RequestResponse || shows_too_little(request))
}

/// Returns `true` if a response is a table (`as=Table`), or has metadata alone (`as=PartialObjectMetadata`) although the request
/// was about more. The garbage collector sends requests about metadata alone.
fn shows_too_little(request: &Request<'_>) -> bool {
    let is_of_object = !matches!(request.subresource, Subresource::Other(_));
    let is_removal = matches!(request.verb, Verb::Delete | Verb::DeleteCollection);
    let is_short = match request.answer {
        Answer::Other => true,
        Answer::Metadata => request.verb == Verb::Create || request.subresource == Subresource::Status,
        Answer::Absent | Answer::Whole | Answer::Status => false,
    };
    is_of_object && !is_removal && is_short
}

/// Returns `true` if nothing keeps a deleted pod any longer (SY-12).
fn vanishes(pod: &Metadata) -> bool {
    pod.deletion_timestamp.is_some()
        && pod.finalizers.is_empty()
        && pod.deletion_grace_period_seconds.unwrap_or(0) == 0
}

fn deletion(request: &Request<'_>) -> JobDeletion {
    let options: DeleteOptions = request.request.and_then(|object| object.read().ok()).unwrap_or_default();
    let before_policies =
        options.orphan_dependents.map(|orphan| if orphan { "Orphan" } else { "Background" });
    let asked = request.propagation_policy.map(str::to_owned).or(options.propagation_policy);
    JobDeletion {
        propagation: asked.or_else(|| before_policies.map(str::to_owned)),
        uid_precondition: options.preconditions.and_then(|it| it.uid).map(|uid| Uid::parse(&uid)),
        request_known: request.level != Level::Metadata,
        latest: Some(latest(request.interval)),
    }
}

/// The propagation policy that a deletion of a Job asks for.
pub(crate) fn propagation(deletion: &JobDeletion) -> Option<Propagation> {
    match deletion.propagation.as_deref() {
        Some("Orphan") => Some(Propagation::Orphan),
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some(_) | None => None,
    }
}

/// The version that a request was computed from. Requests are long, so the version is searched for as text. An
/// unescaped key can only be part of the structure, and before `spec` only of `metadata`.
pub(super) fn base_version(text: &str) -> Option<u64> {
    let head = after_key(text, "\"spec\"").map_or(text, |spec| &text[..text.len() - spec.len()]);
    let value = after_key(head, "\"resourceVersion\"")?.strip_prefix('"')?;
    value.split('"').next()?.parse().ok()
}

/// Returns `true` if a request mentions a part of the metadata that several actors own.
fn mentions_metadata(text: &str) -> bool {
    ["labels", "annotations", "finalizers", "ownerReferences"].iter().any(|part| text.contains(part))
}

/// The text behind the first occurrence of a key and its colon.
fn after_key<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.match_indices(key)
        .find_map(|(at, _)| text[at + key.len()..].trim_start().strip_prefix(':'))
        .map(str::trim_start)
}

fn mark_body(mark: &Mark) -> Option<Body> {
    match &mark.kind {
        MarkKind::Gap { reason, gone, .. } => {
            let gone = gone.iter().map(|uid| Uid::parse(uid)).collect();
            Some(Body::Gap(Gap { reason: reason.clone(), gone, until: None }))
        }
        MarkKind::Restart { actor, .. } | MarkKind::Leader { actor } => Some(Body::Restart(actor.clone())),
        MarkKind::Start | MarkKind::End => None,
    }
}

/// Returns `true` if the Job controller lists again. A fault without an actor concerns every controller.
fn lists(fault: &Fault) -> bool {
    let last = |actor: &str| actor.rsplit(['/', ':']).next().and_then(Role::named);
    let concerned = fault.actor.as_deref().map_or(Some(Role::JobController), last);
    fault.kind == FaultKind::Relist && concerned == Some(Role::JobController)
}

/// The event of a request that leaves a pod in this state.
fn pod_event(pod: PodObject, gone: bool) -> PodEvent {
    let gone = gone || vanishes(&pod.metadata);
    PodEvent { uid: Some(pod.pod.uid), after: Some(pod), gone, ..no_pod() }
}

/// The event of a request about a pod, with nothing known about it.
pub(super) fn no_pod() -> PodEvent {
    PodEvent {
        uid: None,
        after: None,
        metadata: None,
        attempted: None,
        stored: None,
        birth: None,
        gone: false,
        names_owner: None,
        names_finalizers: None,
        other_field: None,
        base: None,
        clears_finalizers: false,
        hidden: false,
        lists_foreign_finalizer: false,
        removes_finalizer: false,
        forced: false,
        message: None,
    }
}

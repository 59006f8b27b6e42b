//! Converts records to events.
//!
//! | fact of an event | audit and native request | watch |
//! | --- | --- | --- |
//! | state after the request | `responseObject` | `object` |
//! | the object is gone | deletionTimestamp set, no finalizer, no grace period left; or a `Status` in response to the DELETE | `DELETED` |
//! | own version | `resourceVersion` of the response, unless it was seen before | `resourceVersion` of `object` |
//! | base of the request | `resourceVersion` of `requestObject` | not shown |

use std::collections::VecDeque;

use jobcheck_spec::Uid;
use jobcheck_spec::guards::ttl::JobDeletion;
use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::TRACKING_FINALIZER;
use jobcheck_traces::{
    Answer, Body as Operand, Fault, FaultKind, Form, Level, Mark, MarkKind, Object, Record, Request,
    Resource, Subresource, Verb, WatchKind, Watched,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::actor::{ActorId, Actors, Role};
use super::delivery::Delivery;
use super::event::{Arrival, Body, Event, JobEvent, PodEvent};
use super::mishaps::Mishaps;
use super::patches::PatchFacts;
use super::repetitions::Repetitions;
use super::router::DEPARTED;
use super::status_patch::StatusPatch;
use super::verdict::Unreadable;
use jobcheck_projection::{Metadata, PodObject, ProjectError, Projector};

/// Converts records to events.
#[derive(Debug)]
pub struct Normalizer {
    projector: Projector,
    /// The actors of the trace.
    pub actors: Actors,
    /// The latest versions of each living object.
    versions: FxHashMap<Uid, [u64; 4]>,
    /// Objects that were recently removed by a request.
    departed: VecDeque<Uid>,
    /// Recognises requests that were read before.
    repetitions: Repetitions,
    /// Living objects that a watch has shown.
    watched: FxHashSet<Uid>,
    /// Faults and restarts of the senders.
    mishaps: Mishaps,
    /// Number of requests whose response is hidden by the audit level.
    pub hidden: u64,
}

/// Body of a DELETE request.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeleteOptions {
    preconditions: Option<Preconditions>,
    propagation_policy: Option<String>,
    /// The predecessor of `propagationPolicy`.
    orphan_dependents: Option<bool>,
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

impl Normalizer {
    /// A normaliser with the roles from `--actor`.
    #[must_use]
    pub fn new(actors: Actors) -> Normalizer {
        Normalizer {
            projector: Projector::new(),
            actors,
            versions: FxHashMap::default(),
            departed: VecDeque::new(),
            repetitions: Repetitions::default(),
            watched: FxHashSet::default(),
            mishaps: Mishaps::default(),
            hidden: 0,
        }
    }

    /// The event of a record; `None` if the record contains none.
    ///
    /// # Errors
    ///
    /// An object has a field of a wrong type.
    pub fn event(&mut self, record: &Record<'_>) -> Result<Option<Event>, Unreadable> {
        let unreadable = |error: ProjectError| Unreadable::object(record.place, &error);
        match &record.body {
            Operand::Request(request) if request.dry_run || self.repetitions.is_one(request) => Ok(None),
            Operand::Request(request) => self.request(record, request).map_err(unreadable),
            Operand::Watched(watched) if self.is_echo(watched) => Ok(None),
            Operand::Watched(watched) => self.watched(record, watched).map(Some).map_err(unreadable),
            Operand::Mark(mark) => {
                self.mishaps.marked(mark);
                Ok(mark_body(mark).map(|body| bare(record, body)))
            }
            Operand::Fault(fault) => {
                self.mishaps.faulted(fault);
                Ok(lists(fault).then(|| bare(record, Body::Relist(fault.resource))))
            }
            Operand::Header(_) | Operand::Observed(_) | Operand::Expected(_) => Ok(None),
        }
    }

    /// Returns `true` if a watch repeats a write that a log shows in more detail, or shows an object that the log
    /// removed.
    fn is_echo(&self, watched: &Watched<'_>) -> bool {
        let uid = Uid::parse(watched.uid);
        let shown = self.versions.get(&uid).is_some_and(|seen| seen.contains(&watched.version));
        shown || self.departed.contains(&uid)
    }

    fn watched(&mut self, record: &Record<'_>, watched: &Watched<'_>) -> Result<Event, ProjectError> {
        let gone = watched.kind == WatchKind::Deleted;
        let mut event = bare(record, Body::Evicted);
        event.verb = gone.then_some(Verb::Delete);
        event.version = Some(watched.version);
        event.namespace = watched.namespace.into();
        event.name = watched.name.into();
        event.body = match watched.resource {
            Resource::Jobs => Body::Job(Box::new(self.job_state(watched.object, gone)?)),
            Resource::Pods => Body::Pod(Box::new(match watched.kind {
                WatchKind::Added => self.pod_creation(watched.object, None)?,
                WatchKind::Modified | WatchKind::Deleted => self.pod_state(watched.object, gone)?,
            })),
        };
        let uid = Uid::parse(watched.uid);
        event.arrival.relisted = !self.watched.insert(uid) && watched.kind == WatchKind::Added;
        if gone {
            self.watched.remove(&uid);
        }
        Ok(event)
    }

    fn request(&mut self, record: &Record<'_>, request: &Request<'_>) -> Result<Option<Event>, ProjectError> {
        if matches!(request.subresource, Subresource::Other(_)) && request.resource == Resource::Jobs {
            return Ok(None);
        }
        let mut event = bare(record, Body::Evicted);
        event.when = Some(request.interval);
        event.actor = Some(self.actors.meet(request.actor.user, request.actor.agent));
        event.verb = Some(request.verb);
        event.is_status = request.subresource == Subresource::Status;
        event.code = request.code;
        event.namespace = request.namespace.into();
        event.name = request.name.into();
        event.delivery = self.mishaps.delivery(request);
        let hidden = request.is_accepted() && request.level != Level::RequestResponse;
        self.hidden += u64::from(hidden);
        event.body = match (request.resource, request.verb) {
            (_, Verb::DeleteCollection) if !request.is_accepted() => return Ok(None),
            (resource, Verb::DeleteCollection) => self.collection(request, resource)?,
            (Resource::Pods, _) if request.subresource == Subresource::Other("eviction") => Body::Evicted,
            (Resource::Pods, _) if request.subresource == Subresource::Other("binding") => Body::Bound,
            (Resource::Jobs, _) => Body::Job(Box::new(self.job_request(request, hidden)?)),
            (Resource::Pods, _) => {
                let role = event.actor.map_or(Role::Other, |actor| self.actors.get(actor).role);
                Body::Pod(Box::new(self.pod_request(request, hidden, role)?))
            }
        };
        event.answered = request.version.filter(|_| request.is_accepted());
        event.version = self.own_version(&event.body, request.verb, event.answered);
        self.forget_versions(&event.body);
        if event.actor.is_some_and(|actor| self.actors.is_shared(actor)) {
            event.actor = self.told_by_request(request, &event.body);
        }
        Ok(Some(event))
    }

    /// The controller behind a shared account, if only this controller sends such requests; otherwise `None`, as in a
    /// watch.
    fn told_by_request(&mut self, request: &Request<'_>, body: &Body) -> Option<ActorId> {
        let asks = |text: &str| request.request.is_some_and(|object| object.text().contains(text));
        let is_job_controllers = match body {
            Body::Job(_) => request.subresource == Subresource::Status,
            Body::Pod(_) => match request.verb {
                Verb::Create | Verb::Patch => asks(TRACKING_FINALIZER),
                Verb::Update | Verb::Delete | Verb::DeleteCollection => false,
            },
            Body::JobCollection(_)
            | Body::PodCollection(_)
            | Body::Evicted
            | Body::Bound
            | Body::Gap(_)
            | Body::Restart(_)
            | Body::Relist(_) => false,
        };
        let [(name, _), ..] = Role::NAMES;
        is_job_controllers.then(|| self.actors.meet(request.actor.user, name))
    }

    /// The version that the write produced. A version that the object had before marks a request without effect. The
    /// removal of the last finalizer of a deleted object returns the version before the removal.
    fn own_version(&mut self, body: &Body, verb: Verb, version: Option<u64>) -> Option<u64> {
        let removal = |gone: bool| gone && verb != Verb::Delete;
        let uid = match body {
            Body::Job(job) => job.uid.filter(|_| !removal(job.gone)),
            Body::Pod(pod) => pod.uid.filter(|_| !removal(pod.gone)),
            Body::JobCollection(_)
            | Body::PodCollection(_)
            | Body::Evicted
            | Body::Bound
            | Body::Gap(_)
            | Body::Restart(_)
            | Body::Relist(_) => None,
        }?;
        let version = version?;
        let seen = self.versions.entry(uid).or_default();
        if seen.contains(&version) {
            return None;
        }
        seen.rotate_right(1);
        seen[0] = version;
        Some(version)
    }

    fn forget_versions(&mut self, body: &Body) {
        let gone = match body {
            Body::Job(job) if job.gone => job.uid,
            Body::Pod(pod) if pod.gone => pod.uid,
            Body::Job(_)
            | Body::Pod(_)
            | Body::JobCollection(_)
            | Body::PodCollection(_)
            | Body::Evicted
            | Body::Bound
            | Body::Gap(_)
            | Body::Restart(_)
            | Body::Relist(_) => None,
        };
        let Some(uid) = gone else { return };
        self.versions.remove(&uid);
        if self.departed.len() == DEPARTED {
            self.departed.pop_front();
        }
        self.departed.push_back(uid);
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
        event.base = request.request.and_then(base_version);
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
        Ok(JobEvent { gone, ..JobEvent::state(std::sync::Arc::new(job)) })
    }

    fn pod_request(
        &mut self,
        request: &Request<'_>,
        hidden: bool,
        role: Role,
    ) -> Result<PodEvent, ProjectError> {
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
        let names = |field: &str| patch.map(|object| object.text().contains(field));
        event.names_owner = names("ownerReferences");
        event.names_finalizers = names("finalizers");
        let judged = patch.filter(|_| hidden || patches_are_judged(role));
        let facts = judged.map(|object| PatchFacts::of(object.text())).unwrap_or_default();
        event.other_field = facts.other_field;
        event.lists_foreign_finalizer = facts.lists_foreign_finalizer;
        if request.verb == Verb::Create && (hidden || !request.is_accepted()) {
            self.pod_wish(request, &mut event);
        }
        event.hidden = hidden;
        event.removes_finalizer =
            hidden && request.subresource == Subresource::None && facts.removes_finalizer_alone;
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

    /// The objects of a deletecollection, in the state before. The response lists them.
    fn collection(&mut self, request: &Request<'_>, resource: Resource) -> Result<Body, ProjectError> {
        let list = request.response.and_then(|object| object.read::<List<'_>>().ok());
        let Some(list) = list.filter(|_| request.level == Level::RequestResponse) else {
            let reason = format!("the response to a deletecollection of {} is not recorded", resource.name());
            return Ok(Body::Gap(reason));
        };
        let texts = list.items.iter().map(|item| item.get());
        match resource {
            Resource::Jobs => {
                let jobs: Result<Vec<Job>, ProjectError> =
                    texts.map(|text| self.projector.job(text).map(|object| object.job)).collect();
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

/// Returns `true` if the fields of a PATCH by this role are judged, since it may manage Jobs. Kubelets send most patches,
/// and long ones.
fn patches_are_judged(role: Role) -> bool {
    match role {
        Role::JobController | Role::Manager | Role::Other => true,
        Role::TtlController | Role::GarbageCollector | Role::PodGc | Role::Kubelet => false,
    }
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
        latest: Some(jobcheck_spec::Time(request.interval.done.div_euclid(1_000_000))),
    }
}

/// The version that a request was computed from. Requests are long, so the version is searched for as text. An
/// unescaped key can only be part of the structure, and before `spec` only of `metadata`.
fn base_version(object: Object<'_>) -> Option<u64> {
    let text = object.text();
    let head = after_key(text, "\"spec\"").map_or(text, |spec| &text[..text.len() - spec.len()]);
    let value = after_key(head, "\"resourceVersion\"")?.strip_prefix('"')?;
    value.split('"').next()?.parse().ok()
}

/// The text behind the first occurrence of a key and its colon.
fn after_key<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.match_indices(key)
        .find_map(|(at, _)| text[at + key.len()..].trim_start().strip_prefix(':'))
        .map(str::trim_start)
}

fn mark_body(mark: &Mark) -> Option<Body> {
    match &mark.kind {
        MarkKind::Gap { reason, .. } => Some(Body::Gap(reason.clone())),
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

fn bare(record: &Record<'_>, body: Body) -> Event {
    let empty: Text = "".into();
    Event {
        order: 0,
        arrival: Arrival::default(),
        delivery: Delivery::default(),
        place: record.place,
        // Watch events in a native trace have no actors, and no gaps between marks.
        form: if matches!(record.body, Operand::Watched(_)) { Form::Watch } else { record.form },
        when: None,
        actor: None,
        verb: None,
        is_status: false,
        code: 200,
        version: None,
        answered: None,
        namespace: empty.clone(),
        name: empty,
        body,
    }
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
        birth: None,
        gone: false,
        names_owner: None,
        names_finalizers: None,
        other_field: None,
        hidden: false,
        lists_foreign_finalizer: false,
        removes_finalizer: false,
        message: None,
    }
}

/// Returns `true` for a form with actors.
#[must_use]
pub fn has_actors(form: Form) -> bool {
    match form {
        Form::Audit | Form::Native => true,
        Form::Watch => false,
    }
}

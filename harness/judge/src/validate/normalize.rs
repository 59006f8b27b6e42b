//! Converts records to events.
//!
//! | fact of an event | audit and native request | watch |
//! | --- | --- | --- |
//! | state after the request | `responseObject` | `object` |
//! | the object is gone | deletionTimestamp set, no finalizer, no grace period left; or a `Status` in response to the DELETE | `DELETED` |
//! | own version | `resourceVersion` of the response, unless another request produced it (`claims`) | `resourceVersion` of `object` |
//! | base of the request | `resourceVersion` of `requestObject` | not shown |

use std::collections::VecDeque;

use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use jobcheck_spec::pod::TRACKING_FINALIZER;
use jobcheck_traces::{
    Body as Operand, Form, Record, Request, Resource, Subresource, Verb, WatchKind, Watched,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::actor::{ActorId, Actors, Role};
use super::contents::{Content, base_version, is_hidden};
use super::delivery::Delivery;
use super::escapes::plain;
use super::event::{Arrival, Body, Event, PodEvent};
use super::mishaps::Mishaps;
use super::patches::PatchFacts;
use super::repetitions::Repetitions;
use super::router::DEPARTED;
use super::streams::Streams;
use super::verdict::Unreadable;

/// Converts records to events.
#[derive(Debug)]
pub struct Normalizer {
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
    streams: Streams,
    /// Faults and restarts of the senders.
    mishaps: Mishaps,
    /// Number of requests whose response is hidden by the audit level.
    pub hidden: u64,
}

impl Normalizer {
    /// A normaliser with the roles from `--actor`.
    #[must_use]
    pub fn new(actors: Actors) -> Normalizer {
        Normalizer {
            actors,
            versions: FxHashMap::default(),
            departed: VecDeque::new(),
            repetitions: Repetitions::default(),
            watched: FxHashSet::default(),
            streams: Streams::default(),
            mishaps: Mishaps::default(),
            hidden: 0,
        }
    }

    /// The event of a record with this content; `None` if the record contains none.
    ///
    /// # Errors
    ///
    /// An object has a field of a wrong type.
    pub fn event(&mut self, record: &Record<'_>, content: Content) -> Result<Option<Event>, Unreadable> {
        match &record.body {
            Operand::Request(request) if request.dry_run || self.repetitions.is_one(request) => {
                return Ok(None);
            }
            Operand::Watched(watched) if self.is_echo(watched) => return Ok(None),
            Operand::Mark(mark) => self.mishaps.marked(mark),
            Operand::Fault(fault) => self.mishaps.faulted(fault),
            Operand::Request(_)
            | Operand::Watched(_)
            | Operand::Header(_)
            | Operand::Observed(_)
            | Operand::Expected(_) => {}
        }
        let content = content.map_err(|error| Unreadable::object(record.place, &error))?;
        Ok(match (&record.body, content) {
            (Operand::Request(request), Some(body)) => Some(self.request(record, request, body)),
            (Operand::Request(request), None) => {
                // A fault ends with the next request, whatever that asks for.
                self.mishaps.delivery(request);
                None
            }
            (Operand::Watched(watched), Some(body)) => Some(self.watched(record, watched, body)),
            (_, content) => {
                if let Some(Body::Gap(gap)) = &content {
                    gap.gone.iter().for_each(|uid| self.forget(uid));
                }
                content.map(|body| bare(record, body))
            }
        })
    }

    /// Returns `true` if a watch has shown this object, and not its end.
    #[cfg(test)]
    pub fn watches(&self, uid: &Uid) -> bool {
        self.watched.contains(uid)
    }

    /// Forgets an object whose deletion no record shows.
    fn forget(&mut self, uid: &Uid) {
        self.watched.remove(uid);
        self.versions.remove(uid);
    }

    /// Returns `true` if a watch repeats a write that a log shows in more detail, or shows an object that the log
    /// removed.
    fn is_echo(&self, watched: &Watched<'_>) -> bool {
        let uid = Uid::parse(watched.uid);
        let shown = self.versions.get(&uid).is_some_and(|seen| seen.contains(&watched.version));
        shown || self.departed.contains(&uid)
    }

    fn watched(&mut self, record: &Record<'_>, watched: &Watched<'_>, body: Body) -> Event {
        let gone = watched.kind == WatchKind::Deleted;
        let resource = if matches!(body, Body::Job(_)) { Resource::Jobs } else { Resource::Pods };
        let uid = Uid::parse(watched.uid);
        let is_again = !self.watched.insert(uid) && watched.kind == WatchKind::Added;
        let stream = (record.place.file, resource);
        let shown = self.streams.shows(stream, watched.kind, (uid, watched.version), is_again);
        let mut event = bare(record, body);
        event.verb = gone.then_some(Verb::Delete);
        event.version = Some(watched.version);
        event.arrival.shown_at = watched.at;
        event.namespace = watched.namespace.into();
        event.name = watched.name.into();
        event.arrival.interrupted = shown.until.map(|until| (shown.after, until));
        event.arrival.listed_after = (watched.kind == WatchKind::Added).then_some(shown.after);
        event.arrival.is_listed = shown.is_old;
        if gone {
            self.watched.remove(&uid);
        }
        event
    }

    fn request(&mut self, record: &Record<'_>, request: &Request<'_>, body: Body) -> Event {
        let mut event = bare(record, body);
        event.when = Some(request.interval);
        let actor = self.actors.meet(request.actor.user, request.actor.agent);
        event.actor = Some(actor);
        event.verb = Some(request.verb);
        event.is_status = request.subresource == Subresource::Status;
        event.code = request.code;
        event.namespace = request.namespace.into();
        event.name = request.name.into();
        event.delivery = self.mishaps.delivery(request);
        let hidden = is_hidden(request);
        self.hidden += u64::from(hidden);
        if let Body::Pod(pod) = &mut event.body {
            note_fields(pod, request, hidden, self.actors.get(actor).role);
        }
        event.answered = request.version.filter(|_| request.is_accepted());
        event.version = self.own_version(&event.body, request.verb, event.answered);
        self.forget_versions(&event.body);
        if self.actors.is_shared(actor) {
            event.actor = self.told_by_request(request, &event.body);
        }
        event
    }

    /// The controller behind a shared account, if only this controller sends such requests; otherwise `None`, as in a
    /// watch.
    fn told_by_request(&mut self, request: &Request<'_>, body: &Body) -> Option<ActorId> {
        let asks = |text: &str| request.request.is_some_and(|object| plain(object.text()).contains(text));
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
            | Body::UnseenCollection(..)
            | Body::Restart(_)
            | Body::Relist(_) => false,
        };
        let [(name, _), ..] = Role::NAMES;
        is_job_controllers.then(|| self.actors.meet(request.actor.user, name))
    }

    /// The version in the response, if the write may have produced it. The removal of the last finalizer of a deleted object
    /// returns the version before the removal. If several requests have one version, the sequencer finds the write.
    fn own_version(&mut self, body: &Body, verb: Verb, version: Option<u64>) -> Option<u64> {
        let removes = |gone: bool| gone && verb != Verb::Delete;
        let uid = body.subject().filter(|subject| !removes(subject.is_gone))?.uid?;
        let version = version?;
        let seen = self.versions.entry(uid).or_default();
        if !seen.contains(&version) {
            seen.rotate_right(1);
            seen[0] = version;
        }
        Some(version)
    }

    fn forget_versions(&mut self, body: &Body) {
        let Some(uid) = body.departed() else { return };
        self.versions.remove(&uid);
        if self.departed.len() == DEPARTED {
            self.departed.pop_front();
        }
        self.departed.push_back(uid);
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

/// Adds the fields of a PATCH, or of a PUT by a Job controller, which never needs one.
fn note_fields(pod: &mut PodEvent, request: &Request<'_>, hidden: bool, role: Role) {
    match request.verb {
        Verb::Patch if hidden || patches_are_judged(role) => note_patch(pod, request, hidden),
        Verb::Update if role == Role::JobController => {
            let subresource = request.subresource;
            pod.other_field = (subresource != Subresource::None).then(|| subresource.name().to_owned());
            pod.base = request.request.and_then(|asked| base_version(asked.text()));
        }
        _ => {}
    }
}

fn note_patch(pod: &mut PodEvent, request: &Request<'_>, hidden: bool) {
    let Some(patch) = request.request else { return };
    let facts = PatchFacts::of(patch.text());
    pod.other_field = facts.other_field;
    pod.lists_foreign_finalizer = facts.lists_foreign_finalizer;
    pod.clears_finalizers = facts.clears_finalizers;
    pod.removes_finalizer =
        hidden && request.subresource == Subresource::None && facts.removes_finalizer_alone;
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

/// Returns `true` for a form with actors.
#[must_use]
pub fn has_actors(form: Form) -> bool {
    match form {
        Form::Audit | Form::Native => true,
        Form::Watch => false,
    }
}

//! Reads the records of a trace, and finds the Job that each of them concerns.

use std::collections::HashMap;
use std::time::Instant;

use jobcheck_traces::{
    Answer, Body, Input, Interval, Mark, MarkKind, Object, Reader, Request, Resource, Subresource, Verb,
    WatchKind, Watched,
};
use serde_json::Value;

use crate::asked::Asked;
use crate::fields::{Fields, fields};
use crate::page::Refusal;

/// A record of a Job or a pod.
#[derive(Debug, Default)]
pub struct Read {
    /// The position of the input among those of the trace.
    pub file: usize,
    /// The line, from 1.
    pub line: u64,
    /// The end of the response.
    pub at: Option<i64>,
    /// User and user agent.
    pub actor: Option<(String, String)>,
    /// The UID of the Job; empty if the record concerns all Jobs.
    pub job: String,
    /// The object: whether it is a pod, its UID and its name.
    pub object: Option<(bool, String, String)>,
    /// The request; a watch has none.
    pub verb: Option<Verb>,
    /// The subresource.
    pub subresource: String,
    /// The version that the write produced.
    pub version: Option<u64>,
    /// The fields that it shows.
    pub seen: Seen,
    /// The object is gone.
    pub gone: bool,
    /// The answer, if it was a refusal.
    pub refusal: Option<Refusal>,
    /// The words for a mark or a fault.
    pub words: Option<String>,
    /// It is of no interest by itself.
    pub quiet: bool,
}

/// The fields of the object that a record shows.
#[derive(Debug, Default)]
pub enum Seen {
    /// Nothing.
    #[default]
    Nothing,
    /// All fields after the write.
    Whole(Fields),
    /// The metadata after the write.
    Metadata(Fields),
    /// The content of a refused request.
    Asked(Asked),
}

/// Finds the Job of each record.
#[derive(Debug, Default)]
struct Owners {
    /// The Job of each pod.
    of: HashMap<String, String>,
    /// The last UID with this name.
    named: HashMap<(bool, String, String), String>,
}

impl Owners {
    /// The object and the Job of a record.
    fn route(
        &mut self,
        is_pod: bool,
        uid: Option<&str>,
        name: (&str, &str),
        object: Option<&Value>,
    ) -> Option<(String, String)> {
        let key = (is_pod, name.0.to_owned(), name.1.to_owned());
        let uid = uid.map(str::to_owned).or_else(|| self.named.get(&key).cloned());
        if let Some(uid) = &uid {
            self.named.insert(key, uid.clone());
        }
        if !is_pod {
            return uid.map(|uid| (uid.clone(), uid));
        }
        let owner = object.and_then(owner);
        let uid = uid.unwrap_or_default();
        let job = match owner {
            Some(owner) => {
                self.of.insert(uid.clone(), owner.clone());
                owner
            }
            None => self.of.get(&uid)?.clone(),
        };
        Some((uid, job))
    }
}

/// The UID of the Job that controls a pod, or that its labels name.
fn owner(pod: &Value) -> Option<String> {
    let metadata = &pod["metadata"];
    let owners = metadata["ownerReferences"].as_array();
    let of_job = |it: &&Value| it["kind"] == "Job" && it["controller"] == true;
    let owner = owners.and_then(|all| all.iter().find(of_job)).and_then(|it| it["uid"].as_str());
    let labels = &metadata["labels"];
    let labelled = || {
        ["batch.kubernetes.io/controller-uid", "controller-uid"].iter().find_map(|key| labels[*key].as_str())
    };
    owner.or_else(labelled).map(str::to_owned)
}

/// Calls `take` with each record of a trace. Errors were reported by the judge. Returns `false` if the time
/// ended before the trace.
pub fn read(inputs: &[Input], until: Option<Instant>, take: &mut dyn FnMut(Read)) -> bool {
    let mut reader = Reader::open(inputs);
    let mut owners = Owners::default();
    loop {
        let record = match reader.next() {
            Ok(Some(record)) => record,
            Ok(None) => return true,
            Err(_) => continue,
        };
        if until.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        let read = match &record.body {
            Body::Request(request) if request.dry_run => None,
            Body::Request(request) => of_request(request, &mut owners),
            Body::Watched(watched) => of_watch(watched, &mut owners),
            Body::Mark(mark) => of_mark(mark),
            Body::Fault(fault) => {
                let actor = fault.actor.as_deref().map(|it| format!(" of {it}")).unwrap_or_default();
                let detail = fault.detail.as_deref().map(|it| format!(": {it}")).unwrap_or_default();
                Some(marked(fault.at, format!("fault {:?}{actor}{detail}", fault.kind)))
            }
            Body::Observed(seen) => {
                let (what, version) = (seen.resource.name(), seen.version);
                let sync = seen.job.as_deref().map(|job| format!(", at the start of a sync of {job}"));
                let words = format!(
                    "the cache of {} shows {what} up to version {version}{}",
                    seen.actor,
                    sync.unwrap_or_default()
                );
                Some(Read { quiet: true, ..marked(seen.at, words) })
            }
            Body::Header(_) | Body::Expected(_) => None,
        };
        if let Some(read) = read {
            take(Read { file: record.place.file as usize, line: record.place.line, ..read });
        }
    }
}

fn marked(at: Option<i64>, words: String) -> Read {
    Read { at, words: Some(words), ..Read::default() }
}

fn of_mark(mark: &Mark) -> Option<Read> {
    let words = match &mark.kind {
        MarkKind::Start | MarkKind::End => return None,
        MarkKind::Gap { reason, .. } => format!("gap: {reason}"),
        MarkKind::Restart { actor, .. } => format!("restart of {actor}"),
        MarkKind::Leader { actor } => format!("{actor} becomes the leader"),
    };
    Some(marked(mark.at, words))
}

fn parsed(object: Option<Object<'_>>) -> Option<Value> {
    object.and_then(|it| it.read().ok())
}

fn of_watch(watched: &Watched<'_>, owners: &mut Owners) -> Option<Read> {
    let is_pod = watched.resource == Resource::Pods;
    let object = parsed(Some(watched.object))?;
    let name = (watched.namespace, watched.name);
    let (uid, job) = owners.route(is_pod, Some(watched.uid), name, Some(&object))?;
    Some(Read {
        at: watched.at,
        job,
        object: Some((is_pod, uid, watched.name.to_owned())),
        version: Some(watched.version),
        seen: Seen::Whole(fields(&object, is_pod)),
        gone: watched.kind == WatchKind::Deleted,
        ..Read::default()
    })
}

fn of_request(request: &Request<'_>, owners: &mut Owners) -> Option<Read> {
    let is_pod = request.resource == Resource::Pods;
    let response = parsed(request.response);
    let body = parsed(request.request);
    let is_whole = request.answer == Answer::Whole;
    let whole = response.as_ref().filter(|_| is_whole);
    let creates = request.verb == Verb::Create && request.subresource == Subresource::None;
    let shown = whole.or(body.as_ref().filter(|_| creates));
    let name = (request.namespace, request.name);
    let (uid, job) = owners.route(is_pod, request.uid, name, shown)?;
    let accepted = request.is_accepted();
    let seen = match (accepted, request.answer, &response, &body) {
        (false, .., Some(asked)) => {
            Seen::Asked(Asked::read(asked, request.verb, request.subresource, is_pod))
        }
        (true, Answer::Whole, Some(object), _) => Seen::Whole(fields(object, is_pod)),
        (true, Answer::Metadata, Some(object), _) => Seen::Metadata(fields(object, is_pod)),
        _ => Seen::Nothing,
    };
    let message = || request.message.or(request.reason).unwrap_or_default().to_owned();
    let Interval { done, .. } = request.interval;
    let confirmed = request.verb == Verb::Delete && request.answer == Answer::Status;
    Some(Read {
        at: Some(done),
        actor: Some((request.actor.user.to_owned(), request.actor.agent.to_owned())),
        job,
        object: Some((is_pod, uid, name.1.to_owned())),
        verb: Some(request.verb),
        subresource: request.subresource.name().to_owned(),
        version: request.version.filter(|_| accepted),
        gone: accepted && (confirmed || whole.is_some_and(|it| is_gone(it, request.verb))),
        seen,
        refusal: (!accepted).then(|| Refusal { code: request.code, message: message() }),
        ..Read::default()
    })
}

/// Returns `true` if the object that a request left was removed with it.
fn is_gone(after: &Value, verb: Verb) -> bool {
    let metadata = &after["metadata"];
    let has = |key: &str| metadata[key].as_array().is_some_and(|it| !it.is_empty());
    let marked = metadata["deletionTimestamp"].is_string();
    let graceful = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0;
    !has("finalizers") && !graceful && (marked || verb == Verb::Delete)
}

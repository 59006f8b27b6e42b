//! Kinds of requests, or parts of them, that an audit policy or a log store leaves out.
//!
//! In a policy, `jobs` does not mean `jobs/status`, and a list of verbs may lack one. A log then shows an effect, and not one
//! request of the kind that has this effect. It does not show why a Job is as it is, so that no violation rests on it.
//!
//! | kind | effect |
//! | --- | --- |
//! | writes of `jobs/status` | a finalizer is removed, which follows a status write (FT-03); or a controller creates a pod, and the log goes on |
//! | PATCH | a Job has counted pods, or a status write after its deletion: finalizers are removed |
//! | creations of pods | a pod of a Job that was created in the log is shown, and not its creation |
//! | DELETE, evictions | a pod is being deleted that was not before; or running pods lose their finalizers, and a Job that was created in the log has terminating pods |
//! | empty objects | the first status of a Job lacks `uncountedTerminatedPods` (FT-30) |

use jobcheck_spec::Uid;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_traces::{Form, Request, Resource, Subresource, Verb};
use rustc_hash::FxHashSet;

use super::actor::Role;
use super::event::{Body, Event};

/// Time after a creation of pods within which a controller writes the status, in microseconds.
const SOON: i64 = 1_000_000;
/// Maximum number of created Jobs that are kept.
const CREATED_KEPT: usize = 4_096;
/// Number of kinds.
const KINDS: usize = 5;
/// The positions of the kinds.
const STATUS: usize = 0;
const PATCH: usize = 1;
const DELETION: usize = 2;
const EMPTY: usize = 3;
const CREATION: usize = 4;
/// The reasons why a verdict is inconclusive, by kind.
const REASONS: [&str; KINDS] = [
    "the log has no write of jobs/status, although pods were created or finalizers removed. Its audit policy leaves them out",
    "the log has no PATCH, although finalizers must have been removed. Its audit policy leaves them out",
    "the log has no DELETE, although pods must have been deleted. Its audit policy leaves them out",
    "the log has no empty object, and each pod has some. The store of the log leaves them out",
    "the log has no creation of a pod, although Jobs have pods. Its audit policy leaves them out",
];

/// The kinds of requests, and of parts of them, that a log has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logged([bool; KINDS]);

impl Logged {
    /// Notes a request, accepted or not.
    pub fn note(&mut self, request: &Request<'_>) {
        let is_status = request.resource == Resource::Jobs && request.subresource == Subresource::Status;
        let is_of_pod = request.resource == Resource::Pods && request.subresource == Subresource::None;
        self.0[CREATION] |= is_of_pod && request.verb == Verb::Create;
        let evicts = request.subresource == Subresource::Other("eviction");
        self.0[STATUS] |= is_status;
        self.0[PATCH] |= request.verb == Verb::Patch;
        self.0[DELETION] |= evicts || matches!(request.verb, Verb::Delete | Verb::DeleteCollection);
        let mut bodies = request.request.iter().chain(&request.response);
        self.0[EMPTY] = self.0[EMPTY] || bodies.any(|body| body.text().contains("{}"));
    }
}

/// The requests that an audit log lacks.
#[derive(Clone, Debug, Default)]
pub struct Unlogged {
    /// The trace is an audit log, a part of one, or a recording of one.
    is_log: bool,
    logged: Logged,
    effects: [bool; KINDS],
    /// The Jobs whose creation the log has shown.
    created: FxHashSet<Uid>,
    /// A running pod has lost its finalizer. A controller deletes it next.
    releases_running: bool,
    /// The first creation of a pod by a Job controller, in microseconds.
    served: Option<i64>,
}

impl Unlogged {
    /// The trace is a part of a log that has shown these kinds elsewhere; `None` if it is no part of a log.
    #[must_use]
    pub fn of(elsewhere: Option<Logged>) -> Unlogged {
        let logged = elsewhere.unwrap_or_default();
        Unlogged { is_log: elsewhere.is_some(), logged, ..Unlogged::default() }
    }

    /// Notes a request of the log.
    pub fn requested(&mut self, request: &Request<'_>, form: Form) {
        // A native trace may have been recorded from an audit log. Only an API server knows the address of a sender.
        self.is_log |= form == Form::Audit || !request.actor.address.is_empty();
        self.logged.note(request);
    }

    /// Notes the effects that an event shows.
    pub fn shown(&mut self, event: &Event, role: Role) {
        if let Body::Pod(it) = &event.body
            && let Some(owner) = it.after.as_ref().and_then(|pod| pod.metadata.controller.as_ref())
        {
            self.effects[CREATION] |= event.verb != Some(Verb::Create) && self.created.contains(&owner.uid);
        }
        match &event.body {
            Body::Pod(it) if event.is_accepted() => match event.verb {
                Some(Verb::Patch) if it.names_finalizers == Some(true) => {
                    self.effects[STATUS] = true;
                    let runs = |pod: &Pod| !pod.finalizer && !pod.deleting && !pod.is_terminated();
                    self.releases_running |= it.after.as_ref().is_some_and(|after| runs(&after.pod));
                }
                Some(Verb::Create) if matches!(role, Role::JobController | Role::Manager) => {
                    self.served = self.served.or(event.when.map(|when| when.done));
                }
                _ => {}
            },
            Body::Job(it) => {
                if let Some(job) = it.after.as_deref() {
                    self.shows_job(event, job);
                }
            }
            _ => {}
        }
    }

    fn shows_job(&mut self, event: &Event, job: &Job) {
        if event.verb == Some(Verb::Create) && self.created.len() < CREATED_KEPT {
            self.created.insert(job.uid);
        }
        let has_terminating = job.status.terminating.is_some_and(|pods| pods > 0);
        self.effects[PATCH] |= counts_pods(job) || event.is_status && job.deleting;
        self.effects[DELETION] |= has_terminating && self.releases_running && self.created.contains(&job.uid);
        self.effects[EMPTY] |= event.is_status && job.status.uncounted.is_none();
    }

    /// Notes that a pod is being deleted, and that no request of its Job shows it.
    pub fn shows_deletion(&mut self) {
        self.effects[DELETION] = true;
    }

    /// The reason why the whole trace is inconclusive, if it ends at this time, in microseconds.
    #[must_use]
    pub fn doubt(&self, last: Option<i64>) -> Option<String> {
        let Logged(logged) = self.logged;
        let goes_on = self.served.zip(last).is_some_and(|(served, last)| last - served >= SOON);
        let has_effect = |kind| self.effects[kind] || kind == STATUS && goes_on;
        let lacks = |kind: &usize| has_effect(*kind) && !logged[*kind];
        let kind = (0..KINDS).find(lacks).filter(|_| self.is_log)?;
        Some(REASONS[kind].to_owned())
    }
}

/// Returns `true` if pods are counted, or about to be counted.
fn counts_pods(job: &Job) -> bool {
    let status = &job.status;
    status.succeeded > 0
        || status.failed > 0
        || !status.uncounted_succeeded().is_empty()
        || !status.uncounted_failed().is_empty()
}

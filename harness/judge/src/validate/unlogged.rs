//! Kinds of requests, or parts of them, that an audit policy or a log store leaves out.
//!
//! In a policy, `jobs` does not mean `jobs/status`, and a list of verbs may lack one. A log then shows an effect, and not one
//! request of the kind that has this effect. It does not show why a Job is as it is, so that no violation rests on it.
//!
//! | kind | effect | violations of requirements that bind these are withdrawn |
//! | --- | --- | --- |
//! | writes of `jobs/status` | a finalizer is removed, which follows a status write (FT-03); or a controller creates a pod, and the log goes on | all |
//! | PATCH and PUT of pods | a Job has counted pods that it had listed, or has had a completed index at a status write before, or a status write after its deletion: finalizers are removed | executors |
//! | writes of `pods/status`, but those of the control plane | the status of a Job that was created in the log has ready or succeeded pods, or failed ones that were not deleted | executors |
//! | creations of pods | a pod of a Job that was created in the log is shown, and not its creation | executors |
//! | DELETE of pods, evictions | a pod is being deleted that was not before; or running pods lose their finalizers, and a Job that was created in the log has terminating pods | executors; the TTL controller, if there is no DELETE of a Job either |
//! | empty objects | a status lacks `uncountedTerminatedPods` (FT-30) | all |
//!
//! Each namespace is looked at by itself, because a policy may name namespaces, and may be corrected between two of them.
//!
//! A log does not show whether a controller never removes a finalizer, or a policy leaves the removals out. Only a user knows that a log is
//! complete (`--assume audit-policy=complete`).

use jobcheck_spec::job::{Job, JobStatus, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Binds, Req, Uid};
use jobcheck_traces::{Form, Request, Resource, Subresource, Verb};
use rustc_hash::{FxHashMap, FxHashSet};

use super::actor::Role;
use super::event::{Body, Event, PodEvent};

/// Time after a creation of pods within which a controller writes the status, in microseconds.
const SOON: i64 = 1_000_000;
/// Maximum number of namespaces that have entries of their own.
const NAMESPACES_KEPT: usize = 65_536;
/// Maximum number of Jobs that are kept.
const JOBS_KEPT: usize = 4_096;
/// Maximum number of deleted pods that are kept.
const PODS_KEPT: usize = 65_536;
/// Number of kinds.
const KINDS: usize = 7;
/// The positions of the kinds.
const STATUS: usize = 0;
const POD_WRITE: usize = 1;
const DELETION: usize = 2;
const EMPTY: usize = 3;
const CREATION: usize = 4;
const POD_STATUS: usize = 5;
const JOB_DELETION: usize = 6;
/// The user names of the scheduler and of kube-controller-manager begin so. They write conditions of pods.
const CONTROL_PLANE: &str = "system:kube-";
/// The service accounts of the controllers that write conditions of pods, if each has its own.
const CONTROLLERS: [&str; 6] = [
    "system:serviceaccount:kube-system:node-controller",
    "system:serviceaccount:kube-system:taint-eviction-controller",
    "system:serviceaccount:kube-system:device-taint-eviction-controller",
    "system:serviceaccount:kube-system:pod-garbage-collector",
    "system:serviceaccount:kube-system:disruption-controller",
    "system:serviceaccount:kube-system:job-controller",
];

/// A kind of requests, or of parts of them, that a log lacks.
#[derive(Clone, Copy, Debug)]
pub struct Lacking {
    /// The reason why a verdict is inconclusive.
    pub reason: &'static str,
    /// The violations that may rest on it.
    concerns: fn(Resting) -> bool,
}

/// A violation, as far as it rests on pods.
#[derive(Clone, Copy, Debug)]
pub struct Resting {
    /// The requirement.
    pub req: Req,
    /// The party that the requirement binds.
    pub party: Binds,
    /// The manager of the Job creates pods.
    pub is_executed: bool,
}

impl Lacking {
    /// Returns `true` if such a violation may rest on what is left out.
    #[must_use]
    pub fn concerns(&self, violation: Resting) -> bool {
        (self.concerns)(violation)
    }
}

impl Resting {
    /// Returns `true` if it rests on pods. An executor decides by its pods, also where the requirement binds every manager. A
    /// forbidden request rests on nothing else.
    #[must_use]
    pub fn rests_on_pods(self) -> bool {
        let is_of_executor = self.is_executed && matches!(self.party, Binds::Executor | Binds::Manager);
        is_of_executor && self.req != Req::SY11
    }
}

const TABLE: [Lacking; KINDS] = [
    Lacking {
        reason: "the log has no write of jobs/status, although pods were created or finalizers removed. Its audit policy leaves them out",
        concerns: |_| true,
    },
    Lacking {
        reason: "the log has no PATCH of a pod, although finalizers must have been removed. Its audit policy leaves them out; \
                 if it does not, say --assume audit-policy=complete",
        concerns: Resting::rests_on_pods,
    },
    Lacking {
        reason: "the log has no DELETE, although pods must have been deleted. Its audit policy leaves them out",
        concerns: Resting::rests_on_pods,
    },
    Lacking {
        reason: "the log has no empty object, and each pod has some. The store of the log leaves them out",
        concerns: |_| true,
    },
    Lacking {
        reason: "the log has no creation of a pod, although Jobs have pods. Its audit policy leaves them out",
        concerns: Resting::rests_on_pods,
    },
    Lacking {
        reason: "the log has no write of pods/status, although pods became ready or ended. Its audit policy leaves kubelets out",
        concerns: Resting::rests_on_pods,
    },
    Lacking {
        reason: "the log has no DELETE, although pods must have been deleted. Its audit policy leaves them out",
        concerns: |violation| violation.party == Binds::Ttl,
    },
];

/// The audit log that a trace is, or is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Log {
    /// The trace is all that is known of it.
    #[default]
    Alone,
    /// The trace is a part of a log that has shown these kinds elsewhere in the namespace of its Job.
    PartOf(Kinds),
    /// The log has every request that changes a Job or a pod, as the user says.
    Complete,
}

/// The kinds of requests, and of parts of them, that a log has shown of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds([bool; KINDS]);

impl Kinds {
    fn note(&mut self, request: &Request<'_>) {
        let Kinds(shown) = self;
        let is_of =
            |resource, subresource| request.resource == resource && request.subresource == subresource;
        let is_of_pod = is_of(Resource::Pods, Subresource::None);
        shown[STATUS] |= is_of(Resource::Jobs, Subresource::Status);
        shown[POD_WRITE] |= is_of_pod && matches!(request.verb, Verb::Patch | Verb::Update);
        shown[CREATION] |= is_of_pod && request.verb == Verb::Create;
        let user = request.actor.user;
        let is_of_node = !user.starts_with(CONTROL_PLANE) && !CONTROLLERS.contains(&user);
        shown[POD_STATUS] |= is_of(Resource::Pods, Subresource::Status) && is_of_node;
        let deletes = matches!(request.verb, Verb::Delete | Verb::DeleteCollection);
        let evicts = request.subresource == Subresource::Other("eviction");
        shown[DELETION] |= evicts || is_of_pod && deletes;
        shown[JOB_DELETION] |= is_of(Resource::Jobs, Subresource::None) && deletes;
    }
}

/// The kinds that a log has shown, by namespace: the rules of an audit policy may name namespaces.
#[derive(Clone, Debug, Default)]
pub struct Logged {
    spaces: FxHashMap<Text, Kinds>,
    /// A store leaves out empty objects everywhere or nowhere.
    has_empty: bool,
}

impl Logged {
    /// Notes a request, accepted or not.
    pub fn note(&mut self, request: &Request<'_>) {
        let mut bodies = request.request.iter().chain(&request.response);
        self.has_empty = self.has_empty || bodies.any(|body| body.text().contains("{}"));
        if let Some(kinds) = self.spaces.get_mut(request.namespace) {
            return kinds.note(request);
        }
        // All others share one entry.
        let is_full = self.spaces.len() >= NAMESPACES_KEPT;
        let name = if is_full { "" } else { request.namespace };
        self.spaces.entry(name.into()).or_default().note(request);
    }

    /// The kinds of a namespace.
    #[must_use]
    pub fn of(&self, namespace: &str) -> Kinds {
        let known = self.spaces.get(namespace).or_else(|| self.spaces.get(""));
        let Kinds(mut shown) = known.copied().unwrap_or_default();
        shown[EMPTY] = self.has_empty;
        Kinds(shown)
    }
}

/// Something in a status that makes its controller remove finalizers next.
#[derive(Clone, Copy, Debug)]
enum Contained {
    /// A listed pod. A later status counts it instead.
    Pod(Uid),
    /// A completed index, whose pod was never listed.
    Index,
}

/// The effects that a log has shown of a namespace.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    of: [bool; KINDS],
    /// A running pod has lost its finalizer. A controller deletes it next.
    releases_running: bool,
    /// The first creation of a pod by a Job controller, in microseconds.
    served: Option<i64>,
}

/// The requests that an audit log lacks.
#[derive(Clone, Debug, Default)]
pub struct Unlogged {
    /// The trace is an audit log, a part of one, or a recording of one.
    is_log: bool,
    is_complete: bool,
    /// The kinds that the log has shown elsewhere.
    elsewhere: Kinds,
    logged: Logged,
    effects: FxHashMap<Text, Effects>,
    /// The Jobs whose creation the log has shown.
    created: FxHashSet<Uid>,
    /// The Jobs whose pods the log has shown.
    have_pods: FxHashSet<Uid>,
    /// Something that the status of each Job contains.
    contained: FxHashMap<Uid, Contained>,
    /// Pods that are being deleted, or were. They fail without a kubelet.
    deleted: FxHashSet<Uid>,
}

impl Unlogged {
    /// Begins with what is known about the log.
    #[must_use]
    pub fn of(log: Log) -> Unlogged {
        let (is_log, is_complete) = (log != Log::Alone, log == Log::Complete);
        let elsewhere = if let Log::PartOf(kinds) = log { kinds } else { Kinds::default() };
        Unlogged { is_log, is_complete, elsewhere, ..Unlogged::default() }
    }

    /// Notes a request of the log.
    pub fn requested(&mut self, request: &Request<'_>, form: Form) {
        // A native trace may have been recorded from an audit log. Only an API server knows the address of a sender.
        self.is_log |= form == Form::Audit || !request.actor.address.is_empty();
        self.logged.note(request);
    }

    /// Notes the effects that an event shows.
    pub fn shown(&mut self, event: &Event, role: Role) {
        match &event.body {
            Body::Pod(it) => self.shows_pod(event, it, role),
            Body::PodCollection(pods) => pods.iter().for_each(|pod| self.is_deleted(pod.pod.uid)),
            Body::Job(it) => {
                if let Some(job) = it.after.as_deref() {
                    self.shows_job(event, job);
                }
            }
            _ => {}
        }
    }

    fn effects(&mut self, namespace: &Text) -> &mut Effects {
        self.effects.entry(namespace.clone()).or_default()
    }

    fn is_deleted(&mut self, pod: Uid) {
        if self.deleted.len() < PODS_KEPT {
            self.deleted.insert(pod);
        }
    }

    fn shows_pod(&mut self, event: &Event, it: &PodEvent, role: Role) {
        let owner = it.after.as_ref().and_then(|pod| pod.metadata.controller.as_ref());
        let is_of_created = owner.is_some_and(|owner| self.created.contains(&owner.uid));
        if let Some(owner) = owner.filter(|_| self.have_pods.len() < JOBS_KEPT) {
            self.have_pods.insert(owner.uid);
        }
        let after = it.after.as_ref().map(|after| &after.pod);
        if let Some(pod) = after.filter(|pod| pod.deleting || event.verb == Some(Verb::Delete)) {
            self.is_deleted(pod.uid);
        }
        let effects = self.effects(&event.namespace);
        effects.of[CREATION] |= event.verb != Some(Verb::Create) && is_of_created;
        match event.verb {
            Some(Verb::Patch) if event.is_accepted() && it.names_finalizers == Some(true) => {
                effects.of[STATUS] = true;
                let runs = |pod: &Pod| !pod.finalizer && !pod.deleting && !pod.is_terminated();
                effects.releases_running |= it.after.as_ref().is_some_and(|after| runs(&after.pod));
            }
            Some(Verb::Create)
                if event.is_accepted() && matches!(role, Role::JobController | Role::Manager) =>
            {
                effects.served = effects.served.or(event.when.map(|when| when.done));
            }
            _ => {}
        }
    }

    fn shows_job(&mut self, event: &Event, job: &Job) {
        if event.verb == Some(Verb::Create) && self.created.len() < JOBS_KEPT {
            self.created.insert(job.uid);
        }
        let (counts, is_created) = (self.counts_pods(event, job), self.created.contains(&job.uid));
        let status = &job.status;
        let has_terminating = status.terminating.is_some_and(|pods| pods > 0);
        let has_run = has_run(status, &self.deleted);
        // The status of a mirror is about pods elsewhere.
        let is_executed = job.is_managed_by_built_in() || self.have_pods.contains(&job.uid);
        let effects = self.effects(&job.namespace);
        effects.of[EMPTY] |= event.is_status && status.uncounted.is_none();
        if !is_executed {
            return;
        }
        effects.of[POD_WRITE] |= counts || event.is_status && job.deleting;
        let deletes = has_terminating && effects.releases_running && is_created;
        effects.of[DELETION] |= deletes;
        effects.of[JOB_DELETION] |= deletes;
        effects.of[POD_STATUS] |= is_created && has_run;
    }

    /// Returns `true` if pods that an earlier status contains have lost their finalizers by now, if the controller is right.
    fn counts_pods(&mut self, event: &Event, job: &Job) -> bool {
        let status = &job.status;
        let listed = || status.uncounted_succeeded().iter().chain(status.uncounted_failed());
        let is_over = |contained: &Contained| match contained {
            Contained::Pod(pod) => !listed().any(|other| other == pod),
            Contained::Index => event.is_status,
        };
        if self.contained.get(&job.uid).is_some_and(is_over) {
            self.contained.remove(&job.uid);
            return true;
        }
        // Their pods may have been released before the log begins.
        let is_whole = self.created.contains(&job.uid);
        let has_index = is_whole && job.spec.is_indexed() && !status.completed_indexes.is_empty();
        let first = listed().next().map(|pod| Contained::Pod(*pod)).or(has_index.then_some(Contained::Index));
        if let Some(first) = first.filter(|_| event.is_status && self.contained.len() < JOBS_KEPT) {
            self.contained.entry(job.uid).or_insert(first);
        }
        false
    }

    /// Notes that a pod of this namespace is being deleted, and that no request of its Job shows it.
    pub fn shows_deletion(&mut self, namespace: &Text) {
        let Effects { of, .. } = self.effects(namespace);
        (of[DELETION], of[JOB_DELETION]) = (true, true);
    }

    /// Forgets a Job that has ended.
    pub fn ends(&mut self, job: Uid) {
        self.created.remove(&job);
        self.have_pods.remove(&job);
        self.contained.remove(&job);
    }

    /// The kinds that the log lacks of a namespace, if it ends at this time, in microseconds.
    pub fn lacking(&self, namespace: &str, last: Option<i64>) -> impl Iterator<Item = Lacking> + use<> {
        let (Kinds(here), Kinds(elsewhere)) = (self.logged.of(namespace), self.elsewhere);
        let Effects { of, served, .. } = self.effects.get(namespace).copied().unwrap_or_default();
        let goes_on = served.zip(last).is_some_and(|(served, last)| last - served >= SOON);
        let has_effect = move |kind| of[kind] || kind == STATUS && goes_on;
        let is_shown = move |kind: usize| here[kind] || elsewhere[kind];
        let may_lack = self.is_log && !self.is_complete;
        (0..KINDS)
            .filter(move |kind| may_lack && has_effect(*kind) && !is_shown(*kind))
            .map(|kind| TABLE[kind])
    }
}

/// Returns `true` if a kubelet must have written pods: some are ready, have succeeded, or have failed without a deletion.
fn has_run(status: &JobStatus, deleted: &FxHashSet<Uid>) -> bool {
    status.ready.is_some_and(|pods| pods > 0)
        || status.succeeded > 0
        || !status.uncounted_succeeded().is_empty()
        || deleted.len() < PODS_KEPT && status.uncounted_failed().iter().any(|pod| !deleted.contains(pod))
}

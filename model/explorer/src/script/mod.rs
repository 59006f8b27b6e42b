//! A script: what the environment of a scope does, one thing after the other, and nothing else.
//!
//! A scope with a script is explored like any other. Of what the environment could do, only that is possible which the
//! script says next; the controllers go on in between as they like, and so do those who react to what was done: caches
//! that are not held, the garbage collector, who follows an eviction up, and the server that removes a pod. Where the
//! script is, is part of the world ([`World::position`]).
//!
//! # Guarantees
//!
//! Every behaviour of a scope with a script is one of the same scope without, but for four things: a process may die
//! that has nothing to lose, a pod may end that has not run, a watch that is held lags without bound, and the
//! specification of a finished Job may be edited.

pub mod claims;

use crate::env::disruption::DisruptionStep;
use crate::env::kubelet::KubeletStep;
use crate::env::user::UserStep;
use crate::process::io::{Call, CallName};
use crate::process::steps::{ProcessStep, RequestOutcome};
use crate::process::ttl::TtlStep;
use crate::step::Step;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::uid::Uid;

pub use self::claims::{Claim, Count, Expectation, Flag, Number};

/// What the environment does in a scope.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Script {
    /// One thing after the other.
    pub items: Vec<Item>,
    /// What holds once the script is over and nothing can happen any more.
    pub expectations: Vec<Expectation>,
    /// The codes with which its containers exit.
    pub exit_codes: Vec<i32>,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The Job that it concerns.
    pub job: JobId,
    /// What happens.
    pub what: What,
    /// It happens only while this holds.
    pub when: Vec<Claim>,
    /// What is held up from the moment that the script comes here until it goes on.
    pub paused: Paused,
    /// True if it is left out where nothing else can happen any more, and it cannot happen either.
    pub optional: bool,
    /// The requirement that asks for what is waited for, if one is named.
    pub requirement: Option<Req>,
    /// Number of the scenario's step that it belongs to, from 1.
    pub step: usize,
    /// Where that stands, as a report calls it, such as `step 2 (line 14)`.
    pub place: String,
}

/// What is held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Paused {
    /// No event of a pod reaches a controller.
    pub pods: bool,
    /// No event of a Job does.
    pub jobs: bool,
    /// The controllers do nothing.
    pub controllers: bool,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A kubelet does this to a pod.
    Kubelet(PodRef, KubeletStep),
    /// Somebody else does this to a pod.
    Disrupt(PodRef, DisruptionStep),
    /// The user does one of these of the scope, by number; to this pod, if to one.
    User(Vec<u8>, PodRef),
    /// This becomes of the next such request of a controller.
    Request(Request, RequestHandling),
    /// The process dies, and is started again.
    Crash,
    /// The TTL controller does.
    TtlCrash,
    /// The request of a dead process reaches the server.
    HandleDelayed,
    /// A second process takes the lead, and the first does not notice.
    ElectSecondLeader,
    /// This process stops.
    StopOldLeader(u8),
    /// A process with the scope's next gates takes over.
    Rollout,
    /// A second passes.
    Tick,
    /// Nothing: the script goes on as soon as its condition holds.
    Await,
    /// Nothing: the script goes on once the caches show all there is, of these.
    CatchUp(Caches),
    /// Nothing: the script goes on once nothing else can happen, and its condition holds then.
    Settle,
}

/// Caches of controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// Those of pods.
    Pods,
    /// Those of Jobs.
    Jobs,
    /// All.
    All,
}

/// A pod of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodRef {
    /// The so-many-th that was created, from 1.
    Number(u8),
    /// One of this completion index.
    Index(u32),
    /// Whichever.
    Any,
}

/// Requests of controllers, as an API server tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Verb and resource.
    pub kind: RequestKind,
    /// The pod, if it is about one; of a creation, only its index is known.
    pub pod: PodRef,
}

/// Verb and resource of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// POST of a pod.
    CreatePod,
    /// DELETE of a pod.
    DeletePod,
    /// PATCH of a pod: its finalizer, or its owner.
    PatchPod,
    /// PUT of the status of a Job.
    UpdateStatus,
    /// GET of a Job.
    GetJob,
    /// DELETE of a Job.
    DeleteJob,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestHandling {
    /// The server handles it, or does not.
    Sent(RequestOutcome),
    /// Its sender dies while it is on the way.
    Orphaned,
}

/// Who takes a step, where there is a script.
enum Role {
    /// A controller, which is free.
    Controller,
    /// A watch of pods, which is free unless it is held.
    Pods,
    /// A watch of Jobs.
    Jobs,
    /// Somebody who only follows up what was done.
    Reaction,
    /// Whoever the script tells.
    Scripted,
}

impl Script {
    /// Where the script is, if it is not over.
    #[must_use]
    pub fn item(&self, world: &World) -> Option<&Item> {
        self.items.get(usize::from(world.position))
    }

    /// What is held up.
    #[must_use]
    pub fn paused(&self, world: &World) -> Paused {
        self.item(world).map(|item| item.paused).unwrap_or_default()
    }

    /// Of all steps those that are possible with this script.
    #[must_use]
    pub fn allow(&self, world: &World, mut steps: Vec<Step>) -> Vec<Step> {
        let paused = self.paused(world);
        let item = self.item(world).filter(|item| item.is_due(world));
        steps.retain(|step| match role(step) {
            Role::Controller => !paused.controllers && !item.is_some_and(|item| item.diverts(step, world)),
            Role::Pods => !paused.pods,
            Role::Jobs => !paused.jobs,
            Role::Reaction => true,
            Role::Scripted => item.is_some_and(|item| item.is(step, world)),
        });
        let proceeds = item.is_some_and(|item| match item.what {
            What::Await => true,
            What::CatchUp(caches) => caches.know_all(world.job_state(item.job)),
            What::Settle => steps.is_empty(),
            _ => false,
        });
        let left_out = steps.is_empty() && self.item(world).is_some_and(|item| item.optional);
        steps.extend((proceeds || left_out).then_some(Step::Proceed));
        steps
    }

    /// Returns true if the script goes on with this step.
    #[must_use]
    pub fn advances(&self, world: &World, step: &Step) -> bool {
        let item = self.item(world);
        let happens = |item: &Item| item.is_due(world) && item.is(step, world);
        item.is_some_and(|item| *step == Step::Proceed || happens(item))
    }
}

impl Caches {
    /// Returns true if they show all there is.
    fn know_all(self, job_state: &JobState) -> bool {
        let pods = || job_state.processes().iter().all(|process| process.knowledge.behind.is_empty());
        let jobs = || {
            let processes = &mut job_state.processes().iter();
            processes.all(|process| process.job_behind.is_empty())
                && job_state.ttl.controller().is_none_or(|ttl| ttl.is_current())
        };
        match self {
            Caches::Pods => pods(),
            Caches::Jobs => jobs(),
            Caches::All => pods() && jobs(),
        }
    }
}

fn role(step: &Step) -> Role {
    match step {
        Step::Process(_, _, what) => match what {
            ProcessStep::Sync(_)
            | ProcessStep::Choose(_)
            | ProcessStep::Call(_, RequestOutcome::Handled)
            | ProcessStep::Orphan(_, RequestOutcome::Handled) => Role::Controller,
            ProcessStep::ShowPod | ProcessStep::RelistPods => Role::Pods,
            ProcessStep::ShowJob | ProcessStep::RelistJobs => Role::Jobs,
            ProcessStep::Call(..)
            | ProcessStep::Orphan(..)
            | ProcessStep::Crash
            | ProcessStep::CrashInFlight(_)
            | ProcessStep::ElectSecondLeader
            | ProcessStep::StopOldLeader => Role::Scripted,
        },
        Step::Ttl(_, what) => match what {
            TtlStep::Sync
            | TtlStep::Get(RequestOutcome::Handled)
            | TtlStep::Delete(RequestOutcome::Handled) => Role::Controller,
            TtlStep::Show => Role::Jobs,
            TtlStep::Get(_) | TtlStep::Delete(_) | TtlStep::Crash => Role::Scripted,
        },
        Step::Write(..) | Step::Expire(_) => Role::Controller,
        Step::ShowPod(_) => Role::Pods,
        Step::ShowJob(_) => Role::Jobs,
        Step::Collect(..)
        | Step::RemoveJob(_)
        | Step::Kubelet(_, _, KubeletStep::Remove)
        | Step::Disrupt(_, _, DisruptionStep::Delete) => Role::Reaction,
        Step::Kubelet(..)
        | Step::Disrupt(..)
        | Step::User(..)
        | Step::Crash(_)
        | Step::Rollout(_)
        | Step::HandleDelayed(_)
        | Step::Proceed
        | Step::Tick => Role::Scripted,
    }
}

impl Item {
    /// Returns true if its condition holds.
    fn is_due(&self, world: &World) -> bool {
        self.when.iter().all(|claim| claim.objection(world.job_state(self.job)).is_none())
    }

    /// Returns true if a request that is handled should meet with something else: the script is waiting for one of its kind.
    fn diverts(&self, step: &Step, world: &World) -> bool {
        match (&self.what, request(step)) {
            (What::Request(request, handling), Some((job, sent))) => {
                *handling != RequestHandling::Sent(RequestOutcome::Handled)
                    && job == self.job
                    && request.fits(sent, world.job_state(job))
            }
            _ => false,
        }
    }

    /// Returns true if a step is what happens.
    fn is(&self, step: &Step, world: &World) -> bool {
        let job_state = world.job_state(self.job);
        let own = |job: &JobId| *job == self.job;
        match (&self.what, step) {
            (What::Kubelet(pod, what), Step::Kubelet(job, uid, step)) => {
                own(job) && what == step && pod.fits(*uid, job_state)
            }
            (What::Disrupt(pod, what), Step::Disrupt(job, uid, step)) => {
                own(job) && what == step && pod.fits(*uid, job_state)
            }
            (What::User(numbers, pod), Step::User(job, number, step)) => {
                let fits = match step {
                    UserStep::DeletePod(uid) | UserStep::StripOwner(uid) | UserStep::Relabel(uid) => {
                        pod.fits(*uid, job_state)
                    }
                    UserStep::Job(_) => true,
                };
                own(job) && numbers.contains(number) && fits
            }
            (What::Request(request, handling), step) => sent(step).is_some_and(|(job, sent, met)| {
                own(&job) && met == *handling && request.fits(sent, job_state)
            }),
            (What::Crash, Step::Process(job, _, ProcessStep::Crash))
            | (What::ElectSecondLeader, Step::Process(job, _, ProcessStep::ElectSecondLeader))
            | (What::TtlCrash, Step::Ttl(job, TtlStep::Crash))
            | (What::HandleDelayed, Step::HandleDelayed(job))
            | (What::Rollout, Step::Rollout(job)) => own(job),
            (What::StopOldLeader(process), Step::Process(job, number, ProcessStep::StopOldLeader)) => {
                own(job) && number == process
            }
            (What::Tick, Step::Tick) => true,
            _ => false,
        }
    }
}

impl PodRef {
    /// Returns true if it means this pod.
    #[must_use]
    pub fn fits(self, uid: Uid, job_state: &JobState) -> bool {
        match self {
            PodRef::Number(number) => uid == Uid(number.into()),
            PodRef::Index(index) => job_state.pods.get(uid).is_some_and(|pod| pod.index == Some(index)),
            PodRef::Any => true,
        }
    }
}

/// A request on its way.
#[derive(Clone, Copy)]
enum Sent {
    Call(CallName),
    Orphan(Uid),
    Get,
    Delete,
}

/// The request that a step handles.
fn request(step: &Step) -> Option<(JobId, Sent)> {
    sent(step)
        .filter(|(_, _, handling)| *handling == RequestHandling::Sent(RequestOutcome::Handled))
        .map(|(job, sent, _)| (job, sent))
}

fn sent(step: &Step) -> Option<(JobId, Sent, RequestHandling)> {
    match step {
        Step::Process(job, _, ProcessStep::Call(name, outcome)) => {
            Some((*job, Sent::Call(*name), RequestHandling::Sent(*outcome)))
        }
        Step::Process(job, _, ProcessStep::CrashInFlight(name)) => {
            Some((*job, Sent::Call(*name), RequestHandling::Orphaned))
        }
        Step::Process(job, _, ProcessStep::Orphan(uid, outcome)) => {
            Some((*job, Sent::Orphan(*uid), RequestHandling::Sent(*outcome)))
        }
        Step::Ttl(job, TtlStep::Get(outcome)) => Some((*job, Sent::Get, RequestHandling::Sent(*outcome))),
        Step::Ttl(job, TtlStep::Delete(outcome)) => {
            Some((*job, Sent::Delete, RequestHandling::Sent(*outcome)))
        }
        _ => None,
    }
}

/// The kind of the request that a step is about, and the pod, if it is about one that has a name already; and what
/// becomes of it.
#[must_use]
pub fn request_of(step: &Step) -> Option<(JobId, Request, RequestHandling)> {
    let (job, sent, handling) = sent(step)?;
    let (kind, uid) = sent.parts();
    let number = uid.and_then(|uid| u8::try_from(uid.0).ok());
    Some((job, Request { kind, pod: number.map_or(PodRef::Any, PodRef::Number) }, handling))
}

impl Sent {
    fn parts(self) -> (RequestKind, Option<Uid>) {
        match self {
            Sent::Call(CallName::CreatePod(_)) => (RequestKind::CreatePod, None),
            Sent::Call(CallName::DeletePod(uid)) => (RequestKind::DeletePod, Some(uid)),
            Sent::Call(
                CallName::RemoveFinalizer(uid) | CallName::AdoptPod(uid) | CallName::ReleasePod(uid),
            )
            | Sent::Orphan(uid) => (RequestKind::PatchPod, Some(uid)),
            Sent::Call(CallName::WriteStatus) => (RequestKind::UpdateStatus, None),
            Sent::Get => (RequestKind::GetJob, None),
            Sent::Delete => (RequestKind::DeleteJob, None),
        }
    }

    /// The completion index of the pod that it creates.
    fn created_index(self, job_state: &JobState) -> Option<u32> {
        let Sent::Call(name @ CallName::CreatePod(_)) = self else { return None };
        let mut syncs = job_state.processes().iter().flat_map(|process| &process.sync);
        syncs.find_map(|sync| match sync.call(name) {
            Some(Call::CreatePod(_, pod)) => pod.index,
            _ => None,
        })
    }
}

impl Request {
    fn fits(self, sent: Sent, job_state: &JobState) -> bool {
        let (kind, uid) = sent.parts();
        let pod = match (self.pod, uid) {
            (PodRef::Any, _) => true,
            (pod, Some(uid)) => pod.fits(uid, job_state),
            (PodRef::Index(index), None) => sent.created_index(job_state) == Some(index),
            (PodRef::Number(_), None) => false,
        };
        kind == self.kind && pod
    }
}

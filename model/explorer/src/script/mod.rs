//! Scripts: the events of a scope's environment in a fixed order.
//!
//! A scope with a script is explored like any other scope. The environment takes only the step that the
//! script contains next ([`World::position`]).
//!
//! Steps of controllers and caches are always free unless they are paused. The same holds for reactions: the
//! garbage collector, the deletion of an evicted pod, and the removal of a pod by the server.
//!
//! # Guarantees
//!
//! A behaviour of a scope with a script is also a behaviour of the scope without it, with four exceptions:
//!
//! - a process may crash that has nothing to lose,
//! - a pod may terminate that has not started,
//! - a paused watch may lag without bound,
//! - the specification of a finished Job may change.

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

/// The events of the environment, and the expectations at the end.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Script {
    /// The events, in their order.
    pub items: Vec<Item>,
    /// The expectations at quiescence, after the last event.
    pub expectations: Vec<Expectation>,
    /// The exit codes of failing containers.
    pub exit_codes: Vec<i32>,
}

/// One event of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The Job that it concerns.
    pub job: JobId,
    /// The event.
    pub what: What,
    /// The conditions without which the event does not happen.
    pub when: Vec<Claim>,
    /// The caches and controllers that pause from the previous event until this one.
    pub paused: Paused,
    /// The requests of controllers that wait during the same time.
    pub held: Vec<Request>,
    /// True if the script skips the event when neither it nor any other step is possible.
    pub optional: bool,
    /// The requirement behind the condition, if the scenario names one.
    pub requirement: Option<Req>,
    /// The number of the scenario's step, from 1.
    pub step: usize,
    /// The place in the scenario, such as `step 2 (line 14)`.
    pub place: String,
}

/// The paused caches and controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Paused {
    /// True if no cache receives events of pods.
    pub pods: bool,
    /// True if no cache receives events of Jobs.
    pub jobs: bool,
    /// True if no controller takes a step.
    pub controllers: bool,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A kubelet changes a pod.
    Kubelet(PodRef, KubeletStep),
    /// A disruption of a pod.
    Disrupt(PodRef, DisruptionStep),
    /// The user takes one of these actions of the scope, given by their numbers. An action on a pod concerns
    /// this pod.
    User(Vec<u8>, PodRef),
    /// The outcome of the next request of this kind.
    Request(Request, RequestHandling),
    /// No event. The script proceeds once a controller has sent such a request, which is held from then on.
    Held(Request),
    /// The process crashes and restarts.
    Crash,
    /// The TTL-after-finished controller crashes and restarts.
    TtlCrash,
    /// The delayed request of a crashed process reaches the server.
    HandleDelayed,
    /// A second process becomes the leader, and the first one does not notice.
    ElectSecondLeader,
    /// This process stops.
    StopOldLeader(u8),
    /// A process with the scope's next gates takes over.
    Rollout,
    /// One second passes.
    Tick,
    /// No event. The script proceeds once its conditions hold.
    Await,
    /// No event. The script proceeds once these caches are up to date.
    CatchUp(Caches),
    /// No event. The script proceeds at quiescence, if its conditions hold.
    Settle,
}

/// Caches of controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// The Pod caches.
    Pods,
    /// The Job caches.
    Jobs,
    /// All caches.
    All,
}

/// A pod of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodRef {
    /// The pod with this number, in the order of creation from 1.
    Number(u8),
    /// A pod with this completion index.
    Index(u32),
    /// Any pod.
    Any,
}

/// A request of a controller, as an API server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The verb and the resource.
    pub kind: RequestKind,
    /// The pod that it concerns. Before a creation only the index is known.
    pub pod: PodRef,
}

/// The verb and the resource of a request.
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

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestHandling {
    /// The request reaches the server, fails, or loses its response.
    Sent(RequestOutcome),
    /// The sender crashes while the request is on its way.
    Orphaned,
}

/// The role of a step in a scope with a script.
enum Role {
    /// A step of a controller. It is free unless controllers are paused.
    Controller,
    /// An event for a Pod cache. It is free unless these caches are paused.
    Pods,
    /// An event for a Job cache. It is free unless these caches are paused.
    Jobs,
    /// A reaction to an earlier event. It is always free.
    Reaction,
    /// A step that happens only if the script contains it next.
    Scripted,
}

impl Script {
    /// The next event. Returns `None` at the end of the script.
    #[must_use]
    pub fn item(&self, world: &World) -> Option<&Item> {
        self.items.get(usize::from(world.position))
    }

    /// The paused caches and controllers.
    #[must_use]
    pub fn paused(&self, world: &World) -> Paused {
        self.item(world).map(|item| item.paused).unwrap_or_default()
    }

    /// The steps among these that the script allows.
    #[must_use]
    pub fn allow(&self, world: &World, mut steps: Vec<Step>) -> Vec<Step> {
        let paused = self.paused(world);
        let item = self.item(world).filter(|item| item.is_due(world));
        let waits = |step: &Step| self.item(world).is_some_and(|item| item.holds_up(step, world));
        let is_sent =
            |request| steps.iter().any(|step| item.is_some_and(|it| it.is_about(request, step, world)));
        let is_held = item.is_some_and(|item| matches!(item.what, What::Held(request) if is_sent(request)));
        steps.retain(|step| match role(step) {
            Role::Controller => {
                let is_free = !paused.controllers && !waits(step);
                item.is_some_and(|item| item.is_taken_by(step, world))
                    || is_free && !item.is_some_and(|item| item.prevents(step, world))
            }
            Role::Pods => !paused.pods,
            Role::Jobs => !paused.jobs,
            Role::Reaction => true,
            Role::Scripted => item.is_some_and(|item| item.is_taken_by(step, world)),
        });
        let proceeds = item.is_some_and(|item| match item.what {
            What::Await => true,
            What::Held(_) => is_held,
            What::CatchUp(caches) => caches.are_current(world.job_state(item.job)),
            What::Settle => steps.is_empty(),
            _ => false,
        });
        let skipped = steps.is_empty() && self.item(world).is_some_and(|item| item.optional);
        steps.extend((proceeds || skipped).then_some(Step::Proceed));
        steps
    }

    /// Returns true if the script proceeds with this step.
    #[must_use]
    pub fn advances(&self, world: &World, step: &Step) -> bool {
        let item = self.item(world);
        let happens = |item: &Item| item.is_due(world) && item.is_taken_by(step, world);
        item.is_some_and(|item| *step == Step::Proceed || happens(item))
    }
}

impl Caches {
    /// Returns true if these caches are up to date.
    fn are_current(self, job_state: &JobState) -> bool {
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
    /// Returns true if the conditions of the event hold.
    fn is_due(&self, world: &World) -> bool {
        self.when.iter().all(|claim| claim.objection(world.job_state(self.job)).is_none())
    }

    /// Returns true if the step handles such a request about this Job.
    fn is_about(&self, asked: Request, step: &Step, world: &World) -> bool {
        request(step).is_some_and(|(job, sent)| job == self.job && asked.fits(sent, world.job_state(job)))
    }

    /// Returns true if the step handles a request that waits.
    fn holds_up(&self, step: &Step, world: &World) -> bool {
        self.held.iter().any(|held| self.is_about(*held, step, world))
    }

    /// Returns true if this step must not happen, because the script specifies another outcome for the
    /// request.
    fn prevents(&self, step: &Step, world: &World) -> bool {
        match (&self.what, request(step)) {
            (What::Held(held), _) => self.is_about(*held, step, world),
            (What::Request(request, handling), Some((job, sent))) => {
                *handling != RequestHandling::Sent(RequestOutcome::Handled)
                    && job == self.job
                    && request.fits(sent, world.job_state(job))
            }
            _ => false,
        }
    }

    /// Returns true if the step is the event.
    fn is_taken_by(&self, step: &Step, world: &World) -> bool {
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
    /// Returns true if the reference includes this pod.
    #[must_use]
    pub fn fits(self, uid: Uid, job_state: &JobState) -> bool {
        match self {
            PodRef::Number(number) => uid == Uid(number.into()),
            PodRef::Index(index) => job_state.pods.get(uid).is_some_and(|pod| pod.index == Some(index)),
            PodRef::Any => true,
        }
    }
}

/// A request on its way to the server.
#[derive(Clone, Copy)]
enum Sent {
    Call(CallName),
    Orphan(Uid),
    Get,
    Delete,
}

/// The request that the server handles in this step.
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

/// The Job, the request and the outcome of a step. The pod is [`PodRef::Any`] if it has no name yet.
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

    /// The completion index of the pod that the request creates.
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

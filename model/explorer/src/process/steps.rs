//! The steps of a process, faults included.

use crate::env::refusals::is_refused;
use crate::process::decisions::{OrphanDecision, OrphanRead, Owner, Precondition};
use crate::scope::Scope;
use crate::world::{Driver, JobId, JobState, World};
use jobcheck_spec::gates::Gates;
use jobcheck_spec::incarnation::is_of_another;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::Mutations;
use crate::process::commit::{commit, commit_delayed, commit_orphan};
use crate::process::deliveries;
use crate::process::informer::{relist_pods, show_job, show_pod};
use crate::process::io::{Answer, Call, CallName};
use crate::process::settings::Settings;
use crate::process::state::Process;

/// A step of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProcessStep {
    /// Takes the key from the queue, reads the caches, and runs the sync to its first call. These events
    /// arrive just before.
    Sync(Delivery),
    /// Chooses this pod among several that are equal to the controller.
    Choose(Uid),
    /// Gets the response to this call of the sync.
    Call(CallName, RequestOutcome),
    /// Handles a pod in the orphan queue with one request.
    Orphan(Uid, RequestOutcome),
    /// Gets the next event of a pod.
    ShowPod,
    /// Gets the next event of the Job.
    ShowJob,
    /// Lists the pods again after a broken watch. Several changes of one pod become one.
    RelistPods,
    /// Lists the Jobs again after a broken watch. The list shows a recreated Job in place of the previous
    /// one.
    RelistJobs,
    /// Crashes and restarts.
    Crash,
    /// Crashes and restarts while this request of its sync is in flight. Requests of the orphan path and of
    /// the TTL controller are never delayed. Both paths decide about each object anew and remember nothing. A
    /// request that is handled just before the crash has the same effect.
    CrashInFlight(CallName),
    /// Loses its lease without noticing. A second process starts, and both lead, which SY-01 forbids.
    ///
    /// The step is enabled only during a sync. An idle old leader is equivalent to one that ended its sync
    /// before the other acted.
    ElectSecondLeader,
    /// Notices that it does not lead any more, and stops. Its unhandled requests are lost.
    StopOldLeader,
}

/// The events that reach the caches of a process: first events of pods, then events of the Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Delivery {
    /// The number of events that reach the Pod cache.
    pub pods: usize,
    /// The number of events that reach the Job cache.
    pub jobs: usize,
    /// True if a relist brings all changes of pods at once.
    pub relists: bool,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestOutcome {
    /// The server handles the request, and the response arrives.
    Handled,
    /// The request fails, and changes nothing.
    Fails,
    /// The server handles the request, but the response is lost.
    ResponseLost,
}

/// A request in flight whose sender has terminated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DelayedRequest {
    /// The request.
    pub call: Call,
    /// True if the stored Job differs from the version on which a status write is based.
    pub conflicts: bool,
    /// The gates of the sender.
    pub gates: Gates,
}

/// The numbers of faults of one Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Faults {
    /// Failed requests.
    pub failures: u8,
    /// Lost responses.
    pub losses: u8,
    /// Crashes.
    pub crashes: u8,
    /// Elections of a second leader.
    pub second_leaders: u8,
}

/// The choices among equal pods that the processes of a Job have to make. They come before any other step of the Job,
/// because nobody sees when they are made.
pub fn choices(job_state: &JobState, add: &mut dyn FnMut(u8, ProcessStep)) {
    for (number, process) in (0u8..).zip(job_state.processes()) {
        let pods = process.sync.iter().flat_map(|sync| sync.choice());
        pods.for_each(|uid| add(number, ProcessStep::Choose(*uid)));
    }
}

/// The enabled steps of the processes of a Job, each with the number of its process.
pub fn enabled(job_state: &JobState, scope: &Scope, add: &mut dyn FnMut(u8, ProcessStep)) {
    for (number, process) in (0u8..).zip(job_state.processes()) {
        of_process(job_state, process, scope, &mut |step| add(number, step));
    }
}

fn of_process(job_state: &JobState, process: &Process, scope: &Scope, add: &mut dyn FnMut(ProcessStep)) {
    let outcomes = |call: CallName| outcomes(job_state, call, scope);
    match &process.sync {
        Some(sync) => {
            for call in sync.calls().filter(|call| !exceeds_pod_bound(job_state, call, scope)) {
                outcomes(call.name()).for_each(|outcome| add(ProcessStep::Call(call.name(), outcome)));
            }
        }
        None => deliveries::before_a_sync(job_state, process, scope, add),
    }
    for uid in &process.orphans {
        outcomes(CallName::RemoveFinalizer(*uid)).for_each(|outcome| add(ProcessStep::Orphan(*uid, outcome)));
    }
    deliveries::alone(job_state, process, scope, add);
    let leads_alone = job_state.processes().len() == 1;
    if !leads_alone {
        add(ProcessStep::StopOldLeader);
    } else if job_state.faults.second_leaders < scope.faults.second_leaders && process.sync.is_some() {
        add(ProcessStep::ElectSecondLeader);
    }
    if job_state.faults.crashes < scope.faults.crashes
        && (scope.script.is_some() || process.sync.is_some() || process.memory_matters())
    {
        add(ProcessStep::Crash);
        if scope.delayed_requests && job_state.delayed().is_none() {
            let calls = process.sync.iter().flat_map(|sync| sync.calls());
            calls.for_each(|call| add(ProcessStep::CrashInFlight(call.name())));
        }
    }
}

fn outcomes(
    job_state: &JobState,
    call: CallName,
    scope: &Scope,
) -> impl Iterator<Item = RequestOutcome> + use<> {
    let refused = is_refused(call, job_state, scope);
    let fails = refused || job_state.faults.failures < scope.faults.failures;
    let loses = !refused && job_state.faults.losses < scope.faults.losses;
    [
        (!refused, RequestOutcome::Handled),
        (fails, RequestOutcome::Fails),
        (loses, RequestOutcome::ResponseLost),
    ]
    .into_iter()
    .filter_map(|(possible, outcome)| possible.then_some(outcome))
}

/// Returns true if a creation of some process would exceed the scope's bound on pods.
#[must_use]
pub fn pod_bound_reached(job_state: &JobState, scope: &Scope) -> bool {
    let mut calls =
        job_state.processes().iter().flat_map(|process| &process.sync).flat_map(|sync| sync.calls());
    calls.any(|call| exceeds_pod_bound(job_state, call, scope))
}

/// Returns true if this call would exceed the scope's bound on pods.
#[must_use]
pub fn exceeds_pod_bound(job_state: &JobState, call: &Call, scope: &Scope) -> bool {
    matches!(call, Call::CreatePod(_, pod) if job_state.ghost.has_enough_like(pod, scope.pods))
}

/// Takes a step.
pub fn apply(world: &mut World, job: JobId, number: u8, what: ProcessStep, scope: &Scope) {
    let now = world.now;
    let job_state = world.job_state_mut(job);
    let by = usize::from(number);
    let Some(settings) = scope.settings() else { return };
    match what {
        ProcessStep::Sync(delivery) => {
            let JobState { job, pods, driver, .. } = job_state;
            let process = &mut driver.processes_mut()[by];
            deliveries::deliver(process, delivery, job.as_ref(), pods, settings.mutations);
            process.start_sync(job.as_ref(), pods, now, &settings);
        }
        ProcessStep::Choose(uid) => job_state.driver.processes_mut()[by].chose(uid, &settings),
        ProcessStep::Call(name, outcome) => call(job_state, by, (name, outcome), now, scope, &settings),
        ProcessStep::Orphan(uid, outcome) => orphan(job_state, by, uid, outcome, now, scope),
        ProcessStep::ShowPod => {
            let JobState { job, pods, driver, .. } = job_state;
            show_pod(&mut driver.processes_mut()[by], job.as_ref(), pods, settings.mutations);
        }
        ProcessStep::ShowJob => {
            let JobState { job, pods, driver, .. } = job_state;
            show_job(&mut driver.processes_mut()[by], job.as_ref(), pods, settings.mutations);
        }
        ProcessStep::RelistPods => {
            let JobState { job, pods, driver, .. } = job_state;
            relist_pods(&mut driver.processes_mut()[by], job.as_ref(), pods, settings.mutations);
        }
        ProcessStep::RelistJobs => {
            let JobState { job, pods, driver, .. } = job_state;
            driver.processes_mut()[by].relist(job.as_ref(), pods, settings.mutations);
        }
        ProcessStep::Crash => crash(job_state, by, settings.mutations),
        ProcessStep::ElectSecondLeader => elect_second_leader(job_state, by, settings.mutations),
        ProcessStep::StopOldLeader => {
            if let Driver::Processes { processes, .. } = &mut job_state.driver {
                processes.remove(by);
            }
        }
        ProcessStep::CrashInFlight(name) => {
            if let Driver::Processes { processes, delayed } = &mut job_state.driver {
                let gates = processes[by].knowledge.gates;
                *delayed = processes[by].sync.as_ref().and_then(|sync| {
                    Some(DelayedRequest { call: sync.call(name)?.clone(), conflicts: sync.conflicts, gates })
                });
            }
            crash(job_state, by, settings.mutations);
        }
    }
}

fn call(
    job_state: &mut JobState,
    by: usize,
    (name, outcome): (CallName, RequestOutcome),
    now: Time,
    scope: &Scope,
    settings: &Settings<'_>,
) {
    let refused = is_refused(name, job_state, scope);
    let sync = job_state.processes()[by].sync.as_ref();
    let Some(request) = sync.and_then(|sync| sync.call(name)).cloned() else { return };
    let answer = send(job_state, outcome, refused, |job_state, answered| {
        commit(job_state, by, &request, answered, now, scope)
    });
    if answer == Answer::Done && name == CallName::WriteStatus {
        job_state.driver.processes_mut()[by].remember_finish(settings.mutations);
    }
    if answer == Answer::Error {
        job_state.driver.processes_mut()[by].keep_failed_write(&request, settings.mutations);
    }
    job_state.driver.processes_mut()[by].answered(name, answer, settings);
}

/// Sends a request. `commit` gets whether the sender receives the response. A request that the server always
/// refuses is no fault.
fn send(
    job_state: &mut JobState,
    outcome: RequestOutcome,
    refused: bool,
    commit: impl FnOnce(&mut JobState, bool) -> Answer,
) -> Answer {
    match outcome {
        RequestOutcome::Handled => commit(job_state, true),
        RequestOutcome::Fails => {
            job_state.faults.failures += u8::from(!refused);
            Answer::Error
        }
        RequestOutcome::ResponseLost => {
            job_state.faults.losses += 1;
            commit(job_state, false);
            Answer::Error
        }
    }
}

/// FT-20, FT-21: removes the finalizer of a pod that no sync looks at. The pod is not counted.
fn orphan(job_state: &mut JobState, by: usize, uid: Uid, outcome: RequestOutcome, now: Time, scope: &Scope) {
    let Some(decision) = orphan_decision(job_state, by, uid, scope) else { return };
    let call = orphan_call(decision, uid);
    let sent = call.map(|call| {
        let refused = is_refused(call.name(), job_state, scope);
        send(job_state, outcome, refused, |job_state, _| commit_orphan(job_state, &call, now, scope))
    });
    if sent != Some(Answer::Error) {
        job_state.driver.processes_mut()[by].orphans.remove(&uid);
    }
}

/// The request of the orphan path for this decision, if there is one.
#[must_use]
pub fn orphan_call(decision: OrphanDecision, uid: Uid) -> Option<Call> {
    match decision {
        OrphanDecision::Leave => None,
        OrphanDecision::RemoveFinalizer(_) => Some(Call::RemoveFinalizer(uid)),
        OrphanDecision::Delete(_) => Some(Call::DeletePod(uid)),
    }
}

/// The decision about a pod in the orphan queue. `None` if the server answers that the pod has changed, so
/// that nothing happens.
#[must_use]
pub fn orphan_decision(job_state: &JobState, by: usize, uid: Uid, scope: &Scope) -> Option<OrphanDecision> {
    let process = job_state.processes().get(by)?;
    let job = process.cached_job(job_state.job.as_ref());
    let cached = process.cached_pods(&job_state.pods);
    let pod = cached.get(uid)?;
    let is_other = is_of_another(pod, job.map(AsRef::as_ref));
    if (job.is_none() || is_other) && has_a_job(job_state, uid) {
        // FT-21: a GET finds the Job, which the cache does not show yet.
        return Some(OrphanDecision::Leave);
    }
    let owner = match () {
        () if !pod.controlled => Owner::Nobody,
        () if is_other || job.is_none() => Owner::Missing,
        () => Owner::ThisJob,
    };
    let read = OrphanRead { pod, owner, job, gates: process.knowledge.gates };
    let algorithm = scope.algorithm()?;
    let decision = algorithm.decisions.orphan(&read, &algorithm.mutations);
    let stored = job_state.pods.get(uid);
    let precondition = match decision {
        OrphanDecision::Leave => Precondition::Uid,
        OrphanDecision::RemoveFinalizer(precondition) | OrphanDecision::Delete(precondition) => precondition,
    };
    let changed = match precondition {
        Precondition::Uid => false,
        Precondition::Owner => stored.is_some_and(|stored| stored.controlled != pod.controlled),
        Precondition::Version => stored.is_some_and(|stored| stored != pod),
    };
    (!changed).then_some(decision)
}

/// Returns true if the Job that controls the pod exists.
fn has_a_job(job_state: &JobState, uid: Uid) -> bool {
    let own = job_state.pods.get(uid).is_some_and(|pod| pod.controlled && job_state.ghost.owns(pod));
    own && job_state.job.is_some()
}

fn crash(job_state: &mut JobState, by: usize, mutations: &Mutations) {
    job_state.faults.crashes += 1;
    let JobState { job, pods, driver, .. } = job_state;
    driver.processes_mut()[by].restart(job.as_ref(), pods, mutations);
}

fn elect_second_leader(job_state: &mut JobState, by: usize, mutations: &Mutations) {
    job_state.faults.second_leaders += 1;
    let JobState { job, pods, driver: Driver::Processes { processes, .. }, .. } = job_state else { return };
    let mut second = processes[by].clone();
    second.restart(job.as_ref(), pods, mutations);
    processes.push(second);
}

/// The server handles the request of a terminated process.
pub fn handle_delayed(world: &mut World, job: JobId, scope: &Scope) {
    let now = world.now;
    let job_state = world.job_state_mut(job);
    let Driver::Processes { delayed, .. } = &mut job_state.driver else { return };
    let delayed = delayed.take();
    let arrives = |delayed: &DelayedRequest| {
        !exceeds_pod_bound(job_state, &delayed.call, scope)
            && !is_refused(delayed.call.name(), job_state, scope)
    };
    if let Some(delayed) = delayed.filter(arrives) {
        commit_delayed(job_state, &delayed, now, scope);
    }
}

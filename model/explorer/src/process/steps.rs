//! The steps of a process, faults included.

use crate::env::refusals::is_refused;
use crate::scope::Scope;
use crate::step::Step;
use crate::subject::{OrphanDecision, OrphanRead, Owner, Precondition};
use crate::world::{JobId, Life, World};
use jobcheck_spec::gates::Gates;
use jobcheck_spec::incarnation::is_of_another;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::process::commit::{commit, commit_late, commit_orphan};
use crate::process::deliveries;
use crate::process::informer::{relist_pods, show_job, show_pod};
use crate::process::io::{Answer, Call, CallName};
use crate::process::state::Process;
use crate::reference::switches::Switches;

/// What a process does, or what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProcessStep {
    /// It takes the key from its queue, reads its caches, and goes on to its first call. So many events reach its
    /// caches just before.
    Sync(Delivery),
    /// It takes this one of the pods between which it does not decide.
    Choose(Uid),
    /// This call of its sync is answered.
    Call(CallName, Fortune),
    /// It releases a pod that no sync looks at.
    Orphan(Uid, Fortune),
    /// Its Pod cache advances.
    ShowPod,
    /// Its Job cache advances.
    ShowJob,
    /// Its watch of pods breaks, and a new list shows what is stored: of several changes of a pod what they came to.
    RelistPods,
    /// Its watch of Jobs breaks, and a new list shows the stored Job in the place of another one of the name.
    RelistJobs,
    /// It dies, and is started again.
    Crash,
    /// It dies while this request of its sync is on the way, and is started again. Requests of the orphan path and of the TTL
    /// controller do not come late: both decide anew about each object, and remember nothing, so that one that is
    /// handled just before its process dies leaves the same behind.
    CrashInFlight(CallName),
    /// Its lease runs out without its noticing: a second process starts, and both lead (SY-01 forbids it). During a sync
    /// alone: a leader that is idle then is one that has ended the sync meanwhile, while the other one did nothing.
    Usurp,
    /// It notices at last, and stops; requests of it that were not handled never will be.
    Resign,
}

/// Events that reach the caches of a process: first those of pods, then those of the Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Delivery {
    /// Events that reach the Pod cache.
    pub pods: usize,
    /// Events that reach the Job cache.
    pub jobs: usize,
    /// Whether what the Pod cache lacks reaches it by a new list, all at once.
    pub relists: bool,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fortune {
    /// The server handles it.
    Handled,
    /// It fails, and nothing is changed.
    Fails,
    /// The server handles it, but its answer is lost.
    AnswerLost,
}

/// A request on its way whose sender is dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Late {
    /// The request.
    pub call: Call,
    /// Whether the Job has another version by now than the one that a status write was made for.
    pub conflicts: bool,
    /// The gates of the process that sent it.
    pub gates: Gates,
}

/// How often faults happened to one Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Faults {
    /// Requests that failed.
    pub failures: u8,
    /// Answers that were lost.
    pub losses: u8,
    /// Processes that died.
    pub crashes: u8,
    /// Leases that ran out without notice.
    pub usurpations: u8,
}

/// The choices that a process has to make; whether there are any. They come before anything else of the Job: nobody
/// sees when they are made.
pub fn choices(life: &Life, job: JobId, steps: &mut Vec<Step>) -> bool {
    let before = steps.len();
    for (number, process) in (0u8..).zip(&life.processes) {
        let pods = process.sync.iter().flat_map(|sync| sync.choice());
        steps.extend(pods.map(|uid| Step::Process(job, number, ProcessStep::Choose(*uid))));
    }
    steps.len() > before
}

/// What can happen in the processes of a Job.
pub fn enabled(world: &World, job: JobId, scope: &Scope, steps: &mut Vec<Step>) {
    let life = world.life(job);
    for (number, process) in (0u8..).zip(&life.processes) {
        let mut add = |what: ProcessStep| steps.push(Step::Process(job, number, what));
        of_process(life, process, scope, &mut add);
    }
    if life.late.is_some() {
        steps.push(Step::Land(job));
    }
}

fn of_process(life: &Life, process: &Process, scope: &Scope, add: &mut dyn FnMut(ProcessStep)) {
    let fortunes = |call: CallName| fortunes(life, call, scope);
    match &process.sync {
        Some(sync) => {
            for call in sync.calls().filter(|call| !is_held_back(life, call, scope)) {
                fortunes(call.name()).for_each(|fortune| add(ProcessStep::Call(call.name(), fortune)));
            }
        }
        None => deliveries::before_a_sync(life, process, scope, add),
    }
    for uid in &process.orphans {
        fortunes(CallName::ReleasePod(*uid)).for_each(|fortune| add(ProcessStep::Orphan(*uid, fortune)));
    }
    deliveries::alone(life, process, scope, add);
    let leads_alone = life.processes.len() == 1;
    if !leads_alone {
        add(ProcessStep::Resign);
    } else if life.faults.usurpations < scope.faults.usurpations && process.sync.is_some() {
        add(ProcessStep::Usurp);
    }
    if life.faults.crashes < scope.faults.crashes
        && (scope.script.is_some() || process.sync.is_some() || process.memory_matters())
    {
        add(ProcessStep::Crash);
        if scope.late_requests && life.late.is_none() {
            let calls = process.sync.iter().flat_map(|sync| sync.calls());
            calls.for_each(|call| add(ProcessStep::CrashInFlight(call.name())));
        }
    }
}

fn fortunes(life: &Life, call: CallName, scope: &Scope) -> impl Iterator<Item = Fortune> + use<> {
    let refused = is_refused(call, life, scope);
    let fails = refused || life.faults.failures < scope.faults.failures;
    let loses = !refused && life.faults.losses < scope.faults.losses;
    [(!refused, Fortune::Handled), (fails, Fortune::Fails), (loses, Fortune::AnswerLost)]
        .into_iter()
        .filter_map(|(possible, fortune)| possible.then_some(fortune))
}

/// Whether the scope's bound on pods holds a creation of a process back.
#[must_use]
pub fn holds_back(life: &Life, scope: &Scope) -> bool {
    let mut calls = life.processes.iter().flat_map(|process| &process.sync).flat_map(|sync| sync.calls());
    calls.any(|call| is_held_back(life, call, scope))
}

/// Whether the scope's bound on pods holds a creation back.
#[must_use]
pub fn is_held_back(life: &Life, call: &Call, scope: &Scope) -> bool {
    matches!(call, Call::CreatePod(_, pod) if life.past.has_enough_like(pod, scope.pods))
}

/// Does it.
pub fn apply(world: &mut World, job: JobId, number: u8, what: ProcessStep, scope: &Scope) {
    let now = world.now;
    let life = world.life_mut(job);
    let by = usize::from(number);
    let settings = scope.settings();
    match what {
        ProcessStep::Sync(delivery) => {
            let Life { job, pods, processes, .. } = life;
            deliveries::deliver(&mut processes[by], delivery, job.as_ref(), pods, settings.switches);
            processes[by].start_sync(job.as_ref(), pods, now, &settings);
        }
        ProcessStep::Choose(uid) => life.processes[by].chose(uid, &settings),
        ProcessStep::Call(name, fortune) => call(life, by, name, fortune, now, scope),
        ProcessStep::Orphan(uid, fortune) => orphan(life, by, uid, fortune, now, scope),
        ProcessStep::ShowPod => {
            let Life { job, pods, processes, .. } = life;
            show_pod(&mut processes[by], job.as_ref(), pods, settings.switches);
        }
        ProcessStep::ShowJob => {
            let Life { job, pods, processes, .. } = life;
            show_job(&mut processes[by], job.as_ref(), pods, settings.switches);
        }
        ProcessStep::RelistPods => {
            let Life { job, pods, processes, .. } = life;
            relist_pods(&mut processes[by], job.as_ref(), pods, settings.switches);
        }
        ProcessStep::RelistJobs => {
            let Life { job, pods, processes, .. } = life;
            processes[by].relist(job.as_ref(), pods, settings.switches);
        }
        ProcessStep::Crash => crash(life, by, settings.switches),
        ProcessStep::Usurp => usurp(life, by, settings.switches),
        ProcessStep::Resign => {
            life.processes.remove(by);
        }
        ProcessStep::CrashInFlight(name) => {
            let process = &life.processes[by];
            let gates = process.knowledge.gates;
            life.late = process.sync.as_ref().and_then(|sync| {
                Some(Late { call: sync.call(name)?.clone(), conflicts: sync.conflicts, gates })
            });
            crash(life, by, settings.switches);
        }
    }
}

fn call(life: &mut Life, by: usize, name: CallName, fortune: Fortune, now: Time, scope: &Scope) {
    let refused = is_refused(name, life, scope);
    let sync = life.processes[by].sync.as_ref();
    let Some(request) = sync.and_then(|sync| sync.call(name)).cloned() else { return };
    let answer =
        send(life, fortune, refused, |life, answered| commit(life, by, &request, answered, now, scope));
    if answer == Answer::Done && name == CallName::WriteStatus {
        life.processes[by].remember_finish(&scope.algorithm.switches);
    }
    if answer == Answer::Error {
        life.processes[by].keep_failed_write(&request, &scope.algorithm.switches);
    }
    life.processes[by].answered(name, answer, &scope.settings());
}

/// Sends a request; `commit` is told whether its sender gets the answer. One that is refused for ever is not counted.
fn send(
    life: &mut Life,
    fortune: Fortune,
    refused: bool,
    commit: impl FnOnce(&mut Life, bool) -> Answer,
) -> Answer {
    match fortune {
        Fortune::Handled => commit(life, true),
        Fortune::Fails => {
            life.faults.failures += u8::from(!refused);
            Answer::Error
        }
        Fortune::AnswerLost => {
            life.faults.losses += 1;
            commit(life, false);
            Answer::Error
        }
    }
}

/// FT-20, FT-21: what no sync releases any more is released without being counted.
fn orphan(life: &mut Life, by: usize, uid: Uid, fortune: Fortune, now: Time, scope: &Scope) {
    let Some(decision) = orphan_decision(life, by, uid, scope) else { return };
    let call = orphan_call(decision, uid);
    let sent = call.map(|call| {
        let refused = is_refused(call.name(), life, scope);
        send(life, fortune, refused, |life, _| commit_orphan(life, &call, now, scope))
    });
    if sent != Some(Answer::Error) {
        life.processes[by].orphans.remove(&uid);
    }
}

/// The request of the orphan path about a pod, if it makes one.
#[must_use]
pub fn orphan_call(decision: OrphanDecision, uid: Uid) -> Option<Call> {
    match decision {
        OrphanDecision::Leave => None,
        OrphanDecision::Release(_) => Some(Call::ReleasePod(uid)),
        OrphanDecision::Delete(_) => Some(Call::DeletePod(uid)),
    }
}

/// What the process does about a pod in its orphan queue; `None` where the server answers that the pod has changed, and
/// nothing happens.
#[must_use]
pub fn orphan_decision(life: &Life, by: usize, uid: Uid, scope: &Scope) -> Option<OrphanDecision> {
    let process = life.processes.get(by)?;
    let job = process.cached_job(life.job.as_ref());
    let cached = process.cached_pods(&life.pods);
    let pod = cached.get(uid)?;
    let is_other = is_of_another(pod, job.map(AsRef::as_ref));
    if (job.is_none() || is_other) && has_a_job(life, uid) {
        // FT-21: a GET finds the Job, which the cache does not show yet. One that is gone does not come back.
        return Some(OrphanDecision::Leave);
    }
    let owner = match () {
        () if !pod.controlled => Owner::Nobody,
        () if is_other || job.is_none() => Owner::Missing,
        () => Owner::ThisJob,
    };
    let read = OrphanRead { pod, owner, job, gates: process.knowledge.gates };
    let decision = (scope.algorithm.subject.orphan)(&read, &scope.algorithm.switches);
    let stored = life.pods.get(uid);
    let precondition = match decision {
        OrphanDecision::Leave => Precondition::Uid,
        OrphanDecision::Release(precondition) | OrphanDecision::Delete(precondition) => precondition,
    };
    let changed = match precondition {
        Precondition::Uid => false,
        Precondition::Owner => stored.is_some_and(|stored| stored.controlled != pod.controlled),
        Precondition::Version => stored.is_some_and(|stored| stored != pod),
    };
    (!changed).then_some(decision)
}

/// Whether the Job that controls the pod is there.
fn has_a_job(life: &Life, uid: Uid) -> bool {
    let own = life.pods.get(uid).is_some_and(|pod| pod.controlled && life.past.owns(pod));
    own && life.job.is_some()
}

fn crash(life: &mut Life, by: usize, switches: &Switches) {
    life.faults.crashes += 1;
    let Life { job, pods, processes, .. } = life;
    processes[by].restart(job.as_ref(), pods, switches);
}

fn usurp(life: &mut Life, by: usize, switches: &Switches) {
    life.faults.usurpations += 1;
    let Life { job, pods, processes, .. } = life;
    let mut second = processes[by].clone();
    second.restart(job.as_ref(), pods, switches);
    processes.push(second);
}

/// The request of a dead process reaches the server.
pub fn land(world: &mut World, job: JobId, scope: &Scope) {
    let now = world.now;
    let life = world.life_mut(job);
    let late = life.late.take();
    let arrives =
        |late: &Late| !is_held_back(life, &late.call, scope) && !is_refused(late.call.name(), life, scope);
    if let Some(late) = late.filter(arrives) {
        commit_late(life, &late, now, scope);
    }
}

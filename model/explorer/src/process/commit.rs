//! What the API server does with the calls of the algorithm.

use std::sync::Arc;

use crate::alphabet::{Write, judge_by, refusal};
use crate::env::user;
use crate::scope::Scope;
use crate::world::{Life, Own, Unseen};
use jobcheck_spec::apiserver::status_updated;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::counting::Ledger;
use jobcheck_spec::guards::release::may_release_by_truth;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::process::io::{Answer, Call};
use crate::process::state::Process;
use crate::process::steps::Late;
use crate::reference::switches::Switch;

/// Whose write it is, for what the processes know afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    /// The process of this number, which gets the answer.
    Process(usize),
    /// Nobody who lives to get the answer; its sender had these gates.
    Nobody(Gates),
}

impl Hand {
    fn is(self, number: usize) -> bool {
        self == Hand::Process(number)
    }

    fn number(self) -> Option<usize> {
        match self {
            Hand::Process(number) => Some(number),
            Hand::Nobody(_) => None,
        }
    }

    /// The gates of who sent the request.
    fn gates(self, life: &Life) -> Gates {
        match self {
            Hand::Nobody(gates) => gates,
            Hand::Process(number) => gates_of(life, number),
        }
    }

    fn process(self, life: &Life) -> Option<&Process> {
        self.number().and_then(|number| life.processes.get(number))
    }
}

/// Carries out the call that a process waits for; what the server answers, if the answer arrives at all.
pub fn commit(life: &mut Life, by: usize, call: &Call, answered: bool, now: Time, scope: &Scope) -> Answer {
    object(life, by, call, now, scope);
    let conflicts = life.processes[by].sync.as_ref().is_none_or(|sync| sync.conflicts);
    let hand = if answered { Hand::Process(by) } else { Hand::Nobody(gates_of(life, by)) };
    if answered {
        remember_failures(life, by, call, now, scope);
    }
    if let Call::AdoptPod(uid) = call
        && life.pods.get(*uid).is_some()
        && !may_adopt(life, by, *uid, scope)
    {
        return Answer::Error;
    }
    carry_out(life, hand, call, conflicts, now, scope)
}

/// The request of the orphan path. It must leave pods that an unfinished Job controls (FT-21).
pub fn commit_orphan(life: &mut Life, call: &Call, now: Time, scope: &Scope) -> Answer {
    let broken = scope.verdict(orphan_objections(life, call)).map(|broken| broken.req);
    life.past.objection = life.past.objection.or(broken);
    carry_out(life, Hand::Nobody(gates_of(life, 0)), call, false, now, scope)
}

/// A request of a process that is dead: nobody waits for the answer.
pub fn commit_late(life: &mut Life, late: &Late, now: Time, scope: &Scope) {
    carry_out(life, Hand::Nobody(late.gates), &late.call, late.conflicts, now, scope);
}

fn carry_out(life: &mut Life, hand: Hand, call: &Call, conflicts: bool, now: Time, scope: &Scope) -> Answer {
    if is_about(life, call) {
        let gates = hand.gates(life);
        life.past.built_in_wrote(gates, life.job.as_deref());
    }
    match call {
        Call::CreatePod(_, pod) => create(life, hand, pod, scope),
        Call::DeletePod(uid) => delete(life, hand, *uid, scope.stamp(now)),
        Call::ReleasePod(uid) => release(life, hand, *uid),
        Call::AdoptPod(uid) => adopt(life, hand, *uid),
        Call::GiveUpPod(uid) => {
            claimed(life, hand, *uid, |pod| (pod.controlled, pod.finalizer) = (false, false))
        }
        Call::WriteStatus(_) if conflicts && !overwrites(scope) => Answer::Error,
        Call::WriteStatus(status) => write_status(life, hand, status, now, scope),
    }
}

fn gates_of(life: &Life, number: usize) -> Gates {
    life.processes.get(number).map_or(Gates::ON, |process| process.knowledge.gates)
}

/// Whether a call is about the Job, and not about a pod that it does not control (FT-21).
fn is_about(life: &Life, call: &Call) -> bool {
    match call {
        Call::DeletePod(uid) | Call::ReleasePod(uid) => {
            life.pods.get(*uid).is_none_or(|pod| pod.controlled && life.past.owns(pod))
        }
        Call::CreatePod(..) | Call::AdoptPod(_) | Call::GiveUpPod(_) | Call::WriteStatus(_) => true,
    }
}

/// B02: the write is made again on the stored version.
fn overwrites(scope: &Scope) -> bool {
    scope.algorithm.switches.on(Switch::OverwritesOnConflict)
}

/// A call as the specification sees it: the server gives a pod its UID.
#[must_use]
pub fn as_write(life: &Life, call: &Call) -> Write {
    match call {
        Call::CreatePod(_, pod) => {
            Write::CreatePod(Box::new(Pod { uid: life.past.uid_of(pod), ..Pod::clone(pod) }))
        }
        Call::DeletePod(uid) => Write::DeletePod(*uid),
        Call::ReleasePod(uid) => Write::ReleasePod(*uid),
        Call::AdoptPod(uid) => Write::AdoptPod(*uid),
        Call::GiveUpPod(uid) => Write::GiveUpPod(*uid),
        Call::WriteStatus(status) => Write::Status(status.clone()),
    }
}

/// Notes the first write of a process that the specification does not admit.
fn object(life: &mut Life, by: usize, call: &Call, now: Time, scope: &Scope) {
    if life.past.objection.is_none() {
        let findings = objections(life, by, call, now, scope);
        life.past.objection = scope.verdict(findings).map(|broken| broken.req);
    }
}

/// What the specification says against a call that a process waits for.
#[must_use]
pub fn objections(life: &Life, by: usize, call: &Call, now: Time, scope: &Scope) -> Findings {
    let mut findings = Findings::new();
    let Some(sync) = life.processes.get(by).and_then(|process| process.sync.as_ref()) else {
        return findings;
    };
    if sync.conflicts && matches!(call, Call::WriteStatus(_)) {
        let expected = "the resourceVersion that the status was computed from: 409";
        let found = "the stored one, and a status computed from an older version";
        findings.require(Req::SY04, !overwrites(scope), "resourceVersion of the write", expected, found);
        return findings;
    }
    let write = as_write(life, call);
    let exists = match &write {
        Write::DeletePod(uid) => life.pods.get(*uid).is_some_and(|pod| !pod.deleting),
        Write::ReleasePod(uid) => life.pods.get(*uid).is_some_and(|pod| pod.finalizer),
        Write::AdoptPod(uid) => may_adopt(life, by, *uid, scope),
        Write::GiveUpPod(uid) => life.pods.get(*uid).is_some_and(|pod| pod.controlled),
        Write::CreatePod(_) | Write::Status(_) => true,
    };
    if exists { judge_by(life, by, &write, now, scope) } else { findings }
}

/// Whether the server answers 409 to a status write of this process (SY-04).
#[must_use]
pub fn conflicts(life: &Life, by: usize, scope: &Scope) -> bool {
    let sync = life.processes.get(by).and_then(|process| process.sync.as_ref());
    sync.is_none_or(|sync| sync.conflicts) && !overwrites(scope)
}

/// FT-21: what the specification says against a request of the orphan path.
#[must_use]
pub fn orphan_objections(life: &Life, call: &Call) -> Findings {
    let mut findings = Findings::new();
    let job = life.job.as_deref();
    match call {
        Call::ReleasePod(uid) => {
            let counted = |uid| life.past.is_counted(uid);
            // PC-29: the Job of a pod of another incarnation is gone.
            let is_free = |pod: &Pod| {
                !pod.controlled || !life.past.owns(pod) || may_release_by_truth(job, pod, &counted)
            };
            let free = job.is_none_or(|job| job.deleting) || life.pods.get(*uid).is_none_or(is_free);
            findings.require(
                Req::FT21,
                free,
                "a release by the orphan path",
                "a pod without a living Job",
                *uid,
            );
        }
        // S-08: a late pod of a Job that has finished, and nobody else's.
        Call::DeletePod(uid) => {
            let over = job.is_none_or(|job| job.status.is_finished() || job.deleting);
            let is_late = |pod: &Pod| pod.controlled && (over || !life.past.owns(pod));
            let late = life.pods.get(*uid).is_none_or(is_late);
            findings.require(
                Req::FT21,
                late,
                "a deletion by the orphan path",
                "a pod of a finished Job",
                *uid,
            );
        }
        Call::CreatePod(..) | Call::AdoptPod(_) | Call::GiveUpPod(_) | Call::WriteStatus(_) => {}
    }
    findings
}

fn create(life: &mut Life, hand: Hand, pod: &Pod, scope: &Scope) -> Answer {
    if user::namespace_goes(life, scope) {
        return refuse_creation(life, hand);
    }
    let pod = Pod { uid: life.past.uid_of(pod), scheduled: !scope.unscheduled, ..pod.clone() };
    let fresh = is_fresh(life, hand);
    // B44: the record of failures is lost with the process.
    let remembers = life.faults.crashes == 0 && life.faults.usurpations == 0;
    let first_delay = if remembers { scope.constants.pod_failure_backoff_ms / 1000 } else { 0 };
    // SY-01: of two leaders neither knows what the other one does; nor does, at first, the one that is left.
    let rivals = life.processes.len() > 1 || (life.faults.usurpations > 0 && !fresh);
    if !life.past.owns(&pod) {
        life.past.strangers += 1;
    } else if matches!(hand, Hand::Nobody(_)) || rivals {
        life.past.created_unasked(&pod);
    } else {
        let job = life.job.as_ref().map(|job| hand.gates(life).read(job));
        let always = scope.constants.pod_failure_backoff_ms / 1000;
        life.past.retries(&pod, job.as_deref(), fresh, always, &life.pods);
        life.past.created(&pod, job.as_deref(), fresh, first_delay, &life.pods);
    }
    set_pod(life, hand, &pod, |_| {});
    Answer::Done
}

/// PC-12: creations of one sync are on their way at the same time, and a process that has not been told knows nothing.
fn refuse_creation(life: &mut Life, hand: Hand) -> Answer {
    let same_leader = life.faults.crashes == 0 && life.faults.usurpations == 0;
    if let Some(sync) = hand.process(life).and_then(|process| process.sync.as_ref()) {
        let same_sync = sync.replies.answers.values().any(|answer| *answer == Answer::NamespaceTerminating);
        life.past.slips.futile_creation |= life.past.told_of_namespace && !same_sync && same_leader;
        life.past.told_of_namespace = true;
    }
    Answer::NamespaceTerminating
}

fn change(life: &mut Life, hand: Hand, uid: Uid, change: impl Fn(&mut Pod)) -> Answer {
    let Some(mut pod) = life.pods.get(uid).cloned() else {
        if let Some(by) = hand.number() {
            life.processes[by].miss(uid);
        }
        return Answer::NotFound;
    };
    change(&mut pod);
    life.past.pod_changed(&pod);
    set_pod(life, hand, &pod, change);
    Answer::Done
}

fn delete(life: &mut Life, hand: Hand, uid: Uid, now: Time) -> Answer {
    if let Some(pod) = life.pods.get(uid).cloned() {
        let job = life.job.as_ref().map(|job| hand.gates(life).read(job));
        let fresh = is_fresh(life, hand);
        life.past.deleted(&pod, job.as_deref(), fresh, &life.pods);
    }
    change(life, hand, uid, |pod| pod.delete(now))
}

fn release(life: &mut Life, hand: Hand, uid: Uid) -> Answer {
    if let Some(pod) = life.pods.get(uid).filter(|pod| pod.finalizer).cloned() {
        let sync = hand.process(life).and_then(|process| process.sync.as_ref());
        let seen = sync.and_then(|sync| sync.seen.post.get(uid).cloned());
        // What is lost is judged by the specification that was read, and by the status that is stored.
        let read = sync.and_then(|sync| sync.job()).or(life.job.as_ref());
        let read = read.map(|job| hand.gates(life).read(job));
        let job =
            life.job.as_ref().zip(read).map(|(job, read)| Job { spec: read.spec.clone(), ..Job::clone(job) });
        // S-11: an active pod without finalizer holds a slot; which pod it keeps from running is nobody's slip.
        let stripped = life.pods.iter().any(|pod| pod.is_active() && !pod.finalizer);
        let fresh = is_fresh(life, hand) && !stripped;
        // Of a request that nobody waits for one sees by the status whether it was to follow an end, or to precede a
        // deletion.
        let stored = life.job.as_ref().is_none_or(|job| life.past.is_stored(&pod, job));
        let chosen = seen.as_ref().map_or(!stored, |seen| !seen.is_terminated());
        life.past.released(&pod, seen.as_ref(), job.as_ref(), fresh, &life.pods);
        if chosen {
            life.past.chosen(uid);
        }
    }
    change(life, hand, uid, |pod| pod.finalizer = false)
}

/// FT-24, and the pod is the one that was seen: the PATCH carries its resourceVersion, unlike that of 1.36 (S-05).
fn may_adopt(life: &Life, by: usize, uid: Uid, scope: &Scope) -> bool {
    let sync = life.processes.get(by).and_then(|process| process.sync.as_ref());
    let seen = sync.and_then(|sync| sync.seen.strays.get(uid));
    let blind = scope.algorithm.switches.on(Switch::AdoptsEndedPods);
    // The GET before it: the same Job, by its UID, which is not being deleted.
    let read = sync.and_then(|sync| sync.read.job.as_deref());
    let is_same = |job: &Arc<Job>| !job.deleting && incarnation::of(Some(job)) == incarnation::of(read);
    let adopts = life.job.as_ref().is_some_and(is_same);
    let stored = life.pods.get(uid);
    adopts && stored.is_some_and(|pod| !pod.controlled && !pod.deleting) && (blind || stored == seen)
}

/// Of a late request its sender had looked before, and the PATCH carries the version that it saw.
fn adopt(life: &mut Life, hand: Hand, uid: Uid) -> Answer {
    let taken = |pod: &Pod| pod.controlled || pod.deleting;
    if life.pods.get(uid).is_some_and(taken) {
        return Answer::Error;
    }
    claimed(life, hand, uid, |pod| (pod.controlled, pod.finalizer) = (true, true))
}

/// A pod changes hands, and its sender knows.
fn claimed(life: &mut Life, hand: Hand, uid: Uid, to: fn(&mut Pod)) -> Answer {
    let answer = change(life, hand, uid, to);
    let stored = life.pods.get(uid).cloned();
    if let Some(sync) = hand.number().and_then(|by| life.processes[by].sync.as_mut()) {
        sync.seen.changes_hands(uid, stored.as_ref());
    }
    answer
}

fn is_fresh(life: &Life, hand: Hand) -> bool {
    hand.process(life).is_some_and(|process| process.sync.as_ref().is_some_and(|sync| sync.fresh))
}

fn write_status(life: &mut Life, hand: Hand, new: &JobStatus, now: Time, scope: &Scope) -> Answer {
    let Some(job) = life.job.clone() else { return Answer::NotFound };
    let sent = Job { status: new.clone(), ..Job::clone(&job) };
    if let Some(broken) = refusal(&job, &sent, scope) {
        life.past.refused.get_or_insert(broken.req);
        return Answer::Error;
    }
    let gates = hand.gates(life);
    // TC-08: where a deletion failed, the end is not announced yet.
    let sync = hand.process(life).and_then(|process| process.sync.as_ref());
    let waits = sync.is_none_or(|sync| sync.deletes_failed || !sync.read.satisfied);
    let fresh = is_fresh(life, hand) && !waits;
    life.past.announces(&gates.read(&job), new, fresh, &life.pods);
    life.past.status_written(&gates.read(&job).spec, &job.status, new, &life.pods, now);
    life.past.status_written_with(gates, &job, new, now);
    if new.is_finished() && !job.status.is_finished() && !job.deleting {
        life.past.slips.passed_over = passed_over(life, hand);
    }
    set_job(life, hand, Some(status_updated(&job, &sent)));
    Answer::Done
}

/// FT-10: the pods that the process has seen ended, by its cache or by what it did, and that hold the finalizer.
fn passed_over(life: &Life, hand: Hand) -> u8 {
    let Some(sync) = hand.process(life).and_then(|process| process.sync.as_ref()) else { return 0 };
    let seen = |pod: &&Pod| sync.seen.post.get(pod.uid).is_some_and(Pod::is_terminated);
    let held = life.pods.iter().filter(|pod| pod.finalizer && pod.controlled).filter(seen).count();
    u8::try_from(held).unwrap_or(u8::MAX)
}

/// The record of failures that the specification holds the process to: it is kept by a status write.
fn remember_failures(life: &mut Life, by: usize, call: &Call, now: Time, scope: &Scope) {
    let Life { job: Some(job), processes, .. } = life else { return };
    let process = &mut processes[by];
    let Some(sync) = process.sync.as_ref().filter(|sync| !sync.conflicts) else { return };
    if matches!(call, Call::WriteStatus(_)) {
        let mut record = std::mem::take(&mut process.knowledge.backoff);
        let old = record.clone();
        record.keep(&sync.seen.view(&process.knowledge.gates.read(job), now, &old, &scope.constants));
        process.knowledge.backoff = record;
    }
}

/// A pod changes by the hand of the process of this number, or appears; nothing happens where it is so already.
fn set_pod(life: &mut Life, hand: Hand, pod: &Pod, change: impl Fn(&mut Pod)) {
    let known = hand.number().map(|by| life.processes[by].know(pod.uid, pod, &change));
    if life.pods.get(pod.uid) == Some(pod) {
        if let (Some(by), Some(known)) = (hand.number(), known) {
            life.processes[by].acknowledge(&known);
        }
        return;
    }
    let before = Arc::make_mut(&mut life.pods).set(pod.uid, Some(pod.clone()));
    for (number, process) in life.processes.iter_mut().enumerate() {
        let after = known.clone().filter(|_| hand.is(number));
        let own = after.map(|after| Own { after, created: before.is_none(), earlier_sync: false });
        process.note_pod(Unseen { uid: pod.uid, before: before.clone(), own, missed: false });
    }
}

/// The Job changes by the hand of the process of this number.
fn set_job(life: &mut Life, hand: Hand, after: Option<Job>) {
    let before = life.job.take();
    life.job = after.map(Arc::new);
    if let Some(late) = &mut life.late {
        late.conflicts = true;
    }
    for (number, process) in life.processes.iter_mut().enumerate() {
        if let Some(before) = &before {
            let written = life.job.as_ref().filter(|_| hand.is(number));
            process.note_job(Some(before.clone()), written);
        }
    }
}

//! The effect of a process's requests on the server, and their judgement by the guards.

use std::sync::Arc;

use crate::alphabet::{Write, judge_by, refusal};
use crate::env::user;
use crate::knowledge::{OwnWrite, Unseen};
use crate::scope::Scope;
use crate::world::{Driver, JobState};
use jobcheck_spec::apiserver::status_updated;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::counting::CountingHistory;
use jobcheck_spec::guards::finalizer_removal::may_remove_finalizer_by_truth;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::mutations::Mutation;
use crate::process::io::{Answer, Call};
use crate::process::state::Process;
use crate::process::steps::DelayedRequest;

/// The sender of a write, from which follows what the processes know afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The process of this number, which gets the response.
    Process(usize),
    /// A sender that gets no response. It had these gates.
    Nobody(Gates),
}

impl Writer {
    fn is(self, number: usize) -> bool {
        self == Writer::Process(number)
    }

    fn number(self) -> Option<usize> {
        match self {
            Writer::Process(number) => Some(number),
            Writer::Nobody(_) => None,
        }
    }

    /// The gates of the sender.
    fn gates(self, job_state: &JobState) -> Gates {
        match self {
            Writer::Nobody(gates) => gates,
            Writer::Process(number) => gates_of(job_state, number),
        }
    }

    fn process(self, job_state: &JobState) -> Option<&Process> {
        self.number().and_then(|number| job_state.processes().get(number))
    }
}

/// Commits the call that a process is waiting for. Returns the server's response. If `answered` is false, the
/// response is lost.
pub fn commit(
    job_state: &mut JobState,
    by: usize,
    call: &Call,
    answered: bool,
    now: Time,
    scope: &Scope,
) -> Answer {
    object(job_state, by, call, now, scope);
    let conflicts = job_state.processes()[by].sync.as_ref().is_none_or(|sync| sync.conflicts);
    let writer = if answered { Writer::Process(by) } else { Writer::Nobody(gates_of(job_state, by)) };
    if answered {
        remember_failures(job_state, by, call, now, scope);
    }
    if let Call::AdoptPod(uid) = call
        && job_state.pods.get(*uid).is_some()
        && !may_adopt(job_state, by, *uid, scope)
    {
        return Answer::Error;
    }
    carry_out(job_state, writer, call, conflicts, now, scope)
}

/// Commits a request of the orphan path. The request must spare pods that an unfinished Job controls (FT-21).
pub fn commit_orphan(job_state: &mut JobState, call: &Call, now: Time, scope: &Scope) -> Answer {
    let broken = scope.verdict(orphan_objections(job_state, call)).map(|broken| broken.req);
    job_state.ghost.objection = job_state.ghost.objection.or(broken);
    carry_out(job_state, Writer::Nobody(gates_of(job_state, 0)), call, false, now, scope)
}

/// Commits the request of a terminated process, to which nobody gets a response.
pub fn commit_delayed(job_state: &mut JobState, delayed: &DelayedRequest, now: Time, scope: &Scope) {
    carry_out(job_state, Writer::Nobody(delayed.gates), &delayed.call, delayed.conflicts, now, scope);
}

fn carry_out(
    job_state: &mut JobState,
    writer: Writer,
    call: &Call,
    conflicts: bool,
    now: Time,
    scope: &Scope,
) -> Answer {
    if is_about(job_state, call) {
        let gates = writer.gates(job_state);
        job_state.ghost.built_in_wrote(gates, job_state.job.as_deref());
    }
    match call {
        Call::CreatePod(_, pod) => create(job_state, writer, pod, scope),
        Call::DeletePod(uid) => delete(job_state, writer, *uid, scope.stamp(now)),
        Call::RemoveFinalizer(uid) => remove_finalizer(job_state, writer, *uid),
        Call::AdoptPod(uid) => adopt(job_state, writer, *uid),
        Call::ReleasePod(uid) => {
            claimed(job_state, writer, *uid, |pod| (pod.controlled, pod.finalizer) = (false, false))
        }
        Call::WriteStatus(_) if conflicts && !overwrites(scope) => Answer::Error,
        Call::WriteStatus(status) => write_status(job_state, writer, status, now, scope),
    }
}

fn gates_of(job_state: &JobState, number: usize) -> Gates {
    job_state.processes().get(number).map_or(Gates::ON, |process| process.knowledge.gates)
}

/// FT-21: returns true if a call concerns the Job, and not a pod that the Job does not control.
fn is_about(job_state: &JobState, call: &Call) -> bool {
    match call {
        Call::DeletePod(uid) | Call::RemoveFinalizer(uid) => {
            job_state.pods.get(*uid).is_none_or(|pod| pod.controlled && job_state.ghost.owns(pod))
        }
        Call::CreatePod(..) | Call::AdoptPod(_) | Call::ReleasePod(_) | Call::WriteStatus(_) => true,
    }
}

/// B02: returns true if a conflicting write is repeated on the stored version.
fn overwrites(scope: &Scope) -> bool {
    scope.mutations().on(Mutation::OverwritesOnConflict)
}

/// The call as a write of the specification's alphabet. The server gives a new pod its UID.
#[must_use]
pub fn as_write(job_state: &JobState, call: &Call) -> Write {
    match call {
        Call::CreatePod(_, pod) => {
            Write::CreatePod(Box::new(Pod { uid: job_state.ghost.uid_of(pod), ..Pod::clone(pod) }))
        }
        Call::DeletePod(uid) => Write::DeletePod(*uid),
        Call::RemoveFinalizer(uid) => Write::RemoveFinalizer(*uid),
        Call::AdoptPod(uid) => Write::AdoptPod(*uid),
        Call::ReleasePod(uid) => Write::ReleasePod(*uid),
        Call::WriteStatus(status) => Write::Status(status.clone()),
    }
}

/// Notes in the history the first write of a process that the specification does not admit.
fn object(job_state: &mut JobState, by: usize, call: &Call, now: Time, scope: &Scope) {
    if job_state.ghost.objection.is_none() {
        let findings = objections(job_state, by, call, now, scope);
        job_state.ghost.objection = scope.verdict(findings).map(|broken| broken.req);
    }
}

/// The requirements that a call breaks, for which a process is waiting.
#[must_use]
pub fn objections(job_state: &JobState, by: usize, call: &Call, now: Time, scope: &Scope) -> Findings {
    let mut findings = Findings::new();
    let Some(sync) = job_state.processes().get(by).and_then(|process| process.sync.as_ref()) else {
        return findings;
    };
    if sync.conflicts && matches!(call, Call::WriteStatus(_)) {
        let expected = "the resourceVersion that the status was computed from: 409";
        let found = "the stored one, and a status computed from an older version";
        findings.require(Req::SY04, !overwrites(scope), "resourceVersion of the write", expected, found);
        return findings;
    }
    let write = as_write(job_state, call);
    let exists = match &write {
        Write::DeletePod(uid) => job_state.pods.get(*uid).is_some_and(|pod| !pod.deleting),
        Write::RemoveFinalizer(uid) => job_state.pods.get(*uid).is_some_and(|pod| pod.finalizer),
        Write::AdoptPod(uid) => may_adopt(job_state, by, *uid, scope),
        Write::ReleasePod(uid) => job_state.pods.get(*uid).is_some_and(|pod| pod.controlled),
        Write::CreatePod(_) | Write::Status(_) => true,
    };
    if exists { judge_by(job_state, by, &write, now, scope) } else { findings }
}

/// SY-04: returns true if the server answers 409 to a status write of this process.
#[must_use]
pub fn conflicts(job_state: &JobState, by: usize, scope: &Scope) -> bool {
    let sync = job_state.processes().get(by).and_then(|process| process.sync.as_ref());
    sync.is_none_or(|sync| sync.conflicts) && !overwrites(scope)
}

/// FT-21: the requirements that a request of the orphan path breaks.
#[must_use]
pub fn orphan_objections(job_state: &JobState, call: &Call) -> Findings {
    let mut findings = Findings::new();
    let job = job_state.job.as_deref();
    match call {
        Call::RemoveFinalizer(uid) => {
            let counted = |uid| job_state.ghost.is_counted(uid);
            // PC-29: the Job of a pod with another incarnation is gone.
            let is_free = |pod: &Pod| {
                !pod.controlled
                    || !job_state.ghost.owns(pod)
                    || may_remove_finalizer_by_truth(job, pod, &counted)
            };
            let free = job.is_none_or(|job| job.deleting) || job_state.pods.get(*uid).is_none_or(is_free);
            findings.require(
                Req::FT21,
                free,
                "a release by the orphan path",
                "a pod without a living Job",
                *uid,
            );
        }
        // S-08: only a pod that was created after its Job finished may be deleted.
        Call::DeletePod(uid) => {
            let over = job.is_none_or(|job| job.status.is_finished() || job.deleting);
            let is_late = |pod: &Pod| pod.controlled && (over || !job_state.ghost.owns(pod));
            let delayed = job_state.pods.get(*uid).is_none_or(is_late);
            findings.require(
                Req::FT21,
                delayed,
                "a deletion by the orphan path",
                "a pod of a finished Job",
                *uid,
            );
        }
        Call::CreatePod(..) | Call::AdoptPod(_) | Call::ReleasePod(_) | Call::WriteStatus(_) => {}
    }
    findings
}

fn create(job_state: &mut JobState, writer: Writer, pod: &Pod, scope: &Scope) -> Answer {
    if user::namespace_goes(job_state, scope) {
        return refuse_creation(job_state, writer);
    }
    let pod = Pod { uid: job_state.ghost.uid_of(pod), scheduled: !scope.unscheduled, ..pod.clone() };
    let fresh = is_fresh(job_state, writer);
    // B44: a restart loses the backoff record.
    let remembers = job_state.faults.crashes == 0 && job_state.faults.second_leaders == 0;
    let first_delay = if remembers { scope.constants.pod_failure_backoff_ms / 1000 } else { 0 };
    // SY-01: neither of two leaders knows the requests of the other. The remaining one does not know them at
    // first either.
    let rivals = job_state.processes().len() > 1 || (job_state.faults.second_leaders > 0 && !fresh);
    if !job_state.ghost.owns(&pod) {
        job_state.ghost.foreign_pods += 1;
    } else if matches!(writer, Writer::Nobody(_)) || rivals {
        job_state.ghost.created_unexpectedly(&pod);
    } else {
        let job = job_state.job.as_ref().map(|job| writer.gates(job_state).read(job));
        let always = scope.constants.pod_failure_backoff_ms / 1000;
        job_state.ghost.check_retry(&pod, job.as_deref(), fresh, always, &job_state.pods);
        job_state.ghost.created(&pod, job.as_deref(), fresh, first_delay, &job_state.pods);
    }
    set_pod(job_state, writer, &pod, |_| {});
    Answer::Done
}

/// PC-12: refuses a creation. The creations of one sync are sent at the same time, so that only a creation in
/// a later sync is futile.
fn refuse_creation(job_state: &mut JobState, writer: Writer) -> Answer {
    let same_leader = job_state.faults.crashes == 0 && job_state.faults.second_leaders == 0;
    if let Some(sync) = writer.process(job_state).and_then(|process| process.sync.as_ref()) {
        let same_sync = sync.replies.answers.values().any(|answer| *answer == Answer::NamespaceTerminating);
        job_state.ghost.violations.futile_creation |=
            job_state.ghost.namespace_refused && !same_sync && same_leader;
        job_state.ghost.namespace_refused = true;
    }
    Answer::NamespaceTerminating
}

fn change(job_state: &mut JobState, writer: Writer, uid: Uid, change: impl Fn(&mut Pod)) -> Answer {
    let Some(mut pod) = job_state.pods.get(uid).cloned() else {
        if let Some(by) = writer.number() {
            job_state.driver.processes_mut()[by].miss(uid);
        }
        return Answer::NotFound;
    };
    change(&mut pod);
    job_state.ghost.pod_changed(&pod);
    set_pod(job_state, writer, &pod, change);
    Answer::Done
}

fn delete(job_state: &mut JobState, writer: Writer, uid: Uid, now: Time) -> Answer {
    if let Some(pod) = job_state.pods.get(uid).cloned() {
        let job = job_state.job.as_ref().map(|job| writer.gates(job_state).read(job));
        let fresh = is_fresh(job_state, writer);
        job_state.ghost.deleted(&pod, job.as_deref(), fresh, &job_state.pods);
    }
    change(job_state, writer, uid, |pod| pod.delete(now))
}

fn remove_finalizer(job_state: &mut JobState, writer: Writer, uid: Uid) -> Answer {
    if let Some(pod) = job_state.pods.get(uid).filter(|pod| pod.finalizer).cloned() {
        let sync = writer.process(job_state).and_then(|process| process.sync.as_ref());
        let seen = sync.and_then(|sync| sync.seen.post.get(uid).cloned());
        // The specification that the sync read and the stored status show if a pod is lost.
        let read = sync.and_then(|sync| sync.job()).or(job_state.job.as_ref());
        let read = read.map(|job| writer.gates(job_state).read(job));
        let job = job_state
            .job
            .as_ref()
            .zip(read)
            .map(|(job, read)| Job { spec: read.spec.clone(), ..Job::clone(job) });
        // S-11: an active pod without finalizer holds a slot. It is no violation that another pod cannot run
        // instead.
        let stripped = job_state.pods.iter().any(|pod| pod.is_active() && !pod.finalizer);
        let fresh = is_fresh(job_state, writer) && !stripped;
        // A request without a living sender has no cache. The status shows whether the request followed a
        // recorded end, or prepared a deletion.
        let stored = job_state.job.as_ref().is_none_or(|job| job_state.ghost.is_stored(&pod, job));
        let chosen = seen.as_ref().map_or(!stored, |seen| !seen.is_terminated());
        job_state.ghost.finalizer_removed(&pod, seen.as_ref(), job.as_ref(), fresh, &job_state.pods);
        if chosen {
            job_state.ghost.chosen_for_deletion(uid);
        }
    }
    change(job_state, writer, uid, |pod| pod.finalizer = false)
}

/// FT-24: returns true if the server accepts the adoption. The PATCH carries the resourceVersion of the pod, unlike
/// that of Kubernetes 1.36 (S-05).
fn may_adopt(job_state: &JobState, by: usize, uid: Uid, scope: &Scope) -> bool {
    let sync = job_state.processes().get(by).and_then(|process| process.sync.as_ref());
    let seen = sync.and_then(|sync| sync.seen.ownerless.get(uid));
    let blind = scope.mutations().on(Mutation::AdoptsTerminatedPods);
    // The GET before an adoption must find the same Job, by UID, and not being deleted.
    let read = sync.and_then(|sync| sync.read.job.as_deref());
    let is_same = |job: &Arc<Job>| !job.deleting && incarnation::of(Some(job)) == incarnation::of(read);
    let adopts = job_state.job.as_ref().is_some_and(is_same);
    let stored = job_state.pods.get(uid);
    adopts && stored.is_some_and(|pod| !pod.controlled && !pod.deleting) && (blind || stored == seen)
}

/// Adopts a pod. A delayed PATCH carries the resourceVersion that its sender saw.
fn adopt(job_state: &mut JobState, writer: Writer, uid: Uid) -> Answer {
    let taken = |pod: &Pod| pod.controlled || pod.deleting;
    if job_state.pods.get(uid).is_some_and(taken) {
        return Answer::Error;
    }
    claimed(job_state, writer, uid, |pod| (pod.controlled, pod.finalizer) = (true, true))
}

/// Changes the owner of a pod. Its sender knows the result.
fn claimed(job_state: &mut JobState, writer: Writer, uid: Uid, to: fn(&mut Pod)) -> Answer {
    let answer = change(job_state, writer, uid, to);
    let stored = job_state.pods.get(uid).cloned();
    if let Some(sync) = writer.number().and_then(|by| job_state.driver.processes_mut()[by].sync.as_mut()) {
        sync.seen.change_owner(uid, stored.as_ref());
    }
    answer
}

fn is_fresh(job_state: &JobState, writer: Writer) -> bool {
    writer.process(job_state).is_some_and(|process| process.sync.as_ref().is_some_and(|sync| sync.fresh))
}

fn write_status(
    job_state: &mut JobState,
    writer: Writer,
    new: &JobStatus,
    now: Time,
    scope: &Scope,
) -> Answer {
    let Some(job) = job_state.job.clone() else { return Answer::NotFound };
    let sent = Job { status: new.clone(), ..Job::clone(&job) };
    if let Some(broken) = refusal(&job, &sent, scope) {
        job_state.ghost.refused.get_or_insert(broken.req);
        return Answer::Error;
    }
    let gates = writer.gates(job_state);
    // TC-08: after a failed deletion, the interim condition is stored later.
    let sync = writer.process(job_state).and_then(|process| process.sync.as_ref());
    let waits = sync.is_none_or(|sync| sync.deletes_failed || !sync.read.satisfied);
    let fresh = is_fresh(job_state, writer) && !waits;
    job_state.ghost.check_interim(&gates.read(&job), new, fresh, &job_state.pods);
    job_state.ghost.status_written(&gates.read(&job).spec, &job.status, new, &job_state.pods, now);
    job_state.ghost.status_written_with(gates, &job, new, now);
    if new.is_finished() && !job.status.is_finished() && !job.deleting {
        job_state.ghost.violations.tracked_at_the_end = tracked_at_the_end(job_state, writer);
    }
    set_job(job_state, writer, Some(status_updated(&job, &sent)));
    Answer::Done
}

/// FT-10: the number of pods that hold the finalizer although the process knows, by its cache or its own
/// requests, that they have terminated.
fn tracked_at_the_end(job_state: &JobState, writer: Writer) -> u8 {
    let Some(sync) = writer.process(job_state).and_then(|process| process.sync.as_ref()) else { return 0 };
    let seen = |pod: &&Pod| sync.seen.post.get(pod.uid).is_some_and(Pod::is_terminated);
    let held = job_state.pods.iter().filter(|pod| pod.finalizer && pod.controlled).filter(seen).count();
    u8::try_from(held).unwrap_or(u8::MAX)
}

/// Updates the backoff record that the guards expect of the process. A status write stores it.
fn remember_failures(job_state: &mut JobState, by: usize, call: &Call, now: Time, scope: &Scope) {
    let JobState { job: Some(job), driver, .. } = job_state else { return };
    let process = &mut driver.processes_mut()[by];
    let Some(sync) = process.sync.as_ref().filter(|sync| !sync.conflicts) else { return };
    if matches!(call, Call::WriteStatus(_)) {
        let mut record = std::mem::take(&mut process.knowledge.backoff);
        let old = record.clone();
        record.keep(&sync.seen.view(&process.knowledge.gates.read(job), now, &old, &scope.constants));
        process.knowledge.backoff = record;
    }
}

/// Stores a pod, and notes the change for every process. A pod that does not differ from the stored one is no
/// change.
fn set_pod(job_state: &mut JobState, writer: Writer, pod: &Pod, change: impl Fn(&mut Pod)) {
    let known = writer.number().map(|by| job_state.driver.processes_mut()[by].know(pod.uid, pod, &change));
    if job_state.pods.get(pod.uid) == Some(pod) {
        if let (Some(by), Some(known)) = (writer.number(), known) {
            job_state.driver.processes_mut()[by].acknowledge(&known);
        }
        return;
    }
    let before = Arc::make_mut(&mut job_state.pods).set(pod.uid, Some(pod.clone()));
    for (number, process) in job_state.driver.processes_mut().iter_mut().enumerate() {
        let after = known.clone().filter(|_| writer.is(number));
        let own = after.map(|after| OwnWrite { after, created: before.is_none(), earlier_sync: false });
        process.note_pod(Unseen { uid: pod.uid, before: before.clone(), own, missed: false });
    }
}

/// Stores the Job, and notes the change for every process.
fn set_job(job_state: &mut JobState, writer: Writer, after: Option<Job>) {
    let before = job_state.job.take();
    job_state.job = after.map(Arc::new);
    let JobState { job, driver: Driver::Processes { processes, delayed }, .. } = job_state else { return };
    if let Some(delayed) = delayed {
        delayed.conflicts = true;
    }
    for (number, process) in processes.iter_mut().enumerate() {
        if let Some(before) = &before {
            let written = job.as_ref().filter(|_| writer.is(number));
            process.note_job(Some(before.clone()), written);
        }
    }
}

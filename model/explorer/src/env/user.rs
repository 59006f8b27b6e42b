//! The user, who edits Jobs and deletes objects. Each action of a scope happens at most once.

mod mirror;

use std::sync::Arc;

use crate::ghost::GhostHistory;
use crate::scope::Scope;
use crate::scopes::job_with;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::apiserver::{
    Propagation, deleted, finalizers_after_delete, spec_updated, status_updated, would_refuse_spec,
};
use jobcheck_spec::incarnation;
use jobcheck_spec::job::{
    Condition, ConditionKind, ConditionStatus, Job, JobSpec, PodReplacementPolicy, Template, Text,
};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// An action that a user may take once in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UserAction {
    /// Deletes a pod that has not terminated.
    DeletePod,
    /// Deletes a terminated pod (EN-04).
    DeleteEndedPod,
    /// Edits the specification.
    Edit(SpecEdit),
    /// Adds the condition FailureTarget with the status False.
    DenyFailureTarget,
    /// Adds the condition Failed with the status False.
    DenyFailed,
    /// Deletes the Job before it has finished.
    DeleteJob(Propagation),
    /// Deletes the Job after it has finished.
    DeleteFinished(Propagation),
    /// Deletes the owner of the Job. The garbage collector then deletes the Job in the background, in any
    /// state (TT-16).
    DeleteOwner,
    /// The mirror that `managedBy` names reports that the Job runs elsewhere.
    MirrorStarts,
    /// The mirror reports the interim condition FailureTarget.
    MirrorAnnounces,
    /// The mirror reports the terminal condition Failed.
    MirrorFinishes,
    /// Recreates the Job once it is gone. Pods of the previous Job may still exist.
    Recreate,
    /// Deletes the Job again while it is being deleted. The propagation policy of this DELETE applies.
    DeleteAgain(Propagation),
    /// Removes the owner reference of a pod.
    StripOwner,
    /// Changes the labels of a pod, so that the selector no longer matches them.
    Relabel,
    /// Adds a finalizer of the user's own to the Job.
    HoldJob,
    /// Removes that finalizer. A Job that is being deleted is then removed, unless another finalizer holds it.
    ReleaseJob,
    /// Deletes the namespace. It takes no new objects, and the namespace controller deletes the existing
    /// ones.
    DeleteNamespace,
}

impl UserAction {
    /// Sets `suspend`.
    pub const SUSPEND: UserAction = UserAction::Edit(SpecEdit::Suspend);
    /// Unsets `suspend`.
    pub const RESUME: UserAction = UserAction::Edit(SpecEdit::Resume);

    /// Sets `parallelism`, and also `completions` if the Job is Indexed and elastic.
    #[must_use]
    pub const fn scale(to: i32) -> UserAction {
        UserAction::Edit(SpecEdit::Scale(to))
    }
}

/// An edit of a Job's specification. It is only enabled if it changes something and the API server accepts
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecEdit {
    /// Sets `suspend`.
    Suspend,
    /// Sets `suspend` after `status.startTime` is set, which the suspension must clear (SU-02).
    SuspendStarted,
    /// Unsets `suspend`.
    Resume,
    /// Sets `parallelism`, and also `completions` if the Job is Indexed and elastic.
    Scale(i32),
    /// Sets `parallelism` only.
    SetParallelism(i32),
    /// Sets or removes `ttlSecondsAfterFinished`.
    SetTtl(Option<i32>),
    /// Sets or removes `activeDeadlineSeconds`.
    SetDeadline(Option<i64>),
    /// Sets `backoffLimit`.
    SetBackoffLimit(i32),
    /// Sets `maxFailedIndexes`.
    SetMaxFailedIndexes(i32),
    /// Sets `podReplacementPolicy`.
    SetReplacementPolicy(PodReplacementPolicy),
    /// Adds a label to the pod template, which the API server accepts for suspended Jobs (SU-12).
    LabelTemplate,
}

/// The finalizer of [`UserAction::HoldJob`].
pub const HOLD: &str = "example.com/hold";
/// The key of the label of [`SpecEdit::LabelTemplate`].
pub const TEMPLATE_LABEL: &str = "example.com/edited";

/// A step of the user: an action on one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UserStep {
    /// Deletes this pod.
    DeletePod(Uid),
    /// Removes the owner reference of this pod.
    StripOwner(Uid),
    /// Changes the labels of this pod.
    Relabel(Uid),
    /// Takes an action on the Job.
    Job(UserAction),
}

/// Returns true if the namespace is being deleted.
#[must_use]
pub fn namespace_goes(job_state: &JobState, scope: &Scope) -> bool {
    let place = scope.user.iter().position(|action| *action == UserAction::DeleteNamespace);
    place.is_some_and(|place| job_state.used >> place & 1 == 1)
}

/// The actions that are left and enabled, each with its number in the scope.
pub fn enabled(job_state: &JobState, scope: &Scope, add: &mut dyn FnMut(u8, UserStep)) {
    let Some(job) = &job_state.job else { return recreates(job_state, scope, add) };
    if job.deleting {
        return deletes_again(job_state, job, scope, add);
    }
    for (number, action) in (0u8..).zip(&scope.user) {
        if job_state.used >> number & 1 == 1 {
            continue;
        }
        match action {
            UserAction::DeletePod => delete_pods(number, job_state, |pod| !pod.is_terminated(), add),
            UserAction::DeleteEndedPod => delete_pods(number, job_state, Pod::is_terminated, add),
            UserAction::StripOwner | UserAction::Relabel => {
                let controlled = job_state.pods.iter().filter(|pod| pod.controlled && pod.selected);
                let step =
                    if *action == UserAction::Relabel { UserStep::Relabel } else { UserStep::StripOwner };
                controlled.for_each(|pod| add(number, step(pod.uid)));
            }
            UserAction::Edit(_)
            | UserAction::DenyFailureTarget
            | UserAction::DenyFailed
            | UserAction::DeleteJob(_)
            | UserAction::DeleteFinished(_)
            | UserAction::DeleteOwner
            | UserAction::HoldJob
            | UserAction::ReleaseJob
            | UserAction::DeleteNamespace => {
                if is_possible(job, *action, scope) {
                    add(number, UserStep::Job(*action));
                }
            }
            UserAction::MirrorStarts | UserAction::MirrorAnnounces | UserAction::MirrorFinishes => {
                if mirror::is_possible(job, *action, scope) {
                    add(number, UserStep::Job(*action));
                }
            }
            UserAction::Recreate | UserAction::DeleteAgain(_) => {}
        }
    }
}

fn recreates(job_state: &JobState, scope: &Scope, add: &mut dyn FnMut(u8, UserStep)) {
    for (number, action) in (0u8..).zip(&scope.user) {
        let is_left = job_state.used >> number & 1 == 0;
        if *action == UserAction::Recreate && is_left && !namespace_goes(job_state, scope) {
            add(number, UserStep::Job(*action));
        }
    }
}

fn deletes_again(job_state: &JobState, job: &Job, scope: &Scope, add: &mut dyn FnMut(u8, UserStep)) {
    for (number, action) in (0u8..).zip(&scope.user) {
        let changes = match *action {
            UserAction::DeleteAgain(asked) => finalizers_after_delete(Some(asked), job) != job.finalizers,
            UserAction::ReleaseJob => is_held(job),
            _ => false,
        };
        if changes && job_state.used >> number & 1 == 0 {
            add(number, UserStep::Job(*action));
        }
    }
}

/// EN-04: a user or pod GC may delete a pod at any time, a terminated one included.
fn delete_pods(number: u8, job_state: &JobState, which: fn(&Pod) -> bool, add: &mut dyn FnMut(u8, UserStep)) {
    for pod in job_state.pods.iter().filter(|pod| !pod.deleting && which(pod)) {
        add(number, UserStep::DeletePod(pod.uid));
    }
}

/// Returns true if the API server accepts the action and it changes something.
fn is_possible(job: &Job, action: UserAction, scope: &Scope) -> bool {
    if is_too_late(job, action, scope) {
        return false;
    }
    let UserAction::Edit(edit) = action else { return true };
    let sent = Job { spec: Arc::new(edited(&job.spec, edit)), ..job.clone() };
    sent.spec != job.spec && would_refuse_spec(&scope.rules, job, &sent).is_none()
}

/// Returns true if the Job is too far advanced for an action. The API server would accept the edit of a
/// finished Job. Such edits would only multiply states without a script, since nobody reads the result. A
/// script contains its edits on purpose.
fn is_too_late(job: &Job, action: UserAction, scope: &Scope) -> bool {
    let finished = job.status.is_finished();
    match action {
        UserAction::Edit(SpecEdit::SetTtl(_)) | UserAction::DeleteOwner | UserAction::DeleteNamespace => {
            false
        }
        UserAction::HoldJob => is_held(job),
        UserAction::ReleaseJob => !is_held(job),
        UserAction::DeleteFinished(_) => !finished,
        UserAction::Edit(SpecEdit::SuspendStarted) => finished || job.status.start_time.is_none(),
        UserAction::DenyFailureTarget | UserAction::DenyFailed => job.status.is_decided(),
        UserAction::Edit(_) => scope.script.is_none() && finished,
        _ => finished,
    }
}

/// Returns true if the user's own finalizer holds the Job.
#[must_use]
pub fn is_held(job: &Job) -> bool {
    job.finalizers.iter().any(|finalizer| **finalizer == *HOLD)
}

/// The specification after an edit.
fn edited(spec: &JobSpec, edit: SpecEdit) -> JobSpec {
    let mut spec = spec.clone();
    match edit {
        SpecEdit::Suspend | SpecEdit::SuspendStarted => spec.suspend = Some(true),
        SpecEdit::Resume => spec.suspend = Some(false),
        SpecEdit::Scale(parallelism) => {
            spec.parallelism = Some(parallelism);
            if spec.is_indexed() {
                spec.completions = Some(parallelism);
            }
        }
        SpecEdit::SetParallelism(parallelism) => spec.parallelism = Some(parallelism),
        SpecEdit::SetTtl(ttl) => spec.ttl_seconds_after_finished = ttl,
        SpecEdit::SetDeadline(seconds) => spec.active_deadline_seconds = seconds,
        SpecEdit::SetBackoffLimit(limit) => spec.backoff_limit = Some(limit),
        SpecEdit::SetMaxFailedIndexes(limit) => spec.max_failed_indexes = Some(limit),
        SpecEdit::SetReplacementPolicy(policy) => spec.pod_replacement_policy = Some(policy),
        SpecEdit::LabelTemplate => label(&mut spec.template),
    }
    spec
}

/// Adds the label [`TEMPLATE_LABEL`].
fn label(template: &mut Template) {
    let place = template.labels.partition_point(|(key, _)| **key < *TEMPLATE_LABEL);
    if template.labels.get(place).is_none_or(|(key, _)| **key != *TEMPLATE_LABEL) {
        template.labels.insert(place, (TEMPLATE_LABEL.into(), "true".into()));
        (template.digest, template.labels_digest) = (!template.digest, !template.labels_digest);
    }
}

/// Takes a step.
pub fn apply(world: &mut World, id: JobId, number: u8, what: &UserStep, scope: &Scope) {
    let now = world.now;
    let job_state = world.job_state_mut(id);
    job_state.used |= 1 << number;
    match what {
        UserStep::Job(
            action @ (UserAction::MirrorStarts | UserAction::MirrorAnnounces | UserAction::MirrorFinishes),
        ) => mirror::apply(job_state, *action, now, scope),
        // The namespace controller does the rest.
        UserStep::Job(UserAction::DeleteNamespace) => {}
        UserStep::Job(UserAction::Recreate) => recreate(job_state, id, now, scope),
        UserStep::DeletePod(uid) => change_pod(job_state, *uid, scope, |pod| pod.delete(scope.stamp(now))),
        UserStep::StripOwner(uid) => change_pod(job_state, *uid, scope, |pod| pod.controlled = false),
        UserStep::Relabel(uid) => change_pod(job_state, *uid, scope, |pod| pod.selected = false),
        UserStep::Job(action) => change_job(job_state, *action, scope),
    }
}

/// Creates the Job under the same name, with another UID and an empty history.
fn recreate(job_state: &mut JobState, id: JobId, now: Time, scope: &Scope) {
    let number = u128::from(id.0);
    let Some(spec) = scope.jobs.get(usize::from(id.0)) else { return };
    let uid = incarnation::uid(number, job_state.ghost.incarnation + 1);
    let job = Job { created: now, ..job_with(&scope.rules, number, uid, spec) };
    job_state.ghost =
        GhostHistory { gates: scope.gates_after(job_state.rollouts), ..job_state.ghost.of_recreated(&job) };
    job_state.job = Some(Arc::new(job));
    for process in job_state.driver.processes_mut() {
        process.note_job(None, None);
    }
}

fn change_pod(job_state: &mut JobState, uid: Uid, scope: &Scope, change: impl Fn(&mut Pod)) {
    let Some(mut after) = job_state.pods.get(uid).cloned() else { return };
    change(&mut after);
    job_state.ghost.pod_changed(&after);
    job_state.set_pod(uid, Some(after), scope.lag);
}

/// Edits or deletes the Job.
fn change_job(job_state: &mut JobState, action: UserAction, scope: &Scope) {
    let Some(job) = job_state.job.clone() else { return };
    let after = match action {
        UserAction::Edit(edit) => {
            let spec = edited(&job.spec, edit);
            job_state.ghost.spec_changed(&job.spec, &spec);
            Some(spec_updated(&scope.rules, &job, &Job { spec: Arc::new(spec), ..Job::clone(&job) }))
        }
        UserAction::DenyFailureTarget => Some(denies(&job, ConditionKind::FailureTarget)),
        UserAction::DenyFailed => Some(denies(&job, ConditionKind::Failed)),
        UserAction::DeleteJob(asked) | UserAction::DeleteFinished(asked) | UserAction::DeleteAgain(asked) => {
            deleted(&job, asked)
        }
        UserAction::DeleteOwner => deleted(&job, Propagation::Background),
        UserAction::HoldJob => {
            let finalizers = job.finalizers.iter().cloned().chain([HOLD.into()]).collect();
            Some(Job { finalizers, ..Job::clone(&job) })
        }
        UserAction::ReleaseJob => without_finalizers(&job, |finalizer| finalizer == HOLD),
        _ => return,
    };
    job_state.set_job(after, scope.job_lag);
}

/// The Job without these finalizers; `None` if it is being deleted, and no other finalizer holds it.
#[must_use]
pub fn without_finalizers(job: &Job, removed: impl Fn(&str) -> bool) -> Option<Job> {
    let left: Vec<Text> = job.finalizers.iter().filter(|finalizer| !removed(finalizer)).cloned().collect();
    let is_gone = job.deleting && left.is_empty();
    (!is_gone).then(|| Job { finalizers: left, ..job.clone() })
}

/// EN-05: the Job after a status write of a user, who sets a condition to False.
fn denies(job: &Job, kind: ConditionKind) -> Job {
    let mut sent = job.clone();
    sent.status.conditions.push(Condition {
        kind,
        status: ConditionStatus::False,
        reason: Text::from(""),
        message: Text::from(""),
        last_transition_time: None,
    });
    status_updated(job, &sent)
}

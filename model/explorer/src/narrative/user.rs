//! The actions of users as text.

use crate::env::user::{SpecEdit, UserAction};
use jobcheck_spec::apiserver::Propagation;

/// An action of a user.
#[must_use]
pub fn action_text(action: UserAction) -> String {
    match action {
        UserAction::Edit(edit) => edit_text(edit),
        UserAction::DenyFailureTarget => "sets FailureTarget=False in the status".to_owned(),
        UserAction::DenyFailed => "sets Failed=False in the status".to_owned(),
        UserAction::DeleteJob(asked) => format!("deletes the Job{}", propagation(asked)),
        UserAction::DeleteFinished(asked) => format!("deletes the finished Job{}", propagation(asked)),
        UserAction::DeleteAgain(asked) => format!("deletes the Job again{}", propagation(asked)),
        UserAction::DeleteOwner => "deletes the Job, because its owner was deleted".to_owned(),
        UserAction::Recreate => "recreates the Job".to_owned(),
        UserAction::MirrorStarts => "reports that the Job runs".to_owned(),
        UserAction::MirrorAnnounces => "reports FailureTarget".to_owned(),
        UserAction::MirrorFinishes => "reports Failed".to_owned(),
        UserAction::DeleteNamespace => "deletes the namespace".to_owned(),
        UserAction::HoldJob => "adds a finalizer to the Job".to_owned(),
        UserAction::ReleaseJob => "removes the finalizer from the Job".to_owned(),
        UserAction::DeletePod | UserAction::DeleteEndedPod => "deletes a pod".to_owned(),
        UserAction::StripOwner => "removes the ownerReference of a pod".to_owned(),
        UserAction::Relabel => "changes the labels of a pod".to_owned(),
    }
}

fn propagation(asked: Propagation) -> &'static str {
    match asked {
        Propagation::Orphan => ", propagation Orphan",
        Propagation::Background => ", propagation Background",
        Propagation::Foreground => ", propagation Foreground",
    }
}

fn edit_text(edit: SpecEdit) -> String {
    fn set(field: &str, value: Option<impl std::fmt::Display>) -> String {
        value.map_or_else(|| format!("removes {field}"), |value| format!("sets {field} to {value}"))
    }
    match edit {
        SpecEdit::Suspend | SpecEdit::SuspendStarted => "suspends the Job".to_owned(),
        SpecEdit::Resume => "resumes the Job".to_owned(),
        SpecEdit::Scale(parallelism) => format!("scales the Job to {parallelism}"),
        SpecEdit::SetParallelism(parallelism) => format!("sets parallelism to {parallelism}"),
        SpecEdit::SetTtl(ttl) => set("ttlSecondsAfterFinished", ttl),
        SpecEdit::SetDeadline(seconds) => set("activeDeadlineSeconds", seconds),
        SpecEdit::SetBackoffLimit(limit) => set("backoffLimit", Some(limit)),
        SpecEdit::SetMaxFailedIndexes(limit) => set("maxFailedIndexes", Some(limit)),
        SpecEdit::SetReplacementPolicy(policy) => format!("sets podReplacementPolicy to {policy:?}"),
        SpecEdit::LabelTemplate => "adds a label to the pod template".to_owned(),
    }
}

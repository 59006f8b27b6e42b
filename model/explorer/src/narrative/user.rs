//! What users do, in words.

use crate::env::user::{SpecEdit, UserAction};
use jobcheck_spec::apiserver::Propagation;

/// What the user does.
#[must_use]
pub fn action_text(action: UserAction) -> String {
    match action {
        UserAction::Edit(edit) => edit_in_words(edit),
        UserAction::DenyFailureTarget => "sets FailureTarget=False in the status".to_owned(),
        UserAction::DenyFailed => "sets Failed=False in the status".to_owned(),
        UserAction::DeleteJob(asked) => format!("deletes the Job{}", in_words(asked)),
        UserAction::DeleteFinished(asked) => format!("deletes the finished Job{}", in_words(asked)),
        UserAction::DeleteAgain(asked) => format!("deletes the Job once more{}", in_words(asked)),
        UserAction::DeleteOwner => "deletes the Job, whose owner is gone".to_owned(),
        UserAction::Recreate => "creates the Job again".to_owned(),
        UserAction::MirrorStarts => "reports that the Job runs".to_owned(),
        UserAction::MirrorAnnounces => "reports FailureTarget".to_owned(),
        UserAction::MirrorFinishes => "reports Failed".to_owned(),
        UserAction::DeleteNamespace => "deletes the namespace".to_owned(),
        UserAction::DeletePod | UserAction::DeleteEndedPod => "deletes a pod".to_owned(),
        UserAction::StripOwner => "removes the ownerReference of a pod".to_owned(),
        UserAction::Relabel => "changes the labels of a pod".to_owned(),
    }
}

fn in_words(asked: Propagation) -> &'static str {
    match asked {
        Propagation::Orphan => ", and leaves its pods",
        Propagation::Background => " in the background",
        Propagation::Foreground => " in the foreground",
    }
}

fn edit_in_words(edit: SpecEdit) -> String {
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
    }
}

//! The parts of a step that the model cannot express, and the user's edits that it can.

use jobcheck_explorer::env::user::{SpecEdit, UserAction};

use super::steps::{Edit, Step};

/// Returns the reason why the model cannot express a step that other targets can play, with advice. Returns `None` if
/// it can.
pub(super) fn beyond(step: &Step) -> Option<&'static str> {
    let watches = [step.hold, step.release, step.expire];
    let leader = watches.into_iter().flatten().find_map(|watch| watch.leader);
    if leader.or(step.request.and_then(|request| request.leader)).is_some() {
        Some(
            "the model does not distinguish two leaders here: remove `leader`, or run the scenario on sim, live or builtin",
        )
    } else if step.until.is_some() {
        Some(
            "the model has no request that fails repeatedly: remove `until`, or run the scenario on sim, live or builtin",
        )
    } else if step.targets().any(|target| target.count.is_some()) {
        Some(
            "a step of the model affects one pod: remove `count`, or run the scenario on sim, live or builtin",
        )
    } else {
        None
    }
}

/// Returns the user's action for an edit of a Job. `indexed` is true for an Indexed Job.
///
/// # Errors
///
/// The API server refuses the edit, or the model cannot express it.
pub(super) fn edited(edit: &Edit, indexed: bool) -> Result<UserAction, String> {
    let Edit {
        suspend,
        parallelism,
        completions,
        backoff_limit,
        max_failed_indexes,
        pod_replacement_policy,
        active_deadline_seconds,
        ttl_seconds_after_finished,
        template,
    } = edit.clone();
    if completions.is_some() && !indexed {
        return Err("`completions` of a NonIndexed Job is immutable".to_owned());
    }
    if completions.is_some() && completions != parallelism {
        return Err("the model scales an Indexed Job by `parallelism` and `completions` together: \
                    write both with the same value"
            .to_owned());
    }
    let alone = indexed && completions.is_none();
    let scaled = |to| if alone { SpecEdit::SetParallelism(to) } else { SpecEdit::Scale(to) };
    let edits: Vec<SpecEdit> = [
        suspend.map(|suspend| if suspend { SpecEdit::Suspend } else { SpecEdit::Resume }),
        parallelism.map(scaled),
        backoff_limit.map(SpecEdit::SetBackoffLimit),
        max_failed_indexes.map(SpecEdit::SetMaxFailedIndexes),
        pod_replacement_policy.map(|policy| SpecEdit::SetReplacementPolicy(policy.into())),
        active_deadline_seconds.map(SpecEdit::SetDeadline),
        ttl_seconds_after_finished.map(SpecEdit::SetTtl),
        template.map(|_| SpecEdit::LabelTemplate),
    ]
    .into_iter()
    .flatten()
    .collect();
    match edits.as_slice() {
        [edit] => Ok(UserAction::Edit(*edit)),
        [] => Err("the edit changes nothing: write for example `suspend: true`".to_owned()),
        _ => Err("the model changes one field at a time: write a step for each".to_owned()),
    }
}

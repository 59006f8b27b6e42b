//! What of a step the model can express, and what it has no word for.

use jobcheck_explorer::env::user::{SpecEdit, UserAction};

use super::steps::{Edit, Step};

/// Why the model has no word for a step, though other targets have.
pub(super) fn beyond(step: &Step) -> Option<&'static str> {
    let watches = [step.hold, step.release, step.expire];
    let leader = watches.into_iter().flatten().find_map(|watch| watch.leader);
    if leader.or(step.request.and_then(|request| request.leader)).is_some() {
        Some(
            "the model does not tell two leaders apart here: leave `leader` out, or play it on sim, live or builtin",
        )
    } else if step.until.is_some() {
        Some(
            "the model has no request that fails again and again: leave `until` out, or play it on sim, live or builtin",
        )
    } else if step.targets().any(|target| target.count.is_some()) {
        Some("in the model a step happens to one pod: leave `count` out, or play it on sim, live or builtin")
    } else {
        None
    }
}

/// An edit of the user, of an Indexed Job or of another.
///
/// # Errors
///
/// What the model cannot express, or the API server refuses.
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
    } = *edit;
    if completions.is_some() && !indexed {
        return Err("`completions` of a NonIndexed Job is immutable".to_owned());
    }
    if completions.is_some() && completions != parallelism {
        return Err("the model scales an Indexed Job by `parallelism` and `completions` together: \
                    write both, with one value"
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
    ]
    .into_iter()
    .flatten()
    .collect();
    match edits.as_slice() {
        [edit] => Ok(UserAction::Edit(*edit)),
        [] => Err("nothing is changed: write for example `suspend: true`".to_owned()),
        _ => Err("the model changes one field at a time: write a step for each".to_owned()),
    }
}

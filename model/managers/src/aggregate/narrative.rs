//! The steps of a counterexample in words.

use super::Scope;
use super::world::{CLUSTERS, Call, Process, State, Step};
use crate::narrative::{along, changes, executed};

/// The steps of a path from the first state, a line for each.
#[must_use]
pub fn steps(scope: &Scope, path: &[Step]) -> Vec<String> {
    let apply = |state: &State, step: &Step| state.after(*step, scope).0;
    along(path, State::initial(scope), apply, |step, before, after| line(*step, before, after))
}

fn line(step: Step, before: &State, after: &State) -> String {
    match step {
        Step::Request(caches, call) => {
            request(call, before, after) + &late(&before.refreshed(caches).process, before)
        }
        Step::Execute(cluster, it) => {
            let status = |state: &State| state.members[cluster].map(|it| it.status).unwrap_or_default();
            executed(it, &[status(before), status(after)], &member(cluster, before), "")
        }
        Step::Delete(cluster) => format!("somebody deletes {}", member(cluster, before)),
        Step::Crash => "the manager crashes, and starts again".to_owned(),
    }
}

fn request(call: Call, before: &State, after: &State) -> String {
    match call {
        Call::Write => format!("the manager writes the status{}", written(before, after)),
        Call::Create(cluster) => {
            let share = after.members[cluster].map_or(0, |member| member.share);
            let successes = if share == 1 { "1 success".to_owned() } else { format!("{share} successes") };
            format!("the manager creates {} for {successes}", member(cluster, after))
        }
        Call::Delete(cluster) => format!("the manager deletes {}", member(cluster, before)),
        Call::Release(cluster) => {
            let end = if after.members[cluster].is_none() { ", which is gone now" } else { "" };
            format!("the manager removes its finalizer from {}{end}", member(cluster, before))
        }
    }
}

/// The caches that did not show the members as they were, when the manager has decided.
fn late(process: &Process, before: &State) -> String {
    let is_late = |cluster: &usize| process.is_late(*cluster, before.members[*cluster].as_ref());
    let late: Vec<String> =
        (0..CLUSTERS).filter(is_late).map(|cluster| format!("cluster {cluster}")).collect();
    if late.is_empty() {
        String::new()
    } else {
        format!(", while its cache of {} is stale", late.join(" and "))
    }
}

/// The content of a status write.
fn written(before: &State, after: &State) -> String {
    if after.truth.refused > 0 {
        return ", and the API server refuses it (422)".to_owned();
    }
    let new = before.counted.iter().zip(&after.counted).enumerate();
    let new = new.filter(|(_, (old, new))| old != new);
    let stored = new.filter_map(|(number, (_, new))| {
        let (succeeded, failed) = (*new)?;
        Some(format!("member {number} has left with succeeded {succeeded}, failed {failed}"))
    });
    let shown = changes(&before.status, &after.status);
    let parts: Vec<String> = Some(shown).filter(|it| !it.is_empty()).into_iter().chain(stored).collect();
    if parts.is_empty() { ", and nothing changes".to_owned() } else { format!(": {}", parts.join(", ")) }
}

/// The member on a cluster, such as `member 0 (cluster 1)`.
fn member(cluster: usize, state: &State) -> String {
    let number = state.members[cluster].map_or(String::new(), |member| format!(" {}", member.number));
    format!("member{number} (cluster {cluster})")
}

//! The steps of a counterexample in words.

use jobcheck_explorer::engine::System;

use super::{Rules, State, Step, Told, alphabet, pods};
use crate::narrative::{along, changes};

/// The steps of a path from the first state, a line for each.
#[must_use]
pub fn steps(rules: &Rules, path: &[Step]) -> Vec<String> {
    let apply = |state: &State, step: &Step| rules.apply(&mut (), state, step);
    let line = |step: &Step, before: &State, after: &State| line(*step, &before.told, &after.told);
    along(path, State::initial(&rules.scope), apply, line)
}

fn line(step: Step, before: &Told, after: &Told) -> String {
    match step {
        Step::Write(..) => format!("the manager writes the status: {}", written(before, after)),
        Step::EndPod(pod) if alphabet::succeeds(pod) => format!("pod {pod} succeeds"),
        Step::EndPod(pod) => format!("pod {pod} fails"),
        Step::Suspend(true) => "the user suspends the Job".to_owned(),
        Step::Suspend(false) => "the user resumes the Job".to_owned(),
        Step::Recreate => "the user deletes the Job, and creates it again under its name".to_owned(),
    }
}

/// The fields that differ, and the pods whose UIDs are recorded, or are not any more.
fn written(before: &Told, after: &Told) -> String {
    let mut parts: Vec<String> = Some(changes(&before.flat, &after.flat)).into_iter().collect();
    parts.retain(|part| !part.is_empty());
    parts.extend(pods(after.listed & !before.listed).map(|pod| format!("records the UID of pod {pod}")));
    parts.extend(pods(before.listed & !after.listed).map(|pod| format!("removes the UID of pod {pod}")));
    if parts.is_empty() { "times alone".to_owned() } else { parts.join(", ") }
}

//! New pods in a watch: whether it shows their birth, and who may have created them.
//!
//! A watch begins with a list, also after an interruption. A list shows each pod in its last state. The version of this state is
//! not that of its creation, so that the pod may have existed at earlier versions, too. Nor does a watch show who has created a
//! pod. The API server completes the names that a Job controller asks for; people choose theirs.

use jobcheck_spec::pod::{Phase, Pod};

use jobcheck_traces::Form;

use super::event::{Event, PodEvent};
use super::gaps::Since;
use super::settings::Settings;
use super::track::Track;
use super::verdict::Note;

/// The creator of a pod that a watch shows for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creator {
    /// The manager of its Job, as far as the watch shows.
    Manager,
    /// Somebody else.
    Other,
    /// The manager or somebody else.
    Perhaps,
    /// Nobody knows: the watch began after the birth.
    Unknown,
}

/// The creator of a pod of this Job that a watch shows for the first time.
pub fn creator(track: &mut Track, event: &Event, it: &PodEvent, pod: &Pod, settings: &Settings) -> Creator {
    if event.actor.is_some() || track.coverage.in_mid_life {
        return Creator::Manager;
    }
    if !is_newborn(event, it, pod) {
        let after = event.arrival.listed_after.unwrap_or(0);
        let since = track.coverage.order_at(after);
        let reason = format!("a list shows pod {} in a later state than at its creation", event.name);
        track.lacks(event, &reason, Since::Order(since));
        return Creator::Unknown;
    }
    if !track.coverage.complete {
        return Creator::Manager;
    }
    // The trace of a controller has its requests.
    let has_own_requests = !settings.observations.is_empty();
    if has_own_requests && track.process.setbacks.lost_creations == 0 {
        return Creator::Other;
    }
    let Some(birth) = it.birth.as_deref() else { return Creator::Manager };
    let own = birth.created.generate_name.as_deref().map(str::to_owned);
    let is_usual =
        own.into_iter().chain(usual_prefixes(&track.id.name, pod)).any(|it| is_generated(&event.name, &it));
    if is_usual {
        return Creator::Manager;
    }
    let reason = format!(
        "pod {} has a name that no API server has completed, so that somebody else may have created it; only an audit \
         log shows who did",
        event.name
    );
    track.reserve(Note::on(event, reason));
    Creator::Perhaps
}

/// The number of characters with which an API server completes a name.
const SUFFIX: usize = 5;
/// The number of characters of `generateName` that are used.
const PREFIX: usize = 58;

/// The beginnings of the names of a Job's pods (PC-16).
fn usual_prefixes(job: &str, pod: &Pod) -> impl Iterator<Item = String> {
    let indexed = pod.index.map(|index| format!("{job}-{index}-"));
    indexed.into_iter().chain([format!("{job}-")])
}

/// Returns `true` if the API server may have completed this `generateName` to this name.
fn is_generated(name: &str, prefix: &str) -> bool {
    let kept = prefix.char_indices().nth(PREFIX).map_or(prefix, |(end, _)| &prefix[..end]);
    let suffix = name.strip_prefix(kept);
    suffix.is_some_and(|it| it.len() == SUFFIX && it.bytes().all(|it| it.is_ascii_alphanumeric()))
}

/// Notes that a watch shows the end of a pod which cannot have ended, because it holds a finalizer and is not being deleted. A
/// selector hides pods in this way.
pub fn find_selector(track: &mut Track, event: &Event, pod: &Pod) {
    if event.form == Form::Watch && event.actor.is_none() && pod.finalizer && !pod.deleting {
        let reason = format!("the watch has a selector: pod {} leaves it, and cannot have gone", event.name);
        track.lacks(event, &reason, Since::Order(0));
    }
}

/// Returns `true` if a pod can be in this state when it is created.
fn is_newborn(event: &Event, it: &PodEvent, pod: &Pod) -> bool {
    let is_untouched = pod.phase == Phase::Pending && !pod.deleting && !pod.ready && pod.restarts == 0;
    let is_placed = it.after.as_ref().is_some_and(|after| after.is_placed);
    is_untouched && !is_placed && !event.arrival.is_listed
}

#[cfg(test)]
mod tests {
    use jobcheck_spec::Uid;
    use jobcheck_traces::Verb;

    use super::*;
    use crate::validate::contents::no_pod;
    use crate::validate::fixtures;

    #[test]
    fn the_pods_of_a_job_have_its_name() {
        let pod = Pod { index: Some(3), ..Pod::new(Uid(1)) };
        let prefixes: Vec<String> = usual_prefixes("job", &pod).collect();
        assert_eq!(prefixes, ["job-3-", "job-"]);
        assert_eq!(usual_prefixes("job", &Pod::new(Uid(1))).count(), 1);
    }

    #[test]
    fn a_completed_name_has_five_characters_behind_its_beginning() {
        for name in ["job-x2b4z", "job-bbbbb"] {
            assert!(is_generated(name, "job-"), "{name}");
        }
        for name in ["my-copy", "job-my-pod", "job-", "job-x2b4", "job-x2b4zz", "other-x2b4z"] {
            assert!(!is_generated(name, "job-"), "{name}");
        }
        let long = "j".repeat(60);
        assert!(is_generated(&format!("{}x2b4z", &long[..PREFIX]), &long));
    }

    #[test]
    fn a_pod_in_a_later_state_is_not_new() {
        let (event, it) = (fixtures::pod_request(Verb::Create, "pod", (0, 0)), no_pod());
        let new = Pod::new(Uid(1));
        assert!(is_newborn(&event, &it, &new));
        for changed in [
            Pod { phase: Phase::Running, ..new.clone() },
            Pod { deleting: true, ..new.clone() },
            Pod { restarts: 1, ..new.clone() },
        ] {
            assert!(!is_newborn(&event, &it, &changed));
        }
        let mut listed = event;
        listed.arrival.is_listed = true;
        assert!(!is_newborn(&listed, &it, &new));
    }
}

//! Requests whose response the trace does not show: a record without a body is unknown, never absent
//! (`docs/reference/judging.md`, *Verdict and exit code*).
//!
//! The body of the request shows the removal of a finalizer. Whatever else such a request did is unknown, so the verdict
//! on its Job is inconclusive.

use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use jobcheck_spec::pod::{Pod, TRACKING_FINALIZER};
use jobcheck_traces::{Object, Verb};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::actor::Role;
use super::event::{Event, PodEvent};
use super::normalize::no_pod;
use super::router::Judge;

/// A merge patch, or a strategic merge patch, of a pod.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch<'a> {
    metadata: MetadataPatch,
    #[serde(borrow, rename = "apiVersion")]
    _api_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "kind")]
    _kind: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetadataPatch {
    #[serde(default, deserialize_with = "stated")]
    finalizers: Option<Vec<String>>,
    #[serde(default, rename = "$deleteFromPrimitiveList/finalizers")]
    deleted: Vec<String>,
    #[serde(default, rename = "$setElementOrder/finalizers")]
    _order: Vec<String>,
    #[serde(rename = "uid")]
    _uid: Option<String>,
    #[serde(rename = "resourceVersion")]
    _version: Option<String>,
}

/// An absent field is `None`; `null` empties the list.
fn stated<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    Option::<Vec<String>>::deserialize(from).map(|list| Some(list.unwrap_or_default()))
}

/// Returns `true` if this PATCH removes the tracking finalizer and does nothing else.
#[must_use]
pub fn removes_finalizer_alone(patch: Object<'_>) -> bool {
    let Ok(Patch { metadata, .. }) = patch.read::<Patch<'_>>() else { return false };
    let is_tracking = |name: &String| name == TRACKING_FINALIZER;
    metadata.deleted.iter().any(is_tracking)
        || metadata.finalizers.is_some_and(|left| !left.iter().any(is_tracking))
}

impl Judge {
    /// Takes an accepted write of a pod without its response.
    pub(super) fn hidden_pod_write(&mut self, event: &Event, it: &PodEvent, role: Role) {
        let key = (event.namespace.clone(), event.name.clone());
        let uid = it.uid.or_else(|| self.pod_names.get(&key).copied());
        let known = uid.and_then(|uid| self.owned_pod(uid));
        match known {
            Some((job, pod)) if it.removes_finalizer => {
                self.finalizer_removed_unseen(event, it, pod, job, role)
            }
            Some((job, _)) => self.hides(event, job, "the audit level hides a write of a pod"),
            None if event.verb == Some(Verb::Create) => self.hidden_creation(event, it),
            None => {}
        }
    }

    /// The Job and the state of a pod.
    fn owned_pod(&self, uid: Uid) -> Option<(Uid, Pod)> {
        let job = *self.owners.get(&uid)?;
        self.tracks.get(&job)?.history.stored.get(uid).map(|pod| (job, pod.clone()))
    }

    /// A pod that is being deleted vanishes with its last finalizer, unless it runs on a node.
    fn finalizer_removed_unseen(&mut self, event: &Event, it: &PodEvent, pod: Pod, job: Uid, role: Role) {
        let runs = pod.scheduled && !pod.is_terminated();
        let gone = pod.deleting && !pod.other_finalizers && !runs;
        let after = Pod { finalizer: false, ..pod };
        self.pod_of(event, &PodEvent { uid: it.uid, gone, ..no_pod() }, &after, job, role);
        if let Some(track) = self.tracks.get_mut(&job) {
            track.saw(event, Some(after.uid));
        }
    }

    /// A pod that the trace does not show. Only the owner in the request shows its Job.
    fn hidden_creation(&mut self, event: &Event, it: &PodEvent) {
        let reason = "the audit level hides the creation of a pod";
        let owner = it.metadata.as_ref().and_then(|asked| asked.controller.as_ref()).map(|owner| owner.uid);
        let is_concerned = |job: &Uid, namespace: &Text| match owner {
            Some(owner) => *job == owner,
            None => *namespace == event.namespace,
        };
        let jobs: Vec<Uid> = self
            .tracks
            .iter()
            .filter(|(job, track)| is_concerned(job, &track.namespace))
            .filter(|(_, track)| track.stored.as_ref().is_some_and(|job| !job.status.is_finished()))
            .map(|(job, _)| *job)
            .collect();
        for job in jobs {
            self.hides(event, job, reason);
        }
    }

    fn hides(&mut self, event: &Event, job: Uid, reason: &str) {
        if let Some(track) = self.tracks.get_mut(&job) {
            track.doubt(reason.to_owned());
            track.gap = Some(event.order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removes(patch: &str) -> bool {
        removes_finalizer_alone(Object::new(patch).unwrap())
    }

    #[test]
    fn a_removal_is_read_from_the_patches_that_controllers_send() {
        let tracking = TRACKING_FINALIZER;
        for patch in [
            format!(r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{tracking}"],"uid":"a"}}}}"#),
            r#"{"metadata":{"finalizers":null}}"#.to_owned(),
            r#"{"metadata":{"resourceVersion":"5","finalizers":["example.com/other"]}}"#.to_owned(),
        ] {
            assert!(removes(&patch), "{patch}");
        }
    }

    #[test]
    fn what_does_something_else_or_cannot_be_read_is_unknown() {
        let tracking = TRACKING_FINALIZER;
        for patch in [
            format!(r#"{{"metadata":{{"finalizers":["{tracking}"]}}}}"#),
            format!(
                r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":["{tracking}"],"ownerReferences":[]}}}}"#
            ),
            r#"{"metadata":{"finalizers":null},"spec":{}}"#.to_owned(),
            r#"[{"op":"remove","path":"/metadata/finalizers/0"}]"#.to_owned(),
            r#"{"metadata":{}}"#.to_owned(),
            "null".to_owned(),
        ] {
            assert!(!removes(&patch), "{patch}");
        }
    }
}

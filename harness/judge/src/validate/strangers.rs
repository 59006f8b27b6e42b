//! Pods that a Job controller must leave alone, and what it must not do to its own.

use std::hash::{Hash, Hasher};

use jobcheck_projection::{Metadata, PodObject};
use jobcheck_spec::apiserver::{CONTROLLER_UID_LABEL, JOB_NAME_LABEL};
use jobcheck_spec::guards::birth::judge_reference;
use jobcheck_spec::guards::deletion;
use jobcheck_spec::pod::{Pod, PolicyMatch, TRACKING_FINALIZER};
use jobcheck_spec::{Findings, Req, Uid};
use jobcheck_traces::Verb;

use rustc_hash::FxHasher;

use super::event::{Event, PodEvent};
use super::job_writes::By;
use super::pod_routes::judge_patch_of;
use super::router::{Judge, job_controller};
use super::track::Track;

impl Judge {
    /// Returns `true` if a request writes a pod that belongs to no Job. It has another owner, or none and no label of a Job. A PATCH
    /// may remove the finalizer of a pod that has lost its owner and its labels. Nor does a pod belong to a Job of another
    /// namespace.
    pub(super) fn is_of_no_job(&self, event: &Event, it: &PodEvent) -> bool {
        let shown = it.after.as_ref().map(|pod| &pod.metadata).or(it.metadata.as_ref());
        let Some(metadata) = shown.filter(|_| event.is_accepted() && event.verb.is_some()) else {
            return false;
        };
        let uid = it.uid.unwrap_or(metadata.uid);
        if self.pods.owners.contains_key(&uid) {
            return false;
        }
        let label =
            |key: &str| metadata.labels.iter().find(|(name, _)| &**name == key).map(|(_, value)| value);
        let labelled = label(CONTROLLER_UID_LABEL).map(|uid| Uid::parse(uid));
        let former = self.pods.former.get(&uid).copied().or(labelled);
        let was_of_job = former.is_some() || label(JOB_NAME_LABEL).is_some();
        let may_let_go = event.verb == Some(Verb::Patch)
            && it.other_field.is_none()
            && it.names_owner != Some(true)
            && !event.is_status;
        // Only an adoption gives a pod the finalizer, and a sync deletes pods that it takes for its own.
        let holds = it.after.as_ref().is_some_and(|after| after.pod.finalizer);
        let takes = may_let_go && it.names_finalizers == Some(true) && holds;
        let deletes_late =
            event.verb == Some(Verb::Delete) && former.is_some_and(|job| self.is_long_gone(job, event));
        let is_never_done = event.is_status || takes || deletes_late;
        match (&metadata.controller, job_controller(metadata.controller.as_ref())) {
            (Some(_), None) => true,
            (Some(_), Some(job)) => {
                self.tracks.peek(&job).is_some_and(|track| track.id.namespace != event.namespace)
            }
            (None, _) => is_never_done || !was_of_job && !may_let_go,
        }
    }
}

/// SY-11: judges that a PATCH of the manager leaves the finalizers of others alone.
pub fn judge_finalizers(track: &mut Track, event: &Event, it: &PodEvent, before: &Pod) {
    if it.lists_foreign_finalizer && !before.other_finalizers {
        judge_patch_of(track, event, Some("a finalizer of somebody else"));
    }
    if it.clears_finalizers && before.other_finalizers {
        judge_patch_of(track, event, Some("the finalizers of others"));
    }
}

/// SY-11: judges that a PUT of the manager, made on the version that the trace has shown last, changes no more than a PATCH may.
pub fn judge_put(track: &mut Track, event: &Event, it: &PodEvent, before: &Pod, after: &PodObject) {
    let seen = track.coverage.pods_seen.get(&before.uid).copied().unwrap_or_default();
    if event.verb != Some(Verb::Update) || it.other_field.is_some() || it.base != Some(seen.version) {
        return;
    }
    let own = |pod: &Pod| Pod {
        finalizer: false,
        controlled: false,
        selected: false,
        incarnation: 0,
        policy: PolicyMatch::None,
        ..pod.clone()
    };
    let is_same = own(before) == own(&after.pod);
    let has_metadata = [0, hash_of(&after.metadata)].contains(&seen.metadata);
    judge_patch_of(track, event, (!is_same || !has_metadata).then_some("another field"));
}

impl Track {
    /// Notes the metadata of a pod, with which the next PUT is compared.
    pub fn saw_metadata(&mut self, pod: Uid, metadata: Option<&Metadata>) {
        if let Some(seen) = self.coverage.pods_seen.get_mut(&pod) {
            seen.metadata = metadata.map_or(0, hash_of);
        }
    }
}

/// A hash of labels, annotations, generation, and the finalizers of others.
fn hash_of(metadata: &Metadata) -> u64 {
    let mut hasher = FxHasher::default();
    (&metadata.labels, &metadata.annotations, metadata.generation).hash(&mut hasher);
    metadata
        .finalizers
        .iter()
        .filter(|name| &***name != TRACKING_FINALIZER)
        .for_each(|name| name.hash(&mut hasher));
    hasher.finish().max(1)
}

/// FT-24: judges the reference to the Job that the built-in controller gives an adopted pod.
pub fn judge_adopted(track: &mut Track, event: &Event, it: &PodEvent) {
    let owner = it.after.as_ref().and_then(|after| after.metadata.controller.as_ref());
    let (Some(job), Some(owner)) = (track.shown().filter(|_| track.is_built_in()), owner) else { return };
    let mut findings = Findings::new();
    judge_reference(&job, owner, (Req::FT24, "controller of the adopted pod"), &mut findings);
    track.take_uncounted(event, &format_args!("adoption of pod {}", event.name), findings);
}

/// RP-12: judges that the manager deletes a pod by force.
pub fn judge_force(track: &mut Track, event: &Event, it: &PodEvent, before: &Pod, by: By) {
    if !it.forced || by != By::Manager || before.deleting || track.stored.is_none() {
        return;
    }
    let mut findings = Findings::new();
    deletion::judge_force(before, &mut findings);
    track.take(event, &format_args!("deletion of pod {}", event.name), findings);
}

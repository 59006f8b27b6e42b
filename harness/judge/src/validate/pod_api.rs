//! Judges the API server's deletion of pods.

use jobcheck_spec::Findings;
use jobcheck_spec::apiserver::validate_pod_deletion;
use jobcheck_spec::guards::times::judge_by_later_event;
use jobcheck_spec::pod::Pod;

use super::event::Event;
use super::story;
use super::track::Track;
use jobcheck_projection::PodObject;

/// Judges a write that marked a pod for deletion. `before` is the state in etcd.
///
/// The pod may have changed in a gap, so that its last known state may be another one.
pub fn judge_pod_deletion(track: &mut Track, event: &Event, before: &Pod, after: &PodObject) {
    if track.is_unsure(before.uid) {
        return;
    }
    let mut findings = Findings::new();
    let grace = after.metadata.deletion_grace_period_seconds.unwrap_or(0);
    validate_pod_deletion(before, &after.pod, grace, &mut findings);
    track.take_uncounted(event, &format_args!("deletion of {}", story::pod(before)), findings);
}

/// Judges the times of the stored status by the deletion of a pod in a watch. The API server marks a pod no later than
/// its `deletionTimestamp`, which adds the grace period.
pub fn judge_earlier_times(track: &mut Track, event: &Event, before: &Pod, after: &PodObject) {
    let is_marked = after.pod.deleting && !before.deleting && event.when.is_none();
    let marked = after.metadata.deletion_timestamp.filter(|_| is_marked);
    let stored = track.stored.clone().filter(|_| track.manager.executor && !track.manager.foreign_status);
    if let (Some(marked), Some(job)) = (marked, stored) {
        let mut findings = Findings::new();
        judge_by_later_event(&job.status, marked, &mut findings);
        track.take_uncounted(event, &format_args!("deletion of {}", story::pod(before)), findings);
    }
}

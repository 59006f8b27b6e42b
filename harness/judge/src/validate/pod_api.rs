//! Judges the API server's deletion of pods.

use jobcheck_spec::Findings;
use jobcheck_spec::apiserver::validate_pod_deletion;
use jobcheck_spec::pod::Pod;

use super::event::Event;
use super::story;
use super::track::Track;
use jobcheck_projection::PodObject;

/// Judges a write that marked a pod for deletion. `before` is the state in etcd.
pub fn judge_pod_deletion(track: &mut Track, event: &Event, before: &Pod, after: &PodObject) {
    let mut findings = Findings::new();
    let grace = after.metadata.deletion_grace_period_seconds.unwrap_or(0);
    validate_pod_deletion(before, &after.pod, grace, &mut findings);
    let judged = track.judged;
    track.take(event, &format_args!("deletion of {}", story::pod(before)), findings);
    track.judged = judged;
}

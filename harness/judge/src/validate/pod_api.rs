//! Judges the API server's deletion of pods (SY-12).

use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Findings, Req};

use super::event::Event;
use super::story;
use super::track::Track;
use jobcheck_projection::PodObject;

/// Judges a write that marked a pod for deletion: a pod without a node, or a terminated one, gets no grace period.
/// `before` is the state in etcd.
pub fn judge_pod_deletion(track: &mut Track, event: &Event, before: &Pod, after: &PodObject) {
    let mut findings = Findings::new();
    let at_once = !after.pod.scheduled || after.pod.is_terminated();
    if after.pod.deleting && !before.deleting && at_once {
        let grace = after.metadata.deletion_grace_period_seconds.unwrap_or(0);
        let what = "deletionGracePeriodSeconds of a pod that has no node or has terminated";
        findings.equal(Req::SY12, what, 0, grace);
    }
    let judged = track.judged;
    track.take(event, &format_args!("deletion of {}", story::pod(before)), findings);
    track.judged = judged;
}

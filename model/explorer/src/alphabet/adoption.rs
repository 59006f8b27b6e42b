//! Adopting ownerless pods, and releasing pods that the selector no longer matches.
//!
//! An adoption reads the stored Job: its GET and its PATCH are one step here (FT-24).

use super::{DecisionContext, Write};
use crate::scope::Scope;
use crate::world::JobState;
use jobcheck_spec::guards::adoption;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::uid::Uid;

/// The admitted adoptions and releases.
pub fn admitted(context: &DecisionContext<'_>) -> Vec<Write> {
    let mut writes = Vec::new();
    if context.job_state.job.as_ref().is_none_or(|job| job.status.is_finished()) {
        return writes;
    }
    let pods = || context.job_state.pods.iter();
    let ownerless = pods().filter(|pod| !pod.controlled).map(|pod| pod.uid);
    writes.extend(ownerless.filter(|uid| context.scope.admits(&judge(context, *uid))).map(Write::AdoptPod));
    // If the selector matches every pod, no release is possible.
    let strange = pods().filter(|pod| pod.controlled && pods().any(|pod| !pod.selected)).map(|pod| pod.uid);
    let given = strange.filter(|uid| context.scope.admits(&judge_release(context, *uid)));
    writes.extend(given.map(Write::ReleasePod));
    writes
}

/// Judges an adoption.
pub fn judge(context: &DecisionContext<'_>, uid: Uid) -> Findings {
    let (job, pod) = (context.job_state.job.as_deref(), context.job_state.pods.get(uid));
    let (Some(job), Some(pod), Some(_)) = (job, pod, context.seen.ownerless.get(uid)) else {
        return super::out_of_reach("adoption of a pod");
    };
    let mut findings = Findings::new();
    adoption::judge_adoption(job, pod, &changed(pod, true), labels(job, pod), &mut findings);
    findings
}

/// Judges a release.
pub fn judge_release(context: &DecisionContext<'_>, uid: Uid) -> Findings {
    let (Some(job), Some(pod)) = (context.cached.as_deref(), context.seen.cache.get(uid)) else {
        return super::out_of_reach("release of a pod");
    };
    let mut findings = Findings::new();
    adoption::judge_release(job, &changed(pod, false), (labels(job, pod), false), &mut findings);
    findings
}

/// The labels of a pod, as far as the selector reads them.
fn labels<'a>(job: &'a Job, pod: &Pod) -> &'a [(Text, Text)] {
    // PC-15: the selector contains the UID of the Job.
    let matches = pod.selected && pod.incarnation == incarnation::of(Some(job));
    if matches { &job.spec.selector.match_labels } else { &[] }
}

fn changed(pod: &Pod, adopted: bool) -> Pod {
    Pod { controlled: adopted, finalizer: adopted, ..pod.clone() }
}

/// Changes the owner of a pod, and with it the finalizer.
pub fn apply(job_state: &mut JobState, uid: Uid, adopted: bool, scope: &Scope) {
    let Some(pod) = job_state.pods.get(uid) else { return };
    let after = changed(pod, adopted);
    job_state.ghost.pod_changed(&after);
    job_state.write_pod(after, scope.lag);
}

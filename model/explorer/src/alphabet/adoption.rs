//! Adopting pods that have no controller, and giving up those that the selector does not match any more.
//!
//! An adoption looks at the stored Job: its GET and its PATCH are one step here (FT-24).

use super::{Moment, Write};
use crate::scope::Scope;
use crate::world::Life;
use jobcheck_spec::guards::adoption::{judge_adoption, judge_giving_up};
use jobcheck_spec::incarnation;
use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::uid::Uid;

/// The pods that may change hands now.
pub fn admitted(moment: &Moment<'_>) -> Vec<Write> {
    let mut writes = Vec::new();
    if moment.life.job.as_ref().is_none_or(|job| job.status.is_finished()) {
        return writes;
    }
    let pods = || moment.life.pods.iter();
    let strays = pods().filter(|pod| !pod.controlled).map(|pod| pod.uid);
    writes.extend(strays.filter(|uid| moment.scope.admits(&judge(moment, *uid))).map(Write::AdoptPod));
    // What the selector matches is not asked about where everything is matched.
    let strange = pods().filter(|pod| pod.controlled && pods().any(|pod| !pod.selected)).map(|pod| pod.uid);
    let given = strange.filter(|uid| moment.scope.admits(&judge_giving(moment, *uid)));
    writes.extend(given.map(Write::GiveUpPod));
    writes
}

/// The guards of an adoption.
pub fn judge(moment: &Moment<'_>, uid: Uid) -> Findings {
    let (job, pod) = (moment.life.job.as_deref(), moment.life.pods.get(uid));
    let (Some(job), Some(pod), Some(_)) = (job, pod, moment.seen.strays.get(uid)) else {
        return super::out_of_reach("adoption of a pod");
    };
    let mut findings = Findings::new();
    judge_adoption(job, pod, &changed(pod, true), labels(job, pod), &mut findings);
    findings
}

/// The guards of giving a pod up.
pub fn judge_giving(moment: &Moment<'_>, uid: Uid) -> Findings {
    let (Some(job), Some(pod)) = (moment.cached.as_deref(), moment.seen.cache.get(uid)) else {
        return super::out_of_reach("release of a pod");
    };
    let mut findings = Findings::new();
    judge_giving_up(job, &changed(pod, false), labels(job, pod), &mut findings);
    findings
}

/// Labels as far as the selector goes.
fn labels<'a>(job: &'a Job, pod: &Pod) -> &'a [(Text, Text)] {
    // PC-15: the selector is by the UID of the Job.
    let matches = pod.selected && pod.incarnation == incarnation::of(Some(job));
    if matches { &job.spec.selector.match_labels } else { &[] }
}

fn changed(pod: &Pod, adopted: bool) -> Pod {
    Pod { controlled: adopted, finalizer: adopted, ..pod.clone() }
}

/// The pod has changed hands, and its finalizer with it.
pub fn apply(life: &mut Life, uid: Uid, adopted: bool, scope: &Scope) {
    let Some(pod) = life.pods.get(uid) else { return };
    let after = changed(pod, adopted);
    life.past.pod_changed(&after);
    life.write_pod(after, scope.lag);
}

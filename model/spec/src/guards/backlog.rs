//! Pods that have ended and wait to be counted (FT-02, FT-15, BI-10, SU-06).

use crate::catalogue::Req;
use crate::guards::counting::{has_true, may_delay_finalizer_removal};
use crate::guards::decision::Tally;
use crate::indexes::IndexSet;
use crate::job::{ConditionKind, JobStatus};
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::requirement::{Findings, Operand};
use crate::view::View;

/// Judges that a status write records every ended pod that the view shows, up to the cap of one sync.
///
/// Not asked of a Job that succeeds: what its pods end as counts nowhere (SX-03).
pub fn judge_backlog(view: &View<'_>, new: &JobStatus, tally: &Tally, findings: &mut Findings) {
    if view.cache.unaccounted().next().is_none() {
        return;
    }
    if fills_the_cap(view, new) || filled_the_cap(view) {
        return;
    }
    let shows = |kind: &ConditionKind| view.job.status.is_true(kind) || has_true(new, kind);
    let succeeds = shows(&ConditionKind::SuccessCriteriaMet);
    let fails = shows(&ConditionKind::FailureTarget);
    let waits = |pod| !fails && may_delay_finalizer_removal(view, pod, tally);
    let successes = view.new_successes().filter(|_| !view.spec().is_indexed());
    let failures = view.new_failures().filter(|pod| !succeeds && !pod.is_ignored() && !waits(pod));
    let req = match () {
        () if view.spec().is_suspended() => Req::SU06,
        () if view.spec().backoff_limit_per_index.is_some() => Req::BI10,
        () if fails => Req::FT15,
        () => Req::FT02,
    };
    for pod in successes.chain(failures) {
        let expected = "recorded in uncountedTerminatedPods";
        let found = Operand::lazy(|| format!("{:?} in phase {:?} is in no list", pod.uid, pod.phase));
        // PF-06: every action but Ignore counts.
        let req = if pod.policy == PolicyMatch::None { req } else { Req::PF06 };
        findings.require(req, new.is_recorded(pod.uid), "a pod that has ended", expected, found);
    }
}

/// FT-10: the first write of the sync filled the cap, so that the second records nothing more: what that write
/// listed, and what was released since without being listed.
fn filled_the_cap(view: &View<'_>) -> bool {
    let status = &view.job.status;
    let released = |pod: &&Pod| {
        let released = view.post.get(pod.uid).is_none_or(|now| !now.finalizer);
        pod.phase == Phase::Succeeded && released && !status.is_recorded(pod.uid)
    };
    let listed = status.uncounted_succeeded().len() + status.uncounted_failed().len();
    let unlisted = view.finalizers_removed + view.cache.unaccounted().filter(released).count();
    listed + unlisted >= view.constants.max_uncounted_pods
}

/// FT-10: newly completed indexes and listed UIDs together.
fn fills_the_cap(view: &View<'_>, new: &JobStatus) -> bool {
    let stored = view.job.status.completed(view.spec().completion_count());
    let completed = IndexSet::read(&new.completed_indexes, None).minus(&stored).len() as usize;
    let listed = new.uncounted_succeeded().len() + new.uncounted_failed().len();
    listed + completed >= view.constants.max_uncounted_pods
}

//! Succeeded and failed pods that a status write must record (KEP-2307, algorithm, step 2).
//!
//! | write | requirements | decided by |
//! | --- | --- | --- |
//! | status write of an executor | FT-02, FT-15, BI-10, SU-06, PF-06 | a view: the pods that the cache shows |
//!
//! [`counting`](super::counting) judges the UIDs that a write records. This module judges the UIDs that it leaves out.

use crate::catalogue::Req;
use crate::guards::counting::{has_true, may_delay_finalizer_removal};
use crate::guards::decision::Tally;
use crate::indexes::IndexSet;
use crate::job::{ConditionKind, JobStatus};
use crate::pod::{Phase, Pod, PolicyMatch};
use crate::requirement::{Findings, Operand};
use crate::view::View;
use crate::words::described;

/// Judges that a status write records every succeeded or failed pod that the view shows, up to the cap of one sync
/// (FT-10).
///
/// Failures of a Job that succeeds count nowhere (SX-03). A failure whose index waits for a replacement (BI-08) is not
/// recorded yet.
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
        let (what, expected) = ("record of a terminated pod", "its UID in uncountedTerminatedPods");
        let found = Operand::lazy(|| format!("{}, not recorded", described(pod)));
        // PF-06: every action except Ignore counts the failure.
        let req = if pod.policy == PolicyMatch::None { req } else { Req::PF06 };
        findings.require(req, new.is_recorded(pod.uid), what, expected, found);
    }
}

/// FT-10: the first status write of the sync filled the cap, so that the second one records nothing more.
///
/// The cap counts the UIDs that the first write recorded. It also counts the succeeded pods that lost the finalizer
/// since without a record, because their index is stored.
fn filled_the_cap(view: &View<'_>) -> bool {
    let status = &view.job.status;
    let without_record = |pod: &&Pod| {
        let finalizer_gone = view.post.get(pod.uid).is_none_or(|now| !now.finalizer);
        pod.phase == Phase::Succeeded && finalizer_gone && !status.is_recorded(pod.uid)
    };
    let by_index = view.finalizers_removed + view.cache.unaccounted().filter(without_record).count();
    status.recorded() + by_index >= view.constants.max_uncounted_pods
}

/// FT-10: the newly completed indexes and the recorded UIDs of this write fill the cap.
fn fills_the_cap(view: &View<'_>, new: &JobStatus) -> bool {
    let stored = view.job.status.completed(view.spec().completion_count());
    let completed = IndexSet::read(&new.completed_indexes, None).minus(&stored).len() as usize;
    new.recorded() + completed >= view.constants.max_uncounted_pods
}

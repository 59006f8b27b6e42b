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
use crate::listed::Listed;
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
    let recorded = Listed::of(new.uncounted_succeeded(), new.uncounted_failed());
    for pod in successes.chain(failures) {
        let (what, expected) = ("record of a terminated pod", "its UID in uncountedTerminatedPods");
        let found = Operand::lazy(|| format!("{}, not recorded", described(pod)));
        // PF-06: every action except Ignore counts the failure.
        let req = if pod.policy == PolicyMatch::None { req } else { Req::PF06 };
        findings.require(req, recorded.has(pod.uid), what, expected, found);
    }
}

/// FT-10: the first status write of the sync filled the cap, so that the second one records nothing more.
///
/// The cap counts the UIDs that the first write recorded. It also counts the succeeded pods that lost the finalizer
/// since without a record, because their index is stored.
fn filled_the_cap(view: &View<'_>) -> bool {
    let status = &view.job.status;
    let recorded = Listed::of(status.uncounted_succeeded(), status.uncounted_failed());
    let without_record = |pod: &&Pod| {
        let finalizer_gone = view.post.get(pod.uid).is_none_or(|now| !now.finalizer);
        pod.phase == Phase::Succeeded && finalizer_gone && !recorded.has(pod.uid)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::apiserver::fixtures::job;
    use crate::constants::Constants;
    use crate::job::CompletionMode;
    use crate::pods::Pods;
    use crate::uid::Uid;

    /// Two successes of this sync have lost the finalizer: one is seen without it, and one only in the own writes.
    #[test]
    fn removed_finalizers_of_stored_indexes_fill_the_cap() {
        let mut job = job();
        let spec = Arc::make_mut(&mut job.spec);
        (spec.completion_mode, spec.completions) = (Some(CompletionMode::Indexed), Some(3));
        job.status.completed_indexes = "0,1".into();
        let pod =
            |uid, index, phase| Pod { finalizer: true, index: Some(index), phase, ..Pod::new(Uid(uid)) };
        let (released, failed) = (pod(1, 1, Phase::Succeeded), pod(2, 2, Phase::Failed));
        let mut cache = Pods::new();
        for pod in [&released, &failed] {
            cache.set(pod.uid, Some(pod.clone()));
        }
        let mut post = cache.clone();
        post.set(released.uid, Some(Pod { finalizer: false, ..released }));
        let broken = |max_uncounted_pods| {
            let constants = Constants { max_uncounted_pods, ..Constants::V1_36 };
            let view =
                View { post: &post, finalizers_removed: 1, constants: &constants, ..View::of(&job, &cache) };
            let mut findings = Findings::new();
            judge_backlog(&view, &job.status, &Tally::of(&view), &mut findings);
            findings.broken.iter().map(|it| it.req).collect::<Vec<_>>()
        };
        assert_eq!(broken(2), []);
        assert_eq!(broken(3), [Req::FT02]);
    }
}

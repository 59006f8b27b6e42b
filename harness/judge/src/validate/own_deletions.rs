//! The pods that a sync has deleted itself, in its own status.

use std::collections::BTreeSet;

use jobcheck_spec::guards::counting::added;
use jobcheck_spec::guards::deletion::judge_count_of_own_deletion;
use jobcheck_spec::job::{ConditionKind, JobStatus};
use jobcheck_spec::{Findings, Uid};

use super::event::Event;
use super::lost_requests::{Kind, RETRY};
use super::setbacks::Refused;
use super::track::Track;

/// FT-15: judges the pods that a status write counts as failed although its sync has deleted them, because the Job succeeds.
///
/// The deletions and the status write are of one sync if they are closer than a retry, and nothing has failed. A status write that
/// comes later may be of another sync, to which the pods were terminating.
pub fn judge_counts(
    track: &Track,
    event: &Event,
    (before, after): (&JobStatus, &JobStatus),
    findings: &mut Findings,
) {
    let succeeds = |status: &JobStatus| status.is_true(&ConditionKind::SuccessCriteriaMet);
    let Some(when) = event.when.filter(|_| track.is_built_in() && succeeds(after) && !succeeds(before))
    else {
        return;
    };
    if track.process.refused != Refused::default() {
        return;
    }
    let is_own = |at: Option<i64>| at.is_some_and(|at| when.received - at < RETRY);
    let written = track.history.written_in_sync().into_iter();
    let deleted = written.filter(|it| it.kind == Kind::Loss && is_own(it.written)).map(|it| it.uid);
    let deleted: BTreeSet<Uid> = deleted.collect();
    for uid in added(before.uncounted_failed(), after.uncounted_failed()).filter(|uid| deleted.contains(uid))
    {
        let pod = track.history.stored.get(uid).filter(|pod| !pod.is_terminated());
        pod.into_iter().for_each(|pod| judge_count_of_own_deletion(pod, findings));
    }
}

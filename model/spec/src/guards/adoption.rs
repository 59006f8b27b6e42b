//! Adoption and release of pods (KEP-2307, pod adoption; ControllerRefManager).
//!
//! | write | requirements | decided by |
//! | --- | --- | --- |
//! | PATCH that makes the Job the controller of an ownerless pod | FT-24, S-05 | the truth: the live Job and the stored pod |
//! | PATCH that removes the Job as the controller of a pod | FT-26 | the truth |
//!
//! A controller reads the Job again from the API server before it adopts a pod. A stale cache is therefore no excuse.

use crate::catalogue::Req;
use crate::job::{Job, Selector, Text};
use crate::pod::Pod;
use crate::requirement::{Findings, Operand};
use crate::words::described;

/// Returns whether labels match a selector.
///
/// The result is `None` if `matchLabels` match and the selector has `matchExpressions`, which are not evaluated.
#[must_use]
pub fn matches(selector: &Selector, labels: &[(Text, Text)]) -> Option<bool> {
    let all = selector.match_labels.iter().all(|wanted| labels.contains(wanted));
    if !all {
        return Some(false);
    }
    (selector.expressions_digest == 0).then_some(true)
}

/// Judges the PATCH that makes `job` the controller of a pod (FT-24, S-05).
///
/// `job` is the stored Job, `before` and `after` are the pod around the PATCH, and `labels` are those of the pod.
pub fn judge_adoption(
    job: &Job,
    before: &Pod,
    after: &Pod,
    labels: &[(Text, Text)],
    findings: &mut Findings,
) {
    let what = "adoption of a pod";
    let matching = matches(&job.spec.selector, labels) != Some(false);
    let (expected, found) = ("labels that the selector matches", "labels that it does not match");
    findings.require(Req::FT24, matching, what, expected, found);
    let expected = "a pod that is not being deleted";
    findings.require(Req::FT24, !before.deleting, what, expected, Operand::lazy(|| described(before)));
    let (expected, found) = ("a Job that is not being deleted", "a Job that is being deleted");
    findings.require(Req::FT24, !job.deleting, what, expected, found);
    findings.require(
        Req::FT24,
        after.finalizer,
        what,
        "the tracking finalizer in the same PATCH",
        "a PATCH without it",
    );
    findings.premise(Req::S05);
    if before.is_terminated() {
        let found = Operand::Text(format!("a pod in phase {:?}", before.phase));
        findings.deviation(Req::S05, what, "a pod that has not terminated", found);
    }
}

/// Judges the PATCH by which `job` releases a pod (FT-26). `after` is the pod after the PATCH.
///
/// `differed` is true if a cache may show other labels, which a user has changed back.
pub fn judge_release(
    job: &Job,
    after: &Pod,
    (labels, differed): (&[(Text, Text)], bool),
    findings: &mut Findings,
) {
    let what = "release of a pod";
    let differs = differed || matches(&job.spec.selector, labels) != Some(true);
    let (expected, found) = ("labels that the selector does not match", "labels that it matches");
    findings.require(Req::FT26, differs, what, expected, found);
    findings.require(
        Req::FT26,
        !after.finalizer,
        what,
        "the removal of the tracking finalizer in the same PATCH",
        "a PATCH that keeps it",
    );
    let (expected, found) = ("a Job that is not being deleted", "a Job that is being deleted");
    findings.require(Req::FT26, !job.deleting, what, expected, found);
}

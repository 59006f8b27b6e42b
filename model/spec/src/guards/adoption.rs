//! Adopting and releasing pods (FT-24, FT-26, S-05).

use crate::catalogue::Req;
use crate::job::{Job, Selector, Text};
use crate::pod::Pod;
use crate::requirement::{Findings, Operand};

/// Whether labels match a selector; `None` where the selector uses expressions, which are not evaluated.
#[must_use]
pub fn matches(selector: &Selector, labels: &[(Text, Text)]) -> Option<bool> {
    let all = selector.match_labels.iter().all(|wanted| labels.contains(wanted));
    if !all {
        return Some(false);
    }
    (selector.expressions_digest == 0).then_some(true)
}

/// Judges the PATCH that makes a Job the controller of a pod: against the live Job, since it is read afresh
/// for this (FT-24).
pub fn judge_adoption(
    job: &Job,
    before: &Pod,
    after: &Pod,
    labels: &[(Text, Text)],
    findings: &mut Findings,
) {
    let what = "adoption of a pod";
    let matching = matches(&job.spec.selector, labels) != Some(false);
    findings.require(Req::FT24, matching, what, "labels that the selector matches", "other labels");
    findings.require(Req::FT24, !before.deleting, what, "a pod that is not being deleted", before.uid);
    findings.require(Req::FT24, !job.deleting, what, "a Job that is not being deleted", job.uid);
    findings.require(
        Req::FT24,
        after.finalizer,
        what,
        "the tracking finalizer in the same PATCH",
        "no finalizer",
    );
    findings.premise(Req::S05);
    if before.is_terminated() {
        let found = Operand::Text(format!("a pod in phase {:?}", before.phase));
        findings.deviation(Req::S05, what, "no pod that has terminated", found);
    }
}

/// Judges the PATCH by which a Job gives up a pod (FT-26).
pub fn judge_release(job: &Job, after: &Pod, labels: &[(Text, Text)], findings: &mut Findings) {
    let what = "release of a pod";
    let strange = matches(&job.spec.selector, labels) != Some(true);
    findings.require(Req::FT26, strange, what, "labels that the selector does not match", "matching labels");
    findings.require(
        Req::FT26,
        !after.finalizer,
        what,
        "the finalizer removed in the same PATCH",
        "the finalizer",
    );
    findings.require(Req::FT26, !job.deleting, what, "a Job that is not being deleted", job.uid);
}

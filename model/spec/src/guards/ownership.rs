//! Ownership: which writer may write to a Job and its pods.
//!
//! | write | requirements | decided by |
//! | --- | --- | --- |
//! | any write of the built-in controller to a Job of another manager | MB-02, MB-03 | `managedBy` of the stored Job |
//! | removal of the tracking finalizer by the built-in controller | MB-04 | the same |
//! | status write of a manager | MB-09, MB-14 | `managedBy` of the Job, and of the Jobs that the writer manages |
//! | any write of the Job's manager that the authorizer refuses | MB-10 | the response |
//! | status write that changes the spec | MB-12 | the truth |
//! | write of the built-in controller to spec or metadata of a Job, or to another field of a pod | SY-11 | the truth, and the request |
//!
//! The explorer asks [`judge_intrusion`] about every write of a sync. The other guards are for traces. The
//! explorer's Jobs have one manager for each process and no authorizer. Its status writes contain no spec and no metadata.

use crate::catalogue::Req;
use crate::job::{Job, Text};
use crate::requirement::{Findings, Operand};
use crate::uid::Uid;

/// MB-02, MB-03: the built-in controller leaves Jobs of other managers alone.
///
/// `by_built_in` is true if the built-in controller sent the write, and `has_other_manager` if `managedBy` names
/// another controller. `what` describes the write.
pub fn judge_intrusion(
    by_built_in: bool,
    has_other_manager: bool,
    what: &'static str,
    findings: &mut Findings,
) {
    if by_built_in && has_other_manager {
        let expected = "no write by the Job controller";
        findings.require(Req::MB03, false, "a Job of another manager", expected, what);
    }
}

/// MB-04: the built-in controller leaves the tracking finalizer on the pods of an existing Job of another manager.
pub fn judge_foreign_finalizer(job_exists: bool, pod: Uid, findings: &mut Findings) {
    if job_exists {
        let expected = "the finalizer stays while the Job exists";
        findings.require(Req::MB04, false, "a pod of an externally managed Job", expected, pod);
    }
}

/// MB-09, MB-14: a controller that manages Jobs by `managedBy` leaves the status of other Jobs alone.
///
/// `writer` is the `managedBy` value of the writer's Jobs. The writer is not the manager of this Job. With an equal
/// value, the Job has two managers.
pub fn judge_status_writer(managed_by: Option<&Text>, writer: &Text, findings: &mut Findings) {
    let is_second = managed_by == Some(writer);
    let expected = match managed_by {
        Some(_) if is_second => "status writes of one manager only".to_owned(),
        Some(other) => format!("status writes of {other} only"),
        None => "status writes of the built-in controller only".to_owned(),
    };
    let found = Operand::Text(format!("a status write by the manager of {writer}"));
    let req = if is_second { Req::MB14 } else { Req::MB09 };
    findings.require(req, false, "the manager of a Job", expected, found);
}

/// MB-10: an external manager has the permissions of the built-in controller. `refusal` is the authorizer's message.
pub fn judge_permission(refusal: &str, findings: &mut Findings) {
    findings.require(Req::MB10, false, "request of the Job's manager", "granted", refusal.to_owned());
}

/// MB-12: a write to the status subresource leaves the spec alone. `old` is the stored version that it replaced.
pub fn judge_spec_of_status_write(old: &Job, new: &Job, findings: &mut Findings) {
    if old.spec != new.spec {
        let what = "spec after a write to the status subresource";
        findings.require(Req::MB12, false, what, "the stored spec", "another spec");
    }
}

/// SY-11: the built-in controller leaves spec and metadata of a Job alone. `old` is the version that `new` replaced.
pub fn judge_metadata(old: &Job, new: &Job, findings: &mut Findings) {
    let what = "write of the Job controller to a Job";
    let expected = "the status alone";
    findings.require(Req::SY11, old.spec == new.spec, what, expected, "another spec");
    let (was, is) = (&old.metadata, &new.metadata);
    let same = was.labels == is.labels && was.annotations == is.annotations;
    findings.require(Req::SY11, same, what, expected, "other labels or annotations");
    let same = old.finalizers == new.finalizers;
    findings.require(Req::SY11, same, what, expected, "other finalizers");
}

/// SY-11: the built-in controller sends no write to the main resource of a Job, refused ones included.
pub fn judge_refused_main_write(findings: &mut Findings) {
    let what = "write of the Job controller to a Job";
    findings.require(Req::SY11, false, what, "the status alone", "spec or metadata");
}

/// SY-11: the built-in Job controller deletes no Job.
pub fn judge_own_deletion(findings: &mut Findings) {
    findings.require(Req::SY11, false, "a Job", "no deletion by the Job controller", "a DELETE");
}

/// SY-11: a write of the built-in controller to a pod changes finalizers and owners, and nothing else.
///
/// `other` is the first other field that it writes.
pub fn judge_patch(other: Option<&str>, findings: &mut Findings) {
    let what = "write of the Job controller to a pod";
    let found = Operand::lazy(|| other.unwrap_or_default().to_owned());
    findings.require(Req::SY11, other.is_none(), what, "finalizers and owners alone", found);
}

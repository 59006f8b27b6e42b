//! Ends that nobody announces: with `JobManagedBy` and `JobPodReplacementPolicy` off, a Job gets its terminal condition
//! without an interim one, and waits for no pod (UG-07).
//!
//! What such a process has decided stands nowhere until the end. So its writes are judged as if it had announced what it
//! decided when it decided it: each guard then asks the same as ever.

use super::alphabet::interims;
use super::{judge_announced, judge_truth};
use crate::catalogue::Req;
use crate::guards::decision::{Reason, Tally, decide};
use crate::job::{Condition, ConditionKind, ConditionStatus, Job, JobStatus};
use crate::manager::Moment;
use crate::requirement::Findings;
use crate::view::View;

/// The guards of a status write.
pub fn judge(moment: &Moment<'_>, job: &Job, new: &JobStatus) -> Findings {
    let mut findings = Findings::new();
    let fresh = |it: &&Condition| is_interim(&it.kind) && it.status == ConditionStatus::True;
    let announced = new.conditions.iter().find(fresh).filter(|it| !job.status.is_true(&it.kind));
    let silent = announced.is_none_or(is_of_a_policy);
    findings.require(Req::UG07, silent, "conditions", "no interim condition without its gates", "one");
    if job.status.is_decided() || announced.is_some() {
        judge_announced(moment, job, new, &mut findings);
        return findings;
    }
    let ends = |it: &&Condition| matches!(it.kind, ConditionKind::Complete | ConditionKind::Failed);
    match new.conditions.iter().find(ends) {
        Some(end) => judge_end(moment, job, new, end, &mut findings),
        None => judge_on_the_way(moment, job, new, &mut findings),
    }
    findings
}

/// Nothing is decided, or what is decided is not said.
fn judge_on_the_way(moment: &Moment<'_>, job: &Job, new: &JobStatus, findings: &mut Findings) {
    let mut plain = Findings::new();
    judge_announced(moment, job, new, &mut plain);
    if !plain.broken.is_empty() {
        let view = moment.view(job);
        for interim in in_mind(&view, moment) {
            let mut imagined = Findings::new();
            judge_announced(moment, job, &with(new, interim), &mut imagined);
            if imagined.broken.is_empty() {
                return;
            }
        }
    }
    findings.broken.extend(plain.broken);
}

/// The end, as two writes: what it announces, and the end itself.
fn judge_end(moment: &Moment<'_>, job: &Job, new: &JobStatus, end: &Condition, findings: &mut Findings) {
    let good = end.kind == ConditionKind::Complete;
    let kind = if good { ConditionKind::SuccessCriteriaMet } else { ConditionKind::FailureTarget };
    let interim = Condition { kind, ..end.clone() };
    let mut announcing = new.clone();
    announcing.conditions.retain(|it| it.kind != end.kind);
    announcing.completion_time = None;
    judge_announced(moment, job, &with(&announcing, interim.clone()), findings);
    let mut old = Job { status: with(&job.status, interim.clone()), ..job.clone() };
    old.status.start_time = new.start_time;
    let mut said = new.clone();
    said.conditions.retain(|it| it.kind != end.kind);
    let said = with(&with(&said, interim), end.clone());
    judge_truth(moment, &old, &said, findings);
}

/// What the process may have decided: nothing else is in its mind.
pub fn in_mind(view: &View<'_>, moment: &Moment<'_>) -> Vec<Condition> {
    let Some(reason) = decide(view, &Tally::of(view)) else { return Vec::new() };
    if matches!(reason, Reason::PodFailurePolicy | Reason::SuccessPolicy) {
        return Vec::new();
    }
    interims(reason, view).into_iter().map(|wording| wording.stands(moment.now)).collect()
}

fn with(status: &JobStatus, condition: Condition) -> JobStatus {
    let mut status = status.clone();
    status.conditions.push(condition);
    status
}

fn is_interim(kind: &ConditionKind) -> bool {
    matches!(kind, ConditionKind::SuccessCriteriaMet | ConditionKind::FailureTarget)
}

fn is_of_a_policy(condition: &Condition) -> bool {
    ["PodFailurePolicy", "SuccessPolicy"].contains(&&*condition.reason)
}

use std::sync::Arc;

use super::*;
use crate::Uid;
use crate::apiserver::fixtures::job;
use crate::job::{CompletionMode, SuccessPolicy, Uncounted};
use crate::obligations::{Obligation, mirrored};
use crate::time::CLOCK_SKEW;

const CREATED: i64 = 1000;

/// A Job with two completions, created at second 1000.
fn stored(status: JobStatus) -> Job {
    let mut job = Job { created: Time(CREATED), status, ..job() };
    edit(&mut job, |spec| (spec.completions, spec.parallelism) = (Some(2), Some(2)));
    job
}

fn edit(job: &mut Job, change: impl FnOnce(&mut JobSpec)) {
    change(Arc::make_mut(&mut job.spec));
}

fn past() -> Past {
    Past { parallelism: 2, ..Past::default() }
}

/// A condition that is True since second 1010.
fn is_true(kind: ConditionKind) -> Condition {
    let (status, time) = (ConditionStatus::True, Some(Time(1010)));
    Condition { kind, status, reason: "R".into(), message: "M".into(), last_transition_time: time }
}

fn with(conditions: &[ConditionKind], status: JobStatus) -> JobStatus {
    JobStatus { conditions: conditions.iter().cloned().map(is_true).collect(), ..status }
}

fn suspended(status: ConditionStatus, since: i64) -> Condition {
    Condition { status, last_transition_time: Some(Time(since)), ..is_true(ConditionKind::Suspended) }
}

fn started() -> JobStatus {
    JobStatus { start_time: Some(Time(1001)), ..JobStatus::default() }
}

/// The broken rules, then those whose advice is not followed.
fn judged(job: &Job, new: &JobStatus, past: &Past) -> (Vec<Req>, Vec<Req>) {
    let (mut findings, mut advice) = (Findings::new(), Findings::new());
    let write = MirrorWrite { job, new, until: Some(Time(1020)), skew: CLOCK_SKEW, past };
    judge_mirror(&write, &mut findings, &mut advice);
    let ids = |findings: Findings| findings.broken.iter().map(|broken| broken.req).collect();
    (ids(findings), ids(advice))
}

fn broken(job: &Job, new: &JobStatus) -> Vec<Req> {
    judged(job, new, &past()).0
}

fn advised(job: &Job, new: &JobStatus) -> Vec<Req> {
    judged(job, new, &past()).1
}

use ConditionKind::{Complete, FailureTarget, SuccessCriteriaMet};

fn done(succeeded: i32) -> JobStatus {
    let kinds = [SuccessCriteriaMet, Complete];
    let completion_time = Some(Time(1010));
    with(&kinds, JobStatus { succeeded, completion_time, terminating: Some(0), ..started() })
}

#[test]
fn a_coalesced_end_is_admitted_and_the_order_is_advice() {
    let job = stored(started());
    assert_eq!(judged(&job, &done(2), &past()), (vec![], vec![Req::MR07]));
    let decided = stored(with(&[SuccessCriteriaMet], JobStatus { succeeded: 2, ..started() }));
    assert_eq!(judged(&decided, &done(2), &past()), (vec![], vec![]));
    let alone = with(&[Complete], JobStatus { succeeded: 2, terminating: Some(0), ..started() });
    assert_eq!(broken(&job, &alone), [Req::MR07]);
    let mut other = done(2);
    other.conditions[1].reason = "Other".into();
    assert_eq!(broken(&job, &other), [Req::TC03]);
}

#[test]
fn a_job_that_succeeds_has_its_successes_and_no_more() {
    let job = stored(started());
    assert_eq!(broken(&job, &done(1)), [Req::MR01]);
    assert_eq!(broken(&job, &done(3)), [Req::MR01]);
    assert_eq!(broken(&job, &JobStatus { succeeded: 3, ..started() }), [Req::MR01]);
    // The interim write of an executor records the UIDs, and counts them later.
    let recorded = Uncounted { succeeded: vec![Uid(1), Uid(2)], failed: Vec::new() };
    let interim = with(&[SuccessCriteriaMet], JobStatus { uncounted: Some(recorded), ..started() });
    assert_eq!(broken(&job, &interim), []);
    let mut policy = job.clone();
    edit(&mut policy, |spec| spec.success_policy = Some(SuccessPolicy::default()));
    assert_eq!(broken(&policy, &done(1)), []);
    let mut queue = job;
    edit(&mut queue, |spec| spec.completions = None);
    assert_eq!(broken(&queue, &done(0)), [Req::MR01]);
    assert_eq!(broken(&queue, &done(1)), []);
}

#[test]
fn indexes_agree_with_succeeded_and_with_completions() {
    let mut job = stored(started());
    edit(&mut job, |spec| {
        (spec.completion_mode, spec.completions) = (Some(CompletionMode::Indexed), Some(4));
    });
    let status = |succeeded, completed: &str, failed: &str| JobStatus {
        succeeded,
        completed_indexes: completed.into(),
        failed_indexes: Some(failed.into()),
        ..started()
    };
    for (new, expected, advice) in [
        (status(2, "0,1", ""), vec![], vec![]),
        (status(1, "0,1", ""), vec![Req::MR02], vec![]),
        (status(2, "0,1", "1"), vec![Req::MR02], vec![]),
        (status(2, "3,4", ""), vec![Req::MR02], vec![]),
        (status(3, "0,1,2", ""), vec![], vec![Req::MR02]),
    ] {
        assert_eq!(judged(&job, &new, &past()), (expected, advice), "{new:?}");
    }
    // A scale-down removes the indexes beyond completions.
    job.status = status(3, "0,2,3", "");
    edit(&mut job, |spec| (spec.completions, spec.parallelism) = (Some(3), Some(3)));
    assert_eq!(broken(&job, &status(2, "0,2", "")), []);
    assert_eq!(broken(&job, &status(1, "0", "")), [Req::MR03]);
    // A completed index stays, whatever takes its place.
    assert_eq!(broken(&job, &status(2, "0,1", "")), [Req::MR03]);
}

#[test]
fn a_status_may_be_for_a_size_that_the_job_had_since_the_last_one() {
    use ConditionKind::{Complete, SuccessCriteriaMet};
    let of_size = |size: i32| JobSpec { completions: Some(size), ..JobSpec::default() };
    let mut job = stored(JobStatus { conditions: vec![], ..started() });
    edit(&mut job, |spec| {
        (spec.completion_mode, spec.completions) = (Some(CompletionMode::Indexed), Some(5));
    });
    let of = |completed: &str, kinds: &[ConditionKind]| JobStatus {
        succeeded: i32::try_from(completed.split(',').filter(|it| !it.is_empty()).count()).unwrap(),
        completed_indexes: completed.into(),
        ..with(kinds, started())
    };
    let mut scaled = past();
    scaled.note_size(&of_size(5));
    // Down to three, and up again: the copy has dropped the indexes beyond three.
    scaled.note_spec(&of_size(3));
    scaled.note_spec(&of_size(5));
    job.status = of("3,4", &[]);
    assert_eq!(
        (judged(&job, &of("", &[]), &scaled).0, broken(&job, &of("", &[]))),
        (vec![], vec![Req::MR03])
    );
    // The copy has ended with three.
    job.status = of("0,1,2", &[]);
    let end = of("0,1,2", &[SuccessCriteriaMet, Complete]);
    assert!(!judged(&job, &end, &scaled).0.contains(&Req::MR01));
    assert!(broken(&job, &end).contains(&Req::MR01));
    scaled.note_size(&of_size(5));
    assert!(judged(&job, &end, &scaled).0.contains(&Req::MR01));
}

#[test]
fn a_counter_rises_with_each_uid_that_leaves_and_never_falls() {
    let recorded = Uncounted { succeeded: vec![Uid(1)], failed: vec![Uid(2)] };
    let job = stored(JobStatus { uncounted: Some(recorded), failed: 1, ..started() });
    let counted = |succeeded, failed| JobStatus { succeeded, failed, ..started() };
    assert_eq!(broken(&job, &counted(1, 2)), []);
    assert_eq!(broken(&job, &counted(0, 2)), [Req::MR03]);
    assert_eq!(broken(&job, &counted(1, 1)), [Req::MR03]);
    // The copy was made again and has counted nothing.
    let counted_before = stored(JobStatus { failed: 1, ..started() });
    assert_eq!(broken(&counted_before, &started()), [Req::MR03]);
}

#[test]
fn a_uid_that_was_counted_is_not_recorded_again() {
    let lists = |succeeded: &[u128], failed: &[u128]| {
        let uids = |all: &[u128]| all.iter().map(|uid| Uid(*uid)).collect();
        Some(Uncounted { succeeded: uids(succeeded), failed: uids(failed) })
    };
    let before = JobStatus { uncounted: lists(&[1], &[2]), ..started() };
    let counted = JobStatus { succeeded: 1, uncounted: lists(&[], &[2]), ..started() };
    let mut known = past();
    known.note_status(&before, &counted);
    let again = |succeeded: &[u128], failed: &[u128]| {
        let new = JobStatus { uncounted: lists(succeeded, failed), ..counted.clone() };
        judged(&stored(counted.clone()), &new, &known).0
    };
    assert_eq!((again(&[], &[2, 3]), again(&[3], &[2])), (vec![], vec![]));
    assert_eq!((again(&[1], &[2]), again(&[], &[1, 2])), (vec![Req::MR03], vec![Req::MR03]));
    // A status that somebody has restored lists it already.
    let restored = JobStatus { active: 1, ..before.clone() };
    assert_eq!(judged(&stored(before), &restored, &known).0, []);
}

#[test]
fn times_belong_to_this_job() {
    let job = stored(JobStatus::default());
    let start = |time| JobStatus { start_time: Some(Time(time)), ..JobStatus::default() };
    assert_eq!(broken(&job, &start(CREATED - CLOCK_SKEW)), []);
    assert_eq!(broken(&job, &start(CREATED - CLOCK_SKEW - 1)), [Req::MR04]);
    // The times of the previous Job get no grant.
    let known = Past { former: vec![Time(CREATED - 1)], ..past() };
    assert_eq!(judged(&job, &start(CREATED - 1), &known).0, [Req::MR04]);
    assert_eq!(judged(&job, &start(CREATED - 2), &known).0, []);
    let old = JobStatus { conditions: vec![suspended(ConditionStatus::False, 900)], ..start(1001) };
    assert_eq!(broken(&job, &old), [Req::MR04]);
}

#[test]
fn start_time_is_set_once_for_each_period() {
    let at = |time: i64| JobStatus { start_time: Some(Time(time)), ..JobStatus::default() };
    let job = stored(at(1001));
    assert_eq!(broken(&job, &at(1002)), [Req::MR05]);
    assert_eq!(broken(&job, &JobStatus::default()), [Req::MR05]);
    // A suspender or the manager may remove it from a suspended Job, and a lagging copy may bring it back.
    let mut paused = job;
    edit(&mut paused, |spec| spec.suspend = Some(true));
    assert_eq!(broken(&paused, &JobStatus::default()), []);
    assert_eq!(broken(&paused, &at(1002)), []);
    // The resumption.
    let (yes, no) = (ConditionStatus::True, ConditionStatus::False);
    let resumed = |from: Option<i64>, to: Option<i64>| {
        let before =
            JobStatus { conditions: vec![suspended(yes, 1003)], start_time: from.map(Time), ..at(0) };
        let after = JobStatus { conditions: vec![suspended(no, 1009)], start_time: to.map(Time), ..at(0) };
        broken(&stored(before), &after)
    };
    assert_eq!(resumed(None, Some(1009)), []);
    assert_eq!(resumed(None, None), [Req::MR05]);
    assert_eq!(resumed(Some(1001), Some(1001)), [Req::MR05]);
    assert_eq!(resumed(Some(1001), Some(1009)), []);
    // A Job that has been suspended since its creation has no period.
    let born = Past { never_ran: true, ..past() };
    let mut new = stored(JobStatus::default());
    edit(&mut new, |spec| spec.suspend = Some(true));
    assert_eq!(judged(&new, &at(1001), &born).0, [Req::MR05]);
}

#[test]
fn conditions_of_others_stay() {
    let others = ConditionKind::Other("example.com/Checked".into());
    let job = stored(with(std::slice::from_ref(&others), started()));
    assert_eq!(broken(&job, &started()), [Req::MR06]);
    let mut changed = job.status.clone();
    changed.conditions[0].status = ConditionStatus::False;
    assert_eq!(broken(&job, &changed), [Req::MR06]);
    let mut own = past();
    own.note_status(&started(), &job.status);
    assert_eq!(judged(&job, &started(), &own).0, []);
}

#[test]
fn an_idle_write_is_excused_once() {
    let job = stored(JobStatus { conditions: vec![suspended(ConditionStatus::True, 1002)], ..started() });
    let later = JobStatus { conditions: vec![suspended(ConditionStatus::True, 1003)], ..started() };
    let mut seen = past();
    assert_eq!(judged(&job, &later, &seen), (vec![], vec![Req::MR14, Req::MR10]));
    seen.note_status(&job.status, &later);
    let again = JobStatus { conditions: vec![suspended(ConditionStatus::True, 1004)], ..started() };
    assert_eq!(judged(&stored(later), &again, &seen), (vec![Req::MR10], vec![Req::MR14]));
    seen.note_spec(&job.spec);
    assert_eq!(seen.idle, 0);
}

#[test]
fn a_finished_job_has_no_living_pods_and_reports_terminating() {
    let job = stored(started());
    for (new, expected) in [
        (JobStatus { active: 1, ..done(2) }, vec![Req::MR11]),
        (JobStatus { ready: Some(1), ..done(2) }, vec![Req::MR11]),
        (JobStatus { terminating: Some(1), ..done(2) }, vec![Req::MR11]),
        (JobStatus { terminating: None, ..done(2) }, vec![]),
    ] {
        assert_eq!(broken(&job, &new), expected);
    }
    assert_eq!(advised(&job, &JobStatus { terminating: None, ..done(2) }), [Req::MR11, Req::MR07]);
    assert_eq!(advised(&job, &JobStatus { active: 3, ..started() }), [Req::MR12]);
}

#[test]
fn condition_has_a_status_and_a_time_that_stays() {
    let job = stored(with(&[FailureTarget], started()));
    let mut new = job.status.clone();
    new.conditions[0].last_transition_time = Some(Time(1011));
    assert!(broken(&job, &new).contains(&Req::MR14));
    new.conditions[0].last_transition_time = None;
    assert_eq!(broken(&job, &new), [Req::MR14]);
    let fresh = |status, since: i64| JobStatus { conditions: vec![suspended(status, since)], ..started() };
    let job = stored(started());
    assert_eq!(broken(&job, &fresh(ConditionStatus::False, 1025)), []);
    assert_eq!(broken(&job, &fresh(ConditionStatus::False, 1026)), [Req::MR14]);
    assert_eq!(broken(&job, &fresh(ConditionStatus::Undefined, 1010)), [Req::MR14]);
}

#[test]
fn a_dispatcher_may_suspend_and_label_and_change_nothing_else() {
    let job = stored(started());
    let changed = |change: fn(&mut JobSpec)| {
        let mut after = job.clone();
        edit(&mut after, change);
        let mut findings = Findings::new();
        judge_main_write(&job, &after, &mut findings);
        findings.is_clean()
    };
    assert!(changed(|spec| spec.suspend = Some(true)));
    assert!(changed(|spec| spec.template.labels_digest = 7));
    assert!(!changed(|spec| spec.parallelism = Some(5)));
    assert!(!changed(|spec| spec.template.fixed_digest = 7));
}

#[test]
fn a_suspender_removes_the_start_time_of_a_suspended_job_and_nothing_else() {
    let mut job = stored(started());
    assert!(!is_of_suspender(&job, &JobStatus::default()));
    edit(&mut job, |spec| spec.suspend = Some(true));
    assert!(is_of_suspender(&job, &JobStatus::default()));
    assert!(!is_of_suspender(&job, &JobStatus { active: 1, ..JobStatus::default() }));
}

#[test]
fn what_a_mirror_owes_follows_from_the_job() {
    let decided = |active| with(&[SuccessCriteriaMet], JobStatus { active, succeeded: 2, ..started() });
    assert_eq!(mirrored(&stored(decided(0))), Some((Req::MR08, Obligation::WriteComplete)));
    assert_eq!(mirrored(&stored(decided(1))), None);
    assert_eq!(mirrored(&stored(done(2))), None);
    let counted = JobStatus { succeeded: 2, ..started() };
    assert_eq!(mirrored(&stored(counted)), Some((Req::TC14, Obligation::WriteInterim)));
    let owes = |suspend, active, status| {
        let mut job = stored(JobStatus { active, conditions: vec![suspended(status, 1002)], ..started() });
        edit(&mut job, |spec| spec.suspend = Some(suspend));
        mirrored(&job)
    };
    let debt = Some((Req::MR13, Obligation::ReportSuspension));
    assert_eq!(owes(true, 0, ConditionStatus::True), None);
    assert_eq!(owes(true, 1, ConditionStatus::True), debt);
    assert_eq!(owes(true, 0, ConditionStatus::False), debt);
    assert_eq!(owes(false, 1, ConditionStatus::False), None);
    assert_eq!(owes(false, 1, ConditionStatus::True), debt);
}

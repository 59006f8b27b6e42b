//! The status: numbers, conditions, times, and the events and counters of a write (families TC, SU, EV, MX).

use super::build::{Case, NOW, ago, condition_of, indexed, job, limited, pod, wide};
use crate::job::command::{Event, Metric, Step};
use crate::job::conditions::{COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED};
use crate::job::observed::{PodReplacementPolicy, StatusFacts, Uncounted};
use crate::job::status::differ_in_pods_alone;
use crate::values::{Text, Time};

fn steps(case: &Case) -> Vec<Step> {
    case.plan().sequences().flatten().cloned().collect()
}

fn events(case: &Case) -> Vec<(bool, String)> {
    steps(case).into_iter().flat_map(|it| it.events).map(|it| (it.warning, it.reason.to_string())).collect()
}

fn metrics(case: &Case) -> Vec<Metric> {
    steps(case).into_iter().flat_map(|it| it.metrics).collect()
}

fn numbers(status: &StatusFacts) -> (i32, Option<i32>, Option<i32>) {
    (status.active, status.ready, status.terminating)
}

fn transition(status: &StatusFacts, kind: &str) -> Option<Time> {
    status.conditions.iter().find(|it| &*it.kind == kind).and_then(|it| it.last_transition)
}

/// FT-30, RP-06, BI-04: the first write.
#[test]
fn the_first_sync_writes_all_fields_and_creates_pods() {
    let mut fresh = wide(2, 2);
    fresh.status = StatusFacts::default();
    let mut case = Case::new(fresh, []);
    case.now = Time::from_millis(NOW.as_millis() + 999);
    assert_eq!(case.shape(), "write | create _ _");
    let status = case.first();
    assert_eq!(numbers(&status), (0, Some(0), Some(0)));
    assert_eq!(status.start_time, Some(NOW));
    assert_eq!(status.uncounted, Some(Uncounted::default()));
    assert!(status.conditions.is_empty());
    case.settings.gates.pod_replacement_policy = false;
    assert_eq!(numbers(&case.first()), (0, Some(0), None));
}

/// UG-05, RP-08, SY-05.
#[test]
fn without_its_gate_terminating_is_removed_even_if_nothing_else_changes() {
    let mut job = wide(1, 9);
    job.status = Case::new(wide(1, 9), [pod("a")]).first();
    let mut case = Case::new(job, [pod("a")]);
    assert_eq!(case.shape().matches("write").count(), 0);
    case.settings.gates.pod_replacement_policy = false;
    assert_eq!(case.shape().matches("write").count(), 1);
    assert_eq!(numbers(&case.first()), (1, Some(0), None));
}

/// RP-08, SC-10, SY-05.
#[test]
fn terminating_is_written_with_the_other_numbers_and_alone_only_if_nothing_else_changed() {
    let writes = |status: StatusFacts| {
        let mut job = wide(1, 9);
        job.status = status;
        Case::new(job, [pod("a"), pod("c").deleted().untracked()]).shape().matches("write").count()
    };
    let written = Case::new(wide(1, 9), [pod("a"), pod("c").deleted().untracked()]).first();
    assert_eq!(numbers(&written), (1, Some(0), Some(1)));
    assert_eq!(writes(StatusFacts { terminating: Some(0), active: 0, ..written.clone() }), 1);
    assert_eq!(writes(StatusFacts { terminating: Some(0), ..written.clone() }), 1);
    assert_eq!(writes(written), 0);
}

/// PC-01, PC-02, PC-03, SS-19.
#[test]
fn numbers_are_those_of_the_caches() {
    let pods = [
        pod("a").ready(),
        pod("b").condition("Ready", "False", None),
        pod("c").ready().deleted().untracked(),
        pod("d").ready().succeeded().untracked(),
        pod("e").untracked(),
    ];
    let case = Case::new(wide(3, 9), pods);
    assert_eq!(case.shape(), "write");
    assert_eq!(numbers(&case.first()), (3, Some(1), Some(1)));
}

/// TC-09, S-12: even if a user had set the terminal condition to False before.
#[test]
fn the_terminal_condition_follows_the_interim_condition() {
    let job = job().status_with(FAILED, "False", "x").status_with(FAILURE_TARGET, "True", "DeadlineExceeded");
    let conditions = Case::new(job, []).last().conditions;
    let kinds: Vec<&str> = conditions.iter().map(|it| &*it.kind).collect();
    assert_eq!(kinds, [FAILURE_TARGET, FAILED]);
    assert!(conditions.iter().all(|it| &*it.status == "True"));
}

/// At quiescence nothing is written.
#[test]
fn an_up_to_date_status_is_not_written() {
    let mut calm = wide(2, 9);
    calm.status.active = 2;
    calm.status.ready = Some(1);
    let case = Case::new(calm, [pod("a").ready(), pod("b")]);
    assert!(case.plan().is_empty());
    assert_eq!(case.plan().wake_after, None);
}

/// TC-04, RP-09, B18: a Job does not finish before its pods have terminated.
#[test]
fn a_terminal_condition_waits_for_all_pods() {
    let mut failing = wide(3, 3).status_with(FAILURE_TARGET, "True", "DeadlineExceeded");
    failing.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let ends = |pods: Vec<_>| {
        let case = Case::new(failing.clone(), pods);
        case.writes().last().is_some_and(|status| condition_of(status, FAILED).is_some())
    };
    assert!(ends(vec![]));
    assert!(ends(vec![pod("a").failed()]));
    assert!(ends(vec![pod("a").failed().untracked()]));
    assert!(!ends(vec![pod("a")]));
    assert!(!ends(vec![pod("a").untracked()]));
    assert!(!ends(vec![pod("a").deleted()]));
    assert!(!ends(vec![pod("a").deleted().untracked()]));
    assert!(!ends(vec![pod("a").ownerless()]));
    let recorded = Case::new(failing.clone().recording(&[], &["x"]), [pod("x").failed().ownerless()]);
    assert!(recorded.writes().iter().all(|status| condition_of(status, FAILED).is_none()));
}

/// TC-03, TC-05, TC-09, SS-34.
#[test]
fn the_interim_condition_is_written_first() {
    let mut case = Case::new(job(), [pod("a").succeeded()]);
    case.now = Time::from_millis(NOW.as_millis() + 500);
    let writes = case.writes();
    assert_eq!(condition_of(&writes[0], SUCCESS_CRITERIA_MET), Some(("True", "CompletionsReached")));
    assert_eq!(condition_of(&writes[0], COMPLETE), None);
    assert_eq!(writes[0].completion_time, None);
    assert_eq!(condition_of(&writes[1], COMPLETE), Some(("True", "CompletionsReached")));
    let order: Vec<&str> = writes[1].conditions.iter().map(|it| &*it.kind).collect();
    assert_eq!(order, [SUCCESS_CRITERIA_MET, COMPLETE]);
    assert_eq!(writes[1].completion_time, Some(NOW));
    assert_eq!(transition(&writes[1], COMPLETE), Some(NOW));
    assert_eq!(writes[1].conditions[1].last_probe, Some(NOW));
}

/// SS-11: even if another clock set the start.
#[test]
fn a_job_does_not_end_before_it_began() {
    let mut skewed = job();
    skewed.status.start_time = Some(NOW.plus(super::build::secs(5)));
    let status = Case::new(skewed, [pod("a").succeeded()]).last();
    assert_eq!(status.completion_time, status.start_time);
    assert_eq!(transition(&status, COMPLETE), status.start_time);
}

/// S-04, L1: a suspended Job that terminates gets a start time with its interim condition.
#[test]
fn a_suspended_job_can_end() {
    let mut suspended = job().status_with(SUSPENDED, "True", "JobSuspended");
    suspended.spec.suspend = true;
    suspended.spec.backoff_limit = 0;
    suspended.status.start_time = None;
    let case = Case::new(suspended.clone(), [pod("a").failed()]);
    let writes = case.writes();
    assert_eq!(writes[0].start_time, transition(&writes[0], FAILURE_TARGET));
    assert_eq!(writes[0].start_time, Some(NOW));
    assert_eq!(condition_of(&writes[1], FAILED), Some(("True", "BackoffLimitExceeded")));
    assert_eq!(condition_of(&writes[1], SUSPENDED), Some(("True", "JobSuspended")), "TC-12");
    let stuck = Case::new(suspended.status_with(SUCCESS_CRITERIA_MET, "True", "CompletionsReached"), []);
    assert_eq!(stuck.last().start_time, Some(ago(20)), "that of the stored condition");
    assert_eq!(condition_of(&stuck.last(), COMPLETE), Some(("True", "CompletionsReached")));
}

/// SU-01, SU-02, SU-03: the write after the deletions has the condition.
#[test]
fn suspended_is_true_only_after_all_active_pods_have_been_deleted() {
    let mut suspended = job();
    suspended.spec.suspend = true;
    let going = Case::new(suspended.clone(), [pod("a").ready()]);
    assert_eq!(going.shape(), "untrack a, delete a, write");
    assert_eq!(condition_of(&going.first(), SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!(numbers(&going.first()), (0, Some(0), Some(1)));
    let ownerless_pod = Case::new(suspended.clone(), [pod("a").ownerless()]);
    assert_eq!(ownerless_pod.shape(), "adopt a | untrack a, delete a, write");
    assert_eq!(condition_of(&ownerless_pod.first(), SUSPENDED), Some(("True", "JobSuspended")));
    let gone = Case::new(suspended.clone(), [pod("a").deleted().untracked()]);
    assert_eq!(condition_of(&gone.first(), SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!(gone.first().start_time, None);
    assert_eq!(numbers(&gone.first()), (0, Some(0), Some(1)));
    assert_eq!(events(&gone), [(false, "Suspended".to_owned())]);
    let done = Case::new(suspended.clone(), [pod("a"), pod("b").succeeded()]);
    assert_eq!(done.shape(), "untrack a, delete a, write, untrack b, write");
    assert!(
        condition_of(&done.first(), SUCCESS_CRITERIA_MET).is_some()
            && condition_of(&done.first(), SUSPENDED).is_none()
    );
    suspended.status = StatusFacts::default();
    let created = Case::new(suspended, []);
    assert_eq!(condition_of(&created.first(), SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!(created.first().start_time, None);
    assert!(Case::new(created.job.clone(), []).plan().commands().count() == 1);
}

/// SU-04, SS-09, B22: one write changes the condition and the start time; without a change there is no event.
#[test]
fn a_resumed_job_gets_a_new_start_time_in_the_same_write() {
    let resumed = job().status_with(SUSPENDED, "True", "JobSuspended");
    let case = Case::new(resumed, []);
    assert_eq!(case.shape(), "write | create _");
    assert_eq!(condition_of(&case.first(), SUSPENDED), Some(("False", "JobResumed")));
    assert_eq!(case.first().start_time, Some(NOW));
    assert_eq!(events(&case), [(false, "Resumed".to_owned())]);
    let never = Case::new(job(), [pod("a")]);
    assert!(condition_of(&never.first(), SUSPENDED).is_none());
    let before = Case::new(job().status_with(SUSPENDED, "False", "x"), [pod("a")]);
    assert_eq!(condition_of(&before.first(), SUSPENDED), Some(("False", "x")));
    assert_eq!(before.first().start_time, Some(ago(100)));
    let unknown = Case::new(job().status_with(SUSPENDED, "Unknown", "x"), [pod("a")]);
    assert_eq!(condition_of(&unknown.first(), SUSPENDED), Some(("False", "JobResumed")));
    assert_eq!(
        unknown.first().start_time,
        Some(ago(100)),
        "SS-09 allows a new start for True to False alone"
    );
    assert!(events(&unknown).is_empty());
}

/// SU-05.
#[test]
fn a_job_that_ends_or_is_being_deleted_does_not_change_its_suspension() {
    let mut suspended = wide(1, 0).status_with("Other", "True", "kept");
    suspended.spec.suspend = true;
    assert!(condition_of(&Case::new(suspended.clone(), []).last(), SUSPENDED).is_none());
    suspended.spec.completions = Some(1);
    let deleting = Case::new(suspended.clone().deleting(), []);
    assert!(deleting.writes().iter().all(|status| condition_of(status, SUSPENDED).is_none()));
    let status = Case::new(suspended, []).last();
    assert_eq!(condition_of(&status, "Other"), Some(("True", "kept")), "conditions of other types stay");
    let resumed = job().status_with(SUSPENDED, "True", "JobSuspended").deleting();
    assert!(
        Case::new(resumed, [])
            .writes()
            .iter()
            .all(|status| condition_of(status, SUSPENDED) != Some(("False", "JobResumed")))
    );
}

/// EV-07, EV-08, EV-09, MX-03.
#[test]
fn the_events_of_a_finished_job_follow_its_write() {
    let done = Case::new(job(), [pod("a").succeeded()]);
    let numbers: Vec<usize> = steps(&done).iter().map(|it| it.events.len()).collect();
    assert_eq!(numbers, [0, 0, 1]);
    assert_eq!(events(&done), [(false, "Completed".to_owned())]);
    let finished = |succeeded, reason: &str| Metric::JobFinished {
        indexed: false,
        succeeded,
        reason: Text::from(reason),
    };
    assert!(metrics(&done).contains(&finished(true, "CompletionsReached")));
    let mut older = done;
    older.settings.gates.success_policy = false;
    assert!(metrics(&older).contains(&finished(true, "")));
    let many = Case::new(job(), [pod("a").succeeded(), pod("b").succeeded()]);
    assert_eq!(events(&many), [(true, "TooManySucceededPods".to_owned()), (false, "Completed".to_owned())]);
    let mut strict = job();
    strict.spec.backoff_limit = 0;
    let failed = Case::new(strict, [pod("a").failed()]);
    assert_eq!(events(&failed), [(true, "BackoffLimitExceeded".to_owned())]);
    assert!(metrics(&failed).contains(&finished(false, "BackoffLimitExceeded")));
    let message = &steps(&failed)[2].events[0].message;
    assert_eq!(&**message, "Job has reached the specified backoff limit");
}

/// EV-01 to EV-04.
#[test]
fn events_of_calls_have_the_texts_of_the_built_in_controller() {
    let shown = |event: Event| (event.warning, event.reason.to_string(), event.message.to_string());
    for (event, warning, reason, message) in [
        (Event::created("p"), false, "SuccessfulCreate", "Created pod: p"),
        (Event::create_failed("no"), true, "FailedCreate", "Error creating: no"),
        (Event::deleted("p"), false, "SuccessfulDelete", "Deleted pod: p"),
        (Event::delete_failed("no"), true, "FailedDelete", "Error deleting: no"),
    ] {
        assert_eq!(shown(event), (warning, reason.to_owned(), message.to_owned()));
    }
}

/// MX-04, MX-05: the increase of counters and index lists, once.
#[test]
fn counters_rise_with_the_write_that_shows_the_change() {
    let pods = |indexed, succeeded, by| Metric::PodsFinished { indexed, succeeded, by };
    let indexes = |succeeded, per_index, by| Metric::IndexesFinished { succeeded, per_index, by };
    let plain = Case::new(wide(3, 9), [pod("a").succeeded(), pod("b").succeeded(), pod("c").failed()]);
    assert_eq!(metrics(&plain), [pods(false, true, 2), pods(false, false, 1)]);
    let mut later = plain.job.clone();
    (later.status.succeeded, later.status.failed) = (4, 1);
    let later = Case::new(later, [pod("a").succeeded(), pod("c").failed()]);
    assert_eq!(metrics(&later), [pods(false, true, 1), pods(false, false, 1)]);
    let by_index = Case::new(indexed(2, 9), [pod("a").index(0).succeeded(), pod("b").index(3).succeeded()]);
    assert_eq!(metrics(&by_index), [pods(true, true, 2), indexes(true, false, 2)]);
    let with_limit = Case::new(limited(3, 0), [pod("a").index(0).succeeded(), pod("b").index(1).failed()]);
    assert_eq!(
        metrics(&with_limit),
        [pods(true, true, 1), indexes(true, true, 1), indexes(false, true, 1), pods(true, false, 1)]
    );
    let mut down = indexed(2, 2);
    down.status.completed_indexes = Some(Text::from("0,4-6"));
    down.status.succeeded = 4;
    assert_eq!(metrics(&Case::new(down, [pod("a").index(1)])), [], "what a scale-down drops is no news");
    let mut without_limit = limited(3, 0);
    without_limit.status.failed_indexes = Some(Text::from("0-1"));
    let mut case = Case::new(without_limit, []);
    case.settings.gates.backoff_limit_per_index = false;
    assert_eq!(metrics(&case), []);
}

/// SC-04: only the numbers of pods may wait for a later write.
#[test]
fn only_the_numbers_of_pods_can_wait() {
    let one = StatusFacts::default();
    for number in [
        StatusFacts { active: 1, ..one.clone() },
        StatusFacts { ready: Some(1), ..one.clone() },
        StatusFacts { terminating: Some(1), ..one.clone() },
    ] {
        assert!(differ_in_pods_alone(&one, &number), "{number:?}");
    }
    let counted = StatusFacts { active: 1, failed: 1, ..one.clone() };
    assert!(!differ_in_pods_alone(&one, &counted));
}

//! The status: numbers, conditions, times, and what is told about a write (families TC, SU, EV, MX).

use super::build::{Case, NOW, ago, indexed, job, limited, pod, said, wide};
use crate::job::command::{Event, Metric, Step};
use crate::job::conditions::{COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED};
use crate::job::observed::{PodReplacementPolicy, StatusFacts, Uncounted};
use crate::job::status::differ_in_pods_alone;
use crate::values::{Text, Time};

fn steps(case: &Case) -> Vec<Step> {
    case.plan().sequences.into_iter().flat_map(|sequence| sequence.steps).collect()
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

/// PC-01, PC-02, PC-03, SS-19.
#[test]
fn numbers_are_those_of_the_caches() {
    let pods = [
        pod("a").ready(),
        pod("b").condition("Ready", "False", None),
        pod("c").ready().deleted().free(),
        pod("d").ready().succeeded().free(),
        pod("e").free(),
    ];
    let case = Case::new(wide(3, 9), pods);
    assert_eq!(case.shape(), "write");
    assert_eq!(numbers(&case.first()), (3, Some(1), Some(1)));
}

/// TC-09, S-12: also where somebody had set the terminal one to False before.
#[test]
fn the_terminal_condition_stands_behind_the_interim_one() {
    let job = job().status_with(FAILED, "False", "x").status_with(FAILURE_TARGET, "True", "DeadlineExceeded");
    let conditions = Case::new(job, []).last().conditions;
    let kinds: Vec<&str> = conditions.iter().map(|it| &*it.kind).collect();
    assert_eq!(kinds, [FAILURE_TARGET, FAILED]);
    assert!(conditions.iter().all(|it| &*it.status == "True"));
}

/// At rest nothing is written.
#[test]
fn a_status_that_says_all_is_left_alone() {
    let mut calm = wide(2, 9);
    calm.status.active = 2;
    calm.status.ready = Some(1);
    let case = Case::new(calm, [pod("a").ready(), pod("b")]);
    assert!(case.plan().is_empty());
    assert_eq!(case.plan().wake_after, None);
}

/// TC-04, RP-09, B18: nothing ends before its pods have.
#[test]
fn a_terminal_condition_waits_for_all_pods() {
    let mut failing = wide(3, 3).status_with(FAILURE_TARGET, "True", "DeadlineExceeded");
    failing.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    let ends = |pods: Vec<_>| {
        let case = Case::new(failing.clone(), pods);
        case.writes().last().is_some_and(|status| said(status, FAILED).is_some())
    };
    assert!(ends(vec![]));
    assert!(ends(vec![pod("a").failed()]));
    assert!(ends(vec![pod("a").failed().free()]));
    assert!(!ends(vec![pod("a")]));
    assert!(!ends(vec![pod("a").free()]));
    assert!(!ends(vec![pod("a").deleted()]));
    assert!(!ends(vec![pod("a").deleted().free()]));
    assert!(!ends(vec![pod("a").ownerless_pod()]));
    let listed = Case::new(failing.clone().listing(&[], &["x"]), [pod("x").failed().ownerless_pod()]);
    assert!(listed.writes().iter().all(|status| said(status, FAILED).is_none()));
}

/// TC-03, TC-05, TC-09, SS-34.
#[test]
fn the_interim_condition_comes_in_an_earlier_write() {
    let mut case = Case::new(job(), [pod("a").succeeded()]);
    case.now = Time::from_millis(NOW.as_millis() + 500);
    let writes = case.writes();
    assert_eq!(said(&writes[0], SUCCESS_CRITERIA_MET), Some(("True", "CompletionsReached")));
    assert_eq!(said(&writes[0], COMPLETE), None);
    assert_eq!(writes[0].completion_time, None);
    assert_eq!(said(&writes[1], COMPLETE), Some(("True", "CompletionsReached")));
    let order: Vec<&str> = writes[1].conditions.iter().map(|it| &*it.kind).collect();
    assert_eq!(order, [SUCCESS_CRITERIA_MET, COMPLETE]);
    assert_eq!(writes[1].completion_time, Some(NOW));
    assert_eq!(transition(&writes[1], COMPLETE), Some(NOW));
    assert_eq!(writes[1].conditions[1].last_probe, Some(NOW));
}

/// SS-11: whoever's clock set the start.
#[test]
fn a_job_does_not_end_before_it_began() {
    let mut skewed = job();
    skewed.status.start_time = Some(NOW.plus(super::build::secs(5)));
    let status = Case::new(skewed, [pod("a").succeeded()]).last();
    assert_eq!(status.completion_time, status.start_time);
    assert_eq!(transition(&status, COMPLETE), status.start_time);
}

/// S-04, L1: a suspended Job that meets its end gets a start with its interim condition.
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
    assert_eq!(said(&writes[1], FAILED), Some(("True", "BackoffLimitExceeded")));
    assert_eq!(said(&writes[1], SUSPENDED), Some(("True", "JobSuspended")), "TC-12");
    let stuck = Case::new(suspended.status_with(SUCCESS_CRITERIA_MET, "True", "CompletionsReached"), []);
    assert_eq!(stuck.last().start_time, Some(ago(20)), "that of the stored condition");
    assert_eq!(said(&stuck.last(), COMPLETE), Some(("True", "CompletionsReached")));
}

/// SU-01, SU-02, SU-03: the condition comes in the write after the deletions.
#[test]
fn suspended_is_said_when_all_active_pods_have_been_deleted() {
    let mut suspended = job();
    suspended.spec.suspend = true;
    let going = Case::new(suspended.clone(), [pod("a").ready()]);
    assert_eq!(going.shape(), "release a, delete a, write");
    assert_eq!(said(&going.first(), SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!(numbers(&going.first()), (0, Some(0), Some(1)));
    let ownerless_pod = Case::new(suspended.clone(), [pod("a").ownerless_pod()]);
    assert_eq!(ownerless_pod.shape(), "adopt a | release a, delete a, write");
    assert_eq!(said(&ownerless_pod.first(), SUSPENDED), Some(("True", "JobSuspended")));
    let gone = Case::new(suspended.clone(), [pod("a").deleted().free()]);
    assert_eq!(said(&gone.first(), SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!(gone.first().start_time, None);
    assert_eq!(numbers(&gone.first()), (0, Some(0), Some(1)));
    assert_eq!(events(&gone), [(false, "Suspended".to_owned())]);
    let done = Case::new(suspended.clone(), [pod("a"), pod("b").succeeded()]);
    assert_eq!(done.shape(), "release a, delete a, write, release b, write");
    assert!(said(&done.first(), SUCCESS_CRITERIA_MET).is_some() && said(&done.first(), SUSPENDED).is_none());
    suspended.status = StatusFacts::default();
    let created = Case::new(suspended, []);
    assert_eq!(said(&created.first(), SUSPENDED), Some(("True", "JobSuspended")));
    assert_eq!(created.first().start_time, None);
    assert!(Case::new(created.job.clone(), []).plan().commands().count() == 1);
}

/// SU-04, SS-09, B22: flip and start in one write; no event without a flip.
#[test]
fn a_resumed_job_starts_anew_in_the_write_that_says_so() {
    let resumed = job().status_with(SUSPENDED, "True", "JobSuspended");
    let case = Case::new(resumed, []);
    assert_eq!(case.shape(), "write | create _");
    assert_eq!(said(&case.first(), SUSPENDED), Some(("False", "JobResumed")));
    assert_eq!(case.first().start_time, Some(NOW));
    assert_eq!(events(&case), [(false, "Resumed".to_owned())]);
    let never = Case::new(job(), [pod("a")]);
    assert!(said(&never.first(), SUSPENDED).is_none());
    let before = Case::new(job().status_with(SUSPENDED, "False", "x"), [pod("a")]);
    assert_eq!(said(&before.first(), SUSPENDED), Some(("False", "x")));
    assert_eq!(before.first().start_time, Some(ago(100)));
    let unknown = Case::new(job().status_with(SUSPENDED, "Unknown", "x"), [pod("a")]);
    assert_eq!(said(&unknown.first(), SUSPENDED), Some(("False", "JobResumed")));
    assert_eq!(
        unknown.first().start_time,
        Some(ago(100)),
        "SS-09 allows a new start for True to False alone"
    );
    assert!(events(&unknown).is_empty());
}

/// SU-05.
#[test]
fn suspension_is_not_said_of_a_job_at_its_end_or_being_deleted() {
    let mut suspended = wide(1, 0).status_with("Other", "True", "kept");
    suspended.spec.suspend = true;
    assert!(said(&Case::new(suspended.clone(), []).last(), SUSPENDED).is_none());
    suspended.spec.completions = Some(1);
    let deleting = Case::new(suspended.clone().deleting(), []);
    assert!(deleting.writes().iter().all(|status| said(status, SUSPENDED).is_none()));
    let status = Case::new(suspended, []).last();
    assert_eq!(said(&status, "Other"), Some(("True", "kept")), "conditions of other types stay");
    let resumed = job().status_with(SUSPENDED, "True", "JobSuspended").deleting();
    assert!(
        Case::new(resumed, [])
            .writes()
            .iter()
            .all(|status| said(status, SUSPENDED) != Some(("False", "JobResumed")))
    );
}

/// EV-07, EV-08, EV-09, MX-03.
#[test]
fn the_end_of_a_job_is_told_after_its_write() {
    let done = Case::new(job(), [pod("a").succeeded()]);
    let told: Vec<usize> = steps(&done).iter().map(|it| it.events.len()).collect();
    assert_eq!(told, [0, 0, 1]);
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
fn events_of_calls_have_the_words_of_the_built_in() {
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

/// MX-04, MX-05: the growth of counters and lists, once.
#[test]
fn counters_rise_with_the_write_that_shows_it() {
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

/// SC-04: numbers of pods may wait for the next write; what else has changed may not.
#[test]
fn only_numbers_of_pods_can_wait() {
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

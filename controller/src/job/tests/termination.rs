//! Families TC, PF, and SX, and the limits of BO, BI, and SU: the termination of a Job.

use std::sync::Arc;

use super::build::{Case, NOW, ago, condition_of, indexed, job, limited, pod, rule, secs, wide};
use crate::job::conditions::{COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET};
use crate::job::observed::{
    ContainerKind, ExitCodeOperator, Phase, PodFailureAction, PodFailureMatch, PodFailureRule, StatusFacts,
    SuccessRule, Terminated,
};
use crate::values::Text;

/// The type and the reason of the interim condition after a plan.
fn end(status: &StatusFacts) -> Option<(&'static str, String)> {
    [SUCCESS_CRITERIA_MET, FAILURE_TARGET].into_iter().find_map(|kind| {
        condition_of(status, kind).filter(|it| it.0 == "True").map(|it| (kind, it.1.to_owned()))
    })
}

fn fails(case: &Case, reason: &str) -> bool {
    let writes = case.writes();
    writes.first().and_then(end) == Some((FAILURE_TARGET, reason.to_owned()))
}

fn succeeds(case: &Case, reason: &str) -> bool {
    case.writes().first().and_then(end) == Some((SUCCESS_CRITERIA_MET, reason.to_owned()))
}

fn goes_on(case: &Case) -> bool {
    case.writes().iter().all(|status| end(status).is_none())
}

fn message(status: &StatusFacts, kind: &str) -> String {
    status.conditions.iter().find(|it| &*it.kind == kind).expect("the condition").message.to_string()
}

/// PC-24.
#[test]
fn a_job_completes_with_enough_successes_and_no_active_pod() {
    let done = Case::new(wide(1, 2), [pod("a").succeeded(), pod("b").succeeded()]);
    assert!(succeeds(&done, "CompletionsReached"));
    assert_eq!(message(&done.first(), SUCCESS_CRITERIA_MET), "Reached expected number of succeeded pods");
    assert!(goes_on(&Case::new(wide(1, 3), [pod("a").succeeded(), pod("b").succeeded()])));
    let active = Case::new(wide(2, 2), [pod("a").succeeded(), pod("b").succeeded(), pod("c")]);
    assert!(goes_on(&active));
    assert_eq!(active.shape(), "write, untrack a b, write | untrack c, delete c");
    let more = Case::new(wide(1, 1), [pod("a").succeeded(), pod("b").succeeded()]);
    assert!(succeeds(&more, "CompletionsReached"));
}

/// PC-24, S-08: an adopted pod is active too.
#[test]
fn a_job_does_not_complete_while_it_adopts_an_active_pod() {
    let case = Case::new(job(), [pod("a").succeeded(), pod("b").ownerless()]);
    assert!(goes_on(&case));
    assert_eq!(case.shape(), "adopt b | write, untrack a, write | untrack b, delete b");
}

/// PC-24, PC-05.
#[test]
fn a_work_queue_completes_with_one_success_and_no_active_pod() {
    let mut queue = wide(2, 0);
    queue.spec.completions = None;
    assert!(succeeds(&Case::new(queue.clone(), [pod("a").succeeded()]), "CompletionsReached"));
    assert!(goes_on(&Case::new(queue.clone(), [pod("a").succeeded(), pod("b")])));
    assert!(goes_on(&Case::new(queue, [pod("a").failed().exited(ago(1), 1)])));
}

/// PC-25.
#[test]
fn zero_completions_are_complete_at_once_even_while_suspended() {
    let mut none = wide(1, 0);
    assert!(succeeds(&Case::new(none.clone(), []), "CompletionsReached"));
    none.spec.suspend = true;
    none.status.start_time = None;
    let case = Case::new(none, []);
    assert!(succeeds(&case, "CompletionsReached"));
    assert!(condition_of(&case.last(), COMPLETE).is_some());
}

/// BO-12, BO-16: the limit applies to counted, recorded, and new failures together.
#[test]
fn failures_beyond_the_limit_fail_the_job() {
    let mut limited = wide(3, 5).recording(&[], &["b"]);
    limited.spec.backoff_limit = 3;
    limited.status.failed = 1;
    let pods = [pod("b").failed(), pod("c").failed(), pod("d")];
    assert!(goes_on(&Case::new(limited.clone(), pods.clone())));
    limited.status.failed = 2;
    let case = Case::new(limited, pods);
    assert!(fails(&case, "BackoffLimitExceeded"));
    assert_eq!(message(&case.first(), FAILURE_TARGET), "Job has reached the specified backoff limit");
}

/// FT-06, FT-09: neither a pod without a valid index nor a pod without finalizer counts.
#[test]
fn pods_that_are_not_counted_fail_no_job() {
    let mut strict = indexed(0, 2);
    strict.spec.backoff_limit = 0;
    assert!(goes_on(&Case::new(
        strict.clone(),
        [pod("a").index(2).failed(), pod("b").index(0).failed().untracked()]
    )));
    assert!(fails(&Case::new(strict, [pod("a").index(1).failed()]), "BackoffLimitExceeded"));
}

/// BO-12: the limit applies even if no failure is new (B41).
#[test]
fn failures_in_the_counter_fail_the_job() {
    let mut exceeded = job();
    exceeded.spec.backoff_limit = 0;
    exceeded.status.failed = 1;
    assert!(fails(&Case::new(exceeded, []), "BackoffLimitExceeded"));
}

/// S-07: the first record of a UID is final.
#[test]
fn a_pod_that_is_recorded_as_succeeded_and_turns_failed_fails_nothing() {
    let mut strict = wide(2, 2).recording(&["a"], &[]).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    strict.spec.backoff_limit = 0;
    let case = Case::new(strict, [pod("a").failed().condition("Bad", "True", None), pod("b")]);
    assert!(goes_on(&case));
    assert_eq!(case.shape(), "write, untrack a, write");
    assert_eq!((case.last().succeeded, case.last().failed), (1, 0));
}

/// S-01: the first record of a UID is final.
#[test]
fn a_pod_that_is_recorded_as_failed_and_turns_succeeded_completes_nothing() {
    let case = Case::new(job().recording(&[], &["a"]), [pod("a").succeeded()]);
    assert!(goes_on(&case));
    assert_eq!((case.last().succeeded, case.last().failed), (0, 1));
}

/// BO-13, S-22.
#[test]
fn restarts_in_place_fail_the_job_at_the_limit() {
    let restarts = |limit, phase, counts: &[i32]| {
        let mut restarting = wide(2, 2);
        restarting.spec.restarts_on_failure = true;
        restarting.spec.backoff_limit = limit;
        let mut running = pod("a").phase(phase);
        for (number, count) in counts.iter().enumerate() {
            let kind = if number == 0 { ContainerKind::Init } else { ContainerKind::Regular };
            running = running.container("c", kind, *count, None);
        }
        Case::new(restarting, [running, pod("b").container("c", ContainerKind::Regular, 1, None)])
    };
    assert!(fails(&restarts(3, Phase::Running, &[1, 1]), "BackoffLimitExceeded"));
    assert!(fails(&restarts(3, Phase::Pending, &[2]), "BackoffLimitExceeded"));
    assert!(goes_on(&restarts(4, Phase::Running, &[1, 1])));
    assert!(goes_on(&restarts(3, Phase::Unknown, &[1, 1])));
    assert!(fails(&restarts(1, Phase::Running, &[]), "BackoffLimitExceeded"));
    assert!(fails(&restarts(0, Phase::Running, &[]), "BackoffLimitExceeded"));
    let mut no_restart = restarts(0, Phase::Running, &[]);
    no_restart.pods.clear();
    assert!(goes_on(&no_restart));
    let mut never = restarts(1, Phase::Running, &[1, 1]);
    never.job.spec.restarts_on_failure = false;
    assert!(goes_on(&never));
}

/// SU-08, SU-09, SU-10.
#[test]
fn the_deadline_fails_the_job_on_time_and_schedules_a_sync_before() {
    let with = |seconds| {
        let mut timed = job();
        timed.spec.active_deadline_seconds = Some(seconds);
        Case::new(timed, [pod("a")])
    };
    assert!(fails(&with(100), "DeadlineExceeded"));
    assert_eq!(message(&with(99).first(), FAILURE_TARGET), "Job was active longer than specified deadline");
    assert!(goes_on(&with(101)));
    assert_eq!(with(101).plan().wake_after, Some(secs(1)));
    assert_eq!(with(100).plan().wake_after, None);
    // J-11: the nanoseconds of these do not fit into 64 bits.
    for seconds in [i64::MAX / 1_000_000_000 + 1, 18_446_744_074, i64::MAX] {
        assert!(goes_on(&with(seconds)), "{seconds}");
    }
    let mut fresh = with(0);
    fresh.job.status.start_time = None;
    fresh.pods.clear();
    assert!(fails(&fresh, "DeadlineExceeded"));
    assert_eq!(fresh.shape(), "write, write");
    let mut suspended = with(1);
    suspended.job.spec.suspend = true;
    assert!(goes_on(&suspended));
    assert_eq!(suspended.plan().wake_after, None);
}

/// SU-11.
#[test]
fn a_resumption_restarts_the_deadline() {
    let mut resumed = job().status_with("Suspended", "True", "JobSuspended");
    resumed.spec.active_deadline_seconds = Some(50);
    let case = Case::new(resumed, []);
    assert!(goes_on(&case));
    assert_eq!(case.plan().wake_after, Some(secs(50)));
}

/// No status stores the resumption of such a Job, so each sync would restart its time and schedule another sync.
#[test]
fn the_deadline_wakes_no_suspended_job_that_is_being_deleted() {
    let mut resumed = job().status_with("Suspended", "True", "JobSuspended");
    resumed.spec.active_deadline_seconds = Some(50);
    resumed.deletion = Some(resumed.status.start_time.unwrap());
    assert_eq!(Case::new(resumed.clone(), []).plan().wake_after, None);
    resumed.status.conditions.clear();
    resumed.spec.active_deadline_seconds = Some(101);
    assert_eq!(
        Case::new(resumed, []).plan().wake_after,
        Some(secs(1)),
        "one that runs has its deadline all the same"
    );
}

/// TC-01: failures take precedence over successes, and the deadline over completions (B27).
#[test]
fn the_first_termination_in_order_applies() {
    let mut both = wide(2, 1);
    both.spec.backoff_limit = 0;
    both.spec.active_deadline_seconds = Some(1);
    let pods = [pod("a").succeeded(), pod("b").failed()];
    assert!(fails(&Case::new(both.clone(), pods.clone()), "BackoffLimitExceeded"));
    both.spec.backoff_limit = 1;
    assert!(fails(&Case::new(both.clone(), pods.clone()), "DeadlineExceeded"));
    let ruled = both.clone().rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let bad = [pod("a").succeeded(), pod("b").failed().condition("Bad", "True", None)];
    assert!(fails(&Case::new(ruled, bad), "PodFailurePolicy"));
    both.spec.active_deadline_seconds = None;
    assert!(succeeds(&Case::new(both, pods), "CompletionsReached"));
}

/// TC-06: a stored interim condition is final.
#[test]
fn a_stored_interim_condition_stays_whatever_happens_later() {
    let mut strict = job();
    strict.spec.backoff_limit = 0;
    let met = strict.clone().status_with(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy");
    let case = Case::new(met.clone(), [pod("b").failed()]);
    assert_eq!(case.shape(), "write, untrack b, write");
    assert_eq!(condition_of(&case.last(), COMPLETE), Some(("True", "SuccessPolicy")));
    assert_eq!(case.last().failed, 1);
    let failing = strict.status_with(FAILURE_TARGET, "True", "DeadlineExceeded");
    let case = Case::new(failing, [pod("a").succeeded()]);
    assert_eq!(condition_of(&case.last(), FAILED), Some(("True", "DeadlineExceeded")));
    assert_eq!(message(&case.last(), FAILED), "why");
    assert_eq!(case.last().completion_time, None);
    let both = met.status_with(FAILURE_TARGET, "True", "DeadlineExceeded");
    assert!(condition_of(&Case::new(both, []).last(), COMPLETE).is_some());
}

/// UG-03: a rollback of all gates does not revive a Job.
#[test]
fn a_stored_interim_condition_stays_with_all_gates_off() {
    let mut case = Case::new(job().status_with(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy"), []);
    case.settings.gates.managed_by = false;
    case.settings.gates.pod_replacement_policy = false;
    case.settings.gates.success_policy = false;
    assert!(condition_of(&case.last(), COMPLETE).is_some());
}

/// TC-10, S-12: a withdrawn interim condition has no effect, and its entry is used again.
#[test]
fn a_withdrawn_interim_condition_is_neither_honoured_nor_duplicated() {
    let withdrawn = wide(1, 2).status_with(FAILURE_TARGET, "False", "x").status_with("Else", "True", "y");
    assert!(goes_on(&Case::new(withdrawn.clone(), [pod("a")])));
    let mut strict = withdrawn;
    strict.spec.backoff_limit = 0;
    let case = Case::new(strict, [pod("a").failed()]);
    assert!(fails(&case, "BackoffLimitExceeded"));
    assert_eq!(&*case.first().conditions[0].kind, FAILURE_TARGET);
    assert_eq!(case.first().conditions.len(), 2);
    assert_eq!(case.first().conditions[1], case.job.status.conditions[1]);
}

/// S-12: the second condition of a type counts as well.
#[test]
fn an_interim_condition_is_found_after_a_withdrawn_one() {
    let doubled = job().status_with(FAILURE_TARGET, "False", "x").status_with(FAILURE_TARGET, "True", "Late");
    let after = Case::new(doubled, []).last();
    assert_eq!(condition_of(&after, FAILED), Some(("True", "Late")));
}

fn exit(action: PodFailureAction, container: Option<&str>, operator: ExitCodeOperator) -> PodFailureRule {
    let container = container.map(Text::from);
    PodFailureRule { action, on: PodFailureMatch::ExitCodes { container, operator, values: vec![3, 42] } }
}

/// PF-01, PF-03, PF-05.
#[test]
fn exit_codes_are_matched_rule_by_rule() {
    use ExitCodeOperator::{In, NotIn, Unknown};
    use PodFailureAction::{Count, FailJob};
    let matches = |rule: PodFailureRule, code| {
        let failed = pod("a").failed().exited(ago(1), code);
        fails(&Case::new(wide(2, 2).rules(vec![rule]), [failed]), "PodFailurePolicy")
    };
    assert!(matches(exit(FailJob, None, In), 42));
    assert!(!matches(exit(FailJob, None, In), 41));
    assert!(!matches(exit(FailJob, None, NotIn), 42));
    assert!(matches(exit(FailJob, None, NotIn), 41));
    assert!(!matches(exit(FailJob, None, NotIn), 0));
    assert!(!matches(exit(FailJob, None, Unknown), 42));
    assert!(matches(exit(FailJob, Some("main"), In), 42));
    assert!(!matches(exit(FailJob, Some("other"), In), 42));
    assert!(!matches(exit(PodFailureAction::Unknown, None, In), 42));
    assert!(!matches(PodFailureRule { action: FailJob, on: PodFailureMatch::Nothing }, 42));
    let order = |first, second| {
        let rules = vec![exit(first, None, In), exit(second, None, In)];
        fails(&Case::new(wide(2, 2).rules(rules), [pod("a").failed().exited(ago(1), 3)]), "PodFailurePolicy")
    };
    assert!(!order(Count, FailJob));
    assert!(order(FailJob, Count));
    assert!(order(PodFailureAction::Unknown, FailJob));
}

/// PF-03, PF-07: regular containers come first, whatever the order of the statuses.
#[test]
fn the_message_names_the_container_or_the_condition() {
    let end = |code| Some(Terminated { exit_code: code, finished_at: None });
    let failed = pod("a")
        .failed()
        .container("init", ContainerKind::Init, 0, end(3))
        .container("running", ContainerKind::Regular, 0, None)
        .container("side", ContainerKind::Sidecar, 0, end(42))
        .container("main", ContainerKind::Regular, 0, end(42));
    let rules = vec![
        rule(PodFailureAction::FailJob, "Bad"),
        exit(PodFailureAction::FailJob, None, ExitCodeOperator::In),
    ];
    let ruled = wide(2, 2).rules(rules);
    assert_eq!(
        message(&Case::new(ruled.clone(), [failed.clone()]).first(), FAILURE_TARGET),
        "Container main for pod ns/pod-a failed with exit code 42 matching FailJob rule at index 1"
    );
    let mut without_main = failed.clone();
    Arc::make_mut(&mut without_main.containers).pop();
    assert!(
        message(&Case::new(ruled.clone(), [without_main]).first(), FAILURE_TARGET).contains("Container init")
    );
    let bad = failed.condition("Bad", "True", None);
    assert_eq!(
        message(&Case::new(ruled, [bad]).first(), FAILURE_TARGET),
        "Pod ns/pod-a has condition Bad matching FailJob rule at index 0"
    );
}

/// PF-02, PF-04, PF-08.
#[test]
fn rules_apply_to_pods_in_phase_failed_with_or_without_finalizer() {
    let ruled = wide(2, 2).rules(vec![rule(PodFailureAction::FailJob, "Bad")]);
    let bad = pod("a").condition("Bad", "True", None);
    assert!(goes_on(&Case::new(ruled.clone(), [bad.clone()])));
    assert!(goes_on(&Case::new(ruled.clone(), [bad.clone().deleted()])));
    assert!(fails(&Case::new(ruled.clone(), [bad.clone().failed()]), "PodFailurePolicy"));
    assert!(fails(&Case::new(ruled.clone(), [bad.failed().untracked()]), "PodFailurePolicy"));
    assert!(goes_on(&Case::new(ruled.clone(), [pod("a").failed().condition("Bad", "False", None)])));
    assert!(goes_on(&Case::new(ruled, [pod("a").failed().condition("Good", "True", None)])));
}

/// PF-06, BO-12.
#[test]
fn ignored_failures_do_not_count_towards_the_limit() {
    let mut lenient = wide(2, 2).rules(vec![rule(PodFailureAction::Ignore, "Evicted")]);
    lenient.spec.backoff_limit = 0;
    let evicted = pod("a").failed().condition("Evicted", "True", None);
    let case = Case::new(lenient.clone(), [evicted]);
    assert_eq!(case.shape(), "untrack a | create _ _");
    assert!(fails(&Case::new(lenient, [pod("a").failed()]), "BackoffLimitExceeded"));
}

fn policy(indexes: Option<&str>, count: Option<i32>) -> SuccessRule {
    SuccessRule { succeeded_indexes: indexes.map(Text::from), succeeded_count: count }
}

/// SX-01, SX-02, SX-05.
#[test]
fn a_success_policy_is_met_by_its_indexes_or_by_their_number() {
    let after = |rules: Vec<SuccessRule>, done: &str| {
        let mut ruled = indexed(4, 5);
        ruled.spec.success_policy = Some(Arc::new(rules));
        ruled.status.completed_indexes = Some(Text::from(done)).filter(|it| !it.is_empty());
        let status = Case::new(ruled, []).writes().first().cloned().unwrap_or_default();
        end(&status).map(|it| (it.1, message(&status, SUCCESS_CRITERIA_MET)))
    };
    let met = |rule: SuccessRule, done| after(vec![rule], done).is_some_and(|it| it.0 == "SuccessPolicy");
    assert!(met(policy(Some("0,2"), None), "0-2"));
    assert!(!met(policy(Some("0,2"), None), "0,1"));
    assert!(met(policy(Some("0,2-3"), Some(2)), "1-3"));
    assert!(!met(policy(Some("0,2-3"), Some(3)), "1-3"));
    assert!(met(policy(None, Some(2)), "1,4"));
    assert!(!met(policy(None, Some(3)), "1,4"));
    assert!(!met(policy(None, None), "0-3"));
    assert!(!met(policy(Some("7"), Some(0)), "0"));
    assert!(met(policy(Some("4-9"), None), "4"));
    assert!(!met(policy(None, Some(0)), ""));
    let second = after(vec![policy(Some("0"), None), policy(None, Some(1))], "1");
    assert_eq!(second, Some(("SuccessPolicy".to_owned(), "Matched rules at index 1".to_owned())));
    assert_eq!(after(vec![policy(Some("0"), None)], "0-4").map(|it| it.0), Some("SuccessPolicy".to_owned()));
    assert_eq!(
        after(vec![policy(None, Some(6))], "0-4").map(|it| it.0),
        Some("CompletionsReached".to_owned())
    );
}

/// SX-01.
#[test]
fn a_success_policy_needs_an_indexed_job_and_its_gate() {
    let mut ruled = indexed(4, 5);
    ruled.spec.success_policy = Some(Arc::new(vec![policy(None, Some(1))]));
    ruled.status.completed_indexes = Some(Text::from("0"));
    ruled.status.succeeded = 1;
    let mut case = Case::new(ruled, []);
    assert!(succeeds(&case, "SuccessPolicy"));
    case.settings.gates.success_policy = false;
    assert!(goes_on(&case));
}

/// SX-05: the gate of the success policy adds the reason of a completion. A stored condition keeps its reason.
#[test]
fn without_the_gate_of_the_success_policy_complete_has_no_reason() {
    let mut case = Case::new(job(), [pod("a").succeeded()]);
    case.settings.gates.success_policy = false;
    for kind in [SUCCESS_CRITERIA_MET, COMPLETE] {
        assert_eq!(
            (condition_of(&case.last(), kind), message(&case.last(), kind)),
            (Some(("True", "")), String::new())
        );
    }
    let mut ending = Case::new(
        job().status_with(SUCCESS_CRITERIA_MET, "True", "CompletionsReached"),
        [pod("a").succeeded()],
    );
    ending.settings.gates.success_policy = false;
    assert_eq!(condition_of(&ending.last(), COMPLETE), Some(("True", "CompletionsReached")));
}

/// SX-03, SX-04.
#[test]
fn a_failure_takes_precedence_over_a_success_policy_and_active_pods_are_deleted() {
    let mut ruled = indexed(3, 3);
    ruled.spec.success_policy = Some(Arc::new(vec![policy(None, Some(1))]));
    let pods = [pod("a").index(0).succeeded(), pod("b").index(1), pod("c").index(2).failed()];
    let case = Case::new(ruled.clone(), pods.clone());
    assert_eq!(case.shape(), "delete b, write, untrack a b c, write");
    assert_eq!(case.last().failed, 1);
    ruled.spec.backoff_limit = 0;
    assert!(fails(&Case::new(ruled, pods), "BackoffLimitExceeded"));
}

/// BI-06, BI-07.
#[test]
fn failed_indexes_fail_the_job_if_too_many_or_if_no_index_is_left() {
    let with = |failed: &str, done: &str, max| {
        let mut some = limited(4, 0);
        some.spec.max_failed_indexes = max;
        some.status.failed_indexes = Some(Text::from(failed));
        some.status.completed_indexes = Some(Text::from(done)).filter(|it| !it.is_empty());
        some.status.succeeded =
            i32::try_from(done.split(',').filter(|it| !it.is_empty()).count()).expect("small");
        Case::new(some, [])
    };
    assert!(fails(&with("0,1", "", Some(1)), "MaxFailedIndexesExceeded"));
    assert!(goes_on(&with("0,1", "", Some(2))));
    assert!(fails(&with("0", "", Some(0)), "MaxFailedIndexesExceeded"));
    assert!(goes_on(&with("", "0", Some(0))));
    assert!(fails(&with("0,1", "2,3", None), "FailedIndexes"));
    assert!(goes_on(&with("0,1", "2", None)));
    assert!(succeeds(&with("", "0,1,2,3", None), "CompletionsReached"));
}

/// UG-07: with both gates off the terminal condition is written at once, without an interim condition.
#[test]
fn with_two_gates_off_there_is_no_interim_condition() {
    let mut case = Case::new(job(), [pod("a").succeeded(), pod("z").deleted().untracked()]);
    case.settings.gates.managed_by = false;
    case.settings.gates.pod_replacement_policy = false;
    let after = case.last();
    assert_eq!(condition_of(&after, COMPLETE), Some(("True", "CompletionsReached")));
    assert_eq!(condition_of(&after, SUCCESS_CRITERIA_MET), None);
    case.settings.gates.success_policy = false;
    assert_eq!(condition_of(&case.last(), COMPLETE), Some(("True", "")));
    case.settings.gates.pod_replacement_policy = true;
    assert!(condition_of(&case.last(), SUCCESS_CRITERIA_MET).is_some());
    assert_eq!(condition_of(&case.last(), COMPLETE), None);
    case.settings.gates.pod_replacement_policy = false;
    case.settings.gates.managed_by = true;
    assert_eq!(condition_of(&case.last(), COMPLETE), None);
    let mut failing = Case::new(job().rules(vec![rule(PodFailureAction::FailJob, "Bad")]), []);
    failing.pods = vec![pod("a").failed().condition("Bad", "True", None)];
    failing.settings.gates.managed_by = false;
    failing.settings.gates.pod_replacement_policy = false;
    assert_eq!(condition_of(&failing.first(), FAILURE_TARGET), Some(("True", "PodFailurePolicy")));
    assert_eq!(failing.now, NOW);
}

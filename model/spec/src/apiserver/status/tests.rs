use super::super::fixtures::{condition, decide, edit, indexed, job};
use super::*;
use crate::job::ConditionKind::{Complete, Failed, FailureTarget, SuccessCriteriaMet, Suspended};
use crate::job::{JobStatus, SuccessPolicy, Uncounted};

const RULES: RuleSet = RuleSet::V1_36;

/// Writes a status over that of `old`: which rules it breaks, after checking that the first is the refusal.
fn broken_under(rules: &RuleSet, old: &Job, write: impl FnOnce(&mut JobStatus)) -> Vec<Req> {
    let mut new = old.clone();
    write(&mut new.status);
    let mut findings = Findings::new();
    validate_status_update(rules, old, &new, &mut findings);
    let broken: Vec<Req> = findings.broken.iter().map(|broken| broken.req).collect();
    assert_eq!(would_refuse_status(rules, old, &new).map(|broken| broken.req), broken.first().copied());
    broken
}

fn broken(old: &Job, write: impl FnOnce(&mut JobStatus)) -> Vec<Req> {
    broken_under(&RULES, old, write)
}

fn accepts(old: &Job, write: impl FnOnce(&mut JobStatus)) {
    assert_eq!(broken(old, write), []);
}

fn refuses(req: Req, old: &Job, write: impl FnOnce(&mut JobStatus)) {
    let broken = broken(old, write);
    assert!(broken.contains(&req), "{req} is not in {broken:?}");
}

/// A Job that has started.
fn started() -> Job {
    let mut job = indexed();
    job.status.start_time = Some(Time(10));
    job
}

fn completed() -> Job {
    let mut job = started();
    complete(&mut job.status);
    job
}

fn complete(status: &mut JobStatus) {
    add_conditions(status, &[SuccessCriteriaMet, Complete]);
    status.completion_time = Some(Time(20));
}

fn add_conditions(status: &mut JobStatus, kinds: &[ConditionKind]) {
    status.conditions.extend(kinds.iter().map(|kind| condition(kind.clone(), ConditionStatus::True)));
}

fn uncounted(succeeded: &[u128], failed: &[u128]) -> Option<Uncounted> {
    let uids = |uids: &[u128]| uids.iter().map(|uid| Uid(*uid)).collect();
    Some(Uncounted { succeeded: uids(succeeded), failed: uids(failed) })
}

#[test]
fn ss01_counters_may_be_zero_but_not_negative() {
    accepts(&started(), |new| (new.active, new.ready, new.terminating) = (0, Some(0), Some(0)));
    refuses(Req::SS01, &started(), |new| new.active = -1);
    refuses(Req::SS01, &started(), |new| new.terminating = Some(-1));
}

#[test]
fn ss02_uncounted_uids_stand_once_and_are_not_empty() {
    accepts(&started(), |new| new.uncounted = uncounted(&[1, 2], &[3]));
    refuses(Req::SS02, &started(), |new| new.uncounted = uncounted(&[1], &[1]));
    refuses(Req::SS02, &started(), |new| new.uncounted = uncounted(&[1, 2, 1], &[]));
    refuses(Req::SS02, &started(), |new| new.uncounted = uncounted(&[], &[0]));
}

#[test]
fn ss03_and_ss04_success_criteria_met_excludes_every_failure() {
    accepts(&started(), |new| add_conditions(new, &[SuccessCriteriaMet]));
    accepts(&started(), |new| add_conditions(new, &[FailureTarget]));
    refuses(Req::SS03, &started(), |new| add_conditions(new, &[SuccessCriteriaMet, FailureTarget, Failed]));
    refuses(Req::SS04, &started(), |new| add_conditions(new, &[SuccessCriteriaMet, FailureTarget]));
}

#[test]
fn ss05_success_policy_completes_by_success_criteria_met_even_if_nothing_changed() {
    let mut old = completed();
    edit(&mut old, |spec| spec.success_policy = Some(SuccessPolicy::default()));
    accepts(&old, |new| new.ready = Some(0));
    old.status.conditions.remove(0);
    refuses(Req::SS05, &old, |new| new.ready = Some(0));
}

#[test]
fn ss06_success_criteria_met_stays() {
    let mut old = started();
    decide(&mut old, &[SuccessCriteriaMet]);
    accepts(&old, complete_after_criteria);
    refuses(Req::SS06, &old, |new| new.conditions.clear());
    refuses(Req::SS06, &old, |new| new.conditions[0].status = ConditionStatus::False);
}

fn complete_after_criteria(status: &mut JobStatus) {
    add_conditions(status, &[Complete]);
    status.completion_time = Some(Time(20));
}

#[test]
fn ss07_success_criteria_met_does_not_follow_complete() {
    let mut old = completed();
    accepts(&old, |new| new.conditions.reverse());
    old.status.conditions.remove(0);
    refuses(Req::SS07, &old, |new| add_conditions(new, &[SuccessCriteriaMet]));
}

#[test]
fn ss08_decisions_stay_although_their_entries_may_move() {
    let mut old = started();
    decide(&mut old, &[FailureTarget, Failed]);
    accepts(&old, |new| new.conditions.reverse());
    refuses(Req::SS08, &old, |new| {
        new.conditions.pop();
    });
    refuses(Req::SS08, &completed(), |new| new.conditions[1].status = ConditionStatus::Unknown);
}

#[test]
fn ss08_any_entry_of_a_repeated_type_counts() {
    let mut old = started();
    decide(&mut old, &[FailureTarget]);
    accepts(&old, |new| new.conditions.insert(0, condition(FailureTarget, ConditionStatus::False)));
}

#[test]
fn ss09_start_time_is_immutable_unless_suspended_or_resuming() {
    accepts(&job(), |new| new.start_time = Some(Time(1)));
    refuses(Req::SS09, &started(), |new| new.start_time = Some(Time(11)));
    refuses(Req::SS09, &started(), |new| new.start_time = None);
    let mut suspended = started();
    edit(&mut suspended, |spec| spec.suspend = Some(true));
    accepts(&suspended, |new| new.start_time = None);
}

#[test]
fn ss09_resumption_changes_the_start_time_since_its_fix() {
    let mut old = started();
    decide(&mut old, &[Suspended]);
    let resume = |new: &mut JobStatus| {
        new.conditions[0].status = ConditionStatus::False;
        new.start_time = Some(Time(30));
    };
    accepts(&old, resume);
    let before = RuleSet { resuming_changes_start_time: false, ..RULES };
    assert_eq!(broken_under(&before, &old, resume), [Req::SS09]);
    refuses(Req::SS09, &old, |new| (new.conditions, new.start_time) = (vec![], Some(Time(30))));
}

#[test]
fn ss10_finished_job_has_a_start_time_unless_suspended_with_zero_completions() {
    accepts(&started(), complete);
    let mut old = indexed();
    refuses(Req::SS10, &old, complete);
    edit(&mut old, |spec| (spec.completions, spec.suspend) = (Some(0), Some(true)));
    accepts(&old, complete);
    let before = RuleSet { suspended_with_zero_completions: false, ..RULES };
    assert_eq!(broken_under(&before, &old, complete), [Req::SS10]);
}

#[test]
fn ss10_is_silent_while_neither_end_nor_start_changes() {
    let mut old = completed();
    old.status.start_time = None;
    accepts(&old, |new| new.succeeded = 1);
}

#[test]
fn ss11_completion_may_equal_but_not_precede_the_start() {
    accepts(&started(), |new| {
        complete(new);
        new.completion_time = Some(Time(10));
    });
    refuses(Req::SS11, &started(), |new| {
        complete(new);
        new.completion_time = Some(Time(9));
    });
}

#[test]
fn ss12_finished_job_has_no_active_pods() {
    let mut old = started();
    old.status.active = 1;
    accepts(&old, |new| {
        complete(new);
        new.active = 0;
    });
    refuses(Req::SS12, &old, complete);
    refuses(Req::SS12, &completed(), |new| new.active = 1);
    complete(&mut old.status);
    accepts(&old, |new| new.succeeded = 1);
}

#[test]
fn ss13_finished_job_has_no_uncounted_pods() {
    let mut old = started();
    old.status.uncounted = uncounted(&[1], &[]);
    accepts(&old, |new| {
        complete(new);
        new.uncounted = uncounted(&[], &[]);
    });
    refuses(Req::SS13, &old, complete);
    refuses(Req::SS13, &completed(), |new| new.uncounted = uncounted(&[], &[2]));
}

#[test]
fn ss14_completed_indexes_keep_the_grammar_once_changed() {
    accepts(&started(), |new| new.completed_indexes = "0,2-4".into());
    for text in ["10", "1,1", "2-1", "0-1-2", "x", "-1"] {
        refuses(Req::SS14, &started(), |new| new.completed_indexes = text.into());
    }
    let mut scaled_down = started();
    scaled_down.status.completed_indexes = "0-30".into();
    accepts(&scaled_down, |new| new.active = 1);
}

#[test]
fn ss15_failed_indexes_keep_the_grammar_once_changed() {
    accepts(&started(), |new| new.failed_indexes = Some("".into()));
    accepts(&started(), |new| new.failed_indexes = Some("9".into()));
    refuses(Req::SS15, &started(), |new| new.failed_indexes = Some("10".into()));
}

#[test]
fn ss16_index_lists_need_their_mode() {
    accepts(&started(), |new| (new.completed_indexes, new.failed_indexes) = ("1".into(), Some("2".into())));
    refuses(Req::SS16, &job(), |new| new.completed_indexes = "0".into());
    refuses(Req::SS16, &job(), |new| new.failed_indexes = Some("".into()));
    let mut corrupt = job();
    corrupt.status.failed_indexes = Some("".into());
    accepts(&corrupt, |new| new.failed_indexes = None);
    let mut findings = Findings::new();
    validate_status_update(&RULES, &corrupt, &job(), &mut findings);
    assert!(findings.premises().any(|req| req == Req::SS16));
}

#[test]
fn ss17_completed_and_failed_indexes_are_disjoint() {
    accepts(&started(), |new| (new.completed_indexes, new.failed_indexes) = ("0-3".into(), Some("4".into())));
    refuses(Req::SS17, &started(), |new| {
        (new.completed_indexes, new.failed_indexes) = ("0-3".into(), Some("3".into()));
    });
}

#[test]
fn ss18_finished_job_has_no_terminating_pods() {
    let mut old = started();
    old.status.terminating = Some(1);
    accepts(&old, |new| {
        complete(new);
        new.terminating = None;
    });
    refuses(Req::SS18, &old, complete);
    refuses(Req::SS18, &completed(), |new| new.terminating = Some(1));
}

#[test]
fn ss19_ready_does_not_exceed_active_once_either_changes() {
    accepts(&started(), |new| (new.active, new.ready) = (2, Some(2)));
    refuses(Req::SS19, &started(), |new| (new.active, new.ready) = (1, Some(2)));
    let mut corrupt = started();
    corrupt.status.ready = Some(1);
    accepts(&corrupt, |new| new.succeeded = 1);
}

#[test]
fn ss20_failed_needs_failure_target_also_when_failed_indexes_change() {
    accepts(&started(), |new| add_conditions(new, &[FailureTarget, Failed]));
    refuses(Req::SS20, &started(), |new| add_conditions(new, &[Failed]));
    let mut old = started();
    decide(&mut old, &[Failed]);
    accepts(&old, |new| new.failed = 1);
    refuses(Req::SS20, &old, |new| new.failed_indexes = Some("1".into()));
}

#[test]
fn ss21_complete_needs_success_criteria_met() {
    accepts(&started(), complete);
    refuses(Req::SS21, &started(), complete_after_criteria);
}

#[test]
fn ss22_and_ss23_complete_excludes_every_failure() {
    refuses(Req::SS22, &completed(), |new| add_conditions(new, &[FailureTarget, Failed]));
    refuses(Req::SS23, &completed(), |new| add_conditions(new, &[FailureTarget]));
    let mut corrupt = completed();
    corrupt.status.conditions.remove(0);
    decide(&mut corrupt, &[FailureTarget, Failed]);
    accepts(&corrupt, |new| new.succeeded = 1);
}

#[test]
fn ss24_and_ss25_completion_time_and_complete_come_together() {
    refuses(Req::SS24, &started(), |new| new.completion_time = Some(Time(20)));
    refuses(Req::SS25, &started(), |new| add_conditions(new, &[SuccessCriteriaMet, Complete]));
    refuses(Req::SS25, &completed(), |new| new.completion_time = None);
    let mut corrupt = started();
    corrupt.status.completion_time = Some(Time(20));
    accepts(&corrupt, |new| new.active = 1);
    accepts(&corrupt, |new| new.completion_time = None);
}

#[test]
fn ss26_completion_time_does_not_change() {
    accepts(&completed(), |new| new.succeeded = 1);
    refuses(Req::SS26, &completed(), |new| new.completion_time = Some(Time(21)));
}

#[test]
fn ss27_failed_grows_or_stays() {
    let mut old = started();
    old.status.failed = 2;
    accepts(&old, |new| new.failed = 2);
    refuses(Req::SS27, &old, |new| new.failed = 1);
}

#[test]
fn ss28_succeeded_decreases_only_where_an_indexed_job_may_be_scaled_down() {
    let mut old = started();
    old.status.succeeded = 2;
    refuses(Req::SS28, &old, |new| new.succeeded = 1);
    edit(&mut old, |spec| spec.parallelism = spec.completions);
    accepts(&old, |new| new.succeeded = 1);
}

#[test]
fn ss32_accepted_status_write_changed_no_specification() {
    let (old, mut new) = (started(), started());
    edit(&mut new, |spec| spec.suspend = Some(true));
    let mut findings = Findings::new();
    validate_status_update(&RULES, &old, &new, &mut findings);
    assert_eq!(findings.broken[0].req, Req::SS32);
    assert_eq!(would_refuse_status(&RULES, &old, &new), None);
}

#[test]
fn ss36_nothing_is_ready_at_the_end_unless_it_was_so_before() {
    let mut old = started();
    (old.status.active, old.status.ready) = (1, Some(1));
    refuses(Req::SS36, &old, complete);
    old.status.active = 0;
    accepts(&old, complete);
    refuses(Req::SS36, &old, |new| {
        complete(new);
        new.terminating = Some(1);
    });
}

#[test]
fn sp11_accepted_status_write_changed_no_generation() {
    let (old, mut new) = (started(), started());
    new.generation = 2;
    let mut findings = Findings::new();
    validate_status_update(&RULES, &old, &new, &mut findings);
    assert_eq!(findings.broken[0].req, Req::SP11);
}

#[test]
fn ug13_without_managed_by_only_seven_rules_are_left() {
    let rules = RuleSet { job_managed_by: false, ..RULES };
    let mut old = started();
    old.status.failed = 2;
    assert_eq!(broken_under(&rules, &old, |new| (new.failed, new.ready) = (1, Some(3))), []);
    assert_eq!(broken_under(&rules, &old, |new| new.active = -1), [Req::SS01]);
    assert_eq!(broken_under(&rules, &completed(), |new| add_conditions(new, &[Failed])), [Req::SS03]);
}

#[test]
fn ug07_without_both_gates_success_criteria_met_needs_a_success_policy() {
    let rules = RuleSet { job_managed_by: false, pod_replacement_policy: false, ..RULES };
    let mut old = started();
    assert_eq!(broken_under(&rules, &old, |new| add_conditions(new, &[SuccessCriteriaMet])), [Req::UG07]);
    edit(&mut old, |spec| spec.success_policy = Some(SuccessPolicy::default()));
    assert_eq!(broken_under(&rules, &old, |new| add_conditions(new, &[SuccessCriteriaMet])), []);
}

#[test]
fn premise_of_a_ratcheted_rule_is_met_only_when_its_field_changed() {
    let (old, mut new) = (completed(), completed());
    new.status.succeeded = 1;
    let mut findings = Findings::new();
    validate_status_update(&RULES, &old, &new, &mut findings);
    let met: Vec<Req> = findings.premises().collect();
    assert!(met.contains(&Req::SS28) && met.contains(&Req::SS08) && met.contains(&Req::SS26));
    assert!(!met.contains(&Req::SS12) && !met.contains(&Req::SS21) && !met.contains(&Req::SS25));
    assert!(!met.contains(&Req::SS16));
}

/// Statuses over few values of each field that a rule about the end of a Job reads.
fn few_statuses() -> Vec<JobStatus> {
    let kinds = [Complete, Failed, FailureTarget, SuccessCriteriaMet];
    let subsets = (0..16_u32).map(|subset| {
        let chosen = kinds.iter().enumerate().filter(move |(bit, _)| subset >> bit & 1 == 1);
        chosen.map(|(_, kind)| condition(kind.clone(), ConditionStatus::True)).collect::<Vec<_>>()
    });
    let mut all = Vec::new();
    for conditions in subsets {
        for numbers in 0..192_i32 {
            let pick = |divisor: i32, base: i32| numbers / divisor % base;
            all.push(JobStatus {
                conditions: conditions.clone(),
                active: pick(1, 2),
                ready: [None, Some(0), Some(1)][usize::try_from(pick(2, 3)).unwrap()],
                terminating: (pick(6, 2) == 1).then_some(1),
                start_time: (pick(12, 2) == 1).then_some(Time(10)),
                completion_time: (pick(24, 2) == 1).then_some(Time(20)),
                uncounted: if pick(48, 2) == 1 { uncounted(&[1], &[]) } else { None },
                failed: pick(96, 2),
                ..JobStatus::default()
            });
        }
    }
    all
}

/// SS-35, SS-36: KEP-4368 needs no tolerance for Jobs that were created with the rules, because each status that accepted
/// writes lead to satisfies all rules. A rule that is ratcheted therefore hides nothing.
#[test]
fn ss35_no_sequence_of_accepted_writes_leads_to_a_status_that_a_first_write_could_not_have() {
    let (statuses, empty) = (few_statuses(), indexed());
    let with = |status: &JobStatus| Job { status: status.clone(), ..empty.clone() };
    let accepted = |old: &Job, new: &JobStatus| would_refuse_status(&RULES, old, &with(new)).is_none();
    let mut reached = vec![false; statuses.len()];
    let mut open = vec![empty.clone()];
    while let Some(old) = open.pop() {
        for (number, status) in statuses.iter().enumerate() {
            if !reached[number] && accepted(&old, status) {
                reached[number] = true;
                open.push(with(status));
            }
        }
    }
    let inherited = statuses.iter().enumerate().filter(|(number, _)| reached[*number]);
    let invalid: Vec<&JobStatus> =
        inherited.map(|(_, status)| status).filter(|status| !accepted(&empty, status)).collect();
    assert!(invalid.is_empty(), "{} of them, such as {:?}", invalid.len(), invalid[0]);
    assert!(reached.iter().filter(|it| **it).count() > 100);
    // Ready pods of a finished Job need a stored status that was bad before (S-33).
    let mut bad = started();
    bad.status.ready = Some(1);
    let mut end = bad.status.clone();
    complete(&mut end);
    assert!(accepted(&bad, &end) && !accepted(&empty, &end));
}

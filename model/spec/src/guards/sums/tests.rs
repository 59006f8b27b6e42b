use super::*;
use crate::job::{Condition, ConditionStatus, Text};

const GRANTS: Grants = Grants { patience: 120, skew: 5 };

fn counted(active: i32, succeeded: i32, failed: i32, kinds: &[ConditionKind]) -> JobStatus {
    let condition = |kind: &ConditionKind| Condition {
        kind: kind.clone(),
        status: ConditionStatus::True,
        reason: Text::default(),
        message: Text::default(),
        last_transition_time: None,
    };
    let conditions = kinds.iter().map(condition).collect();
    JobStatus { active, succeeded, failed, conditions, ..JobStatus::default() }
}

/// Times and statuses.
type Statuses<'a> = [(Micros, &'a JobStatus)];

fn stored<'a>(all: &Statuses<'a>) -> Vec<Stored<'a>> {
    all.iter().map(|(at, status)| Stored { at: *at, status }).collect()
}

fn member<'a>(gone: Option<Micros>, all: &Statuses<'a>) -> Member<'a> {
    let created = all.first().map_or(0, |(at, _)| *at);
    Member { created, statuses: stored(all), gone, removed: gone, seen_until: 1000 }
}

/// The ids that are broken by a Job with these statuses, whose members have those.
fn broken(
    here: &Statuses<'_>,
    members: &[(Option<Micros>, &Statuses<'_>)],
    fails_when: FailsWhen,
    worked: Micros,
) -> Vec<Req> {
    let sum = Sum {
        statuses: stored(here),
        gone: None,
        completions: Some(3),
        is_indexed: false,
        work: Work { stretches: [(0, worked)].into(), refusals: Vec::new() },
        refused: &[],
        members: members.iter().map(|(gone, all)| member(*gone, all)).collect(),
        fails_when,
    };
    let mut findings = Findings::new();
    judge_sums(&sum, GRANTS, &mut findings);
    findings.broken.iter().map(|it| it.req).collect()
}

#[test]
fn each_pod_is_counted_once() {
    let (one, two) = (counted(1, 1, 0, &[]), counted(0, 2, 0, &[]));
    let first: &[(Micros, &JobStatus)] = &[(10, &one)];
    for (here, worked, expected) in [
        (&one, 100, vec![]),
        (&two, 100, vec![Req::MR30]),
        // There was no time to count it.
        (&JobStatus::default(), 100, vec![]),
        // It shows neither the success nor the pod that runs.
        (&JobStatus::default(), 200, vec![Req::MR30, Req::MR30]),
    ] {
        assert_eq!(broken(&[(40, here)], &[(None, first)], FailsWhen::Any, worked), expected);
    }
    // A member that leaves keeps its counts, and may have been removed before they were seen.
    let least = |gone| broken(&[(40, &JobStatus::default())], &[(Some(gone), first)], FailsWhen::Any, 900);
    assert_eq!((least(50), least(131)), (vec![], vec![Req::MR30]));
}

#[test]
fn a_failure_follows_the_declared_rule() {
    use ConditionKind::{Failed, FailureTarget};
    let failed = counted(0, 0, 1, &[FailureTarget, Failed]);
    let (runs, ends) = (counted(1, 1, 0, &[]), counted(0, 1, 0, &[]));
    let both = counted(1, 1, 1, &[]);
    let target = counted(1, 1, 1, &[FailureTarget]);
    let (seen, decided): ((Micros, &JobStatus), (Micros, &JobStatus)) = ((40, &both), (60, &target));
    let any =
        broken(&[seen, decided], &[(None, &[(10, &failed)]), (None, &[(10, &runs)])], FailsWhen::Any, 0);
    let all =
        broken(&[seen, decided], &[(None, &[(10, &failed)]), (None, &[(10, &runs)])], FailsWhen::All, 0);
    assert_eq!((any, all), (vec![], vec![Req::MR31]));
    // The other member still runs at the end, in each view that may explain it.
    let over = counted(0, 1, 1, &[FailureTarget, Failed]);
    let ended = |second: &[(Micros, &JobStatus)]| {
        broken(&[seen, decided, (80, &over)], &[(None, &[(10, &failed)]), (None, second)], FailsWhen::Any, 0)
    };
    assert_eq!(ended(&[(10, &runs)]), [Req::MR31]);
    assert_eq!(ended(&[(10, &runs), (70, &ends)]), []);
    // A cache that lags has not seen that it runs again.
    assert_eq!(ended(&[(10, &runs), (20, &ends), (70, &runs)]), []);
}

#[test]
fn a_failed_member_lets_no_job_complete_that_any_member_fails() {
    use ConditionKind::{Complete, Failed, FailureTarget, SuccessCriteriaMet};
    let failed = counted(0, 0, 1, &[FailureTarget, Failed]);
    let done = counted(0, 3, 0, &[SuccessCriteriaMet, Complete]);
    let over = counted(0, 3, 1, &[SuccessCriteriaMet, Complete]);
    let of = |failed_at: Micros, fails_when| {
        let members: [(Option<Micros>, &Statuses<'_>); 2] =
            [(None, &[(failed_at, &failed)]), (None, &[(10, &done)])];
        broken(&[(200, &over)], &members, fails_when, 300)
    };
    // Its one failed pod was counted, so that the failure had been seen.
    assert_eq!((of(10, FailsWhen::Any), of(10, FailsWhen::All)), (vec![Req::MR31], vec![]));
    // A cache may lag, for less time than the manager may take.
    let alone = counted(0, 3, 0, &[SuccessCriteriaMet, Complete]);
    let of = |failed_at: Micros| {
        let failure = counted(0, 0, 0, &[FailureTarget, Failed]);
        let members: [(Option<Micros>, &Statuses<'_>); 2] =
            [(None, &[(failed_at, &failure)]), (None, &[(10, &done)])];
        broken(&[(200, &alone)], &members, FailsWhen::Any, 300)
    };
    assert_eq!((of(10), of(150)), (vec![Req::MR31], vec![]));
}

#[test]
fn what_runs_is_the_sum_at_quiescence() {
    let (one, two) = (counted(1, 0, 0, &[]), counted(2, 0, 0, &[]));
    let of = |here: &JobStatus, worked| {
        let members: [(Option<Micros>, &Statuses<'_>); 2] = [(None, &[(10, &one)]), (None, &[(10, &one)])];
        broken(&[(40, here)], &members, FailsWhen::Any, worked)
    };
    assert_eq!((of(&two, 900), of(&one, 900), of(&one, 100)), (vec![], vec![Req::MR30], vec![]));
}

#[test]
fn an_empty_list_is_no_end() {
    use ConditionKind::{Complete, SuccessCriteriaMet};
    let over = counted(0, 3, 0, &[SuccessCriteriaMet, Complete]);
    assert_eq!(broken(&[(10, &over)], &[], FailsWhen::Any, 0), [Req::MR33]);
    let done: &[(Micros, &JobStatus)] = &[(5, &over)];
    assert_eq!(broken(&[(10, &over)], &[(None, done)], FailsWhen::Any, 0), []);
    assert_eq!(broken(&[(10, &over)], &[(Some(6), done)], FailsWhen::Any, 0), []);
}

#[test]
fn an_end_of_older_members_has_its_interim_condition() {
    use ConditionKind::{Complete, SuccessCriteriaMet};
    let (older, alone) = (counted(0, 3, 0, &[Complete]), counted(0, 3, 0, &[Complete]));
    let right = counted(0, 3, 0, &[SuccessCriteriaMet, Complete]);
    let member: &[(Micros, &JobStatus)] = &[(5, &older)];
    assert_eq!(broken(&[(10, &alone)], &[(None, member)], FailsWhen::Any, 0), [Req::MR32]);
    assert_eq!(broken(&[(10, &right)], &[(None, member)], FailsWhen::Any, 0), []);
}

#[test]
fn an_index_that_two_members_have_completed_counts_once() {
    let with = |indexes: &str, active: i32| {
        let completed_indexes: Text = indexes.into();
        let succeeded = i32::from(!indexes.is_empty());
        JobStatus { active, succeeded, completed_indexes, ..JobStatus::default() }
    };
    let of = |is_indexed: bool, completed: &str| {
        let (member_status, here) = (with("0", 1), with(completed, 2));
        let members = [member(None, &[(10, &member_status)]), member(None, &[(10, &member_status)])];
        let sum = Sum {
            statuses: stored(&[(40, &here)]),
            gone: None,
            completions: Some(3),
            is_indexed,
            work: Work { stretches: [(0, 900)].into(), refusals: Vec::new() },
            refused: &[],
            members: members.into(),
            fails_when: FailsWhen::Any,
        };
        let mut findings = Findings::new();
        judge_sums(&sum, GRANTS, &mut findings);
        findings.broken.iter().map(|it| it.req).collect::<Vec<_>>()
    };
    assert_eq!((of(true, "0"), of(false, "0")), (vec![], vec![Req::MR30]));
    assert_eq!(of(true, ""), [Req::MR30]);
}

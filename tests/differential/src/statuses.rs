//! Random statuses near the edges of the status rules.

use jobcheck_spec::job::{
    CompletionMode, Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus, SuccessPolicy,
    Uncounted,
};
use jobcheck_spec::{Time, Uid};

use crate::random::Random;

/// Sets the fields of a specification that the status rules read.
pub fn vary_spec(random: &mut Random, spec: &mut JobSpec) {
    let counts = [None, Some(0), Some(1), Some(3), Some(3), Some(5)];
    spec.completions = random.pick(&counts);
    spec.parallelism = random.pick(&[Some(0), Some(1), Some(3), Some(5)]);
    spec.completion_mode = random.pick(&[Some(CompletionMode::NonIndexed), Some(CompletionMode::Indexed)]);
    spec.suspend = random.pick(&[Some(false), Some(false), Some(true)]);
    spec.backoff_limit_per_index = random.pick(&[None, Some(1)]);
    spec.success_policy = random.one_in(4).then(SuccessPolicy::default);
    if random.one_in(20) {
        // Such a Job may have been stored before validation rejected it.
        spec.completions = Some(-1);
    }
}

/// Returns a random status. One in three has arbitrary fields. The others are plausible for a Job of this kind.
pub fn arbitrary(random: &mut Random, job: &Job) -> JobStatus {
    let mut status = JobStatus::default();
    if random.one_in(3) {
        for _ in 0..12 {
            vary(random, &mut status);
        }
        return status;
    }
    status.active = random.pick(&[0, 1, 3]);
    status.ready = random.pick(&[None, Some(0), Some(0), Some(1)]).map(|ready: i32| ready.min(status.active));
    status.terminating = random.pick(&[None, Some(0), Some(1)]);
    status.succeeded = random.pick(&[0, 1, 2]);
    status.failed = random.pick(&[0, 1, 2]);
    status.start_time = random.pick(&[None, Some(Time(10)), Some(Time(10))]);
    if job.spec.is_indexed() {
        status.completed_indexes = random.pick(&["", "0", "0,1", "0-2"]).into();
        status.failed_indexes = job
            .spec
            .backoff_limit_per_index
            .and_then(|_| random.pick(&[None, Some("".into()), Some("4".into())]));
    }
    let decided = [
        vec![],
        vec![],
        vec![ConditionKind::FailureTarget],
        vec![ConditionKind::SuccessCriteriaMet],
        vec![ConditionKind::FailureTarget, ConditionKind::Failed],
        vec![ConditionKind::SuccessCriteriaMet, ConditionKind::Complete],
    ];
    for kind in random.pick(&decided) {
        status.completion_time = (kind == ConditionKind::Complete).then_some(Time(11));
        status.conditions.push(condition(kind, ConditionStatus::True));
    }
    if random.one_in(4) {
        let value = random.pick(&[ConditionStatus::True, ConditionStatus::False]);
        status.conditions.push(condition(ConditionKind::Suspended, value));
    }
    status
}

/// Changes a status as a controller might: it decides the Job, finishes it, or changes its suspension.
pub fn advance(random: &mut Random, status: &mut JobStatus) {
    match random.below(5) {
        0 => status.conditions.push(condition(ConditionKind::FailureTarget, ConditionStatus::True)),
        1 => status.conditions.push(condition(ConditionKind::SuccessCriteriaMet, ConditionStatus::True)),
        2 => finish(random, status, ConditionKind::FailureTarget, ConditionKind::Failed),
        3 => finish(random, status, ConditionKind::SuccessCriteriaMet, ConditionKind::Complete),
        _ => {
            let value = random.pick(&[ConditionStatus::True, ConditionStatus::False]);
            status.conditions.retain(|condition| condition.kind != ConditionKind::Suspended);
            status.conditions.push(condition(ConditionKind::Suspended, value));
            status.start_time = random.pick(&[None, Some(Time(12))]);
        }
    }
}

fn finish(random: &mut Random, status: &mut JobStatus, interim: ConditionKind, terminal: ConditionKind) {
    if !random.one_in(6) {
        status.conditions.push(condition(interim, ConditionStatus::True));
    }
    if terminal == ConditionKind::Complete && !random.one_in(6) {
        status.completion_time = Some(Time(13));
    }
    status.conditions.push(condition(terminal, ConditionStatus::True));
    (status.active, status.ready, status.terminating) = (0, Some(0), Some(0));
    status.uncounted = random.pick(&[None, Some(Uncounted::default())]);
    if !random.one_in(6) {
        status.start_time = status.start_time.or(Some(Time(9)));
    }
}

/// Changes one field of a status.
pub fn vary(random: &mut Random, status: &mut JobStatus) {
    let times = [None, Some(Time(9)), Some(Time(10)), Some(Time(11))];
    match random.below(14) {
        0 => status.active = small(random),
        1 => status.ready = random.pick(&[None, Some(0), Some(1), Some(3), Some(-1)]),
        2 => status.terminating = random.pick(&[None, Some(0), Some(1), Some(-1)]),
        3 => status.succeeded = small(random),
        4 => status.failed = small(random),
        5 => status.start_time = random.pick(&times),
        6 => status.completion_time = random.pick(&times),
        7 => status.completed_indexes = indexes(random).into(),
        8 => status.failed_indexes = (!random.one_in(3)).then(|| indexes(random).into()),
        9 => status.uncounted = uncounted(random),
        10 => {
            let place = random.below(status.conditions.len() + 1);
            status.conditions.insert(place, any_condition(random));
        }
        11 if !status.conditions.is_empty() => {
            let place = random.below(status.conditions.len());
            status.conditions.remove(place);
        }
        12 if !status.conditions.is_empty() => {
            let place = random.below(status.conditions.len());
            status.conditions[place] = any_condition(random);
        }
        _ => status.conditions.reverse(),
    }
}

fn small(random: &mut Random) -> i32 {
    random.pick(&[-1, 0, 0, 0, 1, 1, 2, 2, 3, 3])
}

fn uncounted(random: &mut Random) -> Option<Uncounted> {
    if random.one_in(4) {
        return None;
    }
    let mut lists = Uncounted::default();
    for _ in 0..random.below(3) {
        let uid = if random.one_in(8) { Uid::EMPTY } else { Uid(0x1000 + random.below(5) as u128) };
        let list = if random.one_in(2) { &mut lists.succeeded } else { &mut lists.failed };
        list.push(uid);
    }
    Some(lists)
}

fn any_condition(random: &mut Random) -> Condition {
    let kinds = [
        ConditionKind::Complete,
        ConditionKind::Failed,
        ConditionKind::Suspended,
        ConditionKind::FailureTarget,
        ConditionKind::SuccessCriteriaMet,
        ConditionKind::Other("Strange".into()),
    ];
    let values =
        [ConditionStatus::True, ConditionStatus::True, ConditionStatus::False, ConditionStatus::Unknown];
    condition(random.pick(&kinds), random.pick(&values))
}

fn condition(kind: ConditionKind, status: ConditionStatus) -> Condition {
    Condition { kind, status, reason: "".into(), message: "".into(), last_transition_time: None }
}

/// Returns a list of indexes that is valid, almost valid, or composed of random fragments.
fn indexes(random: &mut Random) -> String {
    const TEXTS: &[&str] = &[
        "",
        "0",
        "1",
        "0,1",
        "0-1",
        "0-2",
        "0,2",
        "1-2",
        "2",
        "4",
        "3-4",
        "0,2-4",
        "+1",
        "00",
        "1-1",
        "2-1",
        "-1",
        "5",
        "0-5",
        "1,0",
        "0,0",
        "0-2,2",
        "a",
        "0,",
        ",0",
        "0-1-2",
        "1--2",
        " 1",
        "1e0",
        "99999999999999999999",
        "4294967296",
        "2147483648",
        "4,1",
        "1,4",
    ];
    const PARTS: &[&str] = &["0", "1", "2", "3", "4", ",", ",", "-", "-", "+", "x"];
    if random.one_in(3) {
        let length = random.below(7);
        return (0..length).map(|_| random.pick(PARTS)).collect();
    }
    random.pick(TEXTS).to_owned()
}

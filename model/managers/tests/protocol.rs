//! Decisions of the mirror protocol that the explored scopes do not show: Indexed Jobs, success policies, and specifications.

use std::sync::Arc;

use jobcheck_managers::protocol::{
    Base, CopyView, LocalView, Memory, Request, WorkerView, base_of, copy_spec, decide, status,
};
use jobcheck_spec::apiserver::{RuleSet, created};
use jobcheck_spec::job::{
    CompletionMode, Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus, SuccessPolicy,
    Template, Uncounted,
};
use jobcheck_spec::{Time, Uid};

fn job(spec: JobSpec, status: JobStatus) -> Job {
    let template = Template { container_names: vec!["main".into()], ..Template::default() };
    let sent = Job {
        uid: Uid(1),
        name: "job".into(),
        namespace: "default".into(),
        generation: 0,
        created: Time(0),
        deleting: false,
        finalizers: Vec::new(),
        metadata: Arc::default(),
        probes_digest: 0,
        spec: Arc::new(JobSpec { template, managed_by: Some("example.com/mirror".into()), ..spec }),
        status: JobStatus::default(),
    };
    Job { status, ..created(&RuleSet::V1_36, &sent) }
}

fn copy(base: Base, status: JobStatus) -> CopyView {
    CopyView { origin: Some(Uid(1)), base, suspended: false, deleting: false, finalizer: true, status }
}

fn holds(kind: ConditionKind) -> Condition {
    let time = Some(Time(7));
    let status = ConditionStatus::True;
    Condition { kind, status, reason: "Reason".into(), message: "".into(), last_transition_time: time }
}

fn indexed() -> JobSpec {
    let mode = Some(CompletionMode::Indexed);
    JobSpec { completions: Some(3), parallelism: Some(3), completion_mode: mode, ..JobSpec::default() }
}

#[test]
fn an_index_that_any_copy_has_completed_stays_completed() {
    let counted =
        JobStatus { succeeded: 1, failed: 2, completed_indexes: "0".into(), ..JobStatus::default() };
    let local = job(indexed(), counted);
    let base = base_of(&local);
    assert_eq!(base, Base { succeeded: 0, failed: 2 });
    let shown = JobStatus { succeeded: 1, failed: 1, completed_indexes: "2".into(), ..JobStatus::default() };
    let new = status(&local, &copy(base, shown)).expect("the copy shows something new");
    assert_eq!((new.succeeded, new.failed, &*new.completed_indexes), (2, 3, "0,2"));
}

#[test]
fn a_new_copy_asks_for_what_is_left() {
    let spec = JobSpec { completions: Some(5), backoff_limit: Some(3), ..JobSpec::default() };
    let local = job(spec, JobStatus { succeeded: 2, failed: 4, ..JobStatus::default() });
    let spec = copy_spec(&local.spec, base_of(&local));
    assert_eq!((spec.completions, spec.backoff_limit, spec.managed_by), (Some(3), Some(0), None));
}

#[test]
fn success_waits_for_the_counters_unless_a_policy_declares_it() {
    let recorded = Uncounted { succeeded: vec![Uid(9)], failed: Vec::new() };
    let shown = JobStatus {
        uncounted: Some(recorded),
        conditions: vec![holds(ConditionKind::SuccessCriteriaMet)],
        ..JobStatus::default()
    };
    let spec = JobSpec { completions: Some(1), ..JobSpec::default() };
    let copy = copy(Base::default(), shown);
    assert_eq!(status(&job(spec, JobStatus::default()), &copy), None);
    let spec = JobSpec { success_policy: Some(SuccessPolicy::default()), ..indexed() };
    let new = status(&job(spec, JobStatus::default()), &copy).expect("the policy decides");
    assert!(new.is_true(&ConditionKind::SuccessCriteriaMet));
    assert_eq!(new.recorded(), 0, "UIDs of the worker are not copied");
}

#[test]
fn nothing_is_decided_from_caches_that_are_not_filled() {
    let local = LocalView { job: job(indexed(), JobStatus::default()), assigned: Some(0) };
    let view = [WorkerView::Known(None), WorkerView::Unknown];
    let decided = |local, workers: &[WorkerView]| decide(local, workers, &Memory::default(), Time(1));
    assert_eq!(decided(None, &view[..1]), []);
    assert_eq!(decided(Some(Some(&local)), &view), []);
    assert_eq!(decided(Some(Some(&local)), &view[..1]), [Request::Create(0, Base::default())]);
}

#[test]
fn a_reported_copy_is_left_alone() {
    let shown = JobStatus { active: 1, start_time: Some(Time(3)), ..JobStatus::default() };
    let local = job(indexed(), shown.clone());
    let copy = copy(Base::default(), shown);
    assert_eq!(status(&local, &copy), None);
    let local = LocalView { job: local, assigned: Some(0) };
    let workers = [WorkerView::Known(Some(Box::new(copy)))];
    assert_eq!(decide(Some(Some(&local)), &workers, &Memory::default(), Time(9)), []);
}

//! The named scopes. [`named`] finds one, [`all`] and the modules list them.

pub(crate) mod environment;
pub mod gates;
pub mod progress;
pub mod reference;

use std::sync::Arc;

use crate::env::user::{SpecEdit, UserAction};
use crate::ghost::GhostHistory;
use crate::knowledge::Knowledge;
use crate::process::state::Process;
use crate::process::steps::Faults;
use crate::process::ttl::TtlController;
use crate::scope::{Scope, Subject, TtlSubject};
use crate::world::{Driver, JobState, TtlDriver, World};
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::apiserver::{RuleSet, created};
use jobcheck_spec::constants::Constants;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::{
    CompletionMode, FailureAction, Job, JobSpec, JobStatus, PodFailurePolicy, PodFailureRule,
    PodReplacementPolicy, SuccessPolicy, SuccessRule, Template,
};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// The initial state of a scope: its Jobs exist, and nothing else has happened.
#[must_use]
pub fn initial(scope: &Scope) -> World {
    let job_states = (0u128..).zip(&scope.jobs).map(|(number, spec)| {
        let gates = scope.gates_after(0);
        let job_state = JobState::new(job_with(&scope.rules, number, incarnation::uid(number, 0), spec));
        let ghost = GhostHistory { gates, ..job_state.ghost };
        let (driver, ttl) = drivers(&scope.subject, Knowledge::up_to_date(gates));
        let mut job_state = JobState { driver, ttl, ghost, ..job_state };
        scope.found.iter().for_each(|found| job_state.find(*found));
        job_state
    });
    let job_states = job_states.collect();
    World { now: Time(0), position: 0, job_states }
}

fn drivers(subject: &Subject, knowledge: Knowledge) -> (Driver, TtlDriver) {
    let Subject::Algorithm(algorithm) = subject else {
        return (Driver::Specification(knowledge), TtlDriver::Specification);
    };
    let process = Process { knowledge, ..Process::started() };
    let ttl = match algorithm.ttl {
        TtlSubject::Specification => TtlDriver::Specification,
        TtlSubject::Controller { .. } => TtlDriver::Controller(Box::new(TtlController::started())),
    };
    (Driver::Processes { processes: vec![process], delayed: None }, ttl)
}

/// The Job of this number as the API server stores it. The UID distinguishes it from other Jobs of the name.
pub(crate) fn job_with(rules: &RuleSet, number: u128, uid: Uid, spec: &JobSpec) -> Job {
    let sent = Job {
        uid,
        name: format!("job-{number}").into(),
        namespace: "default".into(),
        generation: 0,
        created: Time(0),
        deleting: false,
        finalizers: Vec::new(),
        metadata: Arc::default(),
        probes_digest: 0,
        spec: Arc::new(spec.clone()),
        status: JobStatus::default(),
    };
    created(rules, &sent)
}

/// The scope with this name.
#[must_use]
pub fn named(name: &str) -> Option<Scope> {
    [all(), gates::gates()].concat().into_iter().find(|scope| scope.name == name)
}

/// The scopes of the specification in which all feature gates are on. [`gates`] contains the others.
#[must_use]
pub fn all() -> Vec<Scope> {
    [twinned(), environment::all()].concat()
}

/// The scopes that the second specification in TLA+ (`model/tla`) explores too.
#[must_use]
pub fn twinned() -> Vec<Scope> {
    vec![
        non_indexed(),
        deleted_pods(),
        full_lists(),
        ready_pods(),
        work_queue(),
        indexed(),
        indexed_deletion(),
        backoff_limit(),
        backoff_delay(),
        replace_failed(),
        replace_failed_indexes(),
        replace_terminating(),
        fail_job(),
        ignored_failures(),
        success_policy(),
        per_index(),
        fail_index(),
        max_failed_indexes(),
        suspend(),
        deadline(),
        elastic(),
        ttl(),
        job_deletion(),
        stale_pods(),
        stale_job(),
        two_jobs(),
        crash(),
        crash_full_lists(),
        crash_indexed(),
        crash_per_index(),
        crash_backoff(),
    ]
}

/// A Job without policies: one completion, one pod at a time.
pub(crate) fn plain() -> JobSpec {
    JobSpec {
        parallelism: Some(1),
        completions: Some(1),
        backoff_limit: Some(0),
        template: Template { container_names: vec!["main".into()], ..Template::default() },
        ..JobSpec::default()
    }
}

pub(crate) fn many(completions: i32, parallelism: i32) -> JobSpec {
    JobSpec { completions: Some(completions), parallelism: Some(parallelism), ..plain() }
}

/// A Job with `backoffLimitPerIndex`.
pub(crate) fn limited_per_index(limit: i32, spec: JobSpec) -> JobSpec {
    JobSpec { backoff_limit: None, backoff_limit_per_index: Some(limit), ..spec }
}

pub(crate) fn many_indexes(completions: i32, parallelism: i32) -> JobSpec {
    JobSpec { completion_mode: Some(CompletionMode::Indexed), ..many(completions, parallelism) }
}

/// A scope in which no cache lags, no time passes, and no user acts.
pub(crate) fn scope(name: &'static str, about: &'static str, spec: JobSpec, pods: usize) -> Scope {
    Scope {
        name,
        about,
        jobs: vec![spec],
        pods,
        lag: 0,
        job_lag: 0,
        ticks: 0,
        phases: false,
        unready: false,
        endless: false,
        not_checked: &[],
        unscheduled: false,
        flips: false,
        restarts: 0,
        exit_codes: &[1],
        user: Vec::new(),
        found: Vec::new(),
        disruptions: Vec::new(),
        subject: Subject::Specification,
        faults: Faults::default(),
        refused: Vec::new(),
        delayed_requests: false,
        progress: false,
        constants: Constants { pod_failure_backoff_ms: 0, ..Constants::V1_36 },
        gates: Vec::new(),
        rules: RuleSet::V1_36,
        script: None,
        without: Vec::new(),
    }
}

/// A scope of one Job without a name: no cache lags, no time passes, and no user acts.
#[must_use]
pub fn bounded(spec: JobSpec, pods: usize) -> Scope {
    scope("", "", spec, pods)
}

fn non_indexed() -> Scope {
    let about = "two pods run at the same time and both must succeed; backoffLimit 1 allows one failure";
    scope("non-indexed", about, JobSpec { backoff_limit: Some(1), ..many(2, 2) }, 4)
}

fn deleted_pods() -> Scope {
    let about = "a user deletes an active pod and a terminated pod";
    let base = scope("deleted-pods", about, many(2, 2), 3);
    Scope { user: vec![UserAction::DeletePod, UserAction::DeleteEndedPod], ..base }
}

fn full_lists() -> Scope {
    let about = "the lists of uncounted terminated pods hold one UID at a time";
    let spec = JobSpec { backoff_limit: Some(1), ..many(2, 2) };
    let base = scope("full-lists", about, spec, 4);
    Scope { constants: Constants { max_uncounted_pods: 1, ..base.constants }, ..base }
}

fn ready_pods() -> Scope {
    let about = "pods start and become ready before they terminate";
    Scope { phases: true, ..scope("ready-pods", about, many(2, 2), 3) }
}

fn work_queue() -> Scope {
    let about = "a work queue (no completions): after the first success no pod is created, and the Job completes when all pods have terminated";
    let spec = JobSpec { completions: None, backoff_limit: Some(1), ..many(1, 2) };
    scope("work-queue", about, spec, 4)
}

fn indexed() -> Scope {
    let about = "two indexes; backoffLimit 1 allows one failure";
    scope("indexed", about, JobSpec { backoff_limit: Some(1), ..many_indexes(2, 2) }, 4)
}

fn indexed_deletion() -> Scope {
    let about = "two indexes; a user deletes a pod";
    Scope { user: vec![UserAction::DeletePod], ..scope("indexed-deletion", about, many_indexes(2, 2), 4) }
}

fn backoff_limit() -> Scope {
    let about = "one pod after another, until the failures exceed backoffLimit 2";
    scope("backoff-limit", about, JobSpec { backoff_limit: Some(2), ..plain() }, 4)
}

fn backoff_delay() -> Scope {
    let about = "failures delay the next pod by 1 s and by 2 s; time passes";
    let spec = JobSpec { backoff_limit: Some(2), ..plain() };
    let base = scope("backoff-delay", about, spec, 4);
    Scope { ticks: 4, constants: Constants { pod_failure_backoff_ms: 1000, ..base.constants }, ..base }
}

fn replace_failed() -> Scope {
    let about = "podReplacementPolicy Failed: a terminating pod counts towards parallelism";
    let spec = JobSpec { backoff_limit: Some(1), ..replacing_failed(many(2, 2)) };
    Scope { user: vec![UserAction::DeletePod], ..scope("replace-failed", about, spec, 4) }
}

fn replace_failed_indexes() -> Scope {
    let about = "podReplacementPolicy Failed: a terminating pod occupies its index";
    let spec = JobSpec { backoff_limit: Some(1), ..replacing_failed(many_indexes(2, 2)) };
    Scope { user: vec![UserAction::DeletePod], ..scope("replace-failed-indexes", about, spec, 4) }
}

pub(crate) fn replacing_failed(spec: JobSpec) -> JobSpec {
    JobSpec { pod_replacement_policy: Some(PodReplacementPolicy::Failed), ..spec }
}

fn replace_terminating() -> Scope {
    let about = "podReplacementPolicy TerminatingOrFailed: a terminating pod counts as failed, whatever its final phase";
    let spec = JobSpec {
        pod_replacement_policy: Some(PodReplacementPolicy::TerminatingOrFailed),
        backoff_limit: Some(1),
        ..many(2, 2)
    };
    Scope { user: vec![UserAction::DeletePod], ..scope("replace-terminating", about, spec, 4) }
}

pub(crate) fn policy(rules: Vec<PodFailureRule>) -> Option<PodFailurePolicy> {
    Some(PodFailurePolicy { rules })
}

fn fail_job() -> Scope {
    let about = "a pod failure policy: exit code 42 fails the Job";
    let pod_failure_policy = policy(vec![PodFailureRule::on_exit_code(FailureAction::FailJob, 42)]);
    let spec = JobSpec { pod_failure_policy, backoff_limit: Some(1), ..many(2, 2) };
    Scope { exit_codes: &[1, 42], ..scope("fail-job", about, spec, 4) }
}

fn ignored_failures() -> Scope {
    let about = "a pod failure policy: exit code 3 is ignored";
    let pod_failure_policy = policy(vec![PodFailureRule::on_exit_code(FailureAction::Ignore, 3)]);
    let spec = JobSpec { pod_failure_policy, ..many(2, 2) };
    Scope { exit_codes: &[1, 3], ..scope("ignored-failures", about, spec, 4) }
}

fn success_policy() -> Scope {
    let about = "a success policy: the success of index 0, one of two, completes the Job";
    let rule = SuccessRule { succeeded_indexes: Some("0".into()), succeeded_count: None };
    let success_policy = Some(SuccessPolicy { rules: vec![rule] });
    let spec = JobSpec { success_policy, backoff_limit: Some(1), ..many_indexes(2, 2) };
    scope("success-policy", about, spec, 4)
}

fn per_index() -> Scope {
    let about = "backoffLimitPerIndex 1: each of two indexes has one retry";
    let spec = limited_per_index(1, many_indexes(2, 2));
    scope("per-index", about, spec, 4)
}

fn fail_index() -> Scope {
    let about = "a pod failure policy: exit code 42 fails the index at once, with retries left";
    let spec = JobSpec {
        backoff_limit: None,
        backoff_limit_per_index: Some(1),
        pod_failure_policy: policy(vec![PodFailureRule::on_exit_code(FailureAction::FailIndex, 42)]),
        ..many_indexes(2, 1)
    };
    Scope { exit_codes: &[1, 42], ..scope("fail-index", about, spec, 4) }
}

fn max_failed_indexes() -> Scope {
    let about = "backoffLimitPerIndex 0 and maxFailedIndexes 0: the first failed index fails the Job; a user deletes a pod";
    let spec = JobSpec {
        backoff_limit: None,
        backoff_limit_per_index: Some(0),
        max_failed_indexes: Some(0),
        ..many_indexes(2, 2)
    };
    Scope { user: vec![UserAction::DeletePod], ..scope("max-failed-indexes", about, spec, 3) }
}

fn suspend() -> Scope {
    let about = "a user suspends and resumes the Job; time passes";
    let spec = JobSpec { backoff_limit: Some(0), ..many(1, 1) };
    Scope {
        user: vec![UserAction::SUSPEND, UserAction::RESUME],
        ticks: 1,
        ..scope("suspend", about, spec, 3)
    }
}

fn deadline() -> Scope {
    let about = "activeDeadlineSeconds 2; time passes";
    let spec = JobSpec { active_deadline_seconds: Some(2), backoff_limit: Some(1), ..many(1, 1) };
    Scope { ticks: 3, ..scope("deadline", about, spec, 3) }
}

fn elastic() -> Scope {
    let about = "a user scales an Indexed Job down to one index and up again";
    let spec = JobSpec { backoff_limit: Some(0), ..many_indexes(2, 2) };
    Scope { user: vec![UserAction::scale(1), UserAction::scale(2)], ..scope("elastic", about, spec, 3) }
}

fn ttl() -> Scope {
    let about = "ttlSecondsAfterFinished 1; a user sets it to 2; time passes";
    let spec = JobSpec { ttl_seconds_after_finished: Some(1), ..plain() };
    Scope {
        user: vec![UserAction::Edit(SpecEdit::SetTtl(Some(2)))],
        ticks: 3,
        ..scope("ttl", about, spec, 2)
    }
}

fn job_deletion() -> Scope {
    let about = "a user deletes the Job, in the foreground or in the background";
    let spec = JobSpec { backoff_limit: Some(1), ..many(2, 1) };
    Scope {
        user: vec![
            UserAction::DeleteJob(Propagation::Foreground),
            UserAction::DeleteJob(Propagation::Background),
        ],
        ..scope("job-deletion", about, spec, 3)
    }
}

fn stale_pods() -> Scope {
    let about = "the Pod cache lags by up to two events; a user deletes a pod";
    let spec = JobSpec { backoff_limit: Some(0), ..many(2, 2) };
    Scope { lag: 2, user: vec![UserAction::DeletePod], ..scope("stale-pods", about, spec, 3) }
}

fn stale_job() -> Scope {
    let about = "the Job cache lags by one version while a user suspends and resumes the Job";
    let spec = JobSpec { backoff_limit: Some(0), ..many(1, 1) };
    Scope {
        lag: 1,
        job_lag: 1,
        user: vec![UserAction::SUSPEND, UserAction::RESUME],
        ..scope("stale-job", about, spec, 3)
    }
}

fn two_jobs() -> Scope {
    let about = "two independent Jobs";
    let base = scope("two-jobs", about, plain(), 1);
    Scope { jobs: vec![plain(), plain()], ..base }
}

/// The scope with one crash of the manager and this lag of the Pod cache.
fn crashing(base: Scope, lag: usize) -> Scope {
    Scope { faults: Faults { crashes: 1, ..base.faults }, lag, ..base }
}

fn crash() -> Scope {
    let about = "the manager crashes once; its Pod cache lags by up to two events";
    crashing(scope("crash", about, many(2, 2), 3), 2)
}

fn crash_full_lists() -> Scope {
    let about = "the manager crashes once; the lists of uncounted terminated pods hold one UID at a time; the Pod cache lags by up to two events";
    let spec = JobSpec { backoff_limit: Some(1), ..many(2, 2) };
    let base = scope("crash-full-lists", about, spec, 3);
    let constants = Constants { max_uncounted_pods: 1, ..base.constants };
    crashing(Scope { constants, ..base }, 2)
}

fn crash_indexed() -> Scope {
    let about = "two indexes; the manager crashes once, and a user deletes a pod; the Pod cache lags by up to two events";
    let base = scope("crash-indexed", about, many_indexes(2, 2), 3);
    crashing(Scope { user: vec![UserAction::DeletePod], ..base }, 2)
}

fn crash_per_index() -> Scope {
    let about = "backoffLimitPerIndex 1; the manager crashes once; its Pod cache lags by one event";
    let spec = limited_per_index(1, many_indexes(2, 2));
    crashing(scope("crash-per-index", about, spec, 4), 1)
}

fn crash_backoff() -> Scope {
    let about = "the manager crashes once and loses the delays after failures; its Pod cache lags by one event; time passes";
    let spec = JobSpec { backoff_limit: Some(2), ..plain() };
    let base = scope("crash-backoff", about, spec, 3);
    let constants = Constants { pod_failure_backoff_ms: 1000, ..base.constants };
    crashing(Scope { ticks: 2, constants, ..base }, 1)
}

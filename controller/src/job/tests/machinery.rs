//! Families SY and MB, orphans (FT-20 to FT-23), and the memory of a process.

use super::build::{Case, ago, job, pod, secs, wide};
use crate::job::command::Plan;
use crate::job::memory::Memory;
use crate::job::observed::{CompletionMode, JobFacts, PodFacts, Settings};
use crate::job::orphan::{OrphanObserved, OrphanPlan, Owner, plan as plan_orphan};
use crate::job::plan::is_ours;
use crate::values::{Text, Uid};

fn why(plan: &Plan) -> Vec<&'static str> {
    plan.decisions.iter().map(|it| it.requirement).collect()
}

/// MB-02, MB-03, UG-14.
#[test]
fn a_job_belongs_to_the_manager_that_it_names() {
    let named = |name: Option<&str>| {
        let mut job = job();
        job.spec.managed_by = name.map(Text::from);
        job
    };
    let mut settings = Settings::default();
    let ours = |settings: &Settings, name| is_ours(&named(name), settings);
    let all = [None, Some("kubernetes.io/job-controller"), Some("a.example/x"), Some("b.example/y")];
    assert_eq!(all.map(|name| ours(&settings, name)), [true, true, false, false]);
    settings.managed_by = Some(Text::from("a.example/x"));
    assert_eq!(all.map(|name| ours(&settings, name)), [false, false, true, false]);
    settings.gates.managed_by = false;
    assert_eq!(all.map(|name| ours(&settings, name)), [false, false, false, false]);
    settings.managed_by = None;
    assert_eq!(all.map(|name| ours(&settings, name)), [true, true, true, true]);
    let case = Case::new(named(Some("a.example/x")), [pod("a").succeeded()]);
    assert!(case.plan().is_empty());
    assert_eq!(why(&case.plan()), ["MB-03"]);
    assert_eq!(case.plan().action, None);
}

/// TC-11: a finished Job has no memory either.
#[test]
fn a_finished_job_is_left_alone() {
    for kind in ["Complete", "Failed"] {
        let mut case = Case::new(job().status_with(kind, "True", "x"), [pod("a").succeeded(), pod("b")]);
        case.memory.finalizer_removed = [Uid::new("a")].into();
        assert_eq!(case.plan(), Plan { decisions: case.plan().decisions, ..Plan::default() });
        assert_eq!(why(&case.plan()), ["TC-11"]);
        assert_eq!(case.plan().memory, Memory::default());
        case.job = job().status_with(kind, "False", "x");
        assert!(!case.plan().is_empty());
    }
}

/// PC-28.
#[test]
fn a_job_of_an_unknown_mode_is_skipped_with_an_event() {
    let mut strange = job();
    strange.spec.completion_mode = CompletionMode::Unknown;
    let plan = Case::new(strange, []).plan();
    assert!(plan.is_empty());
    assert!(plan.events[0].warning);
    assert_eq!(&*plan.events[0].reason, "UnknownCompletionMode");
    let mut broken = job();
    broken.spec.completion_mode = CompletionMode::Indexed;
    broken.spec.completions = None;
    let plan = Case::new(broken, []).plan();
    assert!(plan.is_empty() && plan.events.is_empty());
    assert_eq!(why(&plan), ["SP-03"]);
}

/// SY-03, B13, S-08.
#[test]
fn nothing_is_planned_before_the_caches_show_own_writes() {
    let mut case = Case::new(job(), [pod("a").succeeded()]);
    case.caches_show_own_writes = false;
    let plan = case.plan();
    assert!(plan.is_empty());
    assert_eq!((why(&plan), plan.wake_after), (vec!["SY-03"], Some(secs(1))));
    assert_eq!(plan.memory, case.memory);
}

/// J-01, H1: deletions are expected by UID.
#[test]
fn a_deletion_that_the_cache_does_not_show_is_waited_for() {
    let mut case = Case::new(wide(1, 5), [pod("a"), pod("b")]);
    case.memory.deleted = [Uid::new("a"), Uid::new("x")].into();
    assert_eq!(case.shape(), "");
    assert_eq!(case.plan().memory.deleted, [Uid::new("a")].into());
    case.pods[0] = pod("a").deleted();
    assert_eq!(case.shape(), "write, untrack a, write");
    assert!(case.plan().memory.deleted.is_empty());
    case.pods.remove(0);
    assert_eq!(case.shape(), "write");
}

/// The log has the reasons of a plan.
#[test]
fn a_plan_has_reasons() {
    assert_eq!(why(&Case::new(job(), []).plan()), ["PC-08"]);
    assert_eq!(why(&Case::new(job(), [pod("a"), pod("b")]).plan()), ["PC-06"]);
    let mut suspended = job();
    suspended.spec.suspend = true;
    assert_eq!(why(&Case::new(suspended, []).plan()), ["SU-01"]);
    assert_eq!(why(&Case::new(job().deleting(), []).plan()), ["FT-19"]);
    assert_eq!(why(&Case::new(job(), [pod("a").succeeded()]).plan()), ["TC-01"]);
    assert_eq!(
        why(&Case::new(job().status_with("FailureTarget", "True", "x"), [pod("a")]).plan()),
        ["TC-01", "TC-07"]
    );
    let end = |job| Case::new(job, []).plan().decisions[0].why;
    assert_eq!(end(wide(1, 0)), "the Job will be Complete");
    assert_eq!(end(job().status_with("FailureTarget", "True", "x")), "the Job will be Failed");
    let failed = Case::new(job(), [pod("a").failed().exited(ago(1), 1)]);
    assert_eq!(why(&failed.plan()), ["BO-02"]);
}

fn orphan<'a>(pod: &'a PodFacts, owner: Owner<'a>, settings: &'a Settings) -> &'static str {
    match plan_orphan(&OrphanObserved { pod, owner, settings }) {
        OrphanPlan::Leave => "leave",
        OrphanPlan::Delete(_) => "delete",
        OrphanPlan::RemoveFinalizer(_) => "untrack",
    }
}

/// FT-20, FT-21.
#[test]
fn a_pod_without_a_job_loses_the_finalizer() {
    let settings = Settings::default();
    for owner in [Owner::Nobody, Owner::Missing] {
        assert_eq!(orphan(&pod("a"), owner, &settings), "untrack");
        assert_eq!(orphan(&pod("a").succeeded(), owner, &settings), "untrack");
        assert_eq!(orphan(&pod("a").untracked(), owner, &settings), "leave");
    }
    assert_eq!(orphan(&pod("a"), Owner::AnotherKind, &settings), "leave");
}

/// FT-21, FT-23, J-06, S-08.
#[test]
fn a_pod_of_a_finished_job_loses_its_finalizer_and_is_deleted_first_if_it_is_active() {
    let settings = Settings::default();
    let done = job().status_with("Complete", "True", "x");
    let of = |job: &JobFacts, pod: PodFacts| orphan(&pod, Owner::Job(job), &settings);
    assert_eq!(of(&done, pod("a")), "delete");
    assert_eq!(of(&done, pod("a").untracked()), "delete");
    assert_eq!(of(&done, pod("a").deleted()), "untrack");
    assert_eq!(of(&done, pod("a").succeeded()), "untrack");
    assert_eq!(of(&done, pod("a").succeeded().untracked()), "leave");
    assert_eq!(of(&done.clone().deleting(), pod("a")), "untrack");
    assert_eq!(of(&job(), pod("a").succeeded()), "leave");
    assert_eq!(of(&job().status_with("FailureTarget", "True", "x"), pod("a").failed()), "leave");
}

/// MB-04.
#[test]
fn a_pod_of_a_job_of_another_manager_is_left_alone() {
    let mut theirs = job().status_with("Complete", "True", "x");
    theirs.spec.managed_by = Some(Text::from("a.example/x"));
    assert_eq!(orphan(&pod("a"), Owner::Job(&theirs), &Settings::default()), "leave");
}

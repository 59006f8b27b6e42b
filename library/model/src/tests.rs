//! Each way in which a check fails, and its replay.

use crate::explore::Explore;
use crate::{
    Api, Failure, FailureKind, MirrorScope, NewPod, Req, Scope, Seen, Stop, Subject, explore, explore_mirror,
};

/// Creates a pod and never looks at one that has ended.
fn creates_only(seen: &Seen<'_>, api: &mut Api<'_, '_>) -> Result<(), Stop> {
    let Some(job) = seen.job() else { return Ok(()) };
    if job.status.is_finished() || seen.pods().any(|pod| pod.is_active()) {
        return Ok(());
    }
    api.create_pod(NewPod::new())
}

fn never_succeeds(_: &Seen<'_>, _: &mut Api<'_, '_>) -> Result<(), Stop> {
    Err(Stop::Failed)
}

fn one_pod() -> Scope {
    Scope::non_indexed(1)
}

fn failure(check: Explore) -> Failure {
    *check.run_with(false, None).expect_err("the subject is wrong")
}

#[test]
fn a_story_can_be_taken_again() {
    let check = || explore().scope(one_pod()).subject(creates_only);
    let first = failure(check());
    assert!(matches!(first.kind, FailureKind::Broken(Some(_))), "{first}");
    let replay = first.replay.clone().expect("a story has a replay string");
    let again = check().run_with(false, Some(&replay)).expect_err("it is still wrong");
    assert_eq!(again.to_string(), first.to_string());
    let command = format!("JOBCHECK_REPLAY={replay} cargo test tests::a_story_can_be_taken_again\n");
    assert!(first.to_string().contains(&command), "{first}");
}

#[test]
fn a_story_of_progress_can_be_taken_again() {
    let check = || explore().scope(one_pod()).subject(never_succeeds).allow_vacuous();
    let first = failure(check());
    let replay = first.replay.clone().expect("a story has a replay string");
    assert!(replay.contains('~'), "{first}");
    let again = check().run_with(false, Some(&replay)).expect_err("it is still wrong");
    assert_eq!(again.to_string(), first.to_string());
}

#[test]
fn a_replay_that_does_not_apply_is_left_out_and_named() {
    let check = || explore().scope(one_pod()).subject(creates_only);
    let expected = failure(check()).to_string();
    for (text, reason) in [
        ("nonsense", "is no replay string"),
        ("non-indexed-1:x", "is no replay string"),
        ("other-scope:0.1", "this check has no scope other-scope"),
        ("non-indexed-1:0.99", "cannot be taken any more, or breaks nothing"),
        ("non-indexed-1:", "cannot be taken any more, or breaks nothing"),
    ] {
        let found = check().run_with(false, Some(text)).expect_err("the whole scope is checked").to_string();
        let (first, others) = found.split_once('\n').expect("it has lines");
        assert!(first.starts_with("JOBCHECK_REPLAY was not used: ") && first.ends_with(reason), "{first}");
        assert_eq!(others, expected, "{text}");
    }
}

#[test]
fn a_story_of_a_wide_scope_needs_no_wide_scope_again() {
    let check = || explore().scope(one_pod()).subject(creates_only);
    let first = *check().run_with(true, None).expect_err("the subject is wrong");
    let replay = first.replay.clone().expect("a story has a replay string");
    assert!(replay.starts_with("non-indexed-1+wide:"), "{replay}");
    let again = check().run_with(false, Some(&replay)).expect_err("it is still wrong");
    assert_eq!(again.to_string(), first.to_string());
}

#[test]
fn a_premise_that_is_never_met_fails_the_check() {
    let check = || explore().scope(one_pod()).subject(never_succeeds).safety_only();
    let found = failure(check());
    let FailureKind::Vacuous(missed) = &found.kind else { panic!("{found}") };
    assert!(missed.contains(&Req::TC05), "{found}");
    assert!(check().allow_vacuous().run_with(false, None).is_ok());
}

#[test]
fn a_search_that_is_cut_fails_the_check() {
    let found = failure(explore().scope(one_pod()).subject(creates_only).max_states(2));
    assert_eq!(found.kind, FailureKind::Cut, "{found}");
}

#[test]
fn an_accepted_requirement_is_not_reported() {
    let broken = |check: Explore| match failure(check).kind {
        FailureKind::Broken(Some(req)) => req,
        other => panic!("{other:?}"),
    };
    let check = || explore().scope(one_pod()).subject(creates_only);
    let first = broken(check());
    let next = check().accept(&[first]).run_with(false, None);
    assert!(next.is_err_and(|found| found.kind != FailureKind::Broken(Some(first))));
}

/// Creates the missing pods of a Job, whatever its own requests were.
struct Blind;

impl Subject for Blind {
    fn sync(&self, seen: &Seen<'_>, api: &mut Api<'_, '_>) -> Result<(), Stop> {
        creates_only(seen, api)
    }

    fn waits_for_own_writes(&self) -> bool {
        false
    }
}

#[test]
fn a_sync_on_a_cache_without_own_writes_creates_a_pod_twice() {
    let found = failure(explore().scope(one_pod().lag(2)).subject(Blind).allow_vacuous());
    assert!(matches!(found.kind, FailureKind::Broken(Some(_))), "{found}");
    assert!(found.to_string().matches("creates pod").count() == 2, "{found}");
}

#[test]
fn a_wide_scope_has_more_of_everything() {
    let check = |wide| explore().scope(one_pod()).subject(creates_only).run_with(wide, None);
    let text = check(true).expect_err("it is wrong there, too").to_string();
    assert!(text.contains("non-indexed-1+wide") && text.contains("lags by up to 2 events"), "{text}");
}

#[test]
fn a_mirror_that_does_nothing_is_found() {
    let scope = MirrorScope::named("managers/lost-copy").expect("the scope exists");
    let found = explore_mirror().scope(scope).mirror(|_: &crate::Views<'_>| Vec::new()).run();
    let found = found.expect_err("the Job never ends");
    assert!(found.to_string().contains("managers/lost-copy"), "{found}");
}

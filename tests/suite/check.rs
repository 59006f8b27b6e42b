//! Each property of the specification detects that its guard is switched off. The tests of the command line explore all scopes
//! (`cli/tests/cli/checkout.rs`).

use std::sync::Arc;

use jobcheck_explorer::alphabet::Write;
use jobcheck_explorer::check::{Bounds, Cut, Outcome, explore, explore_for};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::gates::gates;
use jobcheck_explorer::scopes::{all, initial, named};
use jobcheck_explorer::step::Step;
use jobcheck_explorer::transition::admits;
use jobcheck_spec::apiserver::{would_refuse_create, would_refuse_status};
use jobcheck_spec::job::{ConditionStatus, Job, JobStatus};
use jobcheck_spec::{Req, Time, Uid};
use jobcheck_tests::scopes::states;
/// All scopes of the specification, those of gates included.
pub fn whole() -> Vec<Scope> {
    [all(), gates()].concat()
}

/// The scopes with at most so many states. Every property holds in them.
pub fn small(states: usize) -> impl Iterator<Item = Scope> {
    let bounds = Bounds { max_states: Some(states), ..Bounds::none(1) };
    whole().into_iter().filter(move |scope| matches!(explore(scope, &bounds).outcome, Outcome::Holds))
}

pub fn scope(name: &str) -> Scope {
    named(name).unwrap_or_else(|| panic!("there is no scope {name}"))
}

/// The shortest counterexample for a property of this requirement.
pub fn broken(scope: &Scope, req: Req, symmetry: bool) -> Option<Counterexample> {
    let is_wanted = |number: Option<usize>| number.is_some_and(|number| PROPERTIES[number].req == req);
    let bounds = Bounds { max_states: Some(200_000), symmetry, ..Bounds::none(1) };
    match explore_for(scope, &bounds, &is_wanted).outcome {
        Outcome::Broken(found) => Some(*found),
        Outcome::Holds | Outcome::NotFinished(_) => None,
    }
}

#[test]
fn a_search_that_reaches_a_limit_proves_nothing() {
    let scope = scope("non-indexed");
    let few = Bounds { max_states: Some(100), ..Bounds::none(1) };
    let late = Bounds { stop: Arc::new(|| true), ..Bounds::none(2) };
    let enough = Bounds { max_states: Some(1847), ..Bounds::none(1) };
    let small = Bounds { max_memory: Some(1000), ..Bounds::none(1) };
    assert!(matches!(explore(&scope, &few).outcome, Outcome::NotFinished(Cut::States)));
    assert!(matches!(explore(&scope, &late).outcome, Outcome::NotFinished(Cut::Time)));
    assert!(matches!(explore(&scope, &small).outcome, Outcome::NotFinished(Cut::Memory)));
    assert!(matches!(explore(&scope, &enough).outcome, Outcome::Holds));
}

/// Requirements whose guards are switched off, a scope, the property that detects this, and the length of the
/// counterexample. If the server has a rule of its own, SS-37 detects this unless that rule is off too.
pub const MISSING_GUARDS: &[(&[Req], &str, Req, usize)] = &[
    (&[Req::FT02], "non-indexed", Req::FT02, 6),
    (&[Req::FT02], "non-indexed", Req::FT31, 4),
    (&[Req::FT02], "non-indexed", Req::S01, 6),
    (&[Req::FT03], "non-indexed", Req::FT03, 3),
    (&[Req::FT06], "non-indexed", Req::FT06, 2),
    (&[Req::FT12], "indexed", Req::FT12, 1),
    (&[Req::FT13], "replace-terminating", Req::SS37, 5),
    (&[Req::FT13, Req::SS02], "replace-terminating", Req::FT13, 7),
    (&[Req::FT03, Req::PF09], "fail-job", Req::PF09, 3),
    (&[Req::FT14], "deleted-pods", Req::FT14, 2),
    (&[Req::FT16], "replace-terminating", Req::FT14, 7),
    (&[Req::FT18], "non-indexed", Req::RP03, 2),
    (&[Req::PC04], "non-indexed", Req::PC08, 3),
    (&[Req::PC04], "non-indexed", Req::PC04, 3),
    (&[Req::PC17], "indexed", Req::PC17, 1),
    (&[Req::PC18], "indexed", Req::PC18, 2),
    (&[Req::PC21], "indexed", Req::PC21, 3),
    (&[Req::BO01], "backoff-delay", Req::BO01, 3),
    (&[Req::BO12], "backoff-limit", Req::BO12, 1),
    (&[Req::RP03], "replace-failed", Req::RP11, 4),
    (&[Req::RP12], "replace-failed-indexes", Req::RP12, 3),
    (&[Req::TC03], "non-indexed", Req::TC03, 8),
    (&[Req::TC04], "non-indexed", Req::SS37, 6),
    (&[Req::TC04, Req::PC02], "deleted-pods", Req::TC04, 5),
    (&[Req::TC05], "non-indexed", Req::SS37, 1),
    (&[Req::TC05, Req::SS24], "non-indexed", Req::TC05, 1),
    (&[Req::TC06], "non-indexed", Req::SS37, 6),
    (&[Req::TC06, Req::SS04, Req::SS08], "non-indexed", Req::TC06, 6),
    (&[Req::TC07], "backoff-limit", Req::TC07, 4),
    (&[Req::TC11, Req::SU05], "non-indexed", Req::TC11, 9),
    (&[Req::SS34], "indexed", Req::SS34, 5),
    (&[Req::PF06], "ignored-failures", Req::PF06, 3),
    (&[Req::SX02], "success-policy", Req::SX02, 3),
    (&[Req::BI01], "per-index", Req::BI01, 1),
    (&[Req::BI01], "fail-index", Req::SS37, 3),
    (&[Req::BI01, Req::SS17], "fail-index", Req::BI14, 3),
    (&[Req::BI02], "per-index", Req::BI02, 1),
    (&[Req::BI04], "per-index", Req::BI04, 6),
    (&[Req::BI06], "max-failed-indexes", Req::BI06, 1),
    (&[Req::BI07], "fail-index", Req::BI07, 3),
    (&[Req::BI08], "per-index", Req::BI02, 5),
    (&[Req::SU01], "suspend", Req::SU01, 2),
    (&[Req::SU02], "suspend", Req::SU02, 3),
    (&[Req::SU04], "deadline", Req::SS37, 2),
    (&[Req::SU04, Req::SS09], "deadline", Req::SU04, 2),
    (&[Req::SU08], "deadline", Req::SU08, 1),
    (&[Req::TT03], "ttl", Req::TT03, 6),
    (&[Req::TT13], "ttl", Req::TT13, 1),
    (&[Req::UG05], "gates/pod-replacement-policy", Req::UG05, 2),
    (&[Req::BI04], "gates/backoff-limit-per-index", Req::UG09, 4),
    (&[Req::MB03], "gates/managed-by", Req::UG15, 1),
    (&[Req::MB03], "gates/beside-another-manager", Req::MB14, 2),
    (&[Req::FT32], "deleted-pods", Req::FT32, 3),
    (&[Req::TC14], "backoff-limit", Req::TC14, 3),
    (&[Req::BI15], "per-index", Req::BI15, 3),
    (&[Req::BI08], "per-index", Req::BI15, 4),
    (&[Req::BI16], "per-index", Req::BI16, 6),
    (&[Req::BO10], "per-index-delay", Req::BI17, 4),
];

#[test]
fn each_property_detects_a_missing_guard() {
    let found: Vec<(&[Req], &str, Req, usize)> = MISSING_GUARDS
        .iter()
        .map(|(without, name, property, _)| {
            let scope = without.iter().fold(scope(name), |scope, req| scope.without(*req));
            let found = broken(&scope, *property, false);
            (*without, *name, *property, found.map_or(0, |found| found.path.len()))
        })
        .collect();
    assert_eq!(found, MISSING_GUARDS);
}

#[test]
fn every_property_has_a_missing_guard_that_breaks_it() {
    // The mutants test the properties of algorithms.
    let of_the_specification = PROPERTIES.iter().filter(|property| !property.needs_processes);
    let mut properties: Vec<Req> = of_the_specification.map(|property| property.req).collect();
    let mut detected: Vec<Req> = MISSING_GUARDS.iter().map(|(_, _, property, _)| *property).collect();
    properties.sort_unstable();
    detected.sort_unstable();
    detected.dedup();
    assert_eq!(detected, properties);
}

#[test]
fn a_counterexample_is_readable() {
    let scope = scope("deleted-pods").without(Req::TC04).without(Req::PC02);
    let found = broken(&scope, Req::TC04, false).unwrap();
    let lines: Vec<String> = narrative::lines(&scope, &found.path)
        .into_iter()
        .map(|line| {
            let stale = line.stale.map_or(String::new(), |stale| format!(", although {stale}"));
            format!("{} {}{stale}", line.who, line.what)
        })
        .collect();
    let text = format!("{}: {}\n{}", found.property, found.why, lines.join("\n"));
    let expected = [
        "a Job has no terminal condition while a pod is active or terminating: the Job finished with 1 terminating and 0 active pods",
        "manager creates pod 1",
        "user deletes pod 1",
        "manager writes the status: ready=0, terminating=0, uncounted.failed +pod 1, startTime=0 s, FailureTarget=True (BackoffLimitExceeded)",
        "manager removes the finalizer of pod 1",
        "manager writes the status: failed 0 -> 1, uncounted.failed -pod 1, Failed=True (BackoffLimitExceeded)",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

/// One edit of a status.
type StatusEdit = fn(&mut JobStatus);

/// Edits that no view admits or that the API server refuses, with the number of status writes that each changes. A view has
/// no time, so a write without a condition may come before the deadline (`docs/reference/judging.md`).
const STATUS_EDITS: &[(&str, StatusEdit, usize)] = &[
    ("failed + 1", |status| status.failed += 1, 2029),
    ("succeeded + 1", |status| status.succeeded += 1, 2029),
    ("failed - 1", |status| status.failed -= 1, 2029),
    ("active + 9", |status| status.active += 9, 2029),
    ("ready + 9", |status| status.ready = status.ready.map(|it| it + 9), 2029),
    ("terminating + 9", |status| status.terminating = status.terminating.map(|it| it + 9), 2029),
    ("no startTime", |status| status.start_time = None, 1993),
    ("completionTime", |status| status.completion_time = Some(Time(0)), 2014),
    ("an unknown UID", |status| status.uncounted.get_or_insert_default().failed.push(Uid(99)), 2029),
    ("an unknown index", |status| status.completed_indexes = "99".into(), 2029),
    ("no true condition", |status| status.conditions.retain(|it| it.status != ConditionStatus::True), 458),
];

#[test]
fn enabled_steps_are_admitted_and_edited_status_writes_are_refused() {
    let (mut edited, mut admitted) = (vec![0; STATUS_EDITS.len()], Vec::new());
    for scope in all() {
        for state in states(&scope, 40) {
            for step in state.enabled(&scope) {
                assert_eq!(admits(&state, &step, &scope), Ok(()), "{}: {step:?}", scope.name);
                let Step::Write(job, Write::Status(status)) = &step else { continue };
                for ((name, edit, _), edited) in STATUS_EDITS.iter().zip(&mut edited) {
                    let mut other = status.clone();
                    edit(&mut other);
                    if other == *status {
                        continue;
                    }
                    *edited += 1;
                    let stored = state.job_state(*job).job.as_deref().unwrap();
                    let after = Job { status: *other.clone(), ..stored.clone() };
                    let is_refused = would_refuse_status(&scope.rules, stored, &after).is_some();
                    let other = Step::Write(*job, Write::Status(other));
                    let may_be_early = stored.spec.active_deadline_seconds.is_some();
                    if !is_refused && !may_be_early && admits(&state, &other, &scope).is_ok() {
                        admitted.push(format!("{name} in {}: {other:?}", scope.name));
                    }
                }
            }
        }
    }
    assert!(admitted.is_empty(), "{} edits are admitted, such as {:#?}", admitted.len(), admitted.first());
    let pinned: Vec<usize> = STATUS_EDITS.iter().map(|(_, _, count)| *count).collect();
    assert_eq!(edited, pinned);
}

#[test]
fn the_jobs_of_all_scopes_are_valid() {
    for scope in all() {
        for job_state in &initial(&scope).job_states {
            let job = job_state.job.as_deref().unwrap();
            assert_eq!(would_refuse_create(job), None, "{}", scope.name);
        }
    }
}

#[test]
fn scopes_have_different_names() {
    let names: std::collections::BTreeSet<&str> = all().iter().map(|scope| scope.name).collect();
    assert_eq!(names.len(), all().len());
}

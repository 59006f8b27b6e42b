//! Ways through scopes, written as native traces: the trace says of them what the model says.

use std::fmt::Write as _;
use std::sync::Arc;

use jobcheck_harness::render::native;
use jobcheck_harness::report::{Exit, Judging, ReplayReport, judge};
use jobcheck_model::algorithm::scopes;
use jobcheck_model::check::{Walking, walk};
use jobcheck_model::mutants::{MUTANTS, Mutant};
use jobcheck_model::scope::Scope;
use jobcheck_model::step::Step;
use jobcheck_model::{Judged, Req};
use jobcheck_traces::Input;

/// The way that is walked with a seed.
fn walked(scope: &Scope, seed: u64) -> Vec<Step> {
    let walking = Walking { walks: 1, depth: 150, seed, stop: Arc::new(|| false) };
    let walked = walk(scope, &walking);
    assert!(walked.found.is_none(), "{} with seed {seed}", scope.name);
    walked.last
}

fn replayed(scope: &Scope, path: &[Step]) -> ReplayReport {
    let trace = native(scope, path, None).unwrap();
    judge(&[vec![Input::Bytes(scope.name.to_owned(), trace)]], &Judging::default(), &mut |_, _| {})
}

/// The broken requirements, in order, with what was found.
fn told(report: &ReplayReport) -> Vec<String> {
    let findings = report.jobs.iter().flat_map(|job| &job.violations);
    let mut lines: Vec<String> = findings
        .map(|it| {
            let req = it.requirement.map_or("-", |id| id.0.id());
            format!("{req} line {:?}: {} ({}: expected {}, found {})", it.line, it.write, it.what, it.expected, it.found)
        })
        .collect();
    lines.extend(report.jobs.iter().flat_map(|job| &job.doubts).map(|doubt| format!("doubt: {doubt}")));
    lines.extend(report.errors.iter().map(|error| format!("error: {error:?}")));
    lines
}

#[test]
fn what_the_algorithm_does_conforms() {
    let (mut wrong, mut traces) = (String::new(), 0);
    for scope in scopes::all() {
        for seed in 0..40 {
            let path = walked(&scope, seed);
            let report = replayed(&scope, &path);
            traces += 1;
            if report.exit_code != Exit::Conforms {
                writeln!(wrong, "{} seed {seed}: {:?} {:#?}", scope.name, report.exit_code, told(&report)).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "of {traces}: {wrong}");
}

fn is_same(found: Req, expected: Req) -> bool {
    found == expected || found.also().contains(&expected) || expected.also().contains(&found)
}

/// Whether a trace can show the defect.
fn is_traceable(mutant: &Mutant) -> bool {
    matches!(mutant.requirement().entry().judged, Judged::Truth | Judged::View | Judged::Audit)
}

#[test]
fn replay_finds_each_defect_in_its_trace() {
    let mut survivors = String::new();
    for mutant in MUTANTS.iter().filter(|mutant| mutant.is_searchable()) {
        let hunt = mutant.hunt();
        let report = replayed(&mutant.scope(), &hunt.found().unwrap().path);
        let first = report.jobs.iter().flat_map(|job| &job.violations).next();
        let found = first.and_then(|it| it.requirement).map(|id| id.0);
        let agrees = found.is_some_and(|found| is_same(found, mutant.requirement()));
        if !agrees {
            let (id, shows) = (mutant.id, mutant.shows);
            let traceable = is_traceable(mutant);
            let last = hunt.found().unwrap().path.iter().fold(jobcheck_model::scopes::initial(&mutant.scope()), |w, s| w.apply(s, &mutant.scope()));
            let past = &last.lives[0].past;
            writeln!(survivors, "{id}: {shows:?} {traceable} obj {:?} ref {:?}: {:?} {:#?}", past.objection, past.refused, report.exit_code, told(&report)).unwrap();
        }
    }
    assert!(survivors.is_empty(), "{survivors}");
}

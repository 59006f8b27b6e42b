//! The report for programs: docs/reference/schemas/check.schema.json.

use jobcheck_explorer::check::{Cut, Outcome};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative::{Line, Narrative, Objection};
use jobcheck_explorer::progress::PROGRESS;
use jobcheck_explorer::properties::{DEADLOCK, PROPERTIES};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::StepKind;
use jobcheck_judge::report::API_VERSION;
use jobcheck_spec::Req;
use serde::Serialize;

use super::exploration::{Report, Run};
use super::managers;
use super::text;
use crate::memory;

/// The report of a call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    scopes: Vec<ScopeReport>,
    not_run: Vec<&'static str>,
    never_taken: Vec<&'static str>,
    peak_memory: Option<u64>,
    properties: Vec<PropertyReport>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeReport {
    scope: &'static str,
    subject: &'static str,
    bounds: String,
    states: usize,
    symmetry: bool,
    generated: u64,
    depth: usize,
    widest_layer: usize,
    bytes_per_state: f64,
    parts: usize,
    seconds: f64,
    limit: Option<&'static str>,
    result: &'static str,
    rests: Option<usize>,
    pods_bound_reached: bool,
    steps: Vec<StepReport>,
    counterexample: Option<CounterexampleReport>,
}

#[derive(Serialize)]
struct StepReport {
    kind: &'static str,
    count: u64,
    fresh: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PropertyReport {
    requirement: Option<&'static str>,
    name: &'static str,
    scopes_reached: Option<usize>,
}

/// A broken property with the path that breaks it.
#[derive(Serialize)]
pub struct CounterexampleReport {
    requirement: Option<&'static str>,
    property: &'static str,
    why: String,
    turn: Option<usize>,
    world: Vec<String>,
    story: Vec<StoryLine>,
    end: String,
}

#[derive(Serialize)]
struct StoryLine {
    who: &'static str,
    what: String,
    status: Option<String>,
    stale: Option<String>,
    decides: Option<String>,
    refusal: Option<BrokenReport>,
    objections: Vec<BrokenReport>,
    events: Vec<String>,
}

/// A requirement that a write breaks.
#[derive(Serialize)]
struct BrokenReport {
    requirement: &'static str,
    sentence: &'static str,
    found: String,
}

/// The report of an exploration.
pub fn report(report: &Report) -> CheckReport {
    let named = PROPERTIES.iter().enumerate().map(|(number, property)| PropertyReport {
        requirement: Some(property.req.id()),
        name: property.name,
        scopes_reached: Some(report.reached(number)),
    });
    let deadlock = PropertyReport { requirement: None, name: DEADLOCK, scopes_reached: None };
    let with_progress = report.runs.iter().filter(|run| run.exploration.quiescent_states.is_some()).count();
    let progress = PropertyReport { requirement: None, name: PROGRESS, scopes_reached: Some(with_progress) };
    CheckReport {
        api_version: API_VERSION,
        kind: "CheckReport",
        exit_code: report.exit().code(),
        scopes: report.runs.iter().map(|run| scope(run, report.is_interrupted)).collect(),
        not_run: report.not_run.clone(),
        never_taken: report.never_taken().into_iter().map(StepKind::name).collect(),
        peak_memory: memory::peak(),
        properties: named.chain([deadlock, progress]).collect(),
        seconds: report.elapsed.as_secs_f64(),
    }
}

fn scope(run: &Run, is_interrupted: bool) -> ScopeReport {
    let it = &run.exploration;
    let (result, limit) = match &it.outcome {
        Outcome::Holds => ("holds", None),
        Outcome::Broken(_) => ("broken", None),
        Outcome::NotFinished(cut) => ("notFinished", Some(limit(*cut, is_interrupted))),
    };
    let steps = StepKind::ALL.iter().map(|kind| {
        let coverage = it.steps[*kind as usize];
        StepReport { kind: kind.name(), count: coverage.taken, fresh: coverage.fresh }
    });
    ScopeReport {
        scope: run.scope.name,
        subject: run.scope.subject.name(),
        bounds: text::bounds(&run.scope),
        states: it.states,
        symmetry: it.symmetry,
        generated: it.generated,
        depth: it.depth,
        widest_layer: it.widest,
        bytes_per_state: it.bytes as f64 / it.states.max(1) as f64,
        parts: it.parts,
        seconds: run.elapsed.as_secs_f64(),
        limit,
        result,
        rests: it.quiescent_states,
        pods_bound_reached: it.pods_bound_reached,
        steps: steps.collect(),
        counterexample: run.found().map(|found| counterexample(&run.scope, found)),
    }
}

fn limit(cut: Cut, is_interrupted: bool) -> &'static str {
    match cut {
        Cut::States => "states",
        Cut::Memory => "memory",
        Cut::Time if is_interrupted => "interrupt",
        Cut::Time => "time",
    }
}

/// The report of an exploration between two clusters.
pub fn between_clusters(report: &managers::Report) -> CheckReport {
    CheckReport {
        api_version: API_VERSION,
        kind: "CheckReport",
        exit_code: report.exit().code(),
        scopes: report.runs.iter().map(|run| scope_between_clusters(run, report.is_interrupted)).collect(),
        not_run: report.not_run.clone(),
        never_taken: Vec::new(),
        peak_memory: memory::peak(),
        properties: Vec::new(),
        seconds: report.elapsed.as_secs_f64(),
    }
}

fn scope_between_clusters(run: &managers::Run, is_interrupted: bool) -> ScopeReport {
    use jobcheck_managers::check::Outcome;
    let it = &run.exploration;
    let (result, limit) = match &it.outcome {
        Outcome::Holds => ("holds", None),
        Outcome::Broken(_) => ("broken", None),
        Outcome::NotFinished(cut) => ("notFinished", Some(limit(*cut, is_interrupted))),
    };
    let kinds = jobcheck_managers::step::Step::KINDS.into_iter().zip(&it.steps);
    ScopeReport {
        scope: run.scope.name,
        subject: run.scope.subject.name,
        bounds: run.scope.bounds(),
        states: it.states,
        symmetry: false,
        generated: it.generated,
        depth: it.depth,
        widest_layer: it.widest,
        bytes_per_state: it.bytes as f64 / it.states.max(1) as f64,
        parts: it.parts,
        seconds: run.elapsed.as_secs_f64(),
        limit,
        result,
        rests: it.settled,
        pods_bound_reached: true,
        steps: kinds.map(|(kind, it)| StepReport { kind, count: it.taken, fresh: it.fresh }).collect(),
        counterexample: it.found().map(|found| counterexample_between_clusters(&run.scope, found)),
    }
}

/// The counterexample of a scope of managers.
pub fn counterexample_between_clusters(
    scope: &jobcheck_managers::scope::Scope,
    found: &jobcheck_managers::check::Counterexample,
) -> CounterexampleReport {
    let steps = jobcheck_managers::narrative::steps(scope, &found.path).into_iter();
    let line = |what| StoryLine {
        who: "",
        what,
        status: None,
        stale: None,
        decides: None,
        refusal: None,
        objections: Vec::new(),
        events: Vec::new(),
    };
    CounterexampleReport {
        requirement: Some(found.req.id()),
        property: found.req.entry().sentence,
        why: found.why.clone(),
        turn: found.cycle_start,
        world: Vec::new(),
        story: steps.map(line).collect(),
        end: format!("broken: {}", found.why),
    }
}

/// The counterexample of a scope.
pub fn counterexample(scope: &Scope, found: &Counterexample) -> CounterexampleReport {
    let narrative = Narrative::of(scope, found, None);
    CounterexampleReport {
        requirement: found.req.map(Req::id),
        property: found.property,
        why: found.why.clone(),
        turn: found.cycle_start,
        world: narrative.head,
        story: narrative.lines.into_iter().map(line).collect(),
        end: narrative.end,
    }
}

fn line(line: Line) -> StoryLine {
    let Line { who, what, stale, decides, refusal, objections, events, status } = line;
    let broken = |Objection { req, text }: Objection| BrokenReport {
        requirement: req.id(),
        sentence: req.entry().sentence,
        found: text,
    };
    let objections = objections.into_iter().map(broken).collect();
    StoryLine { who, what, status, stale, decides, refusal: refusal.map(broken), objections, events }
}

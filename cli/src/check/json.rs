//! The report for programs: docs/reference/schemas/check.schema.json.

use anyhow::Context;
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

use super::{Report, Run, process, text};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckReport {
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

/// A broken property, with the way there.
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

/// The report as JSON.
pub fn json(report: &Report) -> anyhow::Result<String> {
    to_json(&whole(report))
}

/// The report as a value.
pub fn value(report: &Report) -> anyhow::Result<serde_json::Value> {
    serde_json::to_value(whole(report)).context("the report as JSON")
}

/// Anything as JSON.
pub fn to_json(report: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(report).context("the report as JSON")? + "\n")
}

/// Anything as YAML.
pub fn to_yaml(report: &impl Serialize) -> anyhow::Result<String> {
    serde_saphyr::to_string(report).context("the report as YAML")
}

/// The same as YAML.
pub fn yaml(report: &Report) -> anyhow::Result<String> {
    to_yaml(&whole(report))
}

fn whole(report: &Report) -> CheckReport {
    let named = PROPERTIES.iter().enumerate().map(|(number, property)| PropertyReport {
        requirement: Some(property.req.id()),
        name: property.name,
        scopes_reached: Some(report.reached(number)),
    });
    let deadlock = PropertyReport { requirement: None, name: DEADLOCK, scopes_reached: None };
    let asked = report.runs.iter().filter(|run| run.exploration.quiescent_states.is_some()).count();
    let progress = PropertyReport { requirement: None, name: PROGRESS, scopes_reached: Some(asked) };
    CheckReport {
        api_version: API_VERSION,
        kind: "CheckReport",
        exit_code: report.exit().code(),
        scopes: report.runs.iter().map(scope).collect(),
        not_run: report.not_run.clone(),
        never_taken: report.never_taken().into_iter().map(StepKind::name).collect(),
        peak_memory: process::peak_memory(),
        properties: named.chain([deadlock, progress]).collect(),
        seconds: report.elapsed.as_secs_f64(),
    }
}

fn scope(run: &Run) -> ScopeReport {
    let it = &run.exploration;
    let (result, found) = match &it.outcome {
        Outcome::Holds => ("holds", None),
        Outcome::Broken(found) => ("broken", Some(found)),
        Outcome::NotFinished(_) => ("notFinished", None),
    };
    let limit = match &it.outcome {
        Outcome::NotFinished(Cut::States) => Some("states"),
        Outcome::NotFinished(Cut::Memory) => Some("memory"),
        Outcome::NotFinished(Cut::Time) => Some("time"),
        Outcome::Holds | Outcome::Broken(_) => None,
    };
    ScopeReport {
        scope: run.scope.name,
        subject: subject_name(&run.scope),
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
        steps: StepKind::ALL
            .iter()
            .map(|kind| (kind, it.steps[*kind as usize]))
            .map(|(kind, it)| StepReport { kind: kind.name(), count: it.taken, fresh: it.fresh })
            .collect(),
        counterexample: found.map(|found| counterexample(&run.scope, found)),
    }
}

/// What manages the Jobs of a scope.
pub fn subject_name(scope: &Scope) -> &'static str {
    scope.subject.name()
}

/// What was found in a scope.
pub fn counterexample(scope: &Scope, found: &Counterexample) -> CounterexampleReport {
    let story = Narrative::of(scope, found, None);
    CounterexampleReport {
        requirement: found.req.map(Req::id),
        property: found.property,
        why: found.why.clone(),
        turn: found.cycle_start,
        world: story.head,
        story: story.lines.into_iter().map(line).collect(),
        end: story.end,
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

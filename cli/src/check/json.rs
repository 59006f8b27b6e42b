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
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) exit_code: u8,
    pub(super) scopes: Vec<ScopeReport>,
    pub(super) not_run: Vec<&'static str>,
    pub(super) never_taken: Vec<&'static str>,
    pub(super) peak_memory: Option<u64>,
    pub(super) properties: Vec<PropertyReport>,
    pub(super) seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeReport {
    pub(super) scope: &'static str,
    pub(super) subject: &'static str,
    pub(super) bounds: String,
    pub(super) states: usize,
    pub(super) symmetry: bool,
    pub(super) generated: u64,
    pub(super) depth: usize,
    pub(super) widest_layer: usize,
    pub(super) layers: Vec<usize>,
    pub(super) bytes_per_state: f64,
    pub(super) parts: usize,
    pub(super) seconds: f64,
    pub(super) limit: Option<&'static str>,
    pub(super) result: &'static str,
    pub(super) rests: Option<usize>,
    pub(super) pods_bound_reached: bool,
    pub(super) steps: Vec<StepReport>,
    pub(super) counterexample: Option<CounterexampleReport>,
}

#[derive(Serialize)]
pub(super) struct StepReport {
    pub(super) kind: &'static str,
    pub(super) count: u64,
    pub(super) fresh: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PropertyReport {
    pub(super) requirement: Option<&'static str>,
    pub(super) name: &'static str,
    pub(super) scopes_reached: Option<usize>,
}

/// A broken property with the path that breaks it.
#[derive(Serialize)]
pub struct CounterexampleReport {
    pub(super) requirement: Option<&'static str>,
    pub(super) property: &'static str,
    pub(super) why: String,
    pub(super) turn: Option<usize>,
    pub(super) world: Vec<String>,
    pub(super) story: Vec<StoryLine>,
    pub(super) end: String,
}

#[derive(Serialize)]
pub(super) struct StoryLine {
    pub(super) who: &'static str,
    pub(super) what: String,
    pub(super) status: Option<String>,
    pub(super) stale: Option<String>,
    pub(super) decides: Option<String>,
    pub(super) refusal: Option<BrokenReport>,
    pub(super) objections: Vec<BrokenReport>,
    pub(super) events: Vec<String>,
}

/// A requirement that a write breaks.
#[derive(Serialize)]
pub(super) struct BrokenReport {
    pub(super) requirement: &'static str,
    pub(super) sentence: &'static str,
    pub(super) found: String,
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
        widest_layer: it.layers.iter().copied().max().unwrap_or_default(),
        layers: it.layers.clone(),
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

/// The report of an exploration of managers that write status alone.
pub fn of_managers(report: &managers::Report) -> CheckReport {
    CheckReport {
        api_version: API_VERSION,
        kind: "CheckReport",
        exit_code: report.exit().code(),
        scopes: report.runs.iter().map(|run| scope_of_managers(run, report.is_interrupted)).collect(),
        not_run: report.not_run.clone(),
        never_taken: Vec::new(),
        peak_memory: memory::peak(),
        properties: Vec::new(),
        seconds: report.elapsed.as_secs_f64(),
    }
}

fn scope_of_managers(run: &managers::Run, is_interrupted: bool) -> ScopeReport {
    use jobcheck_managers::check::Outcome;
    let it = &run.exploration;
    let (result, limit) = match &it.outcome {
        Outcome::Holds => ("holds", None),
        Outcome::Broken(_) => ("broken", None),
        Outcome::NotFinished(cut) => ("notFinished", Some(limit(*cut, is_interrupted))),
    };
    let kinds = run.scope.kinds().iter().zip(&it.steps);
    ScopeReport {
        scope: run.scope.name(),
        subject: run.scope.subject(),
        bounds: run.scope.bounds(),
        states: it.states,
        symmetry: false,
        generated: it.generated,
        depth: it.depth,
        widest_layer: it.layers.iter().copied().max().unwrap_or_default(),
        layers: it.layers.clone(),
        bytes_per_state: it.bytes as f64 / it.states.max(1) as f64,
        parts: it.parts,
        seconds: run.elapsed.as_secs_f64(),
        limit,
        result,
        rests: it.settled,
        pods_bound_reached: true,
        steps: kinds.map(|(kind, it)| StepReport { kind, count: it.taken, fresh: it.fresh }).collect(),
        counterexample: it.found().map(counterexample_of_managers),
    }
}

/// The counterexample of a scope of managers.
pub fn counterexample_of_managers(
    found: &jobcheck_managers::check::Counterexample<String>,
) -> CounterexampleReport {
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
        story: found.path.iter().cloned().map(line).collect(),
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

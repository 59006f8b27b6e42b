//! The report for programs: docs/check.schema.json.

use anyhow::Context;
use jobcheck_harness::report::API_VERSION;
use jobcheck_model::check::Outcome;
use jobcheck_model::explore::shortest::Found;
use jobcheck_model::explore::story;
use jobcheck_model::properties::{PROPERTIES, STANDSTILL};
use jobcheck_model::scope::Scope;
use jobcheck_model::step::StepKind;
use serde::Serialize;

use super::{Report, Run};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    scopes: Vec<ScopeReport>,
    not_run: Vec<&'static str>,
    properties: Vec<PropertyReport>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeReport {
    scope: &'static str,
    states: usize,
    generated: usize,
    depth: usize,
    seconds: f64,
    result: &'static str,
    pods_bound_reached: bool,
    steps: Vec<StepReport>,
    counterexample: Option<Counterexample>,
}

#[derive(Serialize)]
struct StepReport {
    kind: &'static str,
    count: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PropertyReport {
    requirement: Option<&'static str>,
    name: &'static str,
    scopes_reached: Option<usize>,
}

#[derive(Serialize)]
struct Counterexample {
    requirement: Option<&'static str>,
    property: &'static str,
    why: String,
    story: Vec<StoryLine>,
}

#[derive(Serialize)]
struct StoryLine {
    who: &'static str,
    what: String,
    status: Option<String>,
    stale: Option<String>,
}

/// The report as JSON.
pub fn json(report: &Report) -> anyhow::Result<String> {
    let json = serde_json::to_string_pretty(&whole(report)).context("the report as JSON")?;
    Ok(json + "\n")
}

/// The same as YAML.
pub fn yaml(report: &Report) -> anyhow::Result<String> {
    serde_saphyr::to_string(&whole(report)).context("the report as YAML")
}

fn whole(report: &Report) -> CheckReport {
    let named = PROPERTIES.iter().enumerate().map(|(number, property)| PropertyReport {
        requirement: Some(property.req.id()),
        name: property.name,
        scopes_reached: Some(report.reached(number)),
    });
    let standstill = PropertyReport { requirement: None, name: STANDSTILL, scopes_reached: None };
    CheckReport {
        api_version: API_VERSION,
        kind: "CheckReport",
        exit_code: report.exit().code(),
        scopes: report.runs.iter().map(scope).collect(),
        not_run: report.not_run.clone(),
        properties: named.chain([standstill]).collect(),
        seconds: report.elapsed.as_secs_f64(),
    }
}

fn scope(run: &Run) -> ScopeReport {
    let it = &run.exploration;
    let (result, found) = match &it.outcome {
        Outcome::Holds => ("holds", None),
        Outcome::Broken(found) => ("broken", Some(found)),
        Outcome::NotFinished => ("notFinished", None),
    };
    ScopeReport {
        scope: run.scope.name,
        states: it.states,
        generated: it.generated,
        depth: it.depth,
        seconds: run.elapsed.as_secs_f64(),
        result,
        pods_bound_reached: it.pods_bound_reached,
        steps: StepKind::ALL
            .into_iter()
            .map(|kind| StepReport { kind: kind.name(), count: it.steps[kind as usize] })
            .collect(),
        counterexample: found.map(|found| counterexample(&run.scope, found)),
    }
}

fn counterexample(scope: &Scope, found: &Found) -> Counterexample {
    let lines = story::tell(scope, &found.path).into_iter();
    Counterexample {
        requirement: found.number.map(|number| PROPERTIES[number].req.id()),
        property: found.property,
        why: found.why.clone(),
        story: lines
            .map(|line| StoryLine { who: line.who, what: line.what, status: line.status, stale: line.stale })
            .collect(),
    }
}

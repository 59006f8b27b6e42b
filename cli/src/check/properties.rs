//! `jobcheck check --list-properties`: what an exploration checks.

use std::fmt::Write;

use jobcheck_explorer::progress::PROGRESS;
use jobcheck_explorer::properties::{DEADLOCK, PROPERTIES};
use jobcheck_judge::report::{API_VERSION, Exit};
use jobcheck_spec::Req;
use serde::Serialize;

use crate::format::Format;
use crate::output;
use crate::styles::{BOLD, DIM};

/// The report for programs: docs/reference/schemas/properties.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PropertiesReport {
    api_version: &'static str,
    kind: &'static str,
    properties: Vec<PropertyReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PropertyReport {
    /// The requirement that the property states, then those that break with it.
    requirements: Vec<&'static str>,
    kind: Kind,
    name: &'static str,
    /// True if a check fails if no scope reaches the premise of the property.
    has_premise: bool,
    /// The systems under test that the property concerns.
    subjects: Subjects,
    /// The sentence of the requirement.
    rule: Option<&'static str>,
}

/// The kind of a property.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    /// Every reachable state.
    Always,
    /// Every fair path.
    Progress,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Always => "always",
            Kind::Progress => "progress",
        }
    }
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
enum Subjects {
    All,
    Controllers,
}

/// Prints the list.
pub fn run(format: Format) -> Exit {
    let report = PropertiesReport { api_version: API_VERSION, kind: "PropertiesReport", properties: all() };
    let rendered = format.render(|| text(&report.properties), || &report);
    output::print_report(rendered, format, Exit::Conforms)
}

fn all() -> Vec<PropertyReport> {
    let of_states = PROPERTIES.iter().map(|property| PropertyReport {
        requirements: requirements(property.req),
        kind: Kind::Always,
        name: property.name,
        has_premise: true,
        subjects: if property.needs_processes { Subjects::Controllers } else { Subjects::All },
        rule: Some(property.req.entry().sentence),
    });
    let without = |name, kind, subjects| PropertyReport {
        requirements: Vec::new(),
        kind,
        name,
        has_premise: false,
        subjects,
        rule: None,
    };
    let others = [
        without(DEADLOCK, Kind::Always, Subjects::All),
        without(PROGRESS, Kind::Progress, Subjects::Controllers),
    ];
    of_states.chain(others).collect()
}

fn requirements(req: Req) -> Vec<&'static str> {
    std::iter::once(req).chain(req.also()).map(Req::id).collect()
}

fn text(properties: &[PropertyReport]) -> String {
    let mut out = format!("{BOLD}{:<6} {:<8}  property{BOLD:#}\n", "rule", "kind");
    for it in properties {
        let id = it.requirements.first().copied().unwrap_or("-");
        let of = match it.subjects {
            Subjects::All => "",
            Subjects::Controllers => " (controllers only)",
        };
        let _ = writeln!(out, "{id:<6} {:<8}  {}{DIM}{of}{DIM:#}", it.kind.name(), it.name);
    }
    let tested = properties.iter().filter(|it| it.has_premise).count();
    let _ = writeln!(
        out,
        "\nalways: holds in every reachable state. progress: holds on every fair path of the scopes of the families \
         progress. {tested} properties have a premise: a state in which they could break. A check of all scopes fails \
         if no scope reaches the premise of a property."
    );
    out
}

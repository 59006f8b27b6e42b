//! The reports of random scenarios on sim, for people and for programs.

use jobcheck_judge::report::{API_VERSION, Exit};
use jobcheck_spec::Req;
use serde::Serialize;

use super::super::args::{Faults, FuzzArgs};
use super::Tally;
use crate::check::other_requirement;
use crate::styles::{BAD, GOOD, OPEN};
use crate::text::Text;

/// The report for programs: docs/reference/schemas/fuzz.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SimReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutant: Option<&'static str>,
    target: &'static str,
    kubernetes: String,
    faults: bool,
    seed: u64,
    runs: u64,
    requests: usize,
    refused: Vec<String>,
    unjudged: Vec<String>,
    found: Vec<FoundReport>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundReport {
    seed: u64,
    requirement: Option<&'static str>,
    why: String,
    steps: usize,
    shortest_steps: usize,
    shortest_seed: u64,
    scenario: String,
}

/// The report for programs.
pub fn whole(tally: &Tally, args: &FuzzArgs) -> SimReport {
    let found = tally.failures.iter().map(|failure| FoundReport {
        seed: failure.seed,
        requirement: failure.requirement.map(Req::id),
        why: failure.why.clone(),
        steps: failure.steps,
        shortest_steps: failure.shortest.0.steps(),
        shortest_seed: failure.shortest.1,
        scenario: failure.scenario(),
    });
    SimReport {
        api_version: API_VERSION,
        kind: "FuzzReport",
        exit_code: tally.exit().code(),
        mutant: args.mutant.map(|mutant| mutant.id),
        target: args.target.name(),
        kubernetes: args.version().minor(),
        faults: args.faults == Faults::All,
        seed: tally.seed,
        runs: tally.runs,
        requests: tally.requests,
        refused: tally.refused.clone(),
        unjudged: tally.unjudged.iter().map(|it| it.why.clone()).collect(),
        found: found.collect(),
        seconds: tally.elapsed.as_secs_f64(),
    }
}

/// The report for people. Its text may change; the JSON report is stable.
pub fn text(tally: &Tally, args: &FuzzArgs) -> String {
    let mut out = Text::default();
    for failure in &tally.failures {
        let req = failure.requirement.map_or(String::new(), |req| format!("{req} "));
        let _ = writeln!(out, "{BAD}seed {}: {req}{BAD:#}{}", failure.seed, failure.why);
        let (draft, seed) = &failure.shortest;
        let (steps, all) = (draft.steps(), failure.steps);
        let _ = writeln!(out, "  {steps} of its {all} steps suffice, with seed {seed}:");
        for line in failure.scenario().lines() {
            let _ = writeln!(out, "    {line}");
        }
        let note = args
            .mutant
            .zip(failure.requirement)
            .and_then(|(it, req)| other_requirement(it.id, it.requirement(), req));
        if let Some(note) = note {
            let _ = writeln!(out, "  {note}");
        }
    }
    for why in tally.unjudged.iter().map(|it| &it.why).chain(&tally.refused) {
        let _ = writeln!(out, "{OPEN}not judged{OPEN:#}: {why}");
    }
    let (paint, result) = match tally.exit() {
        Exit::Conforms => (GOOD, "every trace conforms".to_owned()),
        Exit::Violates => (BAD, format!("{} violate", tally.failures.len())),
        _ => match &tally.ended {
            Some(ended) if tally.has_verdicts() => (OPEN, format!("{ended}; every trace so far conforms")),
            Some(ended) => (OPEN, format!("{ended}; not every run has a verdict")),
            None => (OPEN, "not every run has a verdict".to_owned()),
        },
    };
    let _ = writeln!(
        out,
        "{} runs from seed {}, {} requests in {:.1} s: {paint}{result}{paint:#}",
        tally.runs,
        tally.seed,
        tally.requests,
        tally.elapsed.as_secs_f64()
    );
    out.finish()
}

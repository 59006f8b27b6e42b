//! What random scenarios came to, for people and for programs.

use std::fmt::Write;
use std::time::Duration;

use jobcheck_judge::report::{API_VERSION, Exit};
use jobcheck_spec::Req;
use serde::Serialize;

use super::Sums;
use super::args::{Faults, FuzzArgs};
use crate::styles::{BAD, GOOD, OPEN};

/// The report for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FuzzReport {
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

pub fn whole(sums: &Sums, args: &FuzzArgs, seed: u64, elapsed: Duration) -> FuzzReport {
    let found = sums.found.iter().map(|found| FoundReport {
        seed: found.seed,
        requirement: found.requirement.map(Req::id),
        why: found.why.clone(),
        steps: found.steps,
        shortest_steps: found.shortest.0.steps(),
        shortest_seed: found.shortest.1,
        scenario: found.text(),
    });
    FuzzReport {
        api_version: API_VERSION,
        kind: "FuzzReport",
        exit_code: sums.exit().code(),
        mutant: args.mutant.map(|mutant| mutant.id),
        target: args.target.name(),
        kubernetes: args.version().minor(),
        faults: args.faults == Faults::All,
        seed,
        runs: sums.runs,
        requests: sums.requests,
        refused: sums.refused.clone(),
        unjudged: sums.unjudged.iter().map(|it| it.why.clone()).collect(),
        found: found.collect(),
        seconds: elapsed.as_secs_f64(),
    }
}

pub fn text(sums: &Sums, seed: u64, elapsed: Duration) -> String {
    let mut out = String::new();
    for found in &sums.found {
        let req = found.requirement.map_or(String::new(), |req| format!("{req} "));
        let _ = writeln!(out, "{BAD}seed {}: {req}{BAD:#}{}", found.seed, found.why);
        let (draft, seed) = &found.shortest;
        let _ =
            writeln!(out, "  {} of its {} steps are enough, with seed {seed}:", draft.steps(), found.steps);
        for line in found.text().lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    for why in sums.unjudged.iter().map(|it| &it.why).chain(&sums.refused) {
        let _ = writeln!(out, "{OPEN}not judged{OPEN:#}: {why}");
    }
    let (paint, result) = match sums.exit() {
        Exit::Conforms => (GOOD, "every trace conforms".to_owned()),
        Exit::Violates => (BAD, format!("{} wrong", sums.found.len())),
        _ => (OPEN, "not all of it was judged".to_owned()),
    };
    let _ = writeln!(
        out,
        "{} runs from seed {seed}, {} requests in {:.1} s: {paint}{result}{paint:#}",
        sums.runs,
        sums.requests,
        elapsed.as_secs_f64()
    );
    out
}

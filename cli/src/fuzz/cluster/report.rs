//! The reports of random scenarios on a real control plane, for people and for programs.

use std::collections::BTreeMap;
use std::time::Duration;

use jobcheck_judge::report::{API_VERSION, Exit, with_aliases};
use jobcheck_spec::Req;
use serde::Serialize;

use super::super::args::{Faults, FuzzArgs};
use super::tally::{Ran, Tally};
use super::verdict::Verdict;
use crate::styles::{BAD, GOOD, OPEN};
use crate::text::Text;

/// The results of a search, and its arguments.
pub struct Report<'a> {
    /// The results.
    pub tally: &'a Tally,
    /// The arguments.
    pub args: &'a FuzzArgs,
    /// The seed of the first run.
    pub seed: u64,
    /// The time of the search.
    pub elapsed: Duration,
}

/// The report for programs: docs/reference/schemas/fuzz.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    target: &'static str,
    kubernetes: String,
    faults: bool,
    disturbed: Vec<&'static str>,
    restarts: u64,
    seed: u64,
    runs: u64,
    requests: usize,
    verdicts: Verdicts,
    known: BTreeMap<&'static str, u64>,
    refused: Vec<String>,
    unjudged: Vec<String>,
    not_run: Vec<String>,
    found: Vec<FoundReport>,
    seconds: f64,
}

/// The number of runs with each verdict.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdicts {
    conforms: u64,
    known: u64,
    violates: usize,
    inconclusive: usize,
    not_run: usize,
    failed: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundReport {
    seed: u64,
    requirement: Option<&'static str>,
    why: String,
    steps: usize,
    at_once: u64,
    again: usize,
    repetitions: usize,
    scenario: String,
}

impl Report<'_> {
    /// The report for programs.
    pub fn whole(&self) -> ClusterReport {
        let Report { tally, args, .. } = self;
        let failed = tally.failed.iter().map(|(seed, why, _)| format!("seed {seed}: {why}"));
        ClusterReport {
            api_version: API_VERSION,
            kind: "FuzzReport",
            exit_code: self.exit().code(),
            target: args.target.name(),
            kubernetes: args.version().minor(),
            faults: args.faults == Faults::All,
            disturbed: args.disturb.iter().map(|component| component.program()).collect(),
            restarts: tally.restarts,
            seed: self.seed,
            runs: tally.runs,
            requests: tally.requests,
            verdicts: self.verdicts(),
            known: tally.known.iter().map(|(id, count)| (id.id(), *count)).collect(),
            refused: failed.chain(tally.errors.iter().map(|(why, _)| why.clone())).collect(),
            unjudged: tally.inconclusive.iter().map(reason).collect(),
            not_run: tally.not_run.iter().map(|(seed, why)| format!("seed {seed}: {why}")).collect(),
            found: tally.violating.iter().map(|ran| self.found(ran)).collect(),
            seconds: self.elapsed.as_secs_f64(),
        }
    }

    fn exit(&self) -> Exit {
        self.tally.exit(self.args.limits.allow_known)
    }

    fn verdicts(&self) -> Verdicts {
        let tally = self.tally;
        Verdicts {
            conforms: tally.conform,
            known: tally.deviate,
            violates: tally.violating.len(),
            inconclusive: tally.inconclusive.len(),
            not_run: tally.not_run.len(),
            failed: tally.failed.len(),
        }
    }

    fn found(&self, ran: &Ran) -> FoundReport {
        let (again, repetitions) = ran.again.unwrap_or_default();
        FoundReport {
            seed: ran.seed,
            requirement: requirement(ran).map(Req::id),
            why: why(ran).to_owned(),
            steps: ran.draft.steps(),
            at_once: ran.draft.at_once(),
            again,
            repetitions,
            scenario: ran.scenario(self.args.target),
        }
    }

    /// The report for people. Its text may change; the JSON report is stable.
    pub fn text(&self) -> String {
        let (tally, mut out) = (self.tally, Text::default());
        for ran in &tally.violating {
            let req = requirement(ran).map_or(String::new(), |req| format!("{req} "));
            let (again, of) = ran.again.unwrap_or_default();
            let _ = writeln!(out, "{BAD}seed {}: {req}{BAD:#}{}", ran.seed, why(ran));
            let _ = writeln!(out, "  breaks the same requirement in {again} of {of} repetitions:");
            for line in ran.scenario(self.args.target).lines() {
                let _ = writeln!(out, "    {line}");
            }
        }
        for ran in &tally.inconclusive {
            let _ = writeln!(out, "{OPEN}inconclusive{OPEN:#}: {}", reason(ran));
        }
        for (seed, why) in &tally.not_run {
            let _ = writeln!(out, "{OPEN}not run{OPEN:#}: seed {seed}: {why}");
        }
        for (seed, why, _) in &tally.failed {
            let _ = writeln!(out, "{BAD}failed{BAD:#}: seed {seed}: {why}");
        }
        for (id, count) in &tally.known {
            let _ = writeln!(out, "{OPEN}KNOWN {}{OPEN:#}: {count} runs", with_aliases(*id));
        }
        self.summary(&mut out);
        out.finish()
    }

    fn summary(&self, out: &mut Text) {
        let (args, it) = (self.args, self.verdicts());
        let faults = if args.faults == Faults::All { "with faults" } else { "without faults" };
        let restarts = match (args.disturb.is_empty(), self.tally.restarts) {
            (true, _) => String::new(),
            (false, count) => format!(", {count} restarts of the control plane"),
        };
        let _ = writeln!(
            out,
            "{} runs on {} from seed {}, {faults}{restarts}, {} requests in {:.1} s",
            self.tally.runs,
            args.target.name(),
            self.seed,
            self.tally.requests,
            self.elapsed.as_secs_f64()
        );
        let paint = match self.exit() {
            Exit::Conforms => GOOD,
            Exit::Inconclusive => OPEN,
            _ => BAD,
        };
        let _ = writeln!(
            out,
            "{paint}{} conform, {} KNOWN, {} violate, {} inconclusive, {} not run, {} failed{paint:#}",
            it.conforms, it.known, it.violates, it.inconclusive, it.not_run, it.failed
        );
    }
}

fn requirement(ran: &Ran) -> Option<Req> {
    match ran.verdict {
        Verdict::Violates { requirement, .. } => requirement,
        Verdict::Conforms | Verdict::Known(_) | Verdict::Inconclusive { .. } => None,
    }
}

fn why(ran: &Ran) -> &str {
    match &ran.verdict {
        Verdict::Violates { why, .. } | Verdict::Inconclusive { why } => why,
        Verdict::Conforms | Verdict::Known(_) => "",
    }
}

fn reason(ran: &Ran) -> String {
    format!("seed {}: {}", ran.seed, why(ran))
}

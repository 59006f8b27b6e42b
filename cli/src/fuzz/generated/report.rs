//! The reports of replayed paths, for people and for programs.

use std::collections::BTreeMap;

use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::narrative;
use jobcheck_explorer::step::StepKind;
use jobcheck_judge::report::{API_VERSION, Exit};
use serde::Serialize;

use super::{Run, Tally};
use crate::global::Global;
use crate::memory;
use crate::styles::{BAD, BOLD, GOOD, OPEN};
use crate::text::Text;

/// The report for programs: docs/reference/schemas/generated.schema.json.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedReport {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutant: Option<&'static str>,
    seed: u64,
    paths: usize,
    steps: usize,
    taken: BTreeMap<&'static str, usize>,
    not_taken: Vec<&'static str>,
    ended_early: BTreeMap<&'static str, usize>,
    not_begun: Vec<&'static str>,
    scopes: Vec<ScopeReport>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeReport {
    name: &'static str,
    paths: usize,
    steps: usize,
    graph: Option<usize>,
    ended_early: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<DifferenceReport>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceReport {
    why: String,
    path: Vec<String>,
}

impl Tally {
    fn paths(&self) -> usize {
        self.runs.iter().map(|run| run.walked.paths).sum()
    }

    fn steps(&self) -> usize {
        self.runs.iter().map(|run| run.walked.steps).sum()
    }

    /// The number of steps of each kind.
    fn taken(&self) -> Vec<(&'static str, usize)> {
        let sum = |kind: StepKind| self.runs.iter().map(|run| run.walked.taken[kind as usize]).sum();
        StepKind::outside_scripts().map(|kind| (kind.name(), sum(kind))).collect()
    }

    fn not_taken(&self) -> Vec<&'static str> {
        self.taken().into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
    }

    fn ended_early(&self) -> BTreeMap<&'static str, usize> {
        let mut sums = BTreeMap::new();
        for (why, count) in self.runs.iter().flat_map(|run| &run.walked.cut) {
            *sums.entry(*why).or_default() += count;
        }
        sums
    }
}

/// The report for programs.
pub fn whole(tally: &Tally, mutant: Option<&Mutant>) -> GeneratedReport {
    GeneratedReport {
        api_version: API_VERSION,
        kind: "GeneratedReport",
        exit_code: tally.exit().code(),
        mutant: mutant.map(|mutant| mutant.id),
        seed: tally.seed,
        paths: tally.paths(),
        steps: tally.steps(),
        taken: tally.taken().into_iter().filter(|(_, count)| *count > 0).collect(),
        not_taken: tally.not_taken(),
        ended_early: tally.ended_early(),
        not_begun: tally.not_begun.clone(),
        scopes: tally.runs.iter().map(of_scope).collect(),
        seconds: tally.elapsed.as_secs_f64(),
    }
}

fn of_scope(run: &Run) -> ScopeReport {
    let walked = &run.walked;
    ScopeReport {
        name: run.scope.name,
        paths: walked.paths,
        steps: walked.steps,
        graph: walked.graph,
        ended_early: walked.cut.clone(),
        difference: walked
            .difference
            .as_ref()
            .map(|it| DifferenceReport { why: it.why.clone(), path: lines(run) }),
        seconds: run.elapsed.as_secs_f64(),
    }
}

/// The steps to the difference, a line each.
fn lines(run: &Run) -> Vec<String> {
    let path = run.walked.difference.as_ref().map_or(&[][..], |it| &it.path);
    narrative::lines(&run.scope, path).into_iter().map(|line| format!("{} {}", line.who, line.what)).collect()
}

/// The report for people. Its text may change; the JSON report is stable.
pub fn text(tally: &Tally, mutant: Option<&Mutant>, global: &Global) -> String {
    let mut out = Text::default();
    if !global.quiet {
        let _ = writeln!(
            out,
            "{BOLD}{:<36} {:>6} {:>7} {:>7} {:>7}  result{BOLD:#}",
            "scope", "paths", "steps", "of", "time"
        );
        tally.runs.iter().for_each(|run| row(run, &mut out));
    }
    for run in tally.runs.iter().filter(|run| run.walked.difference.is_some()) {
        let why = run.walked.difference.as_ref().map_or("", |it| &it.why);
        let _ = writeln!(out, "\n{BAD}{}{BAD:#}: {why}", run.scope.name);
        for (number, line) in lines(run).iter().enumerate() {
            let _ = writeln!(out, "  {:>3} {line}", number + 1);
        }
    }
    summary(tally, mutant, &mut out);
    out.finish()
}

fn row(run: &Run, out: &mut Text) {
    let walked = &run.walked;
    let (paint, result) = match () {
        () if walked.difference.is_some() => (BAD, "differs"),
        () if walked.is_complete() => (GOOD, "every step"),
        () => (GOOD, "part"),
    };
    let graph = walked.graph.map_or_else(|| "more".to_owned(), |graph| graph.to_string());
    let _ = writeln!(
        out,
        "{:<36} {:>6} {:>7} {graph:>7} {:>6.2}s  {paint}{result}{paint:#}",
        run.scope.name,
        walked.paths,
        walked.steps,
        run.elapsed.as_secs_f64()
    );
}

fn summary(tally: &Tally, mutant: Option<&Mutant>, out: &mut Text) {
    let whole = tally.runs.iter().filter(|run| run.walked.is_complete()).count();
    let defect = mutant.map(|mutant| format!(" with the defect {}", mutant.id)).unwrap_or_default();
    let _ = writeln!(
        out,
        "{} paths of {} scopes{defect} from seed {}, {} steps in {:.1} s; a shared prefix is replayed once; {whole} \
         scopes complete",
        tally.paths(),
        tally.runs.len(),
        tally.seed,
        tally.steps(),
        tally.elapsed.as_secs_f64()
    );
    for (why, count) in tally.ended_early() {
        let _ = writeln!(out, "ended early: {count} paths: {why}");
    }
    let not_taken = tally.not_taken();
    let not_taken = if not_taken.is_empty() { "none".to_owned() } else { not_taken.join(", ") };
    let kinds = StepKind::outside_scripts().count();
    let _ = writeln!(out, "kinds of steps that no path took, of {kinds}: {not_taken}");
    if !tally.not_begun.is_empty() {
        let _ = writeln!(out, "{OPEN}not begun{OPEN:#}: {}", tally.not_begun.join(", "));
    }
    let (paint, result) = match tally.exit() {
        Exit::Conforms => (GOOD, "every step was as in its path"),
        Exit::Violates => (BAD, "a step was not as in its path"),
        _ => (OPEN, "not all scopes were walked"),
    };
    if let Some(most) = tally.full {
        let _ = writeln!(out, "{OPEN}ended early{OPEN:#}: {}", memory::reached(most));
    }
    let _ = writeln!(out, "{paint}{result}{paint:#}");
}

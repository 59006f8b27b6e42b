//! The targets side by side (judging.md 7): who holds a scenario, who does not, and where they first differ.

use serde::Serialize;

use super::Report;
use super::report::Run;
use jobcheck_scenario::runtime::QuiescentState;

/// A scenario on several targets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison<'a> {
    /// The file, or `-`.
    pub file: &'a str,
    /// The scenario.
    pub name: &'a str,
    /// What each target came to, in the order in which they were asked for.
    pub verdicts: Vec<Verdict>,
    /// Where they first differ.
    pub differences: Vec<Difference>,
}

/// What a target came to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The target.
    pub target: &'static str,
    /// In a word, as the tables have it.
    pub verdict: String,
}

/// What stood at a rest on one target, and not on another.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The line of the `settle`; none for the end.
    pub line: Option<u64>,
    /// The Job.
    pub job: String,
    /// What is different: `failed`, `pods.created`.
    pub fact: &'static str,
    /// The first of the targets, and what it is there.
    pub on: [Side; 2],
    /// Which requirement one of them breaks; where there is none, both are allowed.
    pub forbidden_by: Option<&'static str>,
}

/// One side of a difference.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// The target.
    pub target: &'static str,
    /// What it is there.
    pub is: String,
}

impl Difference {
    /// In words.
    pub fn told(&self) -> String {
        let at = self.line.map_or("at the end".to_owned(), |line| format!("line {line}"));
        let [here, there] = &self.on;
        let side = |side: &Side| {
            format!("{} on {}", if side.is.is_empty() { "empty" } else { &*side.is }, side.target)
        };
        let law = self.forbidden_by.map_or("both allowed".to_owned(), |id| format!("{id} forbids it"));
        format!("{at}, {}: {} is {}, {}; {law}", self.job, self.fact, side(here), side(there))
    }
}

/// Each scenario that ran, or was to run, on several targets.
pub fn compare(report: &Report) -> Vec<Comparison<'_>> {
    let mut compared: Vec<Comparison<'_>> = Vec::new();
    for run in &report.runs {
        let is_first = !compared.iter().any(|it| it.file == run.file);
        let same: Vec<&Run> = report.runs.iter().filter(|other| other.file == run.file).collect();
        if is_first && same.len() > 1 {
            compared.push(Comparison {
                file: &run.file,
                name: &run.scenario.name,
                verdicts: same
                    .iter()
                    .map(|run| Verdict { target: run.target.name(), verdict: run.word() })
                    .collect(),
                differences: differences(&same),
            });
        }
    }
    compared
}

/// The first difference of each run to the first of them that says how Jobs stood.
fn differences(runs: &[&Run]) -> Vec<Difference> {
    let mut told = runs.iter().filter_map(|run| Some((*run, run.rests()?)));
    let Some((first, rests)) = told.next() else { return Vec::new() };
    told.filter_map(|(run, others)| difference((first, rests), (run, others))).collect()
}

fn difference(one: (&Run, &[QuiescentState]), other: (&Run, &[QuiescentState])) -> Option<Difference> {
    let pairs = one.1.iter().zip(other.1);
    // From where one has not come further, there is nothing to compare.
    let mut same = pairs.take_while(|(here, there)| (here.line, &here.job) == (there.line, &there.job));
    let side = |run: &Run, is: &str| Side { target: run.target.name(), is: is.to_owned() };
    same.find_map(|(here, there)| {
        let (fact, is, is_there) = here.facts.difference(&there.facts)?;
        Some(Difference {
            line: here.line,
            job: here.job.clone(),
            fact,
            on: [side(one.0, is), side(other.0, is_there)],
            forbidden_by: one.0.requirement().or_else(|| other.0.requirement()).map(|req| req.id()),
        })
    })
}

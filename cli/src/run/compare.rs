//! The targets side by side: the verdict of each on a scenario, and their first difference
//! (docs/reference/judging.md, section "7. Comparing targets").

use jobcheck_scenario::runtime::QuiescentState;
use serde::Serialize;

use super::report::{Report, Run};

/// A scenario on several targets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison<'a> {
    /// The file, or `-`.
    pub file: &'a str,
    /// The name of the scenario.
    pub name: &'a str,
    /// The verdicts, in the order of the targets.
    pub verdicts: Vec<Verdict>,
    /// The first difference of each target to the first one.
    pub differences: Vec<Difference>,
}

/// The verdict of a target.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The target.
    pub target: &'static str,
    /// The verdict in a word, as in the tables.
    pub verdict: String,
}

/// A fact that two targets show differently at the same quiescence.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The line of the `settle` in the scenario; `None` at the end.
    pub line: Option<u64>,
    /// The Job.
    pub job: String,
    /// The fact, such as `failed` or `pods.created`.
    pub fact: &'static str,
    /// The two targets with their values.
    pub on: [Side; 2],
    /// The requirement that one of them breaks; `None` if both values are allowed.
    pub forbidden_by: Option<&'static str>,
}

/// A value on a target.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// The target.
    pub target: &'static str,
    /// The value.
    pub is: String,
}

impl Difference {
    /// The difference as a sentence.
    pub fn sentence(&self) -> String {
        let at = self.line.map_or("at the end".to_owned(), |line| format!("line {line}"));
        let [here, there] = &self.on;
        let side = |side: &Side| {
            format!("{} on {}", if side.is.is_empty() { "empty" } else { &*side.is }, side.target)
        };
        let rule = self.forbidden_by.map_or("both allowed".to_owned(), |id| format!("{id} forbids it"));
        format!("{at}, {}: {} is {}, {}; {rule}", self.job, self.fact, side(here), side(there))
    }
}

/// The scenarios that were meant for several targets.
pub fn compare(report: &Report) -> Vec<Comparison<'_>> {
    let mut compared: Vec<Comparison<'_>> = Vec::new();
    for run in &report.runs {
        let is_first = !compared.iter().any(|it| it.file == run.file);
        let same: Vec<&Run> = report.runs.iter().filter(|other| other.file == run.file).collect();
        if is_first && same.len() > 1 {
            let verdict = |run: &&Run| Verdict { target: run.target.name(), verdict: run.word() };
            compared.push(Comparison {
                file: &run.file,
                name: &run.scenario.name,
                verdicts: same.iter().map(verdict).collect(),
                differences: differences(&same),
            });
        }
    }
    compared
}

/// The first difference of each run to the first run that has states at quiescence.
fn differences(runs: &[&Run]) -> Vec<Difference> {
    let mut with_states = runs.iter().filter_map(|run| Some((*run, run.rests()?)));
    let Some((first, states)) = with_states.next() else { return Vec::new() };
    with_states.filter_map(|(run, others)| difference((first, states), (run, others))).collect()
}

fn difference(one: (&Run, &[QuiescentState]), other: (&Run, &[QuiescentState])) -> Option<Difference> {
    let pairs = one.1.iter().zip(other.1);
    // The comparison ends at the quiescence that only one of them has reached.
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

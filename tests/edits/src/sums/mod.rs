//! Aggregators: right sums of the statuses of members, and edits of them that break one rule (MR-30 to MR-33).
//!
//! | module | task |
//! | --- | --- |
//! | [`fleet`] | a Job and its members as traces of their clusters |
//! | [`right`] | the right aggregators |
//! | [`wrong`] | the classes of edits |

pub mod fleet;
pub mod right;
pub mod wrong;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jobcheck_judge::replay::{Clusters, FailsWhen, Judging, judge_clusters};
use jobcheck_judge::report::ReplayReport;
use jobcheck_judge::validate::{Outcome, Profile};
use jobcheck_traces::Input;
use serde_json::Value;

use fleet::Fleet;

/// One aggregator: the text that names it, and what a judge has to say.
#[derive(Debug)]
pub struct Case {
    /// The rule that it breaks, or `right`.
    pub rule: &'static str,
    /// The class of the edit.
    pub class: &'static str,
    /// The right aggregator that was edited.
    pub base: &'static str,
    /// The position of the edit.
    pub at: usize,
    /// The aggregator.
    pub fleet: Fleet,
}

/// Every edit at every status write of every right aggregator.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (base, fleet) in right::all() {
        all.push(Case { rule: "right", class: "as it is", base, at: 0, fleet: fleet.clone() });
        for (rule, class, edit) in wrong::classes() {
            for at in fleet.writes() {
                let mut edited = fleet.clone();
                if edit(&mut edited, at).is_some() {
                    all.push(Case { rule, class, base, at, fleet: edited });
                }
            }
        }
    }
    all
}

/// Judges the Job beside its members.
#[must_use]
pub fn judged(traces: &[Vec<Value>], fails_by_all: bool) -> ReplayReport {
    let text = |lines: &Vec<Value>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let input = |(at, lines): (usize, &Vec<Value>)| {
        vec![Input::Bytes(format!("{at}.jsonl"), text(lines).into_bytes())]
    };
    let mut inputs: Vec<Vec<Input>> = traces.iter().enumerate().map(input).collect();
    let workers = inputs.split_off(1);
    let manager = inputs.pop().unwrap_or_default();
    let fails_when = if fails_by_all { FailsWhen::All } else { FailsWhen::Any };
    let judging = Judging { profile: Some(Profile::Aggregate), fails_when, ..Judging::default() };
    judge_clusters(&Clusters { manager, workers }, &judging, &mut |_, _| {})
}

/// The verdict on the cluster of the aggregator. A member of an older Kubernetes may break a rule of its own.
#[must_use]
pub fn verdict(report: &ReplayReport) -> Outcome {
    report.traces[0].verdict
}

/// The requirements that the Job here breaks.
#[must_use]
pub fn broken(report: &ReplayReport) -> BTreeSet<&'static str> {
    let all =
        report.jobs.iter().filter(|job| job.profile.starts_with("aggregate")).flat_map(|job| &job.violations);
    all.filter_map(|it| it.requirement.map(|id| id.0.id())).collect()
}

/// The verdicts on a class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The edits.
    pub edits: usize,
    /// Those that are rejected.
    pub rejected: usize,
    /// Those that are rejected by the rule that they break.
    pub named: usize,
}

/// Counts the verdicts by rule and class.
#[must_use]
pub fn tallies(cases: &[Case]) -> BTreeMap<(&'static str, &'static str), Tally> {
    let mut all: BTreeMap<_, Tally> = BTreeMap::new();
    for case in cases {
        let report = judged(&case.fleet.traces(), case.fleet.fails_by_all);
        let tally = all.entry((case.rule, case.class)).or_default();
        tally.edits += 1;
        tally.rejected += usize::from(verdict(&report) == Outcome::Violates);
        tally.named += usize::from(broken(&report).contains(case.rule));
    }
    all
}

/// The table of all verdicts.
#[must_use]
pub fn table(tallies: &BTreeMap<(&'static str, &'static str), Tally>) -> String {
    let mut text =
        "| rule | edit | edits | rejected | by this rule |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for ((rule, class), tally) in tallies {
        let named = if *rule == "right" { "-".to_owned() } else { tally.named.to_string() };
        let _ = writeln!(text, "| {rule} | {class} | {} | {} | {named} |", tally.edits, tally.rejected);
    }
    text
}

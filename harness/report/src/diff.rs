//! The changes between two reports, for each scenario and each requirement.

use std::collections::BTreeMap;

use jobcheck_judge::report::{API_VERSION, Exit};
use serde::Serialize;

use crate::runs::Folded;
use crate::types::{ConformanceReport, Outcome, Verdict};

/// The changes from one report to another.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// [`API_VERSION`].
    pub api_version: &'static str,
    /// `ReportDiff`.
    pub kind: &'static str,
    /// 1 if something got worse, otherwise 0.
    pub exit_code: Exit,
    /// The results.
    pub result: (Verdict, Verdict),
    /// The circumstances that differ: name, before, after.
    pub circumstances: Vec<(&'static str, String, String)>,
    /// The scenarios that changed.
    pub scenarios: Vec<Change>,
    /// The requirements that changed.
    pub requirements: Vec<Change>,
}

/// A scenario or a requirement that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Its id.
    pub id: String,
    /// The outcome before; none if it was not there.
    pub before: Option<Outcome>,
    /// The outcome after; none if it is gone.
    pub after: Option<Outcome>,
    /// The direction.
    pub direction: Direction,
    /// The text of the scenario changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text_changed: bool,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// It fails less.
    Better,
    /// It fails, or passes no longer.
    Worse,
    /// Neither.
    Other,
}

/// Compares two reports.
#[must_use]
pub fn diff(before: &ConformanceReport, after: &ConformanceReport) -> Diff {
    let scenarios = changes(&by_scenario(before), &by_scenario(after));
    let requirements = changes(&by_requirement(before), &by_requirement(after));
    let is_worse = scenarios.iter().chain(&requirements).any(|it| it.direction == Direction::Worse);
    Diff {
        api_version: API_VERSION,
        kind: "ReportDiff",
        exit_code: if is_worse { Exit::Violates } else { Exit::Conforms },
        result: (before.result, after.result),
        circumstances: circumstances(before, after),
        scenarios,
        requirements,
    }
}

fn circumstances(
    before: &ConformanceReport,
    after: &ConformanceReport,
) -> Vec<(&'static str, String, String)> {
    let of = |report: &ConformanceReport| {
        let run = &report.run;
        let clusters: Vec<String> =
            run.clusters.iter().map(|it| format!("{} {}", it.name, it.kubernetes)).collect();
        [
            ("implementation", format!("{} {}", run.implementation.project, run.implementation.version)),
            ("profile", format!("{} {}", run.profile.name, run.profile.version)),
            ("clusters", clusters.join(", ")),
            ("ruleSet", run.judging.rule_set.clone()),
            ("seed", run.drawn()),
            ("runs", run.repeat.unwrap_or(1).to_string()),
            ("jobcheck", run.jobcheck_version.clone()),
        ]
    };
    let pairs = of(before).into_iter().zip(of(after));
    pairs.filter(|(old, new)| old != new).map(|((name, old), (_, new))| (name, old, new)).collect()
}

/// Outcomes with the digest of the text, if there is one.
type Outcomes<'a> = BTreeMap<&'a str, (Outcome, &'a str)>;

fn by_scenario<'a>(report: &'a ConformanceReport) -> Outcomes<'a> {
    let of = |it: Folded<'a>| {
        let first = *it.runs.first()?;
        Some((&*first.id, (it.scenario.outcome, &*first.digest)))
    };
    report.folded().into_iter().filter_map(of).collect()
}

/// A requirement fails if a scenario shows that it is broken, and passes if one that is about it passed.
fn by_requirement(report: &ConformanceReport) -> Outcomes<'_> {
    let mut all: Outcomes<'_> = BTreeMap::new();
    for (id, outcome) in report.folded().iter().flat_map(of_requirements) {
        let known = all.entry(id).or_insert((outcome, ""));
        known.0 = match (known.0, outcome) {
            (Outcome::Fail, _) | (_, Outcome::Fail) => Outcome::Fail,
            (Outcome::Pass, _) | (_, Outcome::Pass) => Outcome::Pass,
            (old, _) => old,
        };
    }
    all
}

fn of_requirements<'a>(folded: &Folded<'a>) -> Vec<(&'a str, Outcome)> {
    // A scenario that fails says nothing about the requirements that its evidence does not name.
    let outcome = folded.scenario.outcome;
    let own = if outcome == Outcome::Fail { Outcome::Inconclusive } else { outcome };
    let own = folded.runs.iter().flat_map(|it| &it.requirements).map(|id| (&**id, own));
    let broken = folded.runs.iter().flat_map(|it| &it.evidence);
    own.chain(broken.map(|it| (&*it.requirement, Outcome::Fail))).collect()
}

fn changes(before: &Outcomes<'_>, after: &Outcomes<'_>) -> Vec<Change> {
    let mut ids: Vec<&str> = before.keys().chain(after.keys()).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let change = |id: &str| {
        let (old, new) = (before.get(id), after.get(id));
        let text_changed = matches!((old, new), (Some(old), Some(new)) if old.1 != new.1);
        let outcome = |it: Option<&(Outcome, &str)>| it.map(|it| it.0);
        let (old, new) = (outcome(old), outcome(new));
        let direction = direction(old, new);
        (old != new || text_changed).then(|| Change {
            id: id.to_owned(),
            before: old,
            after: new,
            direction,
            text_changed,
        })
    };
    ids.into_iter().filter_map(change).collect()
}

fn direction(before: Option<Outcome>, after: Option<Outcome>) -> Direction {
    let rank = |outcome: Option<Outcome>| match outcome {
        Some(Outcome::Fail) => 0,
        Some(Outcome::Pass) => 2,
        Some(_) | None => 1,
    };
    match rank(after).cmp(&rank(before)) {
        std::cmp::Ordering::Less => Direction::Worse,
        std::cmp::Ordering::Greater => Direction::Better,
        std::cmp::Ordering::Equal => Direction::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::{repeated, report, scenario};
    use crate::types::{Run, Stage};

    fn of(scenarios: &[(&str, Outcome)]) -> ConformanceReport {
        let scenarios = scenarios.iter().map(|(id, outcome)| scenario(id, Stage::Core, *outcome));
        ConformanceReport::new(Run::default(), scenarios.collect())
    }

    fn direction_of(before: &[(&str, Outcome)], after: &[(&str, Outcome)]) -> (Direction, u8) {
        let diff = diff(&of(before), &of(after));
        let [change] = &diff.scenarios[..] else { panic!("one change: {diff:?}") };
        (change.direction, diff.exit_code.code())
    }

    #[test]
    fn equal_reports_have_no_changes() {
        let report = report(&Outcome::ALL.map(|outcome| (Stage::Core, outcome)));
        let diff = diff(&report, &report);
        assert!(diff.scenarios.is_empty() && diff.requirements.is_empty() && diff.circumstances.is_empty());
        assert_eq!(diff.exit_code, Exit::Conforms);
    }

    #[test]
    fn whatever_fails_or_passes_no_longer_is_worse() {
        use Outcome::{Disabled, Error, Fail, Inconclusive, Pass, Skip};
        for after in [Fail, Skip, Disabled, Error, Inconclusive] {
            assert_eq!(direction_of(&[("a", Pass)], &[("a", after)]), (Direction::Worse, 1), "{after}");
            assert_eq!(direction_of(&[("a", after)], &[("a", Pass)]), (Direction::Better, 0), "{after}");
        }
        assert_eq!(direction_of(&[("a", Skip)], &[("a", Fail)]), (Direction::Worse, 1));
        assert_eq!(direction_of(&[("a", Skip)], &[("a", Error)]), (Direction::Other, 0));
        assert_eq!(direction_of(&[("a", Pass)], &[]), (Direction::Worse, 1));
        assert_eq!(direction_of(&[], &[("a", Fail)]), (Direction::Worse, 1));
        assert_eq!(direction_of(&[], &[("a", Pass)]), (Direction::Better, 0));
    }

    #[test]
    fn a_requirement_that_another_scenario_breaks_is_a_change_of_its_own() {
        let before = of(&[("a", Outcome::Pass), ("b", Outcome::Fail)]);
        let mut after = before.clone();
        after.scenarios[1].evidence[0].requirement = "MR-21".to_owned();
        let diff = diff(&before, &after);
        assert!(diff.scenarios.is_empty());
        let ids: Vec<_> = diff.requirements.iter().map(|it| (&*it.id, it.direction)).collect();
        assert_eq!(ids, [("MR-20", Direction::Better), ("MR-21", Direction::Worse)]);
        assert_eq!(diff.exit_code, Exit::Violates);
    }

    #[test]
    fn the_runs_of_a_scenario_are_compared_as_one() {
        use Outcome::{Fail, Pass};
        let of = |outcomes: &[Outcome]| {
            let repeat = u32::try_from(outcomes.len()).ok();
            let run = Run { repeat, ..Run::default() };
            ConformanceReport::new(run, repeated("a", Stage::Core, outcomes))
        };
        let found = |before: &ConformanceReport, after: &ConformanceReport| {
            let diff = diff(before, after);
            let scenarios: Vec<_> = diff.scenarios.iter().map(|it| (it.before, it.after)).collect();
            let requirements: Vec<_> = diff.requirements.iter().map(|it| (&*it.id, it.after)).collect();
            format!("{scenarios:?} {requirements:?} {}", diff.exit_code.code())
        };
        // The run that fails is not the last one.
        let text = found(&of(&[Pass, Pass]), &of(&[Fail, Pass]));
        assert_eq!(text, "[(Some(Pass), Some(Fail))] [(\"MR-20\", Some(Fail))] 1");
        assert_eq!(found(&of(&[Fail, Pass]), &of(&[Pass, Fail])), "[] [] 0");
        // A scenario that fails in one run does not pass for the others of its requirements.
        let about = |mut it: ConformanceReport| {
            it.scenarios.iter_mut().for_each(|it| it.requirements = vec!["MR-21".to_owned()]);
            it
        };
        let text = found(&about(of(&[Pass, Pass])), &about(of(&[Fail, Pass])));
        assert!(text.contains("(\"MR-21\", Some(Inconclusive))"), "{text}");
        let circumstances = diff(&of(&[Pass, Pass]), &of(&[Pass; 3])).circumstances;
        assert_eq!(circumstances, [("runs", "2".to_owned(), "3".to_owned())]);
    }

    #[test]
    fn a_scenario_with_another_text_is_named() {
        let before = of(&[("a", Outcome::Pass)]);
        let mut after = before.clone();
        after.scenarios[0].digest = crate::digest::of(b"another");
        after.run.seed = 7;
        let diff = diff(&before, &after);
        assert!(diff.scenarios[0].text_changed && diff.scenarios[0].direction == Direction::Other);
        assert_eq!(diff.circumstances, [("seed", "0".to_owned(), "7".to_owned())]);
        assert_eq!(diff.exit_code, Exit::Conforms);
    }
}

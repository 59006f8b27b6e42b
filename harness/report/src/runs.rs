//! The runs of a scenario, folded into one outcome. Everything that counts scenarios counts these.
//!
//! | runs of a scenario | its outcome |
//! | --- | --- |
//! | one failed | fail |
//! | none failed, and one is an error | error |
//! | neither, and one is inconclusive | inconclusive |
//! | none of these, and one passed | pass |
//! | all were skipped or disabled | skip, or disabled if all were |
//!
//! A scenario is *flaky* if those of its runs that ran to an end have several outcomes. An error is one of the suite or of its
//! environment, and shows nothing about the controller.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::types::{Evidence, Outcome, Run, Scenario};

/// The outcomes, the one that decides first.
const SEVERITY: [Outcome; 6] =
    [Outcome::Fail, Outcome::Error, Outcome::Inconclusive, Outcome::Pass, Outcome::Skip, Outcome::Disabled];

/// A scenario with all its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded<'a> {
    /// The scenario as if it had one run, with the outcome of all. The times are those of the first run with that outcome.
    /// If there are several runs, `reason` begins with the [tally](Folded::tally), and each requirement has the evidence of one.
    /// The traces are those of the runs.
    pub scenario: Cow<'a, Scenario>,
    /// Its runs, in the order of the report.
    pub runs: Vec<&'a Scenario>,
}

/// Folds the runs of each scenario. The scenarios have the order of their first runs.
#[must_use]
pub fn folded(scenarios: &[Scenario]) -> Vec<Folded<'_>> {
    let (mut all, mut places): (Vec<Vec<&Scenario>>, BTreeMap<&str, usize>) = Default::default();
    for scenario in scenarios {
        let next = all.len();
        let at = match scenario.repetition {
            Some(_) => *places.entry(&scenario.id).or_insert(next),
            None => next,
        };
        match all.get_mut(at) {
            Some(runs) => runs.push(scenario),
            None => all.push(vec![scenario]),
        }
    }
    all.into_iter().filter_map(Folded::of).collect()
}

impl<'a> Folded<'a> {
    /// `None` without a run.
    fn of(runs: Vec<&'a Scenario>) -> Option<Folded<'a>> {
        let rank = |it: &&&Scenario| SEVERITY.iter().position(|outcome| *outcome == it.outcome);
        let deciding: &'a Scenario = runs.iter().min_by_key(rank)?;
        let mut folded = Folded { scenario: Cow::Borrowed(deciding), runs };
        if let Some(tally) = folded.tally() {
            let reason = [&*tally, &*deciding.reason];
            let reason = reason.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
            let evidence = folded.evidence();
            let whole =
                Scenario { repetition: None, reason, evidence, traces: Vec::new(), ..deciding.clone() };
            folded.scenario = Cow::Owned(whole);
        }
        Some(folded)
    }

    /// Returns whether the runs that ran to an end have several outcomes.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        let mut ended = self.runs.iter().map(|it| it.outcome).filter(|it| it.was_run());
        let first = ended.next();
        ended.any(|outcome| Some(outcome) != first)
    }

    /// Returns whether some runs were left out, and others were not.
    #[must_use]
    pub fn lacks_runs(&self) -> bool {
        !self.scenario.outcome.was_left_out() && self.runs.iter().any(|it| it.outcome.was_left_out())
    }

    /// Returns whether every run passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.runs.iter().all(|it| it.outcome == Outcome::Pass)
    }

    /// The numbers of the outcomes, such as `flaky: fails in 3 of 20 runs (MR-21, MR-24 in 1), passes in 17`. None for a
    /// scenario that is not repeated.
    #[must_use]
    pub fn tally(&self) -> Option<String> {
        self.runs.first()?.repetition?;
        let mut parts = Vec::new();
        for outcome in SEVERITY {
            let number = self.runs.iter().filter(|it| it.outcome == outcome).count();
            if number == 0 {
                continue;
            }
            let all = match parts.is_empty() {
                true => format!(" of {} runs", self.runs.len()),
                false => String::new(),
            };
            let broken = if outcome == Outcome::Fail { self.broken(number) } else { String::new() };
            parts.push(format!("{} in {number}{all}{broken}", verb(outcome)));
        }
        let flaky = if self.is_flaky() { "flaky: " } else { "" };
        Some(format!("{flaky}{}", parts.join(", ")))
    }

    /// The broken requirements in brackets. One that not all of the failed runs break has their number.
    fn broken(&self, failed: usize) -> String {
        let mut numbers: Vec<(&str, usize)> = Vec::new();
        for run in self.runs.iter().filter(|it| it.outcome == Outcome::Fail) {
            let mut own: Vec<&str> = run.evidence.iter().map(|it| &*it.requirement).collect();
            own.sort_unstable();
            own.dedup();
            for id in own {
                match numbers.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, number)) => *number += 1,
                    None => numbers.push((id, 1)),
                }
            }
        }
        numbers.sort_unstable();
        let each = numbers.into_iter().map(|(id, number)| match number == failed {
            true => id.to_owned(),
            false => format!("{id} in {number}"),
        });
        let each = each.collect::<Vec<_>>().join(", ");
        if each.is_empty() { each } else { format!(" ({each})") }
    }

    /// The evidence of each requirement, from the first run that has some.
    fn evidence(&self) -> Vec<Evidence> {
        let mut all: Vec<Evidence> = Vec::new();
        for run in &self.runs {
            let is_new = |it: &&Evidence| !all.iter().any(|known| known.requirement == it.requirement);
            let new: Vec<Evidence> = run.evidence.iter().filter(is_new).cloned().collect();
            all.extend(new);
        }
        all
    }
}

fn verb(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "passes",
        Outcome::Fail => "fails",
        Outcome::Skip => "is skipped",
        Outcome::Disabled => "is disabled",
        Outcome::Error => "is an error",
        Outcome::Inconclusive => "is inconclusive",
    }
}

/// Checks that each scenario is there once, or with as many runs as the report has of each.
pub(crate) fn check(run: &Run, scenarios: &[Scenario]) -> Result<(), String> {
    if let Some(repeat) = run.repeat.filter(|it| !(2..=Run::MOST_REPEATS).contains(it)) {
        let most = Run::MOST_REPEATS;
        return Err(format!("repeat is {repeat}; expected 2 to {most}, and none for one run of each"));
    }
    let mut all: BTreeMap<&str, BTreeMap<u32, &Scenario>> = BTreeMap::new();
    for scenario in scenarios {
        let id = &scenario.id;
        let number = number(run, scenario).map_err(|why| format!("scenario {id}: {why}"))?;
        let runs = all.entry(id).or_default();
        if let Some(first) = runs.values().next() {
            let same = (first.stage, &first.requirements, &first.digest, first.shard);
            let own = (scenario.stage, &scenario.requirements, &scenario.digest, scenario.shard);
            if run.repeat.is_some() && own != same {
                return Err(format!(
                    "the runs of the scenario {id} differ in stage, requirements, digest, or shard"
                ));
            }
        }
        if runs.insert(number, scenario).is_some() {
            return Err(match scenario.repetition {
                Some(number) => format!("the repetition {number} of the scenario {id} is there twice"),
                None => format!("the scenario {id} is there twice"),
            });
        }
    }
    let numbers = 1..=run.repeat.unwrap_or(1);
    for (id, runs) in all {
        if let Some(number) = numbers.clone().find(|number| !runs.contains_key(number)) {
            return Err(format!("the scenario {id} lacks the repetition {number} of {}", numbers.end()));
        }
    }
    Ok(())
}

/// The number of a run: 1 for the only one.
fn number(run: &Run, scenario: &Scenario) -> Result<u32, String> {
    match (run.repeat, scenario.repetition) {
        (None, None) => Ok(1),
        (Some(of), Some(number)) if (1..=of).contains(&number) => Ok(number),
        (Some(of), Some(number)) => Err(format!("there is no repetition {number} of {of}, counted from 1")),
        (None, Some(number)) => Err(format!("it has the repetition {number}, and the report has no repeat")),
        (Some(of), None) => Err(format!("it has no repetition, and the report has repeat {of}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::{repeated, scenario};
    use crate::types::{ConformanceReport, Stage, Verdict};

    use Outcome::{Disabled, Error, Fail, Inconclusive, Pass, Skip};

    /// The report on a core scenario with these runs.
    fn report(outcomes: &[Outcome]) -> ConformanceReport {
        let repeat = u32::try_from(outcomes.len()).ok();
        ConformanceReport::new(Run { repeat, ..Run::default() }, repeated("a", Stage::Core, outcomes))
    }

    fn tally(report: &ConformanceReport) -> String {
        let [one] = &report.folded()[..] else { panic!("one scenario") };
        one.tally().unwrap()
    }

    #[test]
    fn the_worst_run_decides_and_a_skip_only_if_all_are() {
        let outcome = |outcomes: &[Outcome]| report(outcomes).folded()[0].scenario.outcome;
        for (at, worse) in SEVERITY.iter().enumerate() {
            for better in &SEVERITY[at..] {
                assert_eq!(outcome(&[*worse, *better]), *worse, "{worse} {better}");
                assert_eq!(outcome(&[*better, *worse]), *worse, "{better} {worse}");
            }
        }
        assert_eq!(SEVERITY, [Fail, Error, Inconclusive, Pass, Skip, Disabled]);
        assert_eq!(outcome(&[Pass, Inconclusive, Error, Fail, Pass]), Fail);
    }

    #[test]
    fn runs_that_ended_differently_are_flaky_and_all_others_are_not() {
        let of = |outcomes: &[Outcome]| report(outcomes).core.flaky_tests == ["a"];
        assert!(of(&[Pass, Fail]) && of(&[Pass, Inconclusive]) && of(&[Fail, Fail, Inconclusive]));
        // An interrupted run is an error, and those that would have followed are left out.
        for outcomes in [&[Pass, Pass, Pass][..], &[Fail, Fail], &[Pass, Error, Skip], &[Fail, Skip, Error]] {
            assert!(!of(outcomes), "{outcomes:?}");
        }
    }

    #[test]
    fn a_scenario_counts_once_however_often_it_is_run() {
        let report = report(&[Pass, Fail, Pass, Fail]);
        let numbers = report.core.statistics;
        assert_eq!((numbers.pass, numbers.fail, report.core.failed_tests.len()), (0, 1, 1));
        assert_eq!((report.result, report.exit().code()), (Verdict::Failure, 1));
        let passed = self::report(&[Pass, Pass]);
        assert_eq!((passed.result, passed.core.statistics.pass), (Verdict::Success, 1));
    }

    #[test]
    fn a_scenario_that_lacks_runs_is_no_success() {
        let ended = report(&[Pass, Pass, Skip]);
        assert_eq!((ended.result, ended.core.statistics.pass, ended.exit().code()), (Verdict::Partial, 1, 3));
        assert_eq!(tally(&ended), "passes in 2 of 3 runs, is skipped in 1");
        assert!(ended.folded()[0].lacks_runs() && !report(&[Skip, Disabled]).folded()[0].lacks_runs());
        let mut scenarios = repeated("a", Stage::Core, &[Pass, Pass]);
        scenarios.extend(repeated("b", Stage::Extended, &[Pass, Disabled]));
        let run = Run { repeat: Some(2), ..Run::default() };
        let extended = ConformanceReport::new(run.clone(), scenarios.clone());
        assert_eq!((extended.result, extended.extended.result), (Verdict::Success, Some(Verdict::Partial)));
        // Nor is it if it was chosen.
        let run = Run { selection: vec!["b".to_owned()], ..run };
        assert_eq!(ConformanceReport::new(run, scenarios).exit().code(), 3);
    }

    #[test]
    fn the_tally_names_the_broken_requirements() {
        let mut report = report(&[Pass, Fail, Inconclusive, Fail, Pass, Pass]);
        let more = Evidence { requirement: "MR-09".to_owned(), ..report.scenarios[3].evidence[0].clone() };
        report.scenarios[3].evidence.push(more);
        let expected =
            "flaky: fails in 2 of 6 runs (MR-09 in 1, MR-20), is inconclusive in 1, passes in 3".to_owned();
        assert_eq!(tally(&report), expected);
        let [one] = &report.folded()[..] else { panic!("one scenario") };
        assert_eq!(one.scenario.reason, format!("{expected}; as the test wants it"));
        let ids: Vec<&str> = one.scenario.evidence.iter().map(|it| &*it.requirement).collect();
        assert_eq!((ids, one.scenario.repetition), (vec!["MR-20", "MR-09"], None));
        assert_eq!(tally(&self::report(&[Pass, Pass])), "passes in 2 of 2 runs");
    }

    #[test]
    fn a_scenario_that_is_not_repeated_is_folded_into_itself() {
        let mut own = vec![scenario("a", Stage::Core, Fail), scenario("a", Stage::Core, Pass)];
        let twice = own[0].evidence[0].clone();
        own[0].evidence.push(twice);
        let all = folded(&own);
        assert_eq!(all.iter().map(|it| (*it.scenario).clone()).collect::<Vec<_>>(), own);
        assert!(all.iter().all(|it| it.tally().is_none() && !it.is_flaky() && !it.lacks_runs()));
    }

    #[test]
    fn each_scenario_is_there_with_all_its_runs() {
        let found = |change: &dyn Fn(&mut Run, &mut Vec<Scenario>)| {
            let mut scenarios = repeated("a", Stage::Core, &[Pass, Fail, Pass]);
            scenarios.extend(repeated("b", Stage::Core, &[Skip, Skip, Skip]));
            let mut run = Run { repeat: Some(3), ..Run::default() };
            change(&mut run, &mut scenarios);
            check(&run, &scenarios).err().unwrap_or_default()
        };
        assert_eq!(found(&|_, _| {}), "");
        assert_eq!(found(&|_, all| all.reverse()), "");
        let none = "expected 2 to 1000, and none for one run of each";
        for repeat in [0, 1, 1_001] {
            assert_eq!(found(&|run, _| run.repeat = Some(repeat)), format!("repeat is {repeat}; {none}"));
        }
        let twice = "the repetition 1 of the scenario a is there twice";
        assert_eq!(found(&|_, all| all[1].repetition = Some(1)), twice);
        let lacks = "the scenario b lacks the repetition 2 of 3";
        assert_eq!(found(&|_, all| drop(all.remove(4))), lacks);
        assert_eq!(found(&|run, _| run.repeat = Some(4)), "the scenario a lacks the repetition 4 of 4");
        for number in [0, 4] {
            let why = format!("scenario a: there is no repetition {number} of 3, counted from 1");
            assert_eq!(found(&|_, all| all[2].repetition = Some(number)), why);
        }
        let bare = "scenario a: it has no repetition, and the report has repeat 3";
        assert_eq!(found(&|_, all| all[2].repetition = None), bare);
        let once = "scenario a: it has the repetition 1, and the report has no repeat";
        assert_eq!(found(&|run, _| run.repeat = None), once);
    }

    #[test]
    fn the_runs_of_a_scenario_are_runs_of_one_scenario() {
        let changes: [&dyn Fn(&mut Scenario); 4] = [
            &|it| it.stage = Stage::Provisional,
            &|it| it.requirements.clear(),
            &|it| it.digest = crate::digest::of(b"another"),
            &|it| it.shard = Some(1),
        ];
        for change in changes {
            let mut scenarios = repeated("a", Stage::Core, &[Pass, Fail]);
            change(&mut scenarios[1]);
            let found = check(&Run { repeat: Some(2), ..Run::default() }, &scenarios);
            let why = "the runs of the scenario a differ in stage, requirements, digest, or shard";
            assert_eq!(found, Err(why.to_owned()));
        }
    }
}

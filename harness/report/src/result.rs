//! Results, statistics and the exit code follow from the outcomes of the scenarios.
//!
//! | rule | result |
//! | --- | --- |
//! | a scenario of core or extended failed | failure, whatever the others are |
//! | no core scenario was run to an end, or one of core is an error or inconclusive | inconclusive |
//! | a core scenario was skipped or disabled, or some of its runs; a shard is missing; or scenarios were chosen | partial |
//! | otherwise | success |
//!
//! The first rule that applies decides. Apart from failures, extended has a result of its own. No provisional scenario
//! counts. A scenario with several runs has [one outcome](mod@crate::runs).

use jobcheck_judge::report::Exit;

use crate::runs::{Folded, folded};
use crate::types::{
    API_VERSION, ConformanceReport, KIND, Outcome, Run, Scenario, Section, Stage, Statistics, Verdict,
};

impl ConformanceReport {
    /// A report with what follows from the outcomes.
    #[must_use]
    pub fn new(run: Run, scenarios: Vec<Scenario>) -> ConformanceReport {
        let all = folded(&scenarios);
        let section = |stage| section(stage, &run, &all);
        ConformanceReport {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            result: result(&run, &all),
            core: section(Stage::Core),
            extended: section(Stage::Extended),
            provisional: section(Stage::Provisional),
            run,
            scenarios,
        }
    }

    /// The exit code: 0 for success, and if everything passed that the user chose; 1 for failure; 3 for the others.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let passed = || self.scenarios.iter().all(|scenario| scenario.outcome == Outcome::Pass);
        match self.result {
            Verdict::Success => Exit::Conforms,
            Verdict::Partial if !self.run.selection.is_empty() && passed() => Exit::Conforms,
            Verdict::Failure => Exit::Violates,
            Verdict::Partial | Verdict::Inconclusive => Exit::Inconclusive,
        }
    }

    /// The scenarios, each with all its runs.
    #[must_use]
    pub fn folded(&self) -> Vec<Folded<'_>> {
        folded(&self.scenarios)
    }

    /// The scenarios of a stage, in their order.
    pub fn of_stage(&self, stage: Stage) -> impl Iterator<Item = Folded<'_>> {
        self.folded().into_iter().filter(move |it| it.scenario.stage == stage)
    }
}

fn result(run: &Run, scenarios: &[Folded<'_>]) -> Verdict {
    let is_complete = run.shards.as_ref().is_none_or(|shards| shards.are_complete());
    let core = stage_result(Stage::Core, run, scenarios).unwrap_or(Verdict::Inconclusive);
    match core {
        _ if stage_result(Stage::Extended, run, scenarios) == Some(Verdict::Failure) => Verdict::Failure,
        Verdict::Success if !is_complete => Verdict::Partial,
        core => core,
    }
}

/// The result of a stage. `None` if it has no scenario, or if nothing of it counts.
fn stage_result(stage: Stage, run: &Run, scenarios: &[Folded<'_>]) -> Option<Verdict> {
    let of_stage = || scenarios.iter().filter(|it| it.scenario.stage == stage);
    let outcomes: Vec<Outcome> = of_stage().map(|it| it.scenario.outcome).collect();
    let has = |wanted: &[Outcome]| outcomes.iter().any(|outcome| wanted.contains(outcome));
    let is_open = has(&[Outcome::Error, Outcome::Inconclusive]);
    let was_run = outcomes.iter().any(|outcome| outcome.was_run());
    match stage {
        Stage::Provisional => None,
        _ if outcomes.is_empty() => None,
        _ if has(&[Outcome::Fail]) => Some(Verdict::Failure),
        _ if is_open => Some(Verdict::Inconclusive),
        Stage::Core if !was_run => Some(Verdict::Inconclusive),
        Stage::Extended if !was_run => None,
        _ if has(&[Outcome::Skip, Outcome::Disabled]) => Some(Verdict::Partial),
        // A run that was left out may have failed.
        _ if of_stage().any(Folded::lacks_runs) => Some(Verdict::Partial),
        // The others of the stage were left out.
        _ if !run.selection.is_empty() => Some(Verdict::Partial),
        _ => Some(Verdict::Success),
    }
}

fn section(stage: Stage, run: &Run, scenarios: &[Folded<'_>]) -> Section {
    let of_stage: Vec<&Folded<'_>> = scenarios.iter().filter(|it| it.scenario.stage == stage).collect();
    let ids = |is_wanted: &dyn Fn(&Folded<'_>) -> bool| -> Vec<String> {
        of_stage.iter().filter(|it| is_wanted(it)).map(|it| it.scenario.id.clone()).collect()
    };
    let with = |wanted: &[Outcome]| ids(&|it| wanted.contains(&it.scenario.outcome));
    Section {
        result: stage_result(stage, run, scenarios),
        statistics: statistics(of_stage.iter().map(|it| it.scenario.outcome)),
        failed_tests: with(&[Outcome::Fail]),
        skipped_tests: ids(&|it| it.scenario.outcome.was_left_out()),
        undecided_tests: with(&[Outcome::Error, Outcome::Inconclusive]),
        flaky_tests: ids(&|it| it.is_flaky()),
        incomplete_tests: ids(&|it| it.lacks_runs()),
    }
}

fn statistics(outcomes: impl Iterator<Item = Outcome>) -> Statistics {
    let mut all = Statistics::default();
    for outcome in outcomes {
        *all.of_mut(outcome) += 1;
    }
    all
}

impl Statistics {
    /// The number of scenarios with an outcome.
    #[must_use]
    pub fn of(mut self, outcome: Outcome) -> usize {
        *self.of_mut(outcome)
    }

    fn of_mut(&mut self, outcome: Outcome) -> &mut usize {
        match outcome {
            Outcome::Pass => &mut self.pass,
            Outcome::Fail => &mut self.fail,
            Outcome::Skip => &mut self.skip,
            Outcome::Disabled => &mut self.disabled,
            Outcome::Error => &mut self.error,
            Outcome::Inconclusive => &mut self.inconclusive,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::types::{Evidence, FoundBy, Shards};

    use Outcome::{Disabled, Error, Fail, Inconclusive, Pass, Skip};
    use Stage::{Core, Extended, Provisional};

    /// A scenario with an outcome, and what a reader demands of it.
    pub(crate) fn scenario(id: &str, stage: Stage, outcome: Outcome) -> Scenario {
        let mut scenario = Scenario::not_run(id, stage, id, "as the test wants it");
        scenario.outcome = outcome;
        scenario.requirements = vec!["MR-20".to_owned()];
        if outcome == Pass {
            scenario.reason.clear();
        }
        if outcome == Fail {
            scenario.evidence = vec![Evidence {
                requirement: "MR-20".to_owned(),
                found_by: FoundBy::Judge,
                trace: None,
                lines: Vec::new(),
                sentence: "expected the end of the copy, found none".to_owned(),
            }];
        }
        scenario
    }

    /// The runs of a scenario with these outcomes.
    pub(crate) fn repeated(id: &str, stage: Stage, outcomes: &[Outcome]) -> Vec<Scenario> {
        let run = |(outcome, number)| Scenario { repetition: Some(number), ..scenario(id, stage, outcome) };
        outcomes.iter().copied().zip(1..).map(run).collect()
    }

    /// A run whose traces may be of any time.
    pub(crate) fn timed() -> Run {
        Run {
            start_time: "2000-01-01T00:00:00Z".to_owned(),
            end_time: "2100-01-01T00:00:00Z".to_owned(),
            ..Run::default()
        }
    }

    pub(crate) fn report(outcomes: &[(Stage, Outcome)]) -> ConformanceReport {
        let scenarios = outcomes.iter().enumerate();
        let scenarios =
            scenarios.map(|(at, (stage, outcome))| scenario(&format!("mirror/s{at}"), *stage, *outcome));
        ConformanceReport::new(Run::default(), scenarios.collect())
    }

    fn result(outcomes: &[(Stage, Outcome)]) -> (Verdict, u8) {
        let report = report(outcomes);
        (report.result, report.exit().code())
    }

    #[test]
    fn the_result_follows_from_core_and_what_was_run_of_extended() {
        let success = (Verdict::Success, 0);
        assert_eq!(result(&[(Core, Pass)]), success);
        assert_eq!(result(&[(Core, Pass), (Extended, Pass)]), success);
        for outcome in [Skip, Disabled] {
            assert_eq!(result(&[(Core, Pass), (Extended, outcome)]), success, "{outcome}");
            assert_eq!(result(&[(Core, Pass), (Core, outcome)]), (Verdict::Partial, 3), "{outcome}");
        }
        for outcome in [Error, Inconclusive] {
            assert_eq!(result(&[(Core, Pass), (Core, outcome)]), (Verdict::Inconclusive, 3), "{outcome}");
        }
    }

    #[test]
    fn what_extended_leaves_open_is_its_own_result() {
        for outcome in [Error, Inconclusive] {
            let report = report(&[(Core, Pass), (Extended, Pass), (Extended, outcome)]);
            assert_eq!((report.result, report.exit().code()), (Verdict::Success, 0), "{outcome}");
            assert_eq!(report.extended.result, Some(Verdict::Inconclusive), "{outcome}");
            assert_eq!(report.extended.undecided_tests, ["mirror/s2"], "{outcome}");
        }
    }

    #[test]
    fn a_failure_decides_whatever_the_others_are() {
        for stage in [Core, Extended] {
            for other in Outcome::ALL {
                assert_eq!(result(&[(Core, other), (stage, Fail)]), (Verdict::Failure, 1), "{other}");
            }
        }
    }

    #[test]
    fn what_was_not_run_is_no_success() {
        for outcomes in [
            &[][..],
            &[(Core, Skip)],
            &[(Core, Disabled), (Core, Skip)],
            &[(Core, Skip), (Extended, Pass)],
            &[(Extended, Pass)],
            &[(Provisional, Pass)],
            &[(Core, Error)],
        ] {
            assert_eq!(result(outcomes), (Verdict::Inconclusive, 3), "{outcomes:?}");
        }
    }

    #[test]
    fn a_provisional_scenario_counts_for_nothing() {
        for outcome in Outcome::ALL {
            let report = report(&[(Core, Pass), (Provisional, outcome)]);
            assert_eq!((report.result, report.provisional.result), (Verdict::Success, None), "{outcome}");
            assert_eq!(report.provisional.statistics.of(outcome), 1);
        }
    }

    #[test]
    fn a_missing_shard_makes_a_success_partial() {
        let scenarios = || vec![scenario("a", Core, Pass)];
        let run =
            |shards: &[u32]| Run { shards: Some(Shards { of: 2, run: shards.to_vec() }), ..Run::default() };
        assert_eq!(ConformanceReport::new(run(&[0, 1]), scenarios()).result, Verdict::Success);
        assert_eq!(ConformanceReport::new(run(&[1]), scenarios()).result, Verdict::Partial);
        let failed = vec![scenario("a", Core, Fail)];
        assert_eq!(ConformanceReport::new(run(&[1]), failed).result, Verdict::Failure);
    }

    #[test]
    fn chosen_scenarios_are_partial_at_best() {
        let of = |scenarios| {
            let run = Run { selection: vec!["a".to_owned()], ..Run::default() };
            let report = ConformanceReport::new(run, scenarios);
            (report.result, report.core.result, report.extended.result, report.exit().code())
        };
        let partial = Some(Verdict::Partial);
        let passed = || vec![scenario("a", Core, Pass), scenario("b", Extended, Pass)];
        assert_eq!(of(passed()), (Verdict::Partial, partial, partial, 0));
        let skipped = vec![scenario("a", Core, Pass), scenario("b", Extended, Skip)];
        assert_eq!(of(skipped), (Verdict::Partial, partial, None, 3));
        let failed = vec![scenario("a", Core, Pass), scenario("b", Extended, Fail)];
        assert_eq!(of(failed), (Verdict::Failure, partial, Some(Verdict::Failure), 1));
        assert_eq!(of(vec![scenario("b", Extended, Pass)]), (Verdict::Inconclusive, None, partial, 3));
    }

    #[test]
    fn the_seeds_of_all_repetitions_are_shown() {
        let drawn = |seed, faults, repeat| Run { seed, faults, repeat, ..Run::default() }.drawn();
        assert_eq!([drawn(7, false, None), drawn(7, false, Some(20))], ["7", "7"]);
        assert_eq!(drawn(7, true, None), "7, with faults");
        assert_eq!(drawn(7, true, Some(20)), "7 to 26, with faults");
        assert_eq!(drawn(u64::MAX, true, Some(2)), format!("{} to 0, with faults", u64::MAX));
    }

    #[test]
    fn a_section_counts_and_names_its_scenarios() {
        let all: Vec<(Stage, Outcome)> = Outcome::ALL.map(|outcome| (Core, outcome)).to_vec();
        let core = report(&all).core;
        assert!(Outcome::ALL.iter().all(|outcome| core.statistics.of(*outcome) == 1));
        assert_eq!(core.failed_tests, ["mirror/s1"]);
        assert_eq!(core.skipped_tests, ["mirror/s2", "mirror/s3"]);
        assert_eq!(core.undecided_tests, ["mirror/s4", "mirror/s5"]);
    }
}

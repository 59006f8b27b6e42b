//! Merges the reports of shards into one.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::runs;
use crate::types::{ConformanceReport, Outcome, Run, Scenario, Shards};

/// Reports that are not shards of one run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// No report.
    #[error("there is nothing to merge")]
    Nothing,
    /// A report of a whole run.
    #[error("report {report} is no shard")]
    NoShard {
        /// Its position, from 1.
        report: usize,
    },
    /// A shard that does not exist, or a scenario of none.
    #[error("report {report}: {problem}")]
    Shard {
        /// Its position, from 1.
        report: usize,
        /// The problem.
        problem: String,
    },
    /// A shard that is there twice.
    #[error("reports {one} and {other} both have shard {shard}")]
    Twice {
        /// The position of one, from 1.
        one: usize,
        /// The position of the other, from 1.
        other: usize,
        /// The shard.
        shard: u32,
    },
    /// A circumstance that differs.
    #[error("reports 1 and {report} are of different runs: {what} is {expected} and {found}")]
    Different {
        /// The position of the report that differs from the first, from 1.
        report: usize,
        /// The circumstance.
        what: String,
        /// The value in the first report.
        expected: String,
        /// The value in this report.
        found: String,
    },
}

/// A merged report, and for each of its scenarios the position of the report that it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The report.
    pub report: ConformanceReport,
    /// The positions, from 0; none for scenarios of missing shards.
    pub sources: Vec<Option<usize>>,
}

/// Merges the reports of shards. A missing shard makes the result partial.
///
/// # Errors
///
/// The reports are not shards of one run; the error names the difference.
pub fn merge(reports: &[ConformanceReport]) -> Result<Merged, MergeError> {
    let Some(first) = reports.first() else { return Err(MergeError::Nothing) };
    let owners = owners(reports)?;
    for (at, report) in reports.iter().enumerate() {
        check_same(at + 1, first, report)?;
    }
    let of = first.run.shards.as_ref().map_or(0, |shards| shards.of);
    let mut run =
        Run { shards: Some(Shards { of, run: owners.keys().copied().collect() }), ..first.run.clone() };
    for report in reports {
        run.start_time = run.start_time.min(report.run.start_time.clone());
        run.end_time = run.end_time.max(report.run.end_time.clone());
    }
    let owner = |scenario: &Scenario| scenario.shard.and_then(|shard| owners.get(&shard)).copied();
    let sources: Vec<Option<usize>> = first.scenarios.iter().map(owner).collect();
    let scenarios = first.scenarios.iter().zip(&sources).enumerate();
    let scenarios = scenarios.map(|(at, (scenario, source))| match source {
        Some(source) => reports[*source].scenarios[at].clone(),
        None => missing(scenario),
    });
    Ok(Merged { report: ConformanceReport::new(run, scenarios.collect()), sources })
}

/// The report of each shard, by its position.
fn owners(reports: &[ConformanceReport]) -> Result<BTreeMap<u32, usize>, MergeError> {
    let mut owners = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        let number = at + 1;
        let shards = report.run.shards.as_ref().ok_or(MergeError::NoShard { report: number })?;
        let problem = |problem| MergeError::Shard { report: number, problem };
        for shard in &shards.run {
            if *shard >= shards.of {
                return Err(problem(format!("there is no shard {shard} of {}", shards.of)));
            }
            if let Some(one) = owners.insert(*shard, at) {
                return Err(MergeError::Twice { one: one + 1, other: number, shard: *shard });
            }
        }
        let is_lost = |it: &&Scenario| it.shard.is_none_or(|shard| shard >= shards.of);
        if let Some(lost) = report.scenarios.iter().find(is_lost) {
            return Err(problem(format!("the scenario {} has no shard", lost.id)));
        }
        // The runs of a scenario are in one shard.
        runs::check(&report.run, &report.scenarios).map_err(problem)?;
    }
    Ok(owners)
}

fn check_same(
    number: usize,
    first: &ConformanceReport,
    report: &ConformanceReport,
) -> Result<(), MergeError> {
    let different = |what: &str, expected: String, found: String| MergeError::Different {
        report: number,
        what: what.to_owned(),
        expected,
        found,
    };
    let pairs = circumstances(first).into_iter().zip(circumstances(report));
    for ((what, expected), (_, found)) in pairs {
        if expected != found {
            return Err(different(what, expected, found));
        }
    }
    let (many, found) = (first.scenarios.len(), report.scenarios.len());
    if many != found {
        return Err(different("the number of scenarios", many.to_string(), found.to_string()));
    }
    for (one, other) in first.scenarios.iter().zip(&report.scenarios) {
        let frozen = |it: &Scenario| {
            let shard = it.shard.map(|shard| shard.to_string()).unwrap_or_default();
            format!("{} ({}, {}, shard {shard})", it.name(), it.stage, it.digest)
        };
        if frozen(one) != frozen(other) {
            return Err(different("a scenario", frozen(one), frozen(other)));
        }
    }
    Ok(())
}

fn circumstances(report: &ConformanceReport) -> Vec<(&'static str, String)> {
    let run = &report.run;
    let clusters: Vec<String> =
        run.clusters.iter().map(|it| format!("{} {}", it.name, it.kubernetes)).collect();
    let shards = run.shards.as_ref().map_or(0, |shards| shards.of);
    let it = &run.implementation;
    vec![
        ("the profile", format!("{} {}", run.profile.name, run.profile.version)),
        ("the number of runs", run.repeat.unwrap_or(1).to_string()),
        ("the seed", run.drawn()),
        ("the selection", run.selection.join(" ")),
        ("the number of shards", shards.to_string()),
        ("the implementation", format!("{} {}", it.project, it.version)),
        ("spec.managedBy", it.managed_by.clone().unwrap_or_else(|| "unset".to_owned())),
        ("the version of jobcheck", run.jobcheck_version.clone()),
        ("Kubernetes", clusters.join(", ")),
        ("the options of the judge", format!("{:?}", run.judging)),
    ]
}

fn missing(scenario: &Scenario) -> Scenario {
    let shard = scenario.shard.unwrap_or_default();
    Scenario {
        outcome: Outcome::Skip,
        reason: format!("shard {shard} is missing"),
        start_time: None,
        end_time: None,
        evidence: Vec::new(),
        traces: Vec::new(),
        ..scenario.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::{repeated, scenario};
    use crate::types::{Stage, Verdict};

    /// Shard `at` of three: it runs every third of six scenarios.
    fn shard(at: u32) -> ConformanceReport {
        let scenarios = (0..6).map(|number| {
            let outcome = if number % 3 == at { Outcome::Pass } else { Outcome::Skip };
            let mut scenario = scenario(&format!("mirror/s{number}"), Stage::Core, outcome);
            scenario.shard = Some(number % 3);
            scenario
        });
        let run = Run {
            shards: Some(Shards { of: 3, run: vec![at] }),
            start_time: format!("2026-11-26T10:00:0{at}Z"),
            end_time: format!("2026-11-26T10:10:0{at}Z"),
            ..Run::default()
        };
        ConformanceReport::new(run, scenarios.collect())
    }

    #[test]
    fn all_shards_together_are_the_whole() {
        let merged = merge(&[shard(2), shard(0), shard(1)]).unwrap();
        assert_eq!(merged.report.result, Verdict::Success);
        assert!(merged.report.scenarios.iter().all(|it| it.outcome == Outcome::Pass && it.reason.is_empty()));
        assert_eq!(merged.sources, [1, 2, 0, 1, 2, 0].map(Some));
        assert_eq!(merged.report.run.start_time, "2026-11-26T10:00:00Z");
        assert_eq!(merged.report.run.end_time, "2026-11-26T10:10:02Z");
        assert_eq!(merged.report.run.shards, Some(Shards { of: 3, run: vec![0, 1, 2] }));
    }

    #[test]
    fn a_missing_shard_makes_it_partial_and_merges_later() {
        let part = merge(&[shard(0), shard(2)]).unwrap();
        assert_eq!(part.report.result, Verdict::Partial);
        assert_eq!(part.report.scenarios[1].reason, "shard 1 is missing");
        assert_eq!(part.sources[1], None);
        let whole = merge(&[part.report, shard(1)]).unwrap();
        assert_eq!(whole.report, merge(&[shard(0), shard(1), shard(2)]).unwrap().report);
    }

    #[test]
    fn a_failure_in_one_shard_is_a_failure_of_all() {
        let mut failing = shard(1);
        failing.scenarios[1] =
            Scenario { shard: Some(1), ..scenario("mirror/s1", Stage::Core, Outcome::Fail) };
        assert_eq!(merge(&[shard(0), failing]).unwrap().report.result, Verdict::Failure);
    }

    #[test]
    fn reports_of_different_runs_are_not_merged() {
        let problem = |change: &dyn Fn(&mut ConformanceReport)| {
            let mut other = shard(1);
            change(&mut other);
            merge(&[shard(0), other]).unwrap_err().to_string()
        };
        let start = "reports 1 and 2 are of different runs: ";
        assert_eq!(problem(&|it| it.run.seed = 7), format!("{start}the seed is 0 and 7"));
        let text = problem(&|it| it.run.profile.version = "v2".to_owned());
        assert_eq!(text, format!("{start}the profile is   and  v2"));
        let text = problem(&|it| it.run.jobcheck_version = "9".to_owned());
        assert_eq!(text, format!("{start}the version of jobcheck is  and 9"));
        let text = problem(&|it| it.run.selection = vec!["mirror/s1".to_owned()]);
        assert_eq!(text, format!("{start}the selection is  and mirror/s1"));
        let text = problem(&|it| it.run.shards = Some(Shards { of: 4, run: vec![1] }));
        assert_eq!(text, format!("{start}the number of shards is 3 and 4"));
        let text = problem(&|it| it.scenarios.truncate(5));
        assert_eq!(text, format!("{start}the number of scenarios is 6 and 5"));
        let text = problem(&|it| it.scenarios[3].digest = crate::digest::of(b"x"));
        assert!(text.starts_with(&format!("{start}a scenario is mirror/s3 (core, sha256:")), "{text}");
        assert!(problem(&|it| it.run.judging.strict = true).contains("the options of the judge"));
    }

    /// Shard `at` of two: it runs one of two scenarios three times.
    fn repeated_shard(at: u32) -> ConformanceReport {
        let scenarios = (0..2).flat_map(|number| {
            let outcome = if number == at { Outcome::Pass } else { Outcome::Skip };
            let mut runs = repeated(&format!("mirror/s{number}"), Stage::Core, &[outcome; 3]);
            runs.iter_mut().for_each(|it| it.shard = Some(number));
            runs
        });
        let shards = Some(Shards { of: 2, run: vec![at] });
        ConformanceReport::new(Run { repeat: Some(3), shards, ..Run::default() }, scenarios.collect())
    }

    #[test]
    fn the_runs_of_a_scenario_are_from_its_shard() {
        let merged = merge(&[repeated_shard(1), repeated_shard(0)]).unwrap();
        assert_eq!(merged.report.result, Verdict::Success);
        assert_eq!((merged.report.run.repeat, merged.report.core.statistics.pass), (Some(3), 2));
        assert_eq!(merged.sources, [1, 1, 1, 0, 0, 0].map(Some));
        let part = merge(&[repeated_shard(0)]).unwrap().report;
        assert_eq!((part.result, part.core.statistics.skip), (Verdict::Partial, 1));
        let problem = |change: &dyn Fn(&mut ConformanceReport)| {
            let mut other = repeated_shard(1);
            change(&mut other);
            merge(&[repeated_shard(0), other]).unwrap_err().to_string()
        };
        let text = problem(&|it| it.scenarios[1].shard = Some(1));
        let why = "the runs of the scenario mirror/s0 differ in stage, requirements, digest, or shard";
        assert_eq!(text, format!("report 2: {why}"));
        let text = problem(&|it| it.scenarios[4].repetition = Some(1));
        assert_eq!(text, "report 2: the repetition 1 of the scenario mirror/s1 is there twice");
        let fewer = |it: &mut ConformanceReport| {
            it.run.repeat = Some(2);
            it.scenarios.retain(|it| it.repetition != Some(3));
        };
        let text = problem(&fewer);
        assert_eq!(text, "reports 1 and 2 are of different runs: the number of runs is 3 and 2");
        let text = problem(&|it| it.scenarios.swap(0, 1));
        assert!(text.contains("a scenario is mirror/s0 (run 1) (core, "), "{text}");
    }

    #[test]
    fn what_is_no_shard_of_the_run_is_not_merged() {
        assert_eq!(merge(&[]), Err(MergeError::Nothing));
        let problem = |change: &dyn Fn(&mut ConformanceReport)| {
            let mut other = shard(1);
            change(&mut other);
            merge(&[shard(0), other]).unwrap_err().to_string()
        };
        assert_eq!(problem(&|it| it.run.shards = None), "report 2 is no shard");
        let shards = |of, run| Some(Shards { of, run });
        assert_eq!(problem(&|it| it.run.shards = shards(3, vec![0])), "reports 1 and 2 both have shard 0");
        assert_eq!(problem(&|it| it.run.shards = shards(3, vec![3])), "report 2: there is no shard 3 of 3");
        assert_eq!(
            problem(&|it| it.scenarios[4].shard = None),
            "report 2: the scenario mirror/s4 has no shard"
        );
    }
}

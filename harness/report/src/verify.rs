//! Confirms the outcomes of a report by judging its traces again.
//!
//! | outcome | it is confirmed if the judge |
//! | --- | --- |
//! | pass | finds that the traces conform |
//! | fail | finds each violation of its evidence again: requirement, trace and line |
//! | inconclusive | finds no violation |
//!
//! The judge does not know the expectations of a scenario. A failure that only an expectation shows is undecided.
//!
//! A scenario must be one of its profile, with the text that it has there. A text of another version of jobcheck is
//! undecided.

use jobcheck_judge::report::{API_VERSION, Exit};
use serde::Serialize;

use crate::folder::Folder;
use crate::judge::{Judged, judged};
use crate::types::{ConformanceReport, Evidence, FoundBy, JudgingOptions, Outcome, Scenario, Stage};

/// The outcomes of a report, held against its traces.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// [`API_VERSION`].
    pub api_version: &'static str,
    /// `ReportVerification`.
    pub kind: &'static str,
    /// 0 if all outcomes are confirmed, 1 if one is not, 3 if nothing is left but undecided ones.
    pub exit_code: Exit,
    /// The version of jobcheck that wrote the report.
    pub written_by: String,
    /// The version of jobcheck that judged again.
    pub judged_by: &'static str,
    /// The options of the report, with which the traces were judged.
    pub judging: JudgingOptions,
    /// The scenarios of the profile that the report lacks.
    pub lacking: Vec<String>,
    /// The scenarios, in the order of the report.
    pub scenarios: Vec<Confirmation>,
}

/// An outcome, held against its traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// The id of the scenario.
    pub id: String,
    /// The outcome in the report.
    pub outcome: Outcome,
    /// The answer.
    pub state: State,
    /// The reason, unless it is confirmed.
    pub reason: String,
}

/// The answer to an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// The judge finds the same.
    Confirmed,
    /// The judge finds something else, or the traces are not those of the report.
    NotConfirmed,
    /// The judge cannot know.
    Undecided,
    /// The scenario was not run.
    NotRun,
}

/// A scenario of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Its weight; none if it depends on the clusters of the run.
    pub stage: Option<Stage>,
    /// The digest of its text.
    pub digest: String,
}

/// The scenarios of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileList {
    /// The version of the list.
    pub version: String,
    /// Its scenarios.
    pub scenarios: Vec<Listed>,
}

impl ProfileList {
    /// The objection to a scenario of the report; none if it is one of the profile.
    fn objection(&self, scenario: &Scenario, report: &ConformanceReport) -> Option<(State, String)> {
        let profile = &report.run.profile;
        if profile.version != self.version {
            let why = format!("this version of jobcheck has no profile {} {}", profile.name, profile.version);
            return Some((State::Undecided, why));
        }
        let Some(listed) = self.scenarios.iter().find(|it| it.id == scenario.id) else {
            return Some((State::NotConfirmed, format!("the profile {} has no such scenario", profile.name)));
        };
        if listed.stage.is_some_and(|stage| stage != scenario.stage) {
            return Some((State::NotConfirmed, "its stage is not that of the profile".to_owned()));
        }
        if listed.digest == scenario.digest {
            return None;
        }
        let by = &report.run.jobcheck_version;
        Some(match by == env!("CARGO_PKG_VERSION") {
            true => (State::NotConfirmed, "its text is not that of the profile".to_owned()),
            false => (State::Undecided, format!("its text may have been another one in jobcheck {by}")),
        })
    }
}

/// Judges the traces of a report again, and holds its scenarios against those of its profile.
///
/// # Errors
///
/// The options of the report name something that is not known.
pub fn verify(
    folder: &Folder,
    report: &ConformanceReport,
    list: &ProfileList,
) -> Result<Verification, String> {
    let differences = folder.differences(report);
    let mut scenarios = Vec::new();
    for scenario in &report.scenarios {
        let changed = differences.iter().find(|it| it.scenario == scenario.id);
        let (state, reason) = match changed {
            _ if let Some(objection) = list.objection(scenario, report) => objection,
            _ if matches!(scenario.outcome, Outcome::Skip | Outcome::Disabled | Outcome::Error) => {
                (State::NotRun, scenario.reason.clone())
            }
            Some(it) => (State::NotConfirmed, format!("{}: {}", it.file, it.problem)),
            None if scenario.traces.is_empty() => (State::NotConfirmed, "it has no trace".to_owned()),
            None => compared(scenario, &judged(folder, &scenario.traces, &report.run.judging)?),
        };
        scenarios.push(Confirmation { id: scenario.id.clone(), outcome: scenario.outcome, state, reason });
    }
    let is_lacking = |it: &&Listed| !report.scenarios.iter().any(|scenario| scenario.id == it.id);
    Ok(Verification {
        judging: report.run.judging.clone(),
        lacking: list.scenarios.iter().filter(is_lacking).map(|it| it.id.clone()).collect(),
        api_version: API_VERSION,
        kind: "ReportVerification",
        exit_code: exit(&scenarios),
        written_by: report.run.jobcheck_version.clone(),
        judged_by: env!("CARGO_PKG_VERSION"),
        scenarios,
    })
}

fn exit(scenarios: &[Confirmation]) -> Exit {
    let has = |state| scenarios.iter().any(|it| it.state == state);
    match () {
        () if has(State::NotConfirmed) => Exit::Violates,
        () if has(State::Undecided) || !has(State::Confirmed) => Exit::Inconclusive,
        () => Exit::Conforms,
    }
}

fn compared(scenario: &Scenario, judged: &Judged) -> (State, String) {
    let found = || match judged.evidence.first() {
        Some(evidence) => format!("the judge finds {}: {}", crate::cases::place(evidence), evidence.sentence),
        None if judged.reason.is_empty() => "the judge finds that the traces conform".to_owned(),
        None => format!("the judge finds that they are {}: {}", judged.outcome, judged.reason),
    };
    let confirmed = (State::Confirmed, String::new());
    match scenario.outcome {
        Outcome::Pass if judged.outcome == Outcome::Pass => confirmed,
        Outcome::Inconclusive if matches!(judged.outcome, Outcome::Pass | Outcome::Inconclusive) => confirmed,
        Outcome::Fail => {
            let is_found = |it: &Evidence| judged.evidence.iter().any(|found| is_same(it, found));
            let mut by_judge = scenario.evidence.iter().filter(|it| it.found_by == FoundBy::Judge).peekable();
            if by_judge.peek().is_none() {
                let why = "an expectation of the scenario failed, which the judge does not know";
                return (State::Undecided, why.to_owned());
            }
            match by_judge.find(|it| !is_found(it)) {
                None => confirmed,
                Some(missing) => {
                    let missing = crate::cases::place(missing);
                    (State::NotConfirmed, format!("{missing} is not found again; {}", found()))
                }
            }
        }
        _ => (State::NotConfirmed, found()),
    }
}

fn is_same(one: &Evidence, other: &Evidence) -> bool {
    (&one.requirement, &one.trace, &one.lines) == (&other.requirement, &other.trace, &other.lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::scenario;
    use crate::types::{JudgingOptions, Run, Stage};

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/corpus/");
    const CONFORMS: &str = "recordings/completions-zero.audit.jsonl";
    const VIOLATES: &str = "known/s05-readopted.audit.jsonl";

    struct Sample(tempfile::TempDir);

    impl Sample {
        fn new() -> Sample {
            Sample(tempfile::tempdir().unwrap())
        }

        fn folder(&self) -> Folder {
            Folder::create(self.0.path()).unwrap()
        }

        /// A report on one scenario with this trace, as a suite writes it.
        fn report(&self, trace: &str) -> ConformanceReport {
            let folder = self.folder();
            std::fs::copy(format!("{CORPUS}{trace}"), folder.path("traces/a.jsonl")).unwrap();
            let judging = JudgingOptions { rule_set: "1.36".to_owned(), ..JudgingOptions::default() };
            let mut scenario = scenario("executor/a", Stage::Core, Outcome::Pass);
            scenario.traces = vec![folder.seal("traces/a.jsonl", "manager").unwrap()];
            let found = judged(&folder, &scenario.traces, &judging).unwrap();
            (scenario.outcome, scenario.evidence) = (found.outcome, found.evidence);
            scenario.reason = found.reason;
            ConformanceReport::new(Run { judging, ..Run::default() }, vec![scenario])
        }

        fn verify(&self, report: &ConformanceReport) -> (State, String, u8) {
            self.verify_by(report, &list_of(report))
        }

        fn verify_by(&self, report: &ConformanceReport, list: &ProfileList) -> (State, String, u8) {
            let verification = verify(&self.folder(), report, list).unwrap();
            let [one] = &verification.scenarios[..] else { panic!("one scenario") };
            (one.state, one.reason.clone(), verification.exit_code.code())
        }
    }

    /// The list of a profile that has the scenarios of this report.
    fn list_of(report: &ConformanceReport) -> ProfileList {
        let listed =
            |it: &Scenario| Listed { id: it.id.clone(), stage: Some(it.stage), digest: it.digest.clone() };
        ProfileList {
            version: report.run.profile.version.clone(),
            scenarios: report.scenarios.iter().map(listed).collect(),
        }
    }

    #[test]
    fn a_scenario_must_be_that_of_the_profile() {
        let sample = Sample::new();
        let mut report = sample.report(CONFORMS);
        report.run.jobcheck_version = env!("CARGO_PKG_VERSION").to_owned();
        let changed = |change: &dyn Fn(&mut ProfileList)| {
            let mut list = list_of(&report);
            change(&mut list);
            let (state, reason, exit) = sample.verify_by(&report, &list);
            (state, reason.split(' ').next().unwrap_or_default().to_owned(), exit)
        };
        let no = |first: &str| (State::NotConfirmed, first.to_owned(), 1);
        assert_eq!(changed(&|list| list.scenarios[0].id = "executor/b".to_owned()), no("the"));
        assert_eq!(changed(&|list| list.scenarios[0].digest = crate::digest::of(b"x")), no("its"));
        assert_eq!(changed(&|list| list.scenarios[0].stage = Some(Stage::Extended)), no("its"));
        assert_eq!(changed(&|list| list.scenarios[0].stage = None).0, State::Confirmed);
        assert_eq!(changed(&|list| list.version = "v9".to_owned()), (State::Undecided, "this".to_owned(), 3));
        // Another version of jobcheck may have had another text.
        let mut older = report.clone();
        older.run.jobcheck_version = "0.0.1".to_owned();
        let mut list = list_of(&older);
        list.scenarios[0].digest = crate::digest::of(b"x");
        list.scenarios.push(Listed { id: "executor/c".to_owned(), ..list.scenarios[0].clone() });
        assert_eq!(sample.verify_by(&older, &list).0, State::Undecided);
        assert_eq!(verify(&sample.folder(), &older, &list).unwrap().lacking, ["executor/c"]);
    }

    #[test]
    fn what_was_judged_is_confirmed() {
        let sample = Sample::new();
        for (trace, outcome) in [(CONFORMS, Outcome::Pass), (VIOLATES, Outcome::Fail)] {
            let report = sample.report(trace);
            assert_eq!(report.scenarios[0].outcome, outcome, "{trace}");
            assert_eq!(sample.verify(&report), (State::Confirmed, String::new(), 0), "{trace}");
        }
    }

    #[test]
    fn a_pass_whose_trace_violates_is_not_confirmed() {
        let sample = Sample::new();
        let mut report = sample.report(VIOLATES);
        let id = report.scenarios[0].evidence[0].requirement.clone();
        report.scenarios[0].outcome = Outcome::Pass;
        report.scenarios[0].evidence.clear();
        let (state, reason, exit) = sample.verify(&report);
        assert_eq!((state, exit), (State::NotConfirmed, 1));
        assert!(reason.starts_with(&format!("the judge finds {id}, traces/a.jsonl:")), "{reason}");
        report.scenarios[0].outcome = Outcome::Inconclusive;
        assert_eq!(sample.verify(&report).2, 1);
    }

    #[test]
    fn a_failure_without_its_evidence_is_not_confirmed() {
        let sample = Sample::new();
        let report = sample.report(VIOLATES);
        let change = |change: &dyn Fn(&mut Evidence)| {
            let mut report = report.clone();
            change(&mut report.scenarios[0].evidence[0]);
            sample.verify(&report)
        };
        assert_eq!(change(&|it| it.requirement = "MR-01".to_owned()).0, State::NotConfirmed);
        assert_eq!(change(&|it| it.lines = vec![1]).0, State::NotConfirmed);
        let mut good = sample.report(CONFORMS);
        good.scenarios[0].outcome = Outcome::Fail;
        good.scenarios[0].evidence = report.scenarios[0].evidence.clone();
        let (state, reason, _) = sample.verify(&good);
        assert_eq!(state, State::NotConfirmed);
        assert!(reason.ends_with("is not found again; the judge finds that the traces conform"), "{reason}");
    }

    #[test]
    fn a_failed_expectation_is_undecided() {
        let sample = Sample::new();
        let mut report = sample.report(VIOLATES);
        report.scenarios[0].evidence.iter_mut().for_each(|it| it.found_by = FoundBy::Expectation);
        let (state, _, exit) = sample.verify(&report);
        assert_eq!((state, exit), (State::Undecided, 3));
    }

    #[test]
    fn a_changed_or_missing_trace_confirms_nothing() {
        let sample = Sample::new();
        let mut report = sample.report(CONFORMS);
        std::fs::write(sample.folder().path("traces/a.jsonl"), "").unwrap();
        let (state, reason, exit) = sample.verify(&report);
        assert_eq!((state, exit), (State::NotConfirmed, 1));
        assert!(reason.starts_with("traces/a.jsonl: the report has the digest"), "{reason}");
        report.scenarios[0].traces.clear();
        assert_eq!(sample.verify(&report), (State::NotConfirmed, "it has no trace".to_owned(), 1));
    }

    #[test]
    fn what_was_not_run_is_not_confirmed_either() {
        let sample = Sample::new();
        let mut report = sample.report(CONFORMS);
        report.scenarios[0].outcome = Outcome::Skip;
        report.scenarios[0].reason = "not asked for".to_owned();
        assert_eq!(sample.verify(&report), (State::NotRun, "not asked for".to_owned(), 3));
    }

    #[test]
    fn an_option_that_is_not_known_is_named() {
        let sample = Sample::new();
        let report = sample.report(CONFORMS);
        let problem = |change: &dyn Fn(&mut JudgingOptions)| {
            let mut report = report.clone();
            change(&mut report.run.judging);
            verify(&sample.folder(), &report, &list_of(&report)).unwrap_err()
        };
        assert!(problem(&|it| it.rule_set = "9.9".to_owned()).starts_with("judging.ruleSet: \"9.9\""));
        assert!(problem(&|it| it.profile = Some("x".to_owned())).starts_with("judging.profile: \"x\""));
        assert!(problem(&|it| it.actors = vec!["x=y".to_owned()]).starts_with("judging.actors: \"x=y\""));
        assert!(problem(&|it| it.assume = vec!["x=y".to_owned()]).starts_with("judging.assume: \"x=y\""));
    }
}

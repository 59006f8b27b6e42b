//! Confirms the outcomes of a report by judging its traces again.
//!
//! | outcome | it is confirmed if the judge |
//! | --- | --- |
//! | pass | finds that the traces conform |
//! | fail | finds each violation of its evidence again: requirement, trace and line |
//! | inconclusive | finds no violation |
//!
//! The judge does not know the expectations of a scenario. A failure that only an expectation shows is undecided. So is a
//! pass whose traces meet no premise of its requirements, if the profile says that each pass meets one. A pass with two
//! clusters is also undecided if its traces do not reach the end of the scenario, which only an expectation demands.
//!
//! Each run of a scenario has its own Jobs and its own traces, one of each cluster. Two runs that share them are not confirmed,
//! nor is a run without the trace of a cluster.
//!
//! A report must have the scenarios of its profile, each with the text and the requirements that it has there. A
//! difference in a report of another version of jobcheck is undecided.
//!
//! The files that follow from the report must hold the same ([`folder::files`](crate::folder::files)). All other files are
//! named as not compared. The traces must be of the manager and of the time that the report names.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_judge::report::{API_VERSION, Exit};
use serde::Serialize;

use crate::claims::{self, Seen};
use crate::clusters;
use crate::ends;
use crate::folder::{Difference, Folder};
use crate::judge::{Judged, Shown, judged};
use crate::profile::ProfileList;
use crate::rendered::rendered;
use crate::types::{ConformanceReport, Evidence, FoundBy, JudgingOptions, Outcome, Scenario};

/// The outcomes of a report, held against its traces.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// [`API_VERSION`].
    pub api_version: &'static str,
    /// `ReportVerification`.
    pub kind: &'static str,
    /// 0 if the list, the files, and all outcomes are confirmed, 1 if one is not, 3 if nothing is left but undecided ones.
    pub exit_code: Exit,
    /// The version of jobcheck that wrote the report.
    pub written_by: String,
    /// The version of jobcheck that judged again.
    pub judged_by: &'static str,
    /// The options of the report, with which the traces were judged.
    pub judging: JudgingOptions,
    /// The scenarios of the profile that the report lacks.
    pub lacking: Vec<String>,
    /// The objections to the report as a whole.
    pub objections: Vec<Objection>,
    /// The files of the folder that were compared with nothing, in order.
    pub not_compared: Vec<String>,
    /// The scenarios, each as often as it is repeated, in the order of the report.
    pub scenarios: Vec<Confirmation>,
}

/// An objection to a report, or to one of its scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Objection {
    /// Not confirmed, or undecided.
    pub state: State,
    /// The reason.
    pub reason: String,
}

impl Objection {
    pub(crate) fn new(state: State, reason: impl Into<String>) -> Objection {
        Objection { state, reason: reason.into() }
    }
}

/// An outcome, held against its traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// The id of the scenario.
    pub id: String,
    /// The number of the run, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition: Option<u32>,
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

/// Judges the traces of a report again, and holds its scenarios against those of its profile, and the other files against
/// the report.
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
    let (mut scenarios, mut shown, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for scenario in &report.scenarios {
        let name = scenario.name();
        let changed = differences.iter().find(|it| it.scenario == name);
        let judged = match is_judged(scenario) && changed.is_none() {
            true => Some(judged(folder, &scenario.traces, &report.run.judging)?),
            false => None,
        };
        let objection = list.objection(scenario, report);
        let (state, reason) = match objection.or_else(|| clusters::objection(scenario, report)) {
            Some(it) => (it.state, it.reason),
            None => answer(scenario, changed, judged.as_ref(), list),
        };
        let is_pass = scenario.outcome == Outcome::Pass && state == State::Confirmed;
        let (state, reason) = match is_pass.then(|| ends::missing(folder, scenario, &report.run)).flatten() {
            Some(why) => (State::Undecided, why.to_owned()),
            None => (state, reason),
        };
        let (id, repetition, outcome) = (scenario.id.clone(), scenario.repetition, scenario.outcome);
        scenarios.push(Confirmation { id, repetition, outcome, state, reason });
        seen.push(judged.as_ref().map(|it| Seen::of(folder, scenario, it)).unwrap_or_default());
        shown.push(judged.map(|it| it.shown).unwrap_or_default());
    }
    refuse_shared(&mut scenarios, &report.scenarios, &shown);
    let files = rendered(folder, report)?;
    let mut objections: Vec<Objection> = list.objection_to_list(report).into_iter().collect();
    objections.extend(clusters::objection_to_list(&report.run));
    objections.extend(files.objections);
    objections.extend(claims::objections(report, &seen));
    Ok(Verification {
        judging: report.run.judging.clone(),
        lacking: list.lacking(report),
        api_version: API_VERSION,
        kind: "ReportVerification",
        exit_code: exit(&scenarios, &objections),
        written_by: report.run.jobcheck_version.clone(),
        judged_by: env!("CARGO_PKG_VERSION"),
        objections,
        not_compared: files.not_compared,
        scenarios,
    })
}

fn exit(scenarios: &[Confirmation], objections: &[Objection]) -> Exit {
    let states = || scenarios.iter().map(|it| it.state).chain(objections.iter().map(|it| it.state));
    let has = |state| states().any(|it| it == state);
    match () {
        () if has(State::NotConfirmed) => Exit::Violates,
        () if has(State::Undecided) || !has(State::Confirmed) => Exit::Inconclusive,
        () => Exit::Conforms,
    }
}

/// Returns whether the outcome follows from traces that are there.
fn is_judged(scenario: &Scenario) -> bool {
    scenario.outcome.was_run() && !scenario.traces.is_empty()
}

/// The answer to a scenario that is one of the profile.
fn answer(
    scenario: &Scenario,
    changed: Option<&Difference>,
    judged: Option<&Judged>,
    list: &ProfileList,
) -> (State, String) {
    match (changed, judged) {
        _ if !scenario.outcome.was_run() => (State::NotRun, scenario.reason.clone()),
        (Some(it), _) => (State::NotConfirmed, format!("{}: {}", it.file, it.problem)),
        (None, None) => (State::NotConfirmed, "it has no trace".to_owned()),
        (None, Some(judged)) => match compared(scenario, judged) {
            (State::Confirmed, _) if is_beside_the_point(scenario, &judged.shown, list) => {
                (State::Undecided, "its traces meet no premise of its requirements".to_owned())
            }
            answer => answer,
        },
    }
}

/// Returns whether the traces of a pass could decide a requirement of the scenario, but give no occasion for any.
fn is_beside_the_point(scenario: &Scenario, shown: &Shown, list: &ProfileList) -> bool {
    let has = |ids: &BTreeSet<String>| scenario.requirements.iter().any(|id| ids.contains(id));
    scenario.outcome == Outcome::Pass
        && list.find(&scenario.id).is_some_and(|it| it.meets_premise)
        && has(&shown.unmet)
        && !has(&shown.met)
}

/// Confirms no scenario whose traces, or whose Jobs, are those of another one. A copy of a trace has the same Jobs.
fn refuse_shared(confirmations: &mut [Confirmation], scenarios: &[Scenario], shown: &[Shown]) {
    let mut owners: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (scenario, shown)) in scenarios.iter().zip(shown).enumerate() {
        let files = scenario.traces.iter().map(|it| &*it.file);
        for thing in files.chain(shown.jobs.iter().map(|job| &**job)) {
            let owners = owners.entry(thing).or_default();
            if !owners.contains(&at) {
                owners.push(at);
            }
        }
    }
    for owners in owners.values().filter(|it| it.len() > 1) {
        for at in owners {
            let other =
                owners.iter().find(|it| *it != at).map_or(String::new(), |other| scenarios[*other].name());
            let it = &mut confirmations[*at];
            if it.state != State::NotConfirmed {
                it.state = State::NotConfirmed;
                it.reason = format!("its trace is that of {other}, too");
            }
        }
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
    use crate::profile::Listed;
    use crate::profile::tests::list_of;
    use crate::result::tests::scenario;
    use crate::types::{JudgingOptions, Run, Stage};

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/corpus/");
    const CONFORMS: &str = "recordings/completions-zero.audit.jsonl";
    const OTHER: &str = "recordings/indexed-success.audit.jsonl";
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
            ConformanceReport::new(Run { judging, ..crate::result::tests::timed() }, vec![scenario])
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

    /// A report of this version on two scenarios, with these traces.
    fn two(sample: &Sample, traces: [&str; 2]) -> ConformanceReport {
        let mut report = sample.report(traces[0]);
        report.run.jobcheck_version = env!("CARGO_PKG_VERSION").to_owned();
        let folder = sample.folder();
        std::fs::copy(format!("{CORPUS}{}", traces[1]), folder.path("traces/b.jsonl")).unwrap();
        let mut other = report.scenarios[0].clone();
        other.id = "executor/b".to_owned();
        other.traces = vec![folder.seal("traces/b.jsonl", "manager").unwrap()];
        ConformanceReport::new(report.run, vec![report.scenarios.remove(0), other])
    }

    #[test]
    fn a_trace_serves_one_scenario() {
        let sample = Sample::new();
        let verified = |report: &ConformanceReport| {
            let verification = verify(&sample.folder(), report, &list_of(report)).unwrap();
            let states = verification.scenarios.iter().map(|it| (it.state, it.reason.clone()));
            (states.collect::<Vec<_>>(), verification.exit_code.code())
        };
        let shared = |id: &str| (State::NotConfirmed, format!("its trace is that of executor/{id}, too"));
        let confirmed = || (State::Confirmed, String::new());
        let own = two(&sample, [CONFORMS, OTHER]);
        assert_eq!(verified(&own), (vec![confirmed(), confirmed()], 0));
        // The same file.
        let mut same = own.clone();
        same.scenarios[1].traces = same.scenarios[0].traces.clone();
        assert_eq!(verified(&same), (vec![shared("b"), shared("a")], 1));
        // A copy.
        let copied = two(&sample, [CONFORMS, CONFORMS]);
        assert_eq!(verified(&copied), (vec![shared("b"), shared("a")], 1));
        // A copy that has another digest.
        let file = sample.folder().path("traces/b.jsonl");
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + "\n").unwrap();
        let mut padded = copied;
        padded.scenarios[1].traces = vec![sample.folder().seal("traces/b.jsonl", "manager").unwrap()];
        assert_ne!(padded.scenarios[0].traces[0].digest, padded.scenarios[1].traces[0].digest);
        assert_eq!(verified(&padded), (vec![shared("b"), shared("a")], 1));
    }

    #[test]
    fn each_run_of_a_scenario_has_its_own_trace() {
        let sample = Sample::new();
        let mut report = two(&sample, [CONFORMS, OTHER]);
        report.run.repeat = Some(2);
        let runs = report.scenarios.iter_mut().zip(1..);
        runs.for_each(|(it, number)| (it.id, it.repetition) = ("executor/a".to_owned(), Some(number)));
        let verified = |report: &ConformanceReport| {
            let verification = verify(&sample.folder(), report, &list_of(report)).unwrap();
            let states = verification.scenarios.iter().map(|it| (it.repetition, it.state, it.reason.clone()));
            (states.collect::<Vec<_>>(), verification.exit_code.code())
        };
        let confirmed = |number| (Some(number), State::Confirmed, String::new());
        assert_eq!(verified(&report), (vec![confirmed(1), confirmed(2)], 0));
        let shared = |number, other: u32| {
            let why = format!("its trace is that of executor/a (run {other}), too");
            (Some(number), State::NotConfirmed, why)
        };
        let mut same = report.clone();
        same.scenarios[1].traces = same.scenarios[0].traces.clone();
        assert_eq!(verified(&same), (vec![shared(1, 2), shared(2, 1)], 1));
        // A changed trace concerns its run alone.
        std::fs::write(sample.folder().path("traces/b.jsonl"), "").unwrap();
        let (states, exit) = verified(&report);
        assert_eq!((&states[0], states[1].1, exit), (&confirmed(1), State::NotConfirmed, 1));
        assert_eq!(sample.folder().differences(&report)[0].scenario, "executor/a (run 2)");
    }

    #[test]
    fn a_pass_that_meets_no_premise_is_undecided() {
        let sample = Sample::new();
        let mut report = sample.report(CONFORMS);
        let mut about = |ids: &[&str], meets_premise: bool| {
            report.scenarios[0].requirements = ids.iter().map(|id| (*id).to_owned()).collect();
            let mut list = list_of(&report);
            list.scenarios[0].meets_premise = meets_premise;
            sample.verify_by(&report, &list)
        };
        let undecided = (State::Undecided, "its traces meet no premise of its requirements".to_owned(), 3);
        let confirmed = (State::Confirmed, String::new(), 0);
        // The Job has no pods, and so nothing that could be counted or replaced.
        assert_eq!(about(&["BI-01", "RP-03"], true), undecided);
        assert_eq!(about(&["BI-01", "TC-04"], true), confirmed);
        // A requirement that only the traces of two clusters show demands nothing here.
        assert_eq!(about(&["MR-20"], true), confirmed);
        // A right run may give no occasion for what is forbidden.
        assert_eq!(about(&["BI-01", "RP-03"], false), confirmed);
    }

    #[test]
    fn a_report_that_lacks_a_scenario_is_not_confirmed() {
        let sample = Sample::new();
        let whole = two(&sample, [CONFORMS, OTHER]);
        let list = list_of(&whole);
        let mut rest = whole.clone();
        rest.scenarios.truncate(1);
        let verification = verify(&sample.folder(), &rest, &list).unwrap();
        assert_eq!(
            (&*verification.lacking, verification.exit_code),
            (&["executor/b".to_owned()][..], Exit::Violates)
        );
        assert_eq!(verification.objections[0].reason, "the report lacks 1 scenario of the profile");
        assert!(verify(&sample.folder(), &whole, &list).unwrap().objections.is_empty());
        let run = Run { selection: vec!["a".to_owned()], ..rest.run };
        let chosen = ConformanceReport::new(run, rest.scenarios);
        let verification = verify(&sample.folder(), &chosen, &list).unwrap();
        assert_eq!((&*verification.objections, verification.exit_code), (&[][..], Exit::Conforms));
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

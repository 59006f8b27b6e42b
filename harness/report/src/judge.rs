//! Judges the traces of a scenario with the options of its report. A suite and `report verify` share [`judged`], so that
//! the same traces have the same outcome. [`conclude`] adds what only the suite knows.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_judge::replay::{Assumption, Clusters, FailsWhen, Judging, judge, judge_clusters, rules};
use jobcheck_judge::report::{Exit, Finding, ReplayReport, TraceReport};
use jobcheck_judge::validate::{Profile, Role};
use jobcheck_traces::Input;

use crate::folder::Folder;
use crate::types::{Evidence, FoundBy, JudgingOptions, Outcome, Scenario, TraceFile};

/// The name of the cluster of the manager. All others are workers.
pub const MANAGER: &str = "manager";

/// The outcome of judging the traces of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Pass, fail, inconclusive, or error if a trace cannot be read.
    pub outcome: Outcome,
    /// Why it is inconclusive or an error.
    pub reason: String,
    /// The violations, in the order of the judge.
    pub evidence: Vec<Evidence>,
    /// The content of the traces.
    pub shown: Shown,
}

/// The content of the traces of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The Jobs of what is under test, each as `NAMESPACE/NAME UID`.
    pub jobs: BTreeSet<String>,
    /// The values of their `spec.managedBy`.
    pub managers: BTreeSet<Option<String>>,
    /// The requirements whose premise a Job met.
    pub met: BTreeSet<String>,
    /// The requirements that such traces can decide, but whose premise no Job met.
    pub unmet: BTreeSet<String>,
}

/// A step or an expectation of a scenario that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The sentence for reports.
    pub why: String,
    /// The id of the requirement that this alone breaks.
    pub broken: Option<String>,
}

/// Judges traces. The files of one cluster are parts of one trace. A manager is compared with its workers; the verdicts on
/// the workers themselves are about other controllers, and do not count.
///
/// # Errors
///
/// The options name something that is not known.
pub fn judged(folder: &Folder, traces: &[TraceFile], options: &JudgingOptions) -> Result<Judged, String> {
    let judging = judging(options)?;
    let input = |trace: &TraceFile| Input::Path(folder.path(&trace.file));
    let of = |cluster: &str| traces.iter().filter(|it| it.cluster == cluster).map(input).collect::<Vec<_>>();
    let mut names: Vec<&str> = traces.iter().map(|it| &*it.cluster).collect();
    names.sort_unstable();
    names.dedup();
    let is_pair = names.len() > 1 && names.contains(&MANAGER);
    let report = if is_pair {
        let workers = names.iter().filter(|name| **name != MANAGER).map(|name| of(name)).collect();
        judge_clusters(&Clusters { manager: of(MANAGER), workers }, &judging, &mut |_, _| {})
    } else {
        let traces: Vec<Vec<Input>> = names.iter().map(|name| of(name)).collect();
        judge(&traces, &judging, &mut |_, _| {})
    };
    let count = if is_pair { 1 } else { report.traces.len() };
    let files = traces.iter().map(|it| (folder.path(&it.file).to_string_lossy().into_owned(), &*it.file));
    Ok(outcome(&report, report.traces.get(..count).unwrap_or_default(), &files.collect()))
}

/// Sets the outcome of a scenario from what the judge finds in its traces, and from what was not met. The first evidence
/// for a requirement is enough.
pub fn conclude(scenario: &mut Scenario, judged: Judged, unmet: Option<Unmet>) {
    let (broken, why) = unmet.map_or((None, None), |it| (it.broken, Some(it.why)));
    let expected = broken.zip(why.clone()).map(|(requirement, sentence)| Evidence {
        requirement,
        found_by: FoundBy::Expectation,
        trace: None,
        lines: Vec::new(),
        sentence,
    });
    for evidence in judged.evidence.into_iter().chain(expected) {
        if !scenario.evidence.iter().any(|known| known.requirement == evidence.requirement) {
            scenario.evidence.push(evidence);
        }
    }
    scenario.outcome = match (judged.outcome, &why) {
        (Outcome::Error, _) => Outcome::Error,
        _ if !scenario.evidence.is_empty() => Outcome::Fail,
        (_, Some(_)) => Outcome::Inconclusive,
        (outcome, None) => outcome,
    };
    let broken = (scenario.outcome == Outcome::Fail).then(|| {
        let ids: Vec<&str> = scenario.evidence.iter().map(|it| &*it.requirement).collect();
        format!("broken: {}", ids.join(", "))
    });
    let judged = Some(judged.reason).filter(|reason| !reason.is_empty());
    scenario.reason = broken.into_iter().chain(why).chain(judged).collect::<Vec<_>>().join("; ");
}

/// The settings of the judge for these options.
fn judging(options: &JudgingOptions) -> Result<Judging, String> {
    let about = |name: &str, text: &str, why: String| format!("judging.{name}: {text:?}: {why}");
    let mut judging =
        Judging { strict: options.strict, allow_known: options.allow_known, ..Judging::default() };
    let rule_set = &options.rule_set;
    judging.kubernetes = Some(rules(rule_set).map_err(|why| about("ruleSet", rule_set, why))?);
    judging.profile = match options.profile.as_deref() {
        None => None,
        Some("mirror") => Some(Profile::Mirror),
        Some("aggregate") => Some(Profile::Aggregate),
        Some("executor") => Some(Profile::Executor),
        Some(other) => {
            return Err(about("profile", other, "expected mirror, aggregate or executor".to_owned()));
        }
    };
    for text in &options.assume {
        judging.assume.push(Assumption::parse(text).map_err(|why| about("assume", text, why))?);
    }
    for text in &options.actors {
        let actor = text.split_once('=').and_then(|(role, user)| Some((Role::named(role)?, user.to_owned())));
        let problem = || about("actors", text, "expected ROLE=USER".to_owned());
        judging.actors.push(actor.ok_or_else(problem)?);
    }
    judging.skew = options.skew;
    judging.fails_when = match options.fails_when.as_deref() {
        None | Some("any") => FailsWhen::Any,
        Some("all") => FailsWhen::All,
        Some(other) => return Err(about("failsWhen", other, "expected any or all".to_owned())),
    };
    Ok(judging)
}

/// The outcome from the traces of what is under test.
fn outcome(report: &ReplayReport, traces: &[TraceReport], files: &BTreeMap<String, &str>) -> Judged {
    let jobs = || traces.iter().flat_map(|trace| report.jobs_of(trace));
    let counting = jobs().filter(|job| job.exit == Exit::Violates);
    let findings = counting.flat_map(|job| job.violations.iter().map(|it| evidence(it, files)));
    let unread = (!report.errors.is_empty()).then_some(Exit::Unreadable);
    let doubted = (!report.doubts.is_empty()).then_some(Exit::Inconclusive);
    let exits = traces.iter().map(|trace| trace.exit_code).chain(unread).chain(doubted);
    let (outcome, reason) = match Exit::of_all(exits) {
        Exit::Conforms => (Outcome::Pass, String::new()),
        Exit::Violates => (Outcome::Fail, String::new()),
        Exit::Inconclusive => (Outcome::Inconclusive, doubts(report, traces)),
        Exit::Unreadable | Exit::Environment | Exit::Internal => (Outcome::Error, errors(report, files)),
    };
    let evidence = if outcome == Outcome::Fail { findings.collect() } else { Vec::new() };
    let shown = Shown {
        jobs: jobs().map(|job| format!("{} {}", job.job, job.uid)).collect(),
        managers: jobs().map(|job| job.managed_by.clone()).collect(),
        met: report.requirements.judged.keys().map(ToString::to_string).collect(),
        unmet: report.requirements.premise_never_met.iter().map(ToString::to_string).collect(),
    };
    Judged { outcome, reason, evidence, shown }
}

fn evidence(finding: &Finding, files: &BTreeMap<String, &str>) -> Evidence {
    let difference = &finding.difference;
    let trace = finding.place.file.as_ref().and_then(|file| files.get(file)).map(|file| (*file).to_owned());
    Evidence {
        requirement: finding.requirement.map_or_else(|| "warning".to_owned(), |id| id.to_string()),
        found_by: FoundBy::Judge,
        lines: finding.place.line.filter(|_| trace.is_some()).into_iter().collect(),
        trace,
        sentence: format!(
            "{}: {}: expected {}, found {}",
            difference.write, difference.what, difference.expected, difference.found
        ),
    }
}

fn doubts(report: &ReplayReport, traces: &[TraceReport]) -> String {
    let of_jobs = traces.iter().flat_map(|trace| report.jobs_of(trace)).flat_map(|job| &job.doubts);
    let of_traces = traces.iter().flat_map(|trace| &trace.doubts);
    let mut all: Vec<&str> = report.doubts.iter().chain(of_traces).chain(of_jobs).map(|it| &**it).collect();
    all.dedup();
    match &all[..] {
        [] => "the traces do not decide".to_owned(),
        some => some.join("; "),
    }
}

fn errors(report: &ReplayReport, files: &BTreeMap<String, &str>) -> String {
    let error = report.errors.iter().map(|error| {
        let file = files.get(&error.file).copied().unwrap_or("a trace");
        format!("{}: {}", error.place_in(file), error.message)
    });
    error.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Stage;

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/corpus/");

    #[test]
    fn the_verdict_on_a_worker_is_not_that_on_the_manager() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path()).unwrap();
        let add = |cluster: &str, trace: &str| {
            let name = format!("traces/{cluster}.jsonl");
            std::fs::copy(format!("{CORPUS}{trace}"), folder.path(&name)).unwrap();
            folder.seal(&name, cluster).unwrap()
        };
        let manager = add(MANAGER, "recordings/completions-zero.audit.jsonl");
        let worker = add("worker-1", "known/s05-readopted.audit.jsonl");
        let options = JudgingOptions { rule_set: "1.36".to_owned(), ..JudgingOptions::default() };
        let of = |traces: &[&TraceFile]| {
            let traces: Vec<TraceFile> = traces.iter().map(|it| (*it).clone()).collect();
            judged(&folder, &traces, &options).unwrap()
        };
        assert_eq!(of(&[&manager]).outcome, Outcome::Pass);
        assert_eq!(of(&[&worker]).outcome, Outcome::Fail);
        let both = of(&[&manager, &worker]);
        assert_eq!((both.outcome, &both.evidence[..]), (Outcome::Inconclusive, &[][..]));
        assert!(both.reason.contains("is the copy of a Job"), "{}", both.reason);
        std::fs::write(folder.path(&worker.file), "no trace").unwrap();
        assert_eq!(of(&[&manager, &worker]).outcome, Outcome::Error);
    }

    #[test]
    fn what_was_not_met_counts_beside_the_verdict() {
        let found = |requirement: &str| Evidence {
            requirement: requirement.to_owned(),
            found_by: FoundBy::Judge,
            trace: None,
            lines: Vec::new(),
            sentence: "found".to_owned(),
        };
        let of = |outcome, ids: &[&str], unmet: Option<Option<&str>>| {
            let evidence = ids.iter().map(|id| found(id)).collect();
            let judged = Judged { outcome, reason: String::new(), evidence, shown: Shown::default() };
            let unmet =
                unmet.map(|broken| Unmet { why: "late".to_owned(), broken: broken.map(str::to_owned) });
            let mut scenario = Scenario::not_run("a", Stage::Core, "", "");
            conclude(&mut scenario, judged, unmet);
            let ids = scenario.evidence.iter().map(|it| it.requirement.clone()).collect::<Vec<_>>();
            (scenario.outcome, ids.join(" "), scenario.reason)
        };
        let is = |outcome, ids: &str, reason: &str| (outcome, ids.to_owned(), reason.to_owned());
        assert_eq!(of(Outcome::Pass, &[], None), is(Outcome::Pass, "", ""));
        assert_eq!(of(Outcome::Pass, &[], Some(None)), is(Outcome::Inconclusive, "", "late"));
        let late = of(Outcome::Pass, &[], Some(Some("MR-21")));
        assert_eq!(late, is(Outcome::Fail, "MR-21", "broken: MR-21; late"));
        let twice = of(Outcome::Fail, &["MR-09", "MR-09", "MR-03"], Some(Some("MR-03")));
        assert_eq!(twice, is(Outcome::Fail, "MR-09 MR-03", "broken: MR-09, MR-03; late"));
        assert_eq!(of(Outcome::Error, &[], Some(None)).0, Outcome::Error);
    }
}

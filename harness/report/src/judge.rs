//! Judges the traces of a scenario with the options of its report. A suite and `report verify` share this function, so that
//! the same traces have the same outcome.

use std::collections::BTreeMap;

use jobcheck_judge::replay::{Assumption, Clusters, Judging, judge, judge_clusters, rules};
use jobcheck_judge::report::{Exit, Finding, JobReport, ReplayReport};
use jobcheck_judge::validate::{Profile, Role};
use jobcheck_traces::Input;

use crate::folder::Folder;
use crate::types::{Evidence, FoundBy, JudgingOptions, Outcome, TraceFile};

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
}

/// Judges traces. The files of one cluster are parts of one trace; the manager is compared with its workers.
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
    let files = traces.iter().map(|it| (folder.path(&it.file).to_string_lossy().into_owned(), &*it.file));
    Ok(outcome(&report, &files.collect()))
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
    Ok(judging)
}

fn outcome(report: &ReplayReport, files: &BTreeMap<String, &str>) -> Judged {
    let counting = report.jobs.iter().filter(|job| job.exit == Exit::Violates);
    let findings = counting.flat_map(|job| job.violations.iter().map(|it| evidence(it, files)));
    let (outcome, reason) = match report.exit_code {
        Exit::Conforms => (Outcome::Pass, String::new()),
        Exit::Violates => (Outcome::Fail, String::new()),
        Exit::Inconclusive => (Outcome::Inconclusive, doubts(report)),
        Exit::Unreadable | Exit::Environment | Exit::Internal => (Outcome::Error, errors(report, files)),
    };
    let evidence = if outcome == Outcome::Fail { findings.collect() } else { Vec::new() };
    Judged { outcome, reason, evidence }
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
            "{}: expected {}, found {}",
            difference.what, difference.expected, difference.found
        ),
    }
}

fn doubts(report: &ReplayReport) -> String {
    let of_jobs = report.jobs.iter().flat_map(|job: &JobReport| &job.doubts);
    let of_traces = report.traces.iter().flat_map(|trace| &trace.doubts);
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
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{file}{line}: {}", error.message)
    });
    error.collect::<Vec<_>>().join("; ")
}

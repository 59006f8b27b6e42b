//! What is wrong with a run, in a sentence.

use jobcheck_judge::report::ReplayReport;
use jobcheck_spec::Req;

/// The first thing that is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The requirement that the trace breaks; none where something did not happen as the scenario says.
    pub requirement: Option<Req>,
    /// The documented deviation of the built-in that it is.
    pub known: Option<Req>,
    /// The line of the trace.
    pub line: Option<u64>,
    /// What is wrong.
    pub why: String,
}

impl Found {
    /// The first that the verdict on the trace tells, else what did not happen, else why the verdict is none. Violations
    /// that are not documented come before those that are.
    #[must_use]
    pub fn first(report: &ReplayReport, unmet: Option<&str>) -> Option<Found> {
        let violations = || report.jobs.iter().flat_map(|job| &job.violations);
        if let Some(it) = violations().find(|it| it.known.is_none()).or_else(|| violations().next()) {
            return Some(Found {
                requirement: it.requirement.map(|id| id.0),
                known: it.known.map(|id| id.0),
                line: it.line,
                why: format!("{}: {}: expected {}, found {}", it.write, it.what, it.expected, it.found),
            });
        }
        let doubts = report.jobs.iter().flat_map(|job| &job.doubts);
        let mut doubts = doubts.chain(report.traces.iter().flat_map(|trace| &trace.doubts)).cloned();
        let errors = || report.errors.first().map(|error| error.message.clone());
        let why = unmet.map(str::to_owned).or_else(|| doubts.next()).or_else(errors)?;
        Some(Found { requirement: None, known: None, line: None, why })
    }
}

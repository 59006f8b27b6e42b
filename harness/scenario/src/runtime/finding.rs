//! The first finding of a run.

use jobcheck_judge::report::ReplayReport;
use jobcheck_spec::Req;

/// The first finding of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The requirement that the trace breaks. `None` if a step or an expectation was not met.
    pub requirement: Option<Req>,
    /// The documented deviation of the built-in controller, if it is one.
    pub known: Option<Req>,
    /// The line of the trace.
    pub line: Option<u64>,
    /// The explanation.
    pub why: String,
}

impl Finding {
    /// Returns the first violation in the verdict, or the unmet step or expectation, or the reason why the
    /// verdict is inconclusive. Undocumented violations precede documented ones.
    #[must_use]
    pub fn first(report: &ReplayReport, unmet: Option<&str>) -> Option<Finding> {
        let violations = || report.jobs.iter().flat_map(|job| &job.violations);
        if let Some(it) = violations().find(|it| it.known.is_none()).or_else(|| violations().next()) {
            return Some(Finding {
                requirement: it.requirement.map(|id| id.0),
                known: it.known.map(|id| id.0),
                line: it.place.line,
                why: format!(
                    "{}: {}: expected {}, found {}",
                    it.difference.write, it.difference.what, it.difference.expected, it.difference.found
                ),
            });
        }
        let doubts = report.jobs.iter().flat_map(|job| &job.doubts);
        let mut doubts = doubts.chain(report.traces.iter().flat_map(|trace| &trace.doubts)).cloned();
        let errors = || report.errors.first().map(|error| error.message.clone());
        let why = unmet.map(str::to_owned).or_else(|| doubts.next()).or_else(errors)?;
        Some(Finding { requirement: None, known: None, line: None, why })
    }
}

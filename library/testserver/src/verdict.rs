//! The verdict on the requests of a test.

use std::fmt::{self, Display, Formatter};

use jobcheck_judge::replay::{Grouping, Judging, group, judge};
use jobcheck_judge::report::{Finding, JobReport, ReplayReport};
use jobcheck_judge::validate::{Outcome, Profile, Role};
use jobcheck_traces::Input;

use crate::server::Manages;

/// The verdict on the requests that a test server has recorded. Its text lists every violation.
#[derive(Clone, Debug)]
pub struct Verdict {
    report: ReplayReport,
    trace: String,
    seed: u64,
}

pub(crate) fn judged(trace: String, controller: &str, manages: Manages, seed: u64) -> Verdict {
    let input = Input::Bytes("trace".to_owned(), trace.clone().into_bytes());
    let (role, profile) = match manages {
        Manages::Unmanaged => (Role::JobController, None),
        Manages::Pods => (Role::Manager, Some(Profile::Executor)),
        Manages::Status => (Role::Manager, None),
    };
    let judging = Judging { actors: vec![(role, controller.to_owned())], profile, ..Judging::default() };
    let traces = group(vec![input], Grouping::Auto, &mut |_, _| {});
    Verdict { report: judge(&traces, &judging, &mut |_, _| {}), trace, seed }
}

impl Verdict {
    /// Returns true if a requirement is violated.
    #[must_use]
    pub fn violates(&self) -> bool {
        self.report.verdict == Outcome::Violates
    }

    /// Returns true if every Job conforms, and at least one write was judged.
    #[must_use]
    pub fn conforms(&self) -> bool {
        self.report.verdict == Outcome::Conforms
    }

    /// The ids of the violated requirements, such as `FT-03`, in order.
    #[must_use]
    pub fn violated(&self) -> Vec<String> {
        let findings = self.report.jobs.iter().flat_map(|job| &job.violations);
        findings.filter_map(|finding| Some(finding.requirement?.0.id().to_owned())).collect()
    }

    /// The whole report, as `jobcheck replay -o json` prints it.
    #[must_use]
    pub fn report(&self) -> &ReplayReport {
        &self.report
    }

    /// The trace that was judged.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// Requires that every Job conforms.
    ///
    /// # Panics
    ///
    /// A requirement is violated, or the trace does not decide. The message lists why.
    #[track_caller]
    pub fn check(&self) {
        assert!(self.conforms(), "{self}");
    }
}

impl Display for Verdict {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (verdict, writes) = (self.report.verdict, self.report.judged_writes);
        writeln!(formatter, "{verdict}: {writes} writes judged with seed {}", self.seed)?;
        self.report.jobs.iter().try_for_each(|job| tell(job, formatter))?;
        let others = self.report.doubts.iter().chain(self.report.errors.iter().map(|error| &error.message));
        others.into_iter().try_for_each(|line| writeln!(formatter, "  {line}"))
    }
}

/// The findings that differ in more than their place, each with its number.
fn told_once(all: &[Finding]) -> Vec<(&Finding, usize)> {
    let mut told: Vec<(&Finding, usize)> = Vec::new();
    for finding in all {
        let is_same = |other: &Finding| {
            let (one, other_one) = (&finding.difference, &other.difference);
            finding.requirement == other.requirement
                && (&one.what, &one.expected, &one.found)
                    == (&other_one.what, &other_one.expected, &other_one.found)
        };
        match told.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, times)) => *times += 1,
            None => told.push((finding, 1)),
        }
    }
    told
}

fn tell(job: &JobReport, formatter: &mut Formatter<'_>) -> fmt::Result {
    writeln!(formatter, "{} {}", job.verdict, job.job)?;
    for (finding, times) in told_once(&job.violations) {
        let id = finding.requirement.map_or("-", |id| id.0.id());
        let (difference, time) = (&finding.difference, finding.place.time.as_deref().unwrap_or("-"));
        writeln!(formatter, "  {id}: {}", finding.sentence)?;
        writeln!(formatter, "    at {time}, line {}: {}", finding.place.line.unwrap_or(0), difference.write)?;
        writeln!(
            formatter,
            "    {}: expected {}, found {}",
            difference.what, difference.expected, difference.found
        )?;
        if times > 1 {
            writeln!(formatter, "    the same in {} later writes", times - 1)?;
        }
    }
    job.doubts.iter().try_for_each(|doubt| writeln!(formatter, "  not decided: {doubt}"))
}

//! The report as JUnit XML: a suite for each trace, and a case for each Job.

use jobcheck_judge::report::{Exit, Finding, JobReport, ReplayReport, TraceReport};
use jobcheck_judge::validate;

use crate::junit::{Case, Outcome, Problem, Report, Suite};
use crate::text::clean;

/// The report as XML.
pub fn render(report: &ReplayReport) -> String {
    let mut suites: Vec<Suite> = report.traces.iter().map(|trace| suite(report, trace)).collect();
    if !report.doubts.is_empty() {
        let case = Case::errored("premises", "inconclusive", report.doubts.join("\n"));
        suites.push(Suite { name: "requirements".to_owned(), cases: vec![case], ..Suite::default() });
    }
    Report { name: "jobcheck replay", suites }.render()
}

fn suite(report: &ReplayReport, trace: &TraceReport) -> Suite {
    let mut cases: Vec<Case> = report.jobs_of(trace).iter().map(case).collect();
    for error in report.errors_of(trace) {
        cases.push(Case::errored(error.place(), "unreadable", &*error.message));
    }
    if !trace.doubts.is_empty() {
        cases.push(Case::errored("the trace as a whole", "inconclusive", trace.doubts.join("\n")));
    }
    Suite {
        name: trace.files.join(", "),
        properties: vec![
            ("kubernetes", trace.kubernetes.to_string()),
            ("verdict", trace.verdict.to_string()),
            ("judgedWrites", trace.judged_writes.to_string()),
        ],
        cases,
    }
}

fn case(job: &JobReport) -> Case {
    let mut ids: Vec<String> = job.violations.iter().map(id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut properties = vec![("uid", job.uid.clone()), ("judgedWrites", job.judged_writes.to_string())];
    properties.extend(ids.into_iter().map(|id| ("requirement", id)));
    let is_excused = !job.violations.is_empty() && job.exit == Exit::Conforms;
    if is_excused {
        properties.push(("excused", "by --allow-known".to_owned()));
    }
    let warnings: Vec<String> = job.warnings.iter().map(|warning| clean(&warning.text)).collect();
    Case {
        name: job.job.clone(),
        class: Some(format!("jobcheck.{}", job.profile)),
        time: None,
        properties,
        outcome: outcome(job),
        output: is_excused.then(|| format!("Excused by --allow-known:\n\n{}", descriptions(job))),
        warnings: (!warnings.is_empty()).then(|| warnings.join("\n")),
    }
}

fn outcome(job: &JobReport) -> Outcome {
    match (job.verdict, job.violations.first()) {
        (validate::Outcome::Conforms, _) => Outcome::Passed,
        // A violation that --allow-known excuses must not fail a build.
        (validate::Outcome::Violates, _) if job.exit == Exit::Conforms => Outcome::Passed,
        (validate::Outcome::Violates, Some(finding)) if job.exit == Exit::Violates => {
            Outcome::Failed(Problem {
                kind: id(finding),
                message: headline(finding),
                detail: Some(descriptions(job)),
            })
        }
        (validate::Outcome::Violates | validate::Outcome::Inconclusive, _) => Outcome::Errored(Problem {
            kind: "inconclusive".to_owned(),
            message: job.doubts.join("\n"),
            detail: None,
        }),
    }
}

fn id(finding: &Finding) -> String {
    finding.requirement.map_or_else(|| "warning".to_owned(), |id| id.to_string())
}

fn headline(finding: &Finding) -> String {
    format!(
        "{}: {}: expected {}, found {}",
        id(finding),
        finding.difference.what,
        finding.difference.expected,
        finding.difference.found
    )
}

fn descriptions(job: &JobReport) -> String {
    job.violations.iter().map(description).collect::<Vec<_>>().join("\n\n")
}

fn description(finding: &Finding) -> String {
    let place = match (&finding.place.file, finding.place.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => "end of the trace".to_owned(),
    };
    let time = finding.place.time.as_deref().map(|time| format!(", {time}")).unwrap_or_default();
    let actor = finding.place.actor.as_ref().map(|actor| format!(", by {}", actor.user)).unwrap_or_default();
    let known = finding.known.map(|known| format!("KNOWN deviation {known} of the built-in controller"));
    let mut lines = vec![
        headline(finding),
        format!("at {place}{time}{actor}: {}", finding.difference.write),
        format!("{} [{}]", finding.sentence, finding.source),
    ];
    lines.extend(known);
    lines.extend(finding.help.iter().cloned());
    lines.extend(finding.next.iter().map(|command| format!("next: {command}")));
    lines.push(format!("page: {}", finding.page));
    lines.iter().map(|line| clean(line)).collect::<Vec<_>>().join("\n")
}

//! The report as JUnit XML: one suite for each trace, one case for each Job.

use jobcheck_judge::report::{Exit, Finding, JobReport, ReplayReport, TraceReport};
use jobcheck_judge::validate::Outcome;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// The report as XML.
pub fn render(report: &ReplayReport) -> Result<String, quick_junit::SerializeError> {
    let mut xml = Report::new("jobcheck replay");
    xml.add_test_suites(report.traces.iter().map(|trace| suite(report, trace)));
    if !report.doubts.is_empty() {
        let status = failed(NonSuccessKind::Error, "inconclusive", &report.doubts.join("\n"));
        let mut suite = TestSuite::new("requirements");
        suite.add_test_case(TestCase::new("premises", status));
        xml.add_test_suite(suite);
    }
    xml.to_string()
}

fn suite(report: &ReplayReport, trace: &TraceReport) -> TestSuite {
    let mut suite = TestSuite::new(trace.files.join(", "));
    suite.add_property(("kubernetes", &*trace.kubernetes));
    suite.add_property(("verdict", &*trace.verdict.to_string()));
    suite.add_property(("judgedWrites", &*trace.judged_writes.to_string()));
    suite.add_test_cases(report.jobs_of(trace).iter().map(case));
    for error in report.errors_of(trace) {
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        let name = format!("{}{line}", error.file);
        suite.add_test_case(TestCase::new(name, failed(NonSuccessKind::Error, "unreadable", &error.message)));
    }
    if !trace.doubts.is_empty() {
        let status = failed(NonSuccessKind::Error, "inconclusive", &trace.doubts.join("\n"));
        suite.add_test_case(TestCase::new("the trace as a whole", status));
    }
    suite
}

fn case(job: &JobReport) -> TestCase {
    let mut case = TestCase::new(job.job.clone(), status(job));
    case.set_classname(format!("jobcheck.{}", job.profile));
    case.add_property(("uid", &*job.uid));
    case.add_property(("judgedWrites", &*job.judged_writes.to_string()));
    let mut ids: Vec<String> = job.violations.iter().map(id).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in &ids {
        case.add_property(("requirement", &**id));
    }
    if !job.violations.is_empty() && job.exit == Exit::Conforms {
        case.add_property(("excused", "by --allow-known"));
        let stories: Vec<String> = job.violations.iter().map(description).collect();
        case.set_system_out(format!("Excused by --allow-known:\n\n{}", stories.join("\n\n")));
    }
    if !job.warnings.is_empty() {
        let lines: Vec<&str> = job.warnings.iter().map(|warning| &*warning.text).collect();
        case.set_system_err(lines.join("\n"));
    }
    case
}

fn status(job: &JobReport) -> TestCaseStatus {
    match (job.verdict, job.violations.first()) {
        (Outcome::Conforms, _) => TestCaseStatus::success(),
        // What --allow-known excuses must not fail a build.
        (Outcome::Violates, _) if job.exit == Exit::Conforms => TestCaseStatus::success(),
        (Outcome::Violates, Some(finding)) if job.exit == Exit::Violates => {
            let mut status = failed(NonSuccessKind::Failure, &id(finding), &headline(finding));
            let stories: Vec<String> = job.violations.iter().map(description).collect();
            status.set_description(stories.join("\n\n"));
            status
        }
        (Outcome::Violates | Outcome::Inconclusive, _) => {
            failed(NonSuccessKind::Error, "inconclusive", &job.doubts.join("\n"))
        }
    }
}

fn failed(kind: NonSuccessKind, type_: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(type_);
    status.set_message(message);
    status
}

fn id(finding: &Finding) -> String {
    finding.requirement.map_or_else(|| "warning".to_owned(), |id| id.to_string())
}

fn headline(finding: &Finding) -> String {
    format!("{}: {}: expected {}, found {}", id(finding), finding.what, finding.expected, finding.found)
}

fn description(finding: &Finding) -> String {
    let place = match (&finding.file, finding.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => "end of the trace".to_owned(),
    };
    let known = finding.known.map(|known| format!("\nKNOWN deviation {known} of the built-in controller"));
    format!(
        "{}\nat {place}: {}\n{} [{}]{}",
        headline(finding),
        finding.write,
        finding.sentence,
        finding.source,
        known.unwrap_or_default()
    )
}

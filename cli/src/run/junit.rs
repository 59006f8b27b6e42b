//! The report as JUnit XML: one suite for each target, one case for each scenario.

use std::fmt::Write;

use anyhow::Context;
use jobcheck_explorer::narrative;
use jobcheck_judge::report::Exit;
use jobcheck_spec::Req;
use quick_junit::{NonSuccessKind, Report as Xml, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use super::args::RunArgs;
use super::report::Run;

/// The report as XML.
pub fn render(report: &Report, args: &RunArgs) -> anyhow::Result<String> {
    let mut xml = Xml::new("jobcheck run");
    for target in &args.targets {
        let mut suite = TestSuite::new(target.name());
        if let Some(mutant) = args.mutant {
            suite.add_property(("mutant", mutant.id));
        }
        suite.add_test_cases(report.on(*target).map(case));
        for problem in report.problems.iter().filter(|_| *target == args.targets[0]) {
            let status = failed(NonSuccessKind::Error, "unreadable", &problem.told());
            suite.add_test_case(TestCase::new("scenario", status));
        }
        xml.add_test_suite(suite);
    }
    xml.to_string().context("the report as JUnit XML")
}

fn case(run: &Run) -> TestCase {
    let mut case = TestCase::new(run.scenario.name.clone(), status(run));
    case.set_classname("jobcheck.scenario");
    case.set_time(run.elapsed);
    case.add_property(("file", &*run.file));
    if let Some(came) = run.on_model() {
        case.add_property(("states", &*came.exploration.states.to_string()));
    }
    if let Some(came) = run.on_sim() {
        case.add_property(("runs", &*came.runs.to_string()));
    }
    for id in &run.scenario.requirements {
        case.add_property(("requirement", id.0.id()));
    }
    case
}

fn status(run: &Run) -> TestCaseStatus {
    let id = run.requirement().map_or("expectation", Req::id);
    match (run.exit(), run.why()) {
        (Exit::Conforms, _) => TestCaseStatus::success(),
        (_, Some(why)) if run.result() == "notRun" => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why);
            status
        }
        (Exit::Violates, Some(why)) => {
            let found = run.on_model().and_then(|came| Some((came, came.found()?)));
            let property = found.map(|(_, found)| format!("{}: ", found.property)).unwrap_or_default();
            let known = run.known().map(|known| format!("KNOWN {known}: ")).unwrap_or_default();
            let mut status = failed(NonSuccessKind::Failure, id, &format!("{known}{property}{why}"));
            let mut told = String::new();
            for line in
                found.map(|(came, found)| narrative::lines(&came.scope, &found.path)).unwrap_or_default()
            {
                let _ = writeln!(told, "{} {}", line.who, line.what);
            }
            status.set_description(told);
            status
        }
        (_, why) => {
            let why =
                run.limit().map(str::to_owned).or(why).unwrap_or_else(|| "a limit was reached".to_owned());
            failed(NonSuccessKind::Error, &run.word(), &why)
        }
    }
}

fn failed(kind: NonSuccessKind, type_: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(type_);
    status.set_message(message);
    status
}

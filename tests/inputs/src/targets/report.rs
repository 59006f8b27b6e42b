//! The reader of conformance reports, and everything that is made of one.

use jobcheck_report::diff::diff;
use jobcheck_report::merge::merge;
use jobcheck_report::types::{Evidence, FoundBy, Outcome, Profile, Run, Scenario, Shards, Stage, TraceFile};
use jobcheck_report::{ConformanceReport, forms, github, page, read};

use crate::{Signs, Target, sign};

pub(super) fn target() -> Target {
    Target {
        name: "report",
        about: "a conformance report; what is written of it reads as the same, and its page has no text of others as markup",
        seeds,
        run,
        share: 3_000,
    }
}

/// Reports with each outcome in each stage, whole and in two parts, as JSON and as YAML.
fn seeds() -> Vec<Vec<u8>> {
    let repeated = [None, Some(0)].map(|shard| repeated(report(shard)));
    let reports = [None, Some(0), Some(1)].map(report).into_iter().chain(repeated).collect::<Vec<_>>();
    let texts = reports.iter().flat_map(|it| [forms::json(it), forms::yaml(it)]);
    texts.filter_map(|text| text.ok().map(String::into_bytes)).collect()
}

fn report(shard: Option<u32>) -> ConformanceReport {
    let stages = [Stage::Core, Stage::Extended, Stage::Provisional];
    let all = stages.iter().flat_map(|stage| Outcome::ALL.map(|outcome| (*stage, outcome)));
    let scenarios = all.zip(0..).map(|((stage, outcome), at)| {
        let mut scenario = Scenario::not_run(format!("mirror/{at}"), stage, "text", "a hook is missing");
        scenario.shard = shard.map(|_| at % 2);
        if shard.is_none_or(|own| own == at % 2) {
            scenario.outcome = outcome;
        }
        if scenario.outcome.was_run() {
            let file = format!("traces/{at}/manager.jsonl");
            let digest = jobcheck_report::digest::of(b"");
            scenario.traces = vec![TraceFile { file, cluster: "manager".to_owned(), digest }];
        }
        if scenario.outcome == Outcome::Fail {
            scenario.evidence = vec![Evidence {
                requirement: "MR-09".to_owned(),
                found_by: FoundBy::Judge,
                trace: scenario.traces.first().map(|it| it.file.clone()),
                lines: vec![7],
                sentence: "status: expected <u>1</u>, found 2".to_owned(),
            }];
        }
        scenario
    });
    let run = Run {
        profile: Profile { name: "mirror".to_owned(), version: "v1alpha1".to_owned() },
        shards: shard.map(|own| Shards { of: 2, run: vec![own] }),
        ..Run::default()
    };
    ConformanceReport::new(run, scenarios.collect())
}

/// The same with two runs of each scenario, the second of which was skipped.
fn repeated(report: ConformanceReport) -> ConformanceReport {
    let run = Run { repeat: Some(2), ..report.run };
    let runs = report.scenarios.into_iter().flat_map(|first| {
        let second = Scenario {
            outcome: Outcome::Skip,
            reason: "the run was ended before".to_owned(),
            evidence: Vec::new(),
            traces: Vec::new(),
            repetition: Some(2),
            ..first.clone()
        };
        [Scenario { repetition: Some(1), ..first }, second]
    });
    ConformanceReport::new(run, runs.collect())
}

fn run(bytes: &[u8]) -> Result<Signs, String> {
    let report = match read::parse(bytes) {
        Ok(report) => report,
        Err(error) => return Ok([sign(&error.to_string())].into()),
    };
    for text in [forms::json(&report), forms::yaml(&report)] {
        let text = text.map_err(|error| format!("cannot be written: {error}"))?;
        let again = read::parse(text.as_bytes()).map_err(|error| format!("cannot be read again: {error}"))?;
        if again != report {
            return Err("what was written reads as another report".to_owned());
        }
    }
    let differences = diff(&report, &report);
    if !differences.scenarios.is_empty() || !differences.requirements.is_empty() {
        return Err("a report differs from itself".to_owned());
    }
    let html = page::html(&report);
    if html.contains("<u>") {
        return Err("the page has text of the report as markup".to_owned());
    }
    let annotations = github::annotations(&report);
    if annotations.lines().any(|line| !line.starts_with("::")) {
        return Err(format!("a line is no annotation: {annotations}"));
    }
    let mut signs: Signs = [sign(&format!("{:?} {:?}", report.result, report.exit()))].into();
    signs.insert(
        merge(std::slice::from_ref(&report)).map_or_else(|it| sign(&it.to_string()), |_| "merged".into()),
    );
    Ok(signs)
}

//! Reads reports. A report that contradicts itself is not read: what follows from its outcomes is computed again.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use jobcheck_traces::{files, parse_micros};
use serde::Deserialize;
use thiserror::Error;

use crate::digest::is_digest;
use crate::folder::REPORT;
use crate::runs;
use crate::types::{API_VERSION, ConformanceReport, KIND, Outcome, Scenario, Shards};

/// The size of the largest report that is read. A scenario takes a few hundred bytes.
pub const LARGEST: u64 = 16 << 20;

/// The most nodes of a report in YAML. A run has about 50, and 20 more for each violation.
const MOST_NODES: usize = 1_000_000;

/// A report that was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// More bytes than a report has.
    #[error("the report is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// Neither YAML nor JSON, or no report.
    #[error("the report is not readable: {0}")]
    Syntax(String),
    /// Another kind of object.
    #[error("expected the kind {KIND}, found {0}")]
    Kind(String),
    /// A version that this program does not know.
    #[error("expected the apiVersion {API_VERSION}, found {0}; a newer jobcheck may read it")]
    Version(String),
    /// More shards than a run has, or none.
    #[error("the report is one of {0} shards; expected 1 to {most}", most = Shards::MOST)]
    Shards(u32),
    /// The report contradicts itself.
    #[error("the report contradicts itself: {0}")]
    Contradiction(String),
}

/// Reads the report of a folder, or a file with a report.
///
/// # Errors
///
/// The file cannot be read, or is no report of a version that is known, or the report contradicts itself.
pub fn read(path: &Path) -> Result<ConformanceReport, ReadError> {
    let path = if path.is_dir() { path.join(REPORT) } else { path.to_owned() };
    let failed = |source| ReadError::Io { path: path.clone(), source };
    let mut text = Vec::new();
    files::open_regular(&path).map_err(failed)?.take(LARGEST + 1).read_to_end(&mut text).map_err(failed)?;
    parse(&text)
}

/// Reads a report from YAML or JSON.
///
/// # Errors
///
/// As [`read`].
pub fn parse(text: &[u8]) -> Result<ConformanceReport, ReadError> {
    if text.len() as u64 > LARGEST {
        return Err(ReadError::TooLarge);
    }
    let text = std::str::from_utf8(text).map_err(|error| ReadError::Syntax(error.to_string()))?;
    let header: Header = document(text)?;
    if header.kind != KIND {
        return Err(ReadError::Kind(header.kind));
    }
    if header.api_version != API_VERSION {
        return Err(ReadError::Version(header.api_version));
    }
    let report: ConformanceReport = document(text)?;
    if let Some(shards) = &report.run.shards {
        if !(1..=Shards::MOST).contains(&shards.of) {
            return Err(ReadError::Shards(shards.of));
        }
        check_shards(shards, &report.scenarios).map_err(ReadError::Contradiction)?;
    }
    check(&report).map_err(ReadError::Contradiction)?;
    Ok(report)
}

/// The part that is read first, so that the error about another version names it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

/// JSON is read as JSON, for YAML has no surrogates. YAML may begin like JSON, and have other escapes.
fn document<'a, D: Deserialize<'a>>(text: &'a str) -> Result<D, ReadError> {
    if !text.trim_start().starts_with('{') {
        return yaml(text);
    }
    serde_json::from_str(text).or_else(|error| yaml(text).map_err(|_| ReadError::Syntax(error.to_string())))
}

fn yaml<'a, D: Deserialize<'a>>(text: &'a str) -> Result<D, ReadError> {
    // The size is limited already, and a report of many runs has more nodes than a usual file.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MOST_NODES, max_events: 2 * MOST_NODES },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let text = error.without_snippet().to_string();
        ReadError::Syntax(text.lines().next().unwrap_or_default().to_owned())
    })
}

fn check(report: &ConformanceReport) -> Result<(), String> {
    check_times([&report.run.start_time, &report.run.end_time].into_iter())?;
    runs::check(&report.run, &report.scenarios)?;
    for scenario in &report.scenarios {
        check_scenario(scenario).map_err(|why| format!("scenario {}: {why}", scenario.name()))?;
    }
    let again = ConformanceReport::new(report.run.clone(), report.scenarios.clone());
    if again.result != report.result {
        return Err(format!(
            "the result is {}, but the outcomes of its scenarios make it {}",
            report.result, again.result
        ));
    }
    let sections = [
        ("core", &report.core, &again.core),
        ("extended", &report.extended, &again.extended),
        ("provisional", &report.provisional, &again.provisional),
    ];
    match sections.iter().find(|(_, found, expected)| found != expected) {
        Some((name, ..)) => Err(format!("{name} does not follow from the outcomes of its scenarios")),
        None => Ok(()),
    }
}

fn check_shards(shards: &Shards, scenarios: &[Scenario]) -> Result<(), String> {
    let exists = |shard: u32| match shard < shards.of {
        true => Ok(()),
        false => Err(format!("there is no shard {shard} of {}, counted from 0", shards.of)),
    };
    let mut own = BTreeSet::new();
    for shard in &shards.run {
        exists(*shard)?;
        if !own.insert(*shard) {
            return Err(format!("shard {shard} is there twice"));
        }
    }
    for scenario in scenarios {
        let Some(shard) = scenario.shard else { continue };
        let about = |why: String| format!("scenario {}: {why}", scenario.name());
        exists(shard).map_err(about)?;
        if scenario.outcome.was_run() && !own.contains(&shard) {
            return Err(about(format!("it ran in shard {shard}, which is missing")));
        }
    }
    Ok(())
}

/// Nothing can be compared with a time that is none. A report that states no time may be of nothing that ran.
fn check_times<'a>(times: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let wrong = times.filter(|time| !time.is_empty()).find(|time| parse_micros(time).is_none());
    wrong
        .map_or(Ok(()), |time| Err(format!("{time:?} is no time; expected one such as 2026-11-26T10:00:00Z")))
}

fn check_scenario(scenario: &Scenario) -> Result<(), String> {
    if scenario.id.is_empty() {
        return Err("it has no id".to_owned());
    }
    check_times(scenario.start_time.iter().chain(&scenario.end_time))?;
    let digests = std::iter::once(&scenario.digest).chain(scenario.traces.iter().map(|it| &it.digest));
    for digest in digests {
        if !is_digest(digest) {
            return Err(format!("{digest:?} is no digest; expected sha256: and 64 hexadecimal digits"));
        }
    }
    for trace in &scenario.traces {
        if !is_inside(&trace.file) {
            return Err(format!("the trace {:?} is not a file below the folder of the report", trace.file));
        }
    }
    let names = scenario.evidence.iter().filter_map(|it| it.trace.as_ref());
    for name in names {
        if !scenario.traces.iter().any(|trace| trace.file == *name) {
            return Err(format!("its evidence names {name:?}, which is none of its traces"));
        }
    }
    let was_begun =
        !scenario.traces.is_empty() || scenario.start_time.is_some() || scenario.end_time.is_some();
    match scenario.outcome {
        // Somebody may have replaced the outcome of a run.
        Outcome::Skip | Outcome::Disabled if was_begun || !scenario.evidence.is_empty() => {
            Err(format!("its outcome {} has traces, times, or evidence of a run", scenario.outcome))
        }
        Outcome::Pass if !scenario.evidence.is_empty() => Err("it passed, but has evidence".to_owned()),
        Outcome::Fail if scenario.evidence.is_empty() => Err("it failed without evidence".to_owned()),
        Outcome::Skip | Outcome::Disabled | Outcome::Error | Outcome::Inconclusive
            if scenario.reason.is_empty() =>
        {
            Err(format!("its outcome {} has no reason", scenario.outcome))
        }
        _ => Ok(()),
    }
}

/// Returns whether a name leads to a file below a folder: relative, with `/`, without `..`.
fn is_inside(name: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
    name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms;
    use crate::forms::{json, yaml};
    use crate::result::tests::{repeated, report, scenario};
    use crate::types::{Run, Shards, Stage, TraceFile};

    fn sample() -> ConformanceReport {
        let mut report = report(&Outcome::ALL.map(|outcome| (Stage::Core, outcome)));
        report.scenarios[1].traces = vec![TraceFile {
            file: "traces/s1/manager.jsonl".to_owned(),
            cluster: "manager".to_owned(),
            digest: crate::digest::of(b""),
        }];
        report.scenarios[1].evidence[0].trace = Some("traces/s1/manager.jsonl".to_owned());
        report.scenarios[1].evidence[0].lines = vec![3, 17];
        report.run.seed = u64::MAX;
        report.run.implementation.managed_by = Some("acme.example.com/runner".to_owned());
        report
    }

    fn rejected(report: &ConformanceReport) -> String {
        parse(json(report).unwrap().as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let mut report = sample();
        for name in ["Acme", "yes", "0x1F", "a: b # c", "\u{1b}[2J\u{202e}\u{e0041}", "- 'x'\n---\n"] {
            report.run.implementation.project = name.to_owned();
            report.scenarios[1].evidence[0].sentence = name.to_owned();
            assert_eq!(parse(json(&report).unwrap().as_bytes()).unwrap(), report, "{name:?}");
            assert_eq!(parse(forms::yaml(&report).unwrap().as_bytes()).unwrap(), report, "{name:?}");
        }
    }

    #[test]
    fn unknown_fields_are_of_a_newer_jobcheck_and_ignored() {
        let report = sample();
        let mut value = serde_json::to_value(&report).unwrap();
        value["weather"] = "fine".into();
        value["scenarios"][0]["colour"] = 7.into();
        assert_eq!(parse(value.to_string().as_bytes()).unwrap(), report);
    }

    #[test]
    fn another_kind_or_version_is_called_by_its_name() {
        let mut report = sample();
        report.kind = "ConformanceReport".to_owned();
        assert_eq!(rejected(&report), "expected the kind JobConformanceReport, found ConformanceReport");
        let mut report = sample();
        report.api_version = "jobcheck.dev/v2".to_owned();
        let text =
            "expected the apiVersion jobcheck.dev/v1, found jobcheck.dev/v2; a newer jobcheck may read it";
        assert_eq!(rejected(&report), text);
    }

    #[test]
    fn what_is_no_report_is_an_error_with_its_place() {
        let reason = |text: &[u8]| parse(text).unwrap_err().to_string();
        assert!(reason(b"\xff").contains("utf-8"));
        assert_eq!(reason(b"{}"), "expected the kind JobConformanceReport, found ");
        assert!(reason(b"{").contains("line 1"), "{}", reason(b"{"));
        assert!(reason(b"a: [").contains("line 1"), "{}", reason(b"a: ["));
        let half = b"apiVersion: jobcheck.dev/v1\nkind: JobConformanceReport\n";
        assert!(reason(half).contains("missing field"), "{}", reason(half));
        let large = vec![b' '; LARGEST as usize + 1];
        assert_eq!(reason(&large), "the report is larger than 16 MiB");
    }

    /// The aliases of a small text may stand for a large one.
    #[test]
    fn a_text_that_grows_when_it_is_read_is_rejected() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let names = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{names}]\n"));
        }
        assert!(matches!(parse(text.as_bytes()), Err(ReadError::Syntax(_))));
    }

    #[test]
    fn a_result_that_does_not_follow_is_not_believed() {
        let mut report = report(&[(Stage::Core, Outcome::Skip), (Stage::Core, Outcome::Pass)]);
        report.result = crate::types::Verdict::Success;
        let text = "the report contradicts itself: the result is success, but the outcomes of its scenarios make it partial";
        assert_eq!(rejected(&report), text);
        let mut report = self::report(&[(Stage::Core, Outcome::Pass)]);
        report.run.selection = vec!["mirror/s0".to_owned()];
        assert_eq!(rejected(&report), text);
        let mut report = sample();
        report.core.failed_tests.clear();
        assert_eq!(
            rejected(&report),
            "the report contradicts itself: core does not follow from the outcomes of its scenarios"
        );
    }

    #[test]
    fn a_scenario_must_fit_its_outcome() {
        let broken = |change: &dyn Fn(&mut Scenario), outcome| {
            let mut scenario = scenario("mirror/a", Stage::Core, outcome);
            change(&mut scenario);
            let text = rejected(&ConformanceReport::new(Run::default(), vec![scenario]));
            text.strip_prefix("the report contradicts itself: scenario mirror/a: ").unwrap().to_owned()
        };
        assert_eq!(broken(&|it| it.evidence.clear(), Outcome::Fail), "it failed without evidence");
        let evidence = scenario("b", Stage::Core, Outcome::Fail).evidence;
        assert_eq!(
            broken(&|it| it.evidence = evidence.clone(), Outcome::Pass),
            "it passed, but has evidence"
        );
        for outcome in [Outcome::Skip, Outcome::Disabled, Outcome::Error, Outcome::Inconclusive] {
            let text = broken(&|it| it.reason.clear(), outcome);
            assert_eq!(text, format!("its outcome {outcome} has no reason"));
        }
        for outcome in [Outcome::Skip, Outcome::Disabled] {
            let begun = [
                broken(&|it| it.start_time = Some("2026-11-28T00:00:00Z".to_owned()), outcome),
                broken(&|it| it.evidence = evidence.clone(), outcome),
            ];
            let text = format!("its outcome {outcome} has traces, times, or evidence of a run");
            assert_eq!(begun, [text.clone(), text]);
        }
        let text = broken(&|it| it.digest = "sha256:0".to_owned(), Outcome::Pass);
        assert_eq!(text, "\"sha256:0\" is no digest; expected sha256: and 64 hexadecimal digits");
        let text = broken(&|it| it.evidence[0].trace = Some("t".to_owned()), Outcome::Fail);
        assert_eq!(text, "its evidence names \"t\", which is none of its traces");
    }

    #[test]
    fn a_time_is_a_time() {
        let mut report = sample();
        report.run.end_time = "x".to_owned();
        let text =
            "the report contradicts itself: \"x\" is no time; expected one such as 2026-11-26T10:00:00Z";
        assert_eq!(rejected(&report), text);
        let mut report = sample();
        report.scenarios[0].start_time = Some("yesterday".to_owned());
        assert!(rejected(&report).contains("scenario mirror/s0: \"yesterday\" is no time"));
    }

    #[test]
    fn a_scenario_is_there_once() {
        let twice =
            vec![scenario("a", Stage::Core, Outcome::Pass), scenario("a", Stage::Core, Outcome::Skip)];
        let text = rejected(&ConformanceReport::new(Run::default(), twice));
        assert_eq!(text, "the report contradicts itself: the scenario a is there twice");
    }

    #[test]
    fn the_runs_of_a_scenario_are_complete() {
        let run = Run { repeat: Some(2), ..Run::default() };
        let mut scenarios = repeated("a", Stage::Core, &[Outcome::Pass, Outcome::Fail]);
        let whole = ConformanceReport::new(run.clone(), scenarios.clone());
        for text in [json(&whole).unwrap(), yaml(&whole).unwrap()] {
            assert_eq!(parse(text.as_bytes()).unwrap(), whole);
        }
        let mut hidden = whole.clone();
        hidden.core.flaky_tests.clear();
        let text = "the report contradicts itself: core does not follow from the outcomes of its scenarios";
        assert_eq!(rejected(&hidden), text);
        scenarios.truncate(1);
        let text = rejected(&ConformanceReport::new(run, scenarios.clone()));
        assert_eq!(text, "the report contradicts itself: the scenario a lacks the repetition 2 of 2");
        // Another program may count the repetitions of a single run.
        let text = rejected(&ConformanceReport::new(Run::default(), scenarios));
        assert!(text.ends_with("it has the repetition 1, and the report has no repeat"), "{text}");
    }

    #[test]
    fn a_report_of_as_many_runs_as_there_may_be_is_read() {
        let many = Run::MOST_RUNS / 10;
        let run = Run { repeat: u32::try_from(many).ok(), ..Run::default() };
        let all = (0..10).flat_map(|at| {
            let mut runs = repeated(&format!("mirror/s{at}"), Stage::Core, &vec![Outcome::Fail; many]);
            for run in &mut runs {
                let number = run.repetition.unwrap();
                run.evidence = vec![run.evidence[0].clone(); 3];
                run.reason = "a step took too long ".repeat(20);
                run.traces = ["manager", "worker-1", "worker-2"]
                    .map(|cluster| TraceFile {
                        file: format!("traces/mirror-s{at}/{number}/{cluster}.jsonl"),
                        cluster: cluster.to_owned(),
                        digest: crate::digest::of(b""),
                    })
                    .to_vec();
            }
            runs
        });
        let report = ConformanceReport::new(run, all.collect());
        assert_eq!(report.scenarios.len(), Run::MOST_RUNS);
        for text in [json(&report).unwrap(), yaml(&report).unwrap()] {
            assert_eq!(parse(text.as_bytes()).unwrap(), report);
        }
    }

    #[test]
    fn the_shards_of_a_report_are_few_and_do_not_contradict() {
        let parsed = |of: u32, run: &[u32], own: Option<u32>| {
            let mut scenario = scenario("mirror/a", Stage::Core, Outcome::Pass);
            scenario.shard = own;
            let run = Run { shards: Some(Shards { of, run: run.to_vec() }), ..Run::default() };
            parse(json(&ConformanceReport::new(run, vec![scenario])).unwrap().as_bytes())
        };
        for (of, run, own) in [
            (1, &[0][..], Some(0)),
            (2, &[1], Some(1)),
            (2, &[1, 0], Some(0)),
            (Shards::MOST, &[9_999], None),
        ] {
            assert!(parsed(of, run, own).is_ok(), "{of} {run:?}");
        }
        let problem = |of, run: &[u32], own| parsed(of, run, own).unwrap_err().to_string();
        for of in [0, Shards::MOST + 1, u32::MAX] {
            let text = format!("the report is one of {of} shards; expected 1 to 10000");
            assert_eq!(problem(of, &[0], Some(0)), text);
        }
        let start = "the report contradicts itself:";
        assert_eq!(problem(3, &[0, 3], Some(0)), format!("{start} there is no shard 3 of 3, counted from 0"));
        assert_eq!(problem(3, &[1, 0, 1], Some(0)), format!("{start} shard 1 is there twice"));
        let start = format!("{start} scenario mirror/a:");
        assert_eq!(problem(2, &[0], Some(2)), format!("{start} there is no shard 2 of 2, counted from 0"));
        assert_eq!(problem(2, &[0], Some(1)), format!("{start} it ran in shard 1, which is missing"));
    }

    #[test]
    fn a_trace_outside_the_folder_is_not_read() {
        for file in ["/etc/passwd", "../x", "traces/../../x", "", "traces//x", "c:\\x", "traces/x\0"] {
            let mut report = sample();
            report.scenarios[1].evidence[0].trace = None;
            report.scenarios[1].traces[0].file = file.to_owned();
            assert!(rejected(&report).contains("is not a file below the folder"), "{file:?}");
        }
    }
}

//! Holds the claims of a report about its run against the traces: the manager of the Jobs, and the times.

use std::collections::BTreeSet;

use jobcheck_traces::{Body, Input, Reader, format_micros, parse_micros};

use crate::folder::Folder;
use crate::judge::Judged;
use crate::types::{ConformanceReport, Outcome, Scenario};
use crate::verify::{Objection, State};

/// The time by which the clocks of the suite and of an API server may differ: the largest `--skew`.
const CLOCKS: i64 = 3_600 * 1_000_000;
/// The profile without a controller under test. Its Jobs have any manager.
const FIELD: &str = "field";
/// The profiles of several clusters, whose scenarios all have a Job of the controller under test. Those of the library may have others
/// alone.
pub(crate) const OWN_JOBS: [&str; 2] = ["mirror", "aggregate"];

/// The traces of a scenario, as far as claims concern them.
#[derive(Default)]
pub(crate) struct Seen {
    /// The values of `spec.managedBy` of its Jobs.
    managers: BTreeSet<Option<String>>,
    /// The judge could decide. Another trace may show a Job without its spec.
    is_decided: bool,
    /// The first and the last time, in microseconds since the epoch.
    span: Option<(i64, i64)>,
}

impl Seen {
    /// The claims that the traces of a scenario can confirm.
    pub(crate) fn of(folder: &Folder, scenario: &Scenario, judged: &Judged) -> Seen {
        Seen {
            managers: judged.shown.managers.clone(),
            is_decided: matches!(judged.outcome, Outcome::Pass | Outcome::Fail),
            span: span(folder, scenario),
        }
    }
}

/// The objections to the claims of a report, with what was seen of each scenario.
pub(crate) fn objections(report: &ConformanceReport, seen: &[Seen]) -> Vec<Objection> {
    let times = report.scenarios.iter().zip(seen).find_map(|(it, seen)| times(report, it, seen));
    manager(report, seen).into_iter().chain(times).collect()
}

/// A run has a Job of the controller under test. Others may be beside it.
fn manager(report: &ConformanceReport, seen: &[Seen]) -> Option<Objection> {
    let (claimed, profile) = (&report.run.implementation.managed_by, &*report.run.profile.name);
    let may_lack_it = profile == FIELD || !report.run.selection.is_empty() && !OWN_JOBS.contains(&profile);
    let shows_jobs = seen.iter().any(|it| it.is_decided && !it.managers.is_empty());
    if may_lack_it || !shows_jobs || seen.iter().any(|it| it.managers.contains(claimed)) {
        return None;
    }
    let why = match claimed {
        Some(claimed) => format!("no Job in the traces has the spec.managedBy {claimed}"),
        None => "each Job in the traces has a spec.managedBy, and the report names none".to_owned(),
    };
    Some(Objection::new(State::NotConfirmed, why))
}

/// The objection to the times of the run and of a scenario. A wrong clock looks like a wrong report. A report of a run has its times.
fn times(report: &ConformanceReport, scenario: &Scenario, seen: &Seen) -> Option<Objection> {
    let (first, last) = seen.span?;
    if report.run.start_time.is_empty() || report.run.end_time.is_empty() {
        let why =
            "the report has no startTime and endTime of the run, with which its traces could be compared";
        return Some(Objection::new(State::NotConfirmed, why.to_owned()));
    }
    let is_outside = |start: &str, end: &str| {
        parse_micros(start).is_some_and(|start| first < start.saturating_sub(CLOCKS))
            || parse_micros(end).is_some_and(|end| last > end.saturating_add(CLOCKS))
    };
    let own = |time: &Option<String>| time.clone().unwrap_or_default();
    let run = (report.run.start_time.clone(), report.run.end_time.clone());
    let times = [run, (own(&scenario.start_time), own(&scenario.end_time))];
    let (start, end) = times.into_iter().find(|(start, end)| is_outside(start, end))?;
    let text = |time| format_micros(time).unwrap_or_default();
    let why = format!(
        "{}: the traces are of {} to {}, and the report is of {start} to {end}",
        scenario.name(),
        text(first),
        text(last)
    );
    Some(Objection::new(State::Undecided, why))
}

/// The times of the requests and watch events in the traces of a scenario. The judge reports what cannot be read.
fn span(folder: &Folder, scenario: &Scenario) -> Option<(i64, i64)> {
    let mut span: Option<(i64, i64)> = None;
    for trace in &scenario.traces {
        let mut reader = Reader::open(&[Input::Path(folder.path(&trace.file))]);
        while let Some(record) = reader.next_readable() {
            let (from, to) = match record.body {
                Body::Request(request) => (request.interval.received, request.interval.done),
                Body::Watched(watched) => match watched.at {
                    Some(at) => (at, at),
                    None => continue,
                },
                Body::Header(_) | Body::Mark(_) | Body::Fault(_) | Body::Observed(_) | Body::Expected(_) => {
                    continue;
                }
            };
            span = Some(span.map_or((from, to), |(first, last)| (first.min(from), last.max(to))));
        }
    }
    span
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judged;
    use crate::result::tests::scenario;
    use crate::types::{JudgingOptions, Run, Stage};

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/corpus/recordings/");
    const MANAGED: &str = "managed-by-other.audit.jsonl";
    const PLAIN: &str = "completions-zero.audit.jsonl";

    /// A report on one scenario with this trace, and what is seen of it.
    fn sample(trace: &str) -> (ConformanceReport, Vec<Seen>) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path()).unwrap();
        std::fs::copy(format!("{CORPUS}{trace}"), folder.path("traces/a.jsonl")).unwrap();
        let judging = JudgingOptions { rule_set: "1.36".to_owned(), ..JudgingOptions::default() };
        let mut scenario = scenario("mirror/a", Stage::Core, Outcome::Pass);
        scenario.traces = vec![folder.seal("traces/a.jsonl", "manager").unwrap()];
        let judged = judged(&folder, &scenario.traces, &judging).unwrap();
        let seen = vec![Seen::of(&folder, &scenario, &judged)];
        let (first, last) = seen[0].span.unwrap();
        let [start_time, end_time] = [first, last].map(|time| format_micros(time).unwrap());
        (
            ConformanceReport::new(Run { judging, start_time, end_time, ..Run::default() }, vec![scenario]),
            seen,
        )
    }

    #[test]
    fn the_manager_of_a_report_has_a_job() {
        let (mut report, seen) = sample(MANAGED);
        let [Some(manager)] = &seen[0].managers.iter().collect::<Vec<_>>()[..] else {
            panic!("{:?}", seen[0].managers)
        };
        let of = |report: &mut ConformanceReport, name: Option<&str>, seen: &[Seen]| {
            report.run.implementation.managed_by = name.map(str::to_owned);
            objections(report, seen).first().map(|it| it.reason.clone()).unwrap_or_default()
        };
        assert_eq!(of(&mut report, Some(manager), &seen), "");
        let other = "no Job in the traces has the spec.managedBy example.com/x";
        assert_eq!(of(&mut report, Some("example.com/x"), &seen), other);
        let none = "each Job in the traces has a spec.managedBy, and the report names none";
        assert_eq!(of(&mut report, None, &seen), none);
        // No controller is under test.
        report.run.profile.name = "field".to_owned();
        assert_eq!(of(&mut report, None, &seen), "");
        // The chosen scenarios of the library may have Jobs of others alone.
        for (profile, expected) in [("mirror", other), ("executor", "")] {
            report.run.profile.name = profile.to_owned();
            report.run.selection = vec!["a".to_owned()];
            assert_eq!(of(&mut report, Some("example.com/x"), &seen), expected, "{profile}");
        }
        report.run.selection.clear();
        assert_eq!(of(&mut report, Some("example.com/x"), &seen), other);
        // Nothing was judged, or nothing could be decided.
        let undecided = Seen { managers: seen[0].managers.clone(), ..Seen::default() };
        for seen in [Seen::default(), undecided] {
            assert_eq!(of(&mut report, Some("example.com/x"), &[seen]), "");
        }
        let (mut report, seen) = sample(PLAIN);
        assert_eq!(of(&mut report, None, &seen), "");
        assert_eq!(of(&mut report, Some("example.com/x"), &seen), other);
    }

    #[test]
    fn the_traces_are_of_the_time_of_the_run_but_for_the_clocks() {
        let (report, seen) = sample(PLAIN);
        let (first, last) = seen[0].span.unwrap();
        assert!(first < last);
        let text = |time: i64| format_micros(time).unwrap();
        let of = |start: i64, end: i64| {
            let (mut run, mut own) = (report.clone(), report.clone());
            (run.run.start_time, run.run.end_time) = (text(start), text(end));
            own.scenarios[0].start_time = Some(text(start));
            own.scenarios[0].end_time = Some(text(end));
            let states = [run, own].map(|it| objections(&it, &seen).first().map(|it| it.state));
            assert_eq!(states[0], states[1]);
            states[0]
        };
        assert_eq!(of(first, last), None);
        assert_eq!(of(first + CLOCKS, last - CLOCKS), None);
        assert_eq!(of(first + CLOCKS + 1, last + 2 * CLOCKS), Some(State::Undecided));
        assert_eq!(of(first - 2 * CLOCKS, last - CLOCKS - 1), Some(State::Undecided));
        let mut late = report.clone();
        late.scenarios[0].repetition = Some(2);
        late.scenarios[0].start_time = Some(text(last + 2 * CLOCKS));
        assert!(objections(&late, &seen)[0].reason.starts_with("mirror/a (run 2): the traces are of "));
        // Traces of any run would fit a report without times.
        let mut timeless = report.clone();
        timeless.run.start_time.clear();
        assert_eq!(objections(&timeless, &seen)[0].state, State::NotConfirmed);
    }
}

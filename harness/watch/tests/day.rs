//! A day of a cluster: Jobs that conform, some that violate, and a restart of the service at noon.
//!
//! `JOBCHECK_DAY_JOBS=100000` runs the whole day (`just watch-day`). By default there are fewer Jobs, as close together.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test, and its measurements")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use jobcheck_record::Sink;
use jobcheck_traces::{Input, Reader, format_micros, parse_micros};
use jobcheck_watch::{Limits, News, Service, Settings};

/// The time between the creations of two Jobs, so that 100,000 take 24 hours.
const SPACING: i64 = 864_000;

/// Each Job with this number, and each multiple of it, violates.
const WRONG: usize = 97;

/// An audit log of one Job, as recorded.
struct Template(Vec<String>);

impl Template {
    fn read(path: &str) -> Template {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/corpus");
        let text = std::fs::read_to_string(corpus.join(path)).unwrap();
        Template(text.lines().map(str::to_owned).collect())
    }

    /// The events of another Job: with other names, later, and with newer versions. Each has its time.
    fn events(&self, number: usize) -> Vec<(i64, String)> {
        let later = SPACING * i64::try_from(number).unwrap();
        self.0.iter().map(|line| renamed(line, number, later)).collect()
    }
}

/// Replaces UIDs, times, the namespace, and versions. Returns the line with its time.
fn renamed(line: &str, number: usize, later: i64) -> (i64, String) {
    let bytes = line.as_bytes();
    let (mut out, mut at, mut last) = (String::with_capacity(line.len() + 64), 0, 0);
    while at < bytes.len() {
        let rest = &line[at..];
        if let Some(micros) = rest.get(..27).filter(|it| is_time(it)).and_then(parse_micros) {
            out.push_str(&format_micros(micros + later).unwrap());
            (at, last) = (at + 27, last.max(micros + later));
        } else if let Some(micros) = rest.get(..20).filter(|it| is_time(it)).and_then(parse_micros) {
            let text = format_micros(micros + later).unwrap();
            out.push_str(&format!("{}Z", &text[..19]));
            at += 20;
        } else if rest.get(..36).is_some_and(is_uid) {
            out.push_str(&format!("{}{number:012x}", &rest[..24]));
            at += 36;
        } else if rest.starts_with("\"t-") {
            let end = rest[1..].find('"').unwrap() + 1;
            out.push_str(&format!("\"ns-{number}"));
            at += end;
        } else if let Some(version) = rest.strip_prefix("\"resourceVersion\":\"") {
            let digits = version.find('"').unwrap();
            let version = version[..digits].parse::<u64>().unwrap_or(0) + 10_000 * number as u64;
            out.push_str(&format!("\"resourceVersion\":\"{version}"));
            at += "\"resourceVersion\":\"".len() + digits;
        } else {
            let letter = rest.chars().next().unwrap();
            out.push(letter);
            at += letter.len_utf8();
        }
    }
    (last, out)
}

fn is_time(text: &str) -> bool {
    text.starts_with("20") && text.ends_with('Z') && text.as_bytes()[10] == b'T'
}

fn is_uid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.bytes().enumerate().all(|(place, byte)| match dashes.contains(&place) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    })
}

fn feed(service: &mut Service, event: &str) {
    let mut reader = Reader::open(&[Input::Bytes("event".to_owned(), event.as_bytes().to_vec())]);
    while let Some(record) = reader.next().unwrap() {
        service.write(&record.body).unwrap();
    }
}

#[derive(Debug, Default, PartialEq)]
struct Day {
    verdicts: BTreeMap<String, usize>,
    /// The requirements of the first finding of each Job, with the number of Jobs.
    findings: BTreeMap<String, usize>,
    most_living: usize,
}

impl Day {
    fn hear(&mut self, news: Vec<News>, seen: &mut std::collections::BTreeSet<String>) {
        for one in news {
            match one {
                News::Finding { uid, finding, .. } => {
                    if seen.insert(uid) {
                        let id = finding.requirement.unwrap().0.id();
                        *self.findings.entry(id.to_owned()).or_default() += 1;
                    }
                }
                News::Verdict { verdict, .. } => *self.verdicts.entry(verdict.to_string()).or_default() += 1,
            }
        }
    }
}

fn settings(folder: &Path) -> Settings {
    Settings { limits: Limits { evidence: 10, ..Limits::default() }, ..Settings::at(folder) }
}

/// Plays a day with this number of Jobs. `restart` gets the service at noon.
fn day(jobs: usize, folder: &Path, restart: impl Fn(Service) -> Service) -> Day {
    let right = Template::read("recordings/nonindexed-success.audit.jsonl");
    let wrong = Template::read("invalid/FT-03--released-before-recorded.audit.jsonl");
    let mut service = Service::open(settings(folder)).unwrap();
    let (mut day, mut seen, mut waiting) = (Day::default(), Default::default(), BinaryHeap::new());
    let mut fed = 0;
    for number in 0..=jobs {
        if number < jobs {
            let template = if number % WRONG == WRONG - 1 { &wrong } else { &right };
            for (place, (time, event)) in template.events(number).into_iter().enumerate() {
                waiting.push(Reverse((time, number, place, event)));
            }
        }
        // Events of this Job or a later one may still come before the others.
        let next = if number < jobs { waiting.peek().map_or(0, |it| it.0.0) + SPACING } else { i64::MAX };
        while waiting.peek().is_some_and(|event| event.0.0 < next) {
            let Some(Reverse((_, _, _, event))) = waiting.pop() else { break };
            feed(&mut service, &event);
            fed += 1;
            if fed % 50 == 0 {
                day.hear(service.look(0).unwrap(), &mut seen);
                service.keep_reported().unwrap();
                day.most_living = day.most_living.max(service.living());
            }
        }
        if number == jobs / 2 {
            service = restart(service);
        }
    }
    day.hear(service.conclude().unwrap(), &mut seen);
    service.keep_reported().unwrap();
    assert_eq!(service.living(), 0);
    assert!(folder.join("violations").read_dir().unwrap().count() <= 10);
    assert_eq!(folder.join("jobs").read_dir().unwrap().count(), 0);
    day
}

fn jobs() -> usize {
    std::env::var("JOBCHECK_DAY_JOBS").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// The largest number of bytes that the process has used, in kB.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn every_violation_of_a_day_is_found_and_nothing_else() {
    let (folder, jobs) = (tempfile::tempdir().unwrap(), jobs());
    let found = day(jobs, folder.path(), |service| {
        drop(service);
        Service::open(settings(folder.path())).unwrap()
    });
    let wrong = jobs / WRONG;
    let verdicts = [("conforms".to_owned(), jobs - wrong), ("violates".to_owned(), wrong)];
    assert_eq!(found.verdicts, verdicts.into_iter().filter(|(_, count)| *count > 0).collect());
    assert_eq!(found.findings.get("FT-03").copied().unwrap_or(0), wrong, "{found:?}");
    assert_eq!(found.findings.len(), usize::from(wrong > 0), "{found:?}");
    // A Job lives for 60 s after its end, and another one begins each 0.864 s.
    assert!(found.most_living < 300, "{found:?}");
    println!("{jobs} Jobs, {found:?}, {} kB", most_memory());
    assert!(most_memory() < 200_000, "{} kB", most_memory());
}

#[test]
fn a_gap_makes_living_jobs_inconclusive_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let found = day(120, folder.path(), |mut service| {
        service.gap("the service was down".to_owned()).unwrap();
        service
    });
    let count = |verdict: &str| found.verdicts.get(verdict).copied().unwrap_or(0);
    assert_eq!(count("conforms") + count("inconclusive") + count("violates"), 120);
    assert!(count("inconclusive") > 0 && count("inconclusive") < 80, "{found:?}");
    assert!(count("violates") <= 1, "{found:?}");
}

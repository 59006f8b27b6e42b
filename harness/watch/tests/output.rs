//! Outputs that cannot be written: each finding and verdict is reported at least once.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use jobcheck_record::{Position, Sink};

use jobcheck_watch::{Limits, News, Output, Service, Settings};
use support::{LATER, events, feed, findings, open, verdicts};

const WRONG: &str = "invalid/FT-03--released-before-recorded.audit.jsonl";

/// Reports the Jobs that are due, as `jobcheck watch-audit` does.
fn report(service: &mut Service, out: &mut Output) -> io::Result<Vec<News>> {
    let news = service.look(LATER).unwrap();
    let lines: String = news.iter().map(|one| one.line() + "\n").collect();
    out.write(&lines)?;
    service.keep_reported().unwrap();
    Ok(news)
}

fn place(bytes: u64) -> Position {
    format!("1 2 {bytes}").parse().unwrap()
}

fn files(folder: &Path, name: &str) -> usize {
    folder.join(name).read_dir().unwrap().count()
}

/// The findings and the verdicts, in their order.
type Told = (Vec<(String, Option<u64>)>, Vec<String>);

fn told(news: &[News]) -> Told {
    let verdicts = verdicts(news).into_iter().map(|(_, verdict, _)| verdict.to_string());
    (findings(news), verdicts.collect())
}

#[test]
fn a_full_disk_loses_neither_a_finding_nor_a_verdict() {
    let expected = {
        let folder = tempfile::tempdir().unwrap();
        let mut service = open(folder.path());
        feed(&mut service, &events(WRONG));
        told(&service.look(LATER).unwrap())
    };
    assert!(!expected.0.is_empty() && expected.1 == ["violates"], "{expected:?}");
    // After a restart, the log is read again from the stored place, or from its beginning.
    for reads_again in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let mut service = open(folder.path());
            if reads_again || service.living() == 0 {
                feed(&mut service, &events(WRONG));
            }
            let mut full = Output::open(Some(PathBuf::from("/dev/full"))).unwrap();
            let error = report(&mut service, &mut full).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull);
            service.read_up_to(&place(9)).unwrap();
            drop(service);
            assert!(!folder.path().join("concluded").exists());
            let service = open(folder.path());
            assert_eq!((service.position(), service.living()), (None, 1));
        }
        let mut service = open(folder.path());
        let path = folder.path().join("out.jsonl");
        let mut out = Output::open(Some(path.clone())).unwrap();
        let news = report(&mut service, &mut out).unwrap();
        assert_eq!(told(&news), expected, "{reads_again}");
        assert_eq!(fs::read_to_string(path).unwrap().lines().count(), news.len());
        service.read_up_to(&place(9)).unwrap();
        assert_eq!((files(folder.path(), "jobs"), files(folder.path(), "violations")), (0, 1));
        drop(service);
        // From now on nothing is reported again.
        let mut service = open(folder.path());
        assert_eq!((service.position(), service.living()), (Some(place(9)), 0));
        feed(&mut service, &events(WRONG));
        assert!(service.look(LATER).unwrap().is_empty());
    }
}

#[test]
fn the_verdict_on_a_job_that_exceeds_a_limit_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        Settings { limits: Limits { job_bytes: 10_000, ..Limits::default() }, ..Settings::at(folder.path()) };
    let events = events(WRONG);
    let mut service = Service::open(settings.clone()).unwrap();
    feed(&mut service, &events);
    for is_fed in [false, true] {
        drop(service);
        service = Service::open(settings.clone()).unwrap();
        if is_fed {
            feed(&mut service, &events);
        }
        let given = verdicts(&service.look(LATER).unwrap());
        assert!(given.len() == 1 && given[0].2.contains("more than 10000 bytes"), "{given:?}");
        assert_eq!(service.living(), 0);
    }
    service.keep_reported().unwrap();
    drop(service);
    let mut service = Service::open(settings).unwrap();
    feed(&mut service, &events);
    assert!(service.look(LATER).unwrap().is_empty());
    assert_eq!(files(folder.path(), "jobs"), 0);
}

#[test]
fn a_line_behind_an_incomplete_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    for (before, expected) in
        [("", "{}\n"), ("{}\n", "{}\n{}\n"), ("{\"event\":\"fin", "{\"event\":\"fin\n{}\n")]
    {
        fs::write(&path, before).unwrap();
        Output::open(Some(path.clone())).unwrap().write("{}\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    }
    // Also the file that SIGHUP opens.
    let mut out = Output::open(Some(path.clone())).unwrap();
    fs::write(&path, "half").unwrap();
    out.reopener()();
    out.write("{}\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "half\n{}\n");
}

#[test]
fn a_pipe_that_is_closed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = open(folder.path());
    feed(&mut service, &events(WRONG));
    let (reader, writer) = io::pipe().unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
    let mut out = Output::open(Some(path)).unwrap();
    drop(reader);
    let error = report(&mut service, &mut out).unwrap_err();
    assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::BrokenPipe, "it is closed"));
    drop(service);
    assert_eq!(open(folder.path()).living(), 1);
}

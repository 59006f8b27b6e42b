use jobcheck_traces::{Input, Reader};

use super::*;
use crate::validate::Outcome;

const HEADER: &str = r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#;
const JOB: &str = concat!(
    r#"{"watched":{"type":"ADDED","object":{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","#,
    r#""namespace":"ns","uid":"j1","resourceVersion":"5","generation":2,"#,
    r#""creationTimestamp":"2026-11-21T00:00:00Z"},"spec":{"parallelism":1,"completions":1},"status":{}}}}"#
);
const POD: &str = concat!(
    r#"{"watched":{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a-x","#,
    r#""namespace":"ns","uid":"p1","resourceVersion":"6","creationTimestamp":"2026-11-21T00:00:00Z","#,
    r#""finalizers":["batch.kubernetes.io/job-tracking"],"labels":{"batch.kubernetes.io/controller-uid":"j1"},"#,
    r#""ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"a","uid":"j1","controller":true,"#,
    r#""blockOwnerDeletion":true}]},"spec":{},"status":{"phase":"Pending"}}}}"#
);

fn gap(gone: &[&str]) -> String {
    format!(r#"{{"mark":{{"kind":"gap","reason":"a watch was interrupted","gone":{gone:?}}}}}"#)
}

/// A validator that has read these lines behind the header.
fn read(lines: &[String]) -> Validator {
    let text = std::iter::once(HEADER).chain(lines.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    let mut reader = Reader::open(&[Input::Bytes("test".to_owned(), text.into_bytes())]);
    let mut validator = Validator::new(Options::default());
    while let Some(record) = reader.next().unwrap() {
        validator.feed(&record).unwrap();
    }
    validator
}

/// A recording of weeks has thousands of Jobs whose deletion no watch shows.
#[test]
fn a_job_that_was_deleted_in_a_gap_is_not_kept() {
    let (job, pod) = (Uid::parse("j1"), Uid::parse("p1"));
    for (gone, is_kept) in [
        (&[][..], true),
        (&["j1"], true),
        (&["p1"], true),
        (&["j1", "p1"], false),
        (&["p1", "j1", "unknown"], false),
    ] {
        let validator = read(&[JOB.to_owned(), POD.to_owned(), gap(gone)]);
        let judge = &validator.judge;
        assert_eq!(judge.tracks.contains(&job), is_kept, "{gone:?}");
        assert_eq!(judge.pods.owners.contains_key(&pod), !gone.contains(&"p1"), "{gone:?}");
        let name = judge.names.get(&("ns".into(), "a".into()));
        assert_eq!(name, Some(job).filter(|_| !gone.contains(&"j1")), "{gone:?}");
        assert_eq!(validator.normalizer.watches(&job), !gone.contains(&"j1"), "{gone:?}");
        let pod_name = judge.pods.names.get(&("ns".into(), "a-x".into()));
        assert_eq!(pod_name, Some(pod).filter(|_| !gone.contains(&"p1")), "{gone:?}");
        let summary = validator.finish();
        assert_eq!((summary.outcome(), summary.jobs.len()), (Outcome::Inconclusive, 1), "{gone:?}");
    }
}

/// Each reason is listed once, and their number has a limit.
#[test]
fn the_gaps_of_a_long_recording_are_not_all_listed() {
    let named = |number: usize| gap(&[]).replace("a watch", &format!("watch {number}"));
    let few: Vec<String> = [1, 2, 1, 2, 1].map(named).into();
    assert_eq!(read(&few).finish().doubts, ["watch 1 was interrupted", "watch 2 was interrupted"]);
    let many = read(&(0..200).map(named).collect::<Vec<_>>()).finish().doubts;
    assert_eq!((many.len(), many[100].as_str()), (REASONS + 1, "further gaps are not listed"));
}

/// The marks of the two resources may be apart, and a Job with this name may follow.
#[test]
fn a_job_that_was_deleted_in_a_gap_leaves_its_name_to_another() {
    let heir = JOB.replace("\"j1\"", "\"j2\"").replace("\"5\"", "\"9\"");
    let validator = read(&[JOB.to_owned(), POD.to_owned(), gap(&["j1"]), heir, gap(&["p1"])]);
    assert!(!validator.judge.tracks.contains(&Uid::parse("j1")));
    assert_eq!(validator.judge.names.get(&("ns".into(), "a".into())), Some(Uid::parse("j2")));
    assert!(validator.finish().jobs.iter().all(|job| job.violations.is_empty()));
}

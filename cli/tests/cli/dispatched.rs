//! `jobcheck replay --cluster`: a manager beside its workers.

use crate::support::{Run, jobcheck};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/corpus/third-party");

fn on(clusters: &[(&str, &str)], flags: &[&str]) -> Run {
    let named = clusters.iter().flat_map(|(role, name)| {
        let file = if name.contains('/') {
            (*name).to_owned()
        } else {
            format!("{FOLDER}/kueue-{name}.audit.jsonl.gz")
        };
        ["--cluster".to_owned(), format!("{role}={file}")]
    });
    let flags = flags.iter().map(|flag| (*flag).to_owned());
    jobcheck(std::iter::once("replay".to_owned()).chain(named).chain(flags))
}

const ALL: [(&str, &str); 3] = [("manager", "manager"), ("worker", "mk-a"), ("worker", "mk-b")];

#[test]
fn the_job_that_runs_twice_is_found_with_both_logs_only() {
    let both = on(&ALL, &["--job", "ttl-032857"]);
    assert_eq!(both.code, 1, "{both:?}");
    for expected in ["violates MR-22: ", "after another one had ended at", "kueue-mk-a.audit.jsonl.gz"] {
        assert!(both.out.contains(expected), "{expected:?} is missing in {}", both.out);
    }
    let manager = format!("{FOLDER}/kueue-manager.audit.jsonl.gz");
    assert_eq!(jobcheck(["replay", "--job", "ttl-032857", &manager]).code, 0);
    let filtered = on(&ALL, &["--job", "work/success-032857", "--requirement", "MR-21"]);
    assert_eq!(filtered.code, 0, "{filtered:?}");
}

#[test]
fn wrong_usage_names_what_is_missing() {
    let usage = |clusters: &[(&str, &str)], flags: &[&str], expected: &str| {
        let run = on(clusters, flags);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains(expected), "{expected:?} is missing in {}", run.err);
    };
    usage(&ALL[..1], &[], "the trace of a worker is missing; add --cluster worker=FILE");
    usage(&ALL[1..], &[], "the trace of a manager is missing; add --cluster manager=FILE");
    usage(&[("master", "manager")], &[], "expected manager=FILE or worker=FILE");
    usage(&ALL, &["more.log"], "cannot be used with");
    usage(&[ALL[0], ALL[1], ALL[1]], &[], "is named twice");
    usage(&[ALL[0], ("worker", "manager")], &[], "is named twice");
    usage(&ALL, &["--group", "one"], "cannot be used with");
    usage(&[ALL[0], ("worker", "/no/such/file")], &[], "/no/such/file");
    for (value, expected) in
        [("worker=-", "standard input can be read once"), ("manager=", "expected a file")]
    {
        let run = jobcheck(["replay", "--cluster", value]);
        assert!(run.code == 2 && run.err.contains(expected), "{run:?}");
    }
}

#[test]
fn a_rule_of_two_clusters_asks_for_both() {
    let manager = format!("{FOLDER}/kueue-manager.audit.jsonl.gz");
    let run = jobcheck(["replay", "--requirement", "MR-22", &manager]);
    assert!(run.code == 3 && run.out.contains("MR-22 needs the traces of"), "{run:?}");
    let never_met = on(&ALL, &["--requirement", "MR-26", "--job", "success-032857"]);
    assert!(!never_met.out.contains("needs the traces"), "{never_met:?}");
}

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
    usage(&[("master", "manager")], &[], "expected manager=FILE, worker=FILE or member=FILE");
    usage(&[ALL[0], ("member", "mk-a")], &[], "add --profile aggregate");
    usage(&ALL[..1], &["--profile", "aggregate"], "add --cluster member=FILE");
    usage(&ALL, &["--fails-when", "all"], "--profile");
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

/// A case of `traces/corpus/sums` with two members.
fn sum(name: &str, role: &str, flags: &[&str]) -> Run {
    let file = |part: &str| format!("{FOLDER}/../sums/{name}/{part}.jsonl");
    let files = [("manager", file("manager")), (role, file("member-1")), (role, file("member-2"))];
    let files = files.each_ref().map(|(role, file)| (*role, file.as_str()));
    on(&files, &[&["--profile", "aggregate"], flags].concat())
}

/// MR-30, MR-31.
#[test]
fn a_sum_is_judged_beside_its_members() {
    let right = "right/right--as-it-is--both-complete-0";
    for role in ["member", "worker"] {
        let run = sum(right, role, &[]);
        assert!(run.code == 0 && !run.out.contains("need the traces"), "{run:?}");
    }
    let again = sum(
        "wrong/MR-30--a-success-is-counted-again--both-complete-3",
        "member",
        &["--requirement", "MR-30"],
    );
    assert!(again.code == 1 && again.out.contains("violates MR-30: "), "{again:?}");
    let failed = "right/right--as-it-is--one-failed-0";
    assert_eq!(sum(failed, "member", &["--fails-when", "any"]).code, 0);
    let all = sum(failed, "member", &["--fails-when", "all"]);
    assert!(all.code == 1 && all.out.contains("MR-31"), "{all:?}");
    // The page is judged by the same rule.
    let of = |role: &str, part: &str| format!("--cluster={role}={FOLDER}/../sums/{failed}/{part}.jsonl");
    let clusters = [of("manager", "manager"), of("member", "member-1"), of("member", "member-2")];
    for (rule, code) in [("any", 0), ("all", 1)] {
        let flags = ["view", "--profile=aggregate", "--fails-when", rule].map(str::to_owned);
        let page = jobcheck(flags.iter().chain(&clusters));
        assert!(page.code == code && page.out.contains("MR-31") == (code == 1), "{rule}: {}", page.err);
    }
}

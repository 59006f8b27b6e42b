//! Managers that write status alone (family MR): real ones, and wrong ones that were made from a right one.
//!
//! `traces/corpus/third-party` has the logs of Kueue 0.19.2 (MultiKueue) on one manager cluster and two workers. The
//! expected verdicts follow from `docs/reference/managers.md`, section 4.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_judge::validate::{Options, Outcome, Profile, Role, Summary};
use jobcheck_tests::corpus::folder;
use jobcheck_tests::traces::{edited, input, validated, violations};
use jobcheck_traces::Input;

fn third_party(name: &str) -> Summary {
    let path = folder().join("third-party").join(name);
    validated(&[Input::Path(path)], Options::default())
}

/// The broken rules of each Job that does not conform, by its name without the namespace and the time of the run.
fn wrong(summary: &Summary) -> BTreeMap<String, BTreeSet<&'static str>> {
    let is_wrong = summary.jobs.iter().filter(|job| job.outcome != Outcome::Conforms);
    let name = |job: &str| job.trim_start_matches("work/").rsplit_once('-').unwrap().0.to_owned();
    is_wrong.map(|job| (name(&job.job), job.violations.iter().map(|it| it.req().id()).collect())).collect()
}

/// MB-19: the statuses of a known third party break a rule only where its protocol is known to be wrong.
#[test]
fn kueue_as_a_manager_conforms_where_it_is_healthy_and_nowhere_else() {
    let summary = third_party("kueue-manager.audit.jsonl.gz");
    assert_eq!(summary.jobs.len(), 33);
    let expected = BTreeMap::from(
        [
            // K1: a redispatch after a pod was counted. The last one is suspended when the log ends.
            ("remote-deleted-after-failure", &["MR-03", "MR-09"][..]),
            ("drained-after-success", &["MR-03", "MR-09"]),
            ("drained-after-failure", &["MR-03", "MR-09", "MR-13"]),
            // K2: the same, and the Job stays suspended and active.
            ("remote-deleted-after-success", &["MR-03", "MR-09", "MR-13"]),
            // K3: the end of the Job that had the name before.
            ("replaced-finished-unseen", &["MR-01", "MR-04"]),
            // K4: the start of that Job.
            ("replaced-unseen", &["MR-04", "MR-05", "MR-09"]),
        ]
        .map(|(name, ids)| (name.to_owned(), ids.iter().copied().collect())),
    );
    assert_eq!(wrong(&summary), expected);
}

#[test]
fn the_first_violation_of_a_wedged_job_is_the_cause() {
    let summary = third_party("kueue-manager.audit.jsonl.gz");
    let first = |name: &str| {
        let job = summary.jobs.iter().find(|job| job.job.contains(name) && !job.violations.is_empty());
        job.unwrap().violations[0].req().id()
    };
    for (name, expected) in [
        ("remote-deleted-after-failure", "MR-09"),
        ("remote-deleted-after-success", "MR-09"),
        ("replaced-finished-unseen", "MR-04"),
        ("replaced-unseen", "MR-04"),
    ] {
        assert_eq!(first(name), expected, "{name}");
    }
}

#[test]
fn a_watch_of_the_manager_cluster_shows_a_part_of_the_same() {
    let audit = wrong(&third_party("kueue-manager.audit.jsonl.gz"));
    let watch = wrong(&third_party("kueue-manager.watch.jsonl.gz"));
    assert!(!watch.is_empty());
    for (name, ids) in watch {
        assert!(ids.is_subset(&audit[&name]), "{name}: {ids:?}");
    }
}

#[test]
fn the_workers_and_a_job_of_the_built_in_that_kueue_suspends_conform() {
    for (name, jobs) in [
        ("kueue-mk-a.audit.jsonl.gz", 37),
        ("kueue-mk-b.audit.jsonl.gz", 12),
        ("kueue-manager-and-worker.audit.jsonl.gz", 2),
    ] {
        let summary = third_party(name);
        assert_eq!((summary.jobs.len(), summary.outcome()), (jobs, Outcome::Conforms), "{name}");
        assert_eq!(wrong(&summary), BTreeMap::new(), "{name}");
        assert_eq!(summary.doubts, [""; 0], "{name}");
    }
}

/// Three refused requests over 150 s: the mirror works, and changes nothing.
const WORKS: [&str; 7] = [
    "copy 2 after 6 as 902",
    "copy 2 after 902 as 903",
    "copy 2 after 903 as 904",
    "refuse 902-904 409 Operation cannot be fulfilled on jobs.batch \"job\": the object has been modified",
    "shift 902 50",
    "shift 903 100",
    "shift 904 150",
];

/// The defect, the edits of the right mirror, the broken rules, and the broken advice.
type Variant = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// The wrong and doubtful mirrors that used to conform.
const VARIANTS: &[Variant] = &[
    ("nine successes of two", &["set 5-6 /responseObject/status/succeeded 9"], &["MR-01"], &[]),
    (
        "decided and complete without a success",
        &["set 4-6 /responseObject/status/succeeded 0"],
        &["MR-01"],
        &[],
    ),
    (
        "complete at once, without a success",
        &["drop 4-5", "set 6 /responseObject/status/succeeded 0"],
        &["MR-01"],
        &["MR-07"],
    ),
    (
        "suspended and active for ever",
        &[
            "set 1- /responseObject/spec/suspend true if /responseObject/kind \"Job\"",
            "unset 2- /responseObject/status/startTime",
            "drop 4-6",
        ],
        &["MR-13"],
        &[],
    ),
    (
        "a UID leaves the list uncounted",
        &[
            "set 3 /responseObject/status/uncountedTerminatedPods {\"failed\":[\"c0000000-0000-4000-8000-000000000011\"]}",
            "set 4-6 /responseObject/status/uncountedTerminatedPods {}",
        ],
        &["MR-03"],
        &[],
    ),
    ("no terminating at all", &["unset 2-6 /responseObject/status/terminating"], &[], &["MR-11"]),
    ("never a write", &["drop 2-"], &[], &[]),
    ("decided, and never finished", &["drop 6"], &["MR-08"], &[]),
    (
        "all succeeded, and never decided",
        &["drop 6", "unset 5 /responseObject/status/conditions"],
        &["TC-14"],
        &[],
    ),
    (
        "a start of a Job that has been suspended since its creation",
        &["set 1-2 /responseObject/spec/suspend true", "drop 3-6"],
        &["MR-05", "MR-13"],
        &[],
    ),
    (
        "suspended by its condition alone",
        &[
            "set 2- /responseObject/status/conditions [{\"type\":\"Suspended\",\"status\":\"True\",\"lastTransitionTime\":\"2026-11-21T00:32:37Z\",\"reason\":\"JobSuspended\",\"message\":\"Job suspended\"}] if /responseObject/kind \"Job\"",
            "drop 4-6",
        ],
        &["MR-13"],
        &[],
    ),
    (
        "another reason",
        &[
            "set 5- /responseObject/status/conditions/0/reason \"Whatever\" if /responseObject/kind \"Job\"",
            "set 6 /responseObject/status/conditions/1/reason \"Whatever\"",
        ],
        &[],
        &[],
    ),
    ("fifty active pods of two", &["set 3 /responseObject/status/active 50"], &[], &["MR-12"]),
    (
        "an index without its success",
        &[
            "set 1- /responseObject/spec/completionMode \"Indexed\" if /responseObject/kind \"Job\"",
            "set 4 /responseObject/status/completedIndexes \"0,1\"",
            "set 5-6 /responseObject/status/completedIndexes \"0,1\"",
        ],
        &["MR-02"],
        &[],
    ),
    (
        "indexes in another text",
        &[
            "set 1- /responseObject/spec/completionMode \"Indexed\" if /responseObject/kind \"Job\"",
            "set 1- /responseObject/spec/completions 3 if /responseObject/kind \"Job\"",
            "set 4 /responseObject/status/completedIndexes \"0\"",
            "set 5-6 /responseObject/status/completedIndexes \"0,1,2\"",
            "set 5-6 /responseObject/status/succeeded 3",
        ],
        &[],
        &["MR-02"],
    ),
    ("an old start", &["set 2-6 /responseObject/status/startTime \"2026-11-21T00:31:37Z\""], &["MR-04"], &[]),
    (
        "a condition of another actor is gone",
        &[
            "actor 2 mirror",
            "actor 4-6 mirror",
            "set 3 /responseObject/status/ready 0",
            "set 3 /responseObject/status/conditions [{\"type\":\"example.com/Checked\",\"status\":\"True\",\"lastTransitionTime\":\"2026-11-21T00:32:37Z\",\"reason\":\"C\",\"message\":\"C\"}]",
        ],
        &["MR-06"],
        &[],
    ),
    ("both conditions at once, which is right", &["drop 5"], &[], &["MR-07"]),
    ("the right one", &[], &[], &[]),
];

/// Returns whether a rule of the family, or TC-14, is meant.
fn is_of_the_contract(id: &str) -> bool {
    id.starts_with("MR-") || id == "TC-14"
}

#[test]
fn a_wrong_mirror_breaks_its_rule_and_a_right_one_none() {
    for (what, edits, broken, advised) in VARIANTS {
        // The refused requests come from the mirror, so that a Job without any status write has none.
        let works = if edits.contains(&"drop 2-") { &[][..] } else { &WORKS };
        let edits: Vec<&str> = works.iter().chain(edits.iter()).copied().collect();
        let summary =
            validated(&[input("trace", &edited("managed-by-mirror.audit", &edits))], Options::default());
        let ids: BTreeSet<&str> =
            violations(&summary).map(|it| it.req().id()).filter(|id| is_of_the_contract(id)).collect();
        assert_eq!(ids, broken.iter().copied().collect(), "{what}");
        let outcome = if broken.is_empty() { Outcome::Conforms } else { Outcome::Violates };
        assert_eq!(summary.outcome(), outcome, "{what}");
        let warnings = summary.jobs.iter().flat_map(|job| &job.warnings);
        let ids: BTreeSet<&str> = warnings.filter_map(|it| it.text.get(..5)).collect();
        assert_eq!(ids, advised.iter().copied().collect(), "{what}");
    }
}

/// The broken rules of an edited right mirror.
fn broken_with(edits: &[&str]) -> Vec<&'static str> {
    let summary = validated(&[input("trace", &edited("managed-by-mirror.audit", edits))], Options::default());
    violations(&summary).map(|it| it.req().id()).collect()
}

#[test]
fn a_refused_write_shows_a_manager_only_until_another_one_writes() {
    let message =
        "422 Job.batch \"job\" is invalid: status.succeeded: Invalid value: -1: must not be negative";
    let stranger = ["copy 2 after 1 as 901", "actor 901 mirror", &format!("refuse 901 {message}")];
    assert_eq!(broken_with(&stranger), [""; 0]);
    // Alone, its sender is presumed to be the manager.
    let alone = [&stranger[..], &["drop 2-6"]].concat();
    assert_eq!(broken_with(&alone), ["MR-09"]);
    // The manager itself was refused first.
    let own = ["copy 2 after 1 as 901", &format!("refuse 901 {message}")];
    assert_eq!(broken_with(&own), ["MR-09"]);
}

#[test]
fn a_malformed_request_is_refused_by_validation_and_a_denied_one_is_not() {
    let refused =
        |message: &str| broken_with(&["copy 2 after 6 as 902", &format!("refuse 902 400 {message}")]);
    assert_eq!(
        refused("Job in version \"v1\" cannot be handled as a Job: json: cannot unmarshal"),
        ["MR-09"]
    );
    assert_eq!(refused("admission webhook \"w\" denied the request: no"), [""; 0]);
}

/// Karmada writes the status of Jobs that have no `spec.managedBy`.
#[test]
fn a_manager_of_jobs_without_managed_by_is_named_by_the_user() {
    let lines = edited("managed-by-mirror.audit", &["unset 1- /responseObject/spec/managedBy"]);
    let judged = |options| validated(&[input("trace", &lines)], options);
    // The log of an executor without its pods would look like this.
    assert_eq!(judged(Options::default()).outcome(), Outcome::Inconclusive);
    for profile in [Profile::Mirror, Profile::Aggregate] {
        let summary = judged(Options { profile: Some(profile), ..Options::default() });
        assert_eq!((summary.outcome(), summary.jobs[0].profile), (Outcome::Conforms, profile.name()));
    }
    let actors = vec![(Role::Manager, "admin".to_owned())];
    let summary = judged(Options { actors, ..Options::default() });
    assert_eq!((summary.outcome(), summary.jobs[0].profile), (Outcome::Conforms, "mirror"));
}

#[test]
fn the_user_grants_a_greater_difference_of_clocks() {
    let edits = ["set 2-6 /responseObject/status/startTime \"2026-11-21T00:32:27Z\""];
    let lines = edited("managed-by-mirror.audit", &edits);
    let judged =
        |skew| validated(&[input("trace", &lines)], Options { skew, ..Options::default() }).outcome();
    assert_eq!((judged(5), judged(9), judged(10)), (Outcome::Violates, Outcome::Violates, Outcome::Conforms));
}

/// The content of a refused PATCH is put together from the stored status. Times do not make another content.
#[test]
fn refused_content_is_reported_once_and_again_if_it_is_sent_again() {
    let message =
        "refuse 5-6 422 Job.batch \"job\" is invalid: status.succeeded: Invalid value: 0: cannot decrease";
    let with = |first: &str, second: &str| {
        let body = |line, status: &str| format!("set {line} /requestObject {{\"status\":{status}}}");
        let edits = [body(5, first), body(6, second), "shift 6 60".to_owned(), message.to_owned()];
        let lines = edited("managed-by-mirror.audit", &edits.each_ref().map(|edit| &**edit));
        let summary = validated(&[input("trace", &lines)], Options::default());
        violations(&summary).map(|it| it.req().id()).collect::<Vec<_>>()
    };
    let fallen = r#"{"succeeded":null,"startTime":"2026-11-21T00:32:37Z"}"#;
    let at_another_time = r#"{"succeeded":null,"startTime":"2026-11-21T00:32:39Z"}"#;
    assert_eq!(with(fallen, at_another_time), ["MR-09", "MR-03", "MR-09"]);
    assert_eq!(with(fallen, r#"{"succeeded":0,"failed":1}"#), ["MR-09", "MR-03"]);
}

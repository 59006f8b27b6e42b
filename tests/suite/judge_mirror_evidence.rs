//! Managers that write status alone: who has written what, when, and to which Job. Each wrong trace stands beside a right
//! one that is almost the same.

use std::collections::BTreeSet;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::Exit;
use jobcheck_judge::validate::{Options, Outcome, Role, Summary};
use jobcheck_tests::traces::{edited, input, joined, replayed, validated, violations};
use jobcheck_traces::Input;
use serde_json::Value;

const MIRROR: &str = "system:serviceaccount:acme:mirror";

/// The right mirror, whose manager is not the user who creates the Job, with edits.
fn lines(edits: &[&str]) -> Vec<Value> {
    let own = ["actor 2-6 system:serviceaccount:acme:mirror mirror/v1"];
    let edits: Vec<&str> = own.iter().chain(edits).copied().collect();
    edited("managed-by-mirror.audit", &edits)
}

fn judged(edits: &[&str]) -> Summary {
    validated(&[input("trace", &lines(edits))], Options::default())
}

/// The rules of the family that a trace breaks.
fn broken(summary: &Summary) -> BTreeSet<&'static str> {
    violations(summary).map(|it| it.req().id()).filter(|id| id.starts_with("MR-")).collect()
}

/// The verdict, and the rules of the family that the trace breaks.
fn verdict(edits: &[&str]) -> (Outcome, Vec<&'static str>) {
    let summary = judged(edits);
    (summary.outcome(), broken(&summary).into_iter().collect())
}

fn right() -> (Outcome, Vec<&'static str>) {
    (Outcome::Conforms, Vec::new())
}

fn wrong(id: &'static str) -> (Outcome, Vec<&'static str>) {
    (Outcome::Violates, vec![id])
}

/// Line 3 becomes a PATCH of the main resource by the mirror.
const MAIN: [&str; 5] = [
    "set 3 /verb \"patch\"",
    "unset 3 /objectRef/subresource",
    "set 3 /requestURI \"/apis/batch/v1/namespaces/t-managed-by-mirror-1795221157/jobs/job\"",
    "set 3 /requestObject {\"metadata\":{\"labels\":{},\"annotations\":{},\"finalizers\":[],\"ownerReferences\":[]}}",
    "set 3 /responseObject/status/ready 0",
];

#[test]
fn mr15_the_metadata_of_others_stays() {
    let user = [
        "set 1- /responseObject/metadata/labels/team \"a\"",
        "set 1- /responseObject/metadata/labels/acme.io~1queue \"q\"",
        "set 1- /responseObject/metadata/annotations {\"example.org/note\":\"a\"}",
        "set 1- /responseObject/metadata/finalizers [\"example.org/keep\"]",
        "set 1- /responseObject/metadata/ownerReferences [{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"name\":\"c\",\"uid\":\"u\"}]",
        "set 1- /responseObject/spec/managedBy \"acme.io/mirror\"",
    ];
    let with = |edits: &[&str]| verdict(&[&user[..], &MAIN, edits].concat());
    for edit in [
        "set 3- /responseObject/metadata/labels/team \"b\"",
        "unset 3- /responseObject/metadata/labels/team",
        "unset 3- /responseObject/metadata/annotations/example.org~1note",
        "set 3- /responseObject/metadata/finalizers []",
        "unset 3- /responseObject/metadata/ownerReferences",
        "set 3- /responseObject/metadata/ownerReferences/- {\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"x\",\"uid\":\"x\"}",
    ] {
        assert_eq!(with(&[edit]), wrong("MR-15"), "{edit}");
        // The user may do the same.
        assert_eq!(with(&[edit, "actor 3 admin"]), right(), "{edit}");
    }
    for edit in [
        "set 3- /responseObject/metadata/labels/copy \"c-1\"",
        "set 3- /responseObject/metadata/finalizers/- \"acme.io/in-use\"",
        "set 3- /responseObject/metadata/annotations/acme.io~1worker \"w\"",
        // The domain of the manager's value is its own, whoever has set the label first.
        "set 3- /responseObject/metadata/labels/acme.io~1queue \"other\"",
    ] {
        assert_eq!(with(&[edit]), right(), "{edit}");
    }
    // The mirror may remove its own additions.
    let removes = [
        "set 2 /responseObject/metadata/labels/copy \"c-1\"",
        "set 2 /verb \"patch\"",
        "unset 2 /objectRef/subresource",
        "set 2 /requestObject {\"metadata\":{\"labels\":{}}}",
        "set 2 /responseObject/status {}",
        "set 3 /responseObject/status {}",
    ];
    assert_eq!(with(&removes), right());
}

/// A write to the status subresource can change metadata. A PATCH that does not mention them cannot: another write is missing.
#[test]
fn mr15_a_status_write_may_bring_the_labels_of_the_copy() {
    let labels = [
        "set 1-2 /responseObject/metadata/labels/team \"a\"",
        "set 3- /responseObject/metadata/labels/team \"b\"",
    ];
    let put = [
        "set 3 /verb \"update\"",
        "set 3 /requestObject {\"metadata\":{\"name\":\"job\",\"resourceVersion\":\"1166\",\"labels\":{\"team\":\"b\"}}}",
    ];
    assert_eq!(verdict(&[&labels[..], &put].concat()), wrong("MR-15"));
    assert_eq!(verdict(&labels), right());
}

/// A user whom `--actor` names is a manager before its first status write.
#[test]
fn mr15_a_named_manager_is_known_from_its_first_write() {
    let edits = [
        &MAIN[..],
        &[
            "move 3 after 1",
            "version 3 1166",
            "version 2 1167",
            "set 3 /responseObject/status {}",
            "shift 3 -0.004",
            "set 3 /responseObject/spec/parallelism 5",
            "set 2- /responseObject/spec/parallelism 5",
            "set 2-6 /responseObject/metadata/generation 2",
        ],
    ]
    .concat();
    let trace = lines(&edits);
    let actors = vec![(Role::Manager, MIRROR.to_owned())];
    let named = validated(&[input("trace", &trace)], Options { actors, ..Options::default() });
    assert_eq!(broken(&named), BTreeSet::from(["MR-15"]));
    assert_eq!(broken(&validated(&[input("trace", &trace)], Options::default())), BTreeSet::new());
}

/// A request without effect returns the version of the write before it. The order of the lines decides nothing.
#[test]
fn a_version_belongs_to_the_first_request_in_time() {
    let idle = |place: &'static str| {
        let mut edits = vec![
            place,
            "shift 104 0.002",
            "set 104 /verb \"patch\"",
            "unset 104 /objectRef/subresource",
            "set 104 /requestObject {\"metadata\":{\"labels\":{}}}",
            "actor 104 admin",
        ];
        edits.push("shift 5-6 1");
        let summary = judged(&edits);
        let warnings: Vec<String> = summary.jobs[0].warnings.iter().map(|it| it.text.clone()).collect();
        (summary.outcome(), broken(&summary), warnings)
    };
    let expected = (Outcome::Conforms, BTreeSet::new(), Vec::new());
    assert_eq!(idle("copy 4 after 4 as 104"), expected);
    assert_eq!(idle("copy 4 after 3 as 104"), expected);
    // The version that a request was computed from is not its own, whatever the times say.
    let base = [
        "copy 4 after 4 as 104",
        "shift 104 -0.001",
        "actor 104 admin",
        "set 104 /requestObject {\"metadata\":{\"resourceVersion\":\"1168\"}}",
    ];
    assert_eq!(verdict(&base), right());
}

#[test]
fn mr10_a_probe_time_alone_is_a_write() {
    let edits = |and: &[&'static str]| {
        let mut edits = vec![
            "copy 5 after 5 as 105",
            "copy 5 after 105 as 106",
            "version 105 2001",
            "version 106 2002",
            "version 6 2003",
            "shift 105 1",
            "shift 106 2",
            "shift 6 3",
            "set 105 /responseObject/status/conditions/0/lastProbeTime \"2026-11-21T00:32:38Z\"",
            "set 106 /responseObject/status/conditions/0/lastProbeTime \"2026-11-21T00:32:39Z\"",
        ];
        edits.extend(and);
        verdict(&edits)
    };
    assert_eq!(edits(&[]), wrong("MR-10"));
    assert_eq!(
        edits(&["set 106 /responseObject/status/failed 1", "set 6 /responseObject/status/failed 1"]),
        right()
    );
    // One write may come from a cache that lagged, and another actor's write begins anew.
    assert_eq!(edits(&["drop 106"]), right());
    let user = [
        "copy 105 after 105 as 107",
        "shift 107 0.5",
        "version 107 2010",
        "version 106 2011",
        "version 6 2012",
        "actor 107 admin",
        "unset 107 /objectRef/subresource",
    ];
    let label = [
        "set 106-107 /responseObject/metadata/labels/team \"a\"",
        "set 6 /responseObject/metadata/labels/team \"a\"",
    ];
    assert_eq!(edits(&[&user[..], &label].concat()), right());
}

/// The mirror is at work for more than two minutes after the decision.
const AT_WORK: [&str; 8] = [
    "copy 5 after 5 as 105",
    "copy 5 after 105 as 106",
    "copy 5 after 106 as 107",
    "refuse 105-107 409 Operation cannot be fulfilled on jobs.batch \"job\": the object has been modified",
    "shift 105 50",
    "shift 106 100",
    "shift 107 130",
    "shift 6 150",
];

#[test]
fn mr08_the_end_comes_in_time_and_stays() {
    let late = |and: &[&'static str]| verdict(&[&AT_WORK[..], and].concat());
    assert_eq!(late(&[]), wrong("MR-08"));
    // The mirror is away.
    assert_eq!(late(&["drop 105-107"]), right());
    // A server that cannot answer delays the end.
    assert_eq!(late(&["refuse 107 503 the server is currently unable to handle the request"]), right());
    // Pods that are not reported may have been waited for.
    assert_eq!(late(&["unset 2-6 /responseObject/status/terminating"]), right());
    // Writes of the Job in between change nothing of the obligation.
    let beats = [
        "drop 105-107",
        "copy 5 after 5 as 205",
        "copy 5 after 205 as 206",
        "version 205 2001",
        "version 206 2002",
        "version 6 2003",
        "shift 205 60",
        "shift 206 120",
        "set 205 /responseObject/status/failed 1",
        "set 206 /responseObject/status/failed 2",
        "set 6 /responseObject/status/failed 2",
    ];
    assert_eq!(late(&beats), wrong("MR-08"));
    // A decision is taken back.
    let back = ["unset 6 /responseObject/status/conditions", "unset 6 /responseObject/status/completionTime"];
    let summary = judged(&back);
    assert!(broken(&summary).contains("MR-08"), "{:?}", broken(&summary));
    assert_eq!(violations(&summary).next().map(|it| it.req().id()), Some("MR-08"));
}

/// A status write gets a server error, and a later request is made on a version that no response has shown.
#[test]
fn a_write_that_a_server_error_answers_may_be_stored() {
    let timeout = "refuse 4 504 Timeout: request did not complete within the requested timeout";
    let on = |version: u32| {
        format!("set 5 /requestObject {{\"metadata\":{{\"resourceVersion\":\"{version}\"}},\"status\":{{}}}}")
    };
    let stored = judged(&[timeout, &on(1168)]);
    assert_eq!((stored.outcome(), stored.jobs[0].doubts.len()), (Outcome::Conforms, 0));
    // It breaks a rule if its content does.
    let fallen = [
        timeout,
        "set 4 /requestObject {\"status\":{\"active\":50,\"ready\":1,\"succeeded\":3}}",
        &on(1168),
        "set 5-6 /responseObject/status/succeeded 3",
    ];
    assert_eq!(broken(&judged(&fallen)), BTreeSet::from(["MR-01"]));
    // Without the error a write is missing.
    let missing = judged(&["drop 4", &on(1168)]);
    assert_eq!(missing.outcome(), Outcome::Inconclusive);
    // The content that a response shows is another one.
    let repeated = [timeout, &on(1168), "set 5 /responseObject/metadata/resourceVersion \"1168\"", "drop 6"];
    assert_eq!(judged(&repeated).outcome(), Outcome::Inconclusive);
    // The same write is sent again, since no response has shown that it was stored.
    let again = [
        "copy 4 after 4 as 104",
        "shift 104 0.0005",
        "refuse 4 504 Timeout: request did not complete",
        "set 104 /requestObject {\"metadata\":{\"resourceVersion\":\"1168\"},\"status\":{\"active\":1}}",
    ];
    let summary = judged(&again);
    assert_eq!((summary.outcome(), summary.jobs[0].warnings.len()), (Outcome::Conforms, 0));
}

/// One trace of two clusters: a Job and its copy have one name. The refusal of a PATCH shows no UID.
#[test]
fn a_refusal_concerns_the_job_of_its_own_cluster() {
    let refused = lines(&[
        "copy 4 after 4 as 104",
        "shift 104 0.0005",
        "set 104 /requestObject {\"status\":{\"failed\":-1}}",
        "refuse 104 422 Job.batch \"job\" is invalid: status.failed: Invalid value: -1: must be greater than or equal to 0",
    ]);
    let uid = "c0000000-0000-4000-8000-00000000000c";
    let text = joined(&lines(&["unset 1- /responseObject/spec/managedBy", "drop 2-"]));
    let copy = text.replace("8d0e2934-bb74-4e61-976f-451cea502fa1", uid);
    let copy = copy.replace("T00:32:37.6", "T00:32:37.621");
    let own = refused.iter().map(|line| format!("{line}\n")).collect::<String>();
    for inputs in [[(&own, "manager"), (&copy, "worker")], [(&copy, "worker"), (&own, "manager")]] {
        let inputs = inputs.map(|(text, name)| Input::Bytes(name.to_owned(), text.clone().into_bytes()));
        let summary = validated(&inputs, Options::default());
        let of = |uid: &str| summary.jobs.iter().find(|job| job.uid.ends_with(uid)).unwrap();
        assert!(of("fa1").violations.iter().any(|it| it.req().id() == "MR-09"));
        assert!(of("00c").violations.is_empty());
    }
}

#[test]
fn a_named_manager_that_sends_nothing_is_reported() {
    let trace = lines(&[]);
    let with = |user: &str| {
        let judging = Judging { actors: vec![(Role::Manager, user.to_owned())], ..Judging::default() };
        replayed(&trace, &judging)
    };
    let report = with("system:serviceaccount:acme:miror");
    assert_eq!(report.exit_code, Exit::Inconclusive);
    assert!(report.doubts[0].contains("acme:miror"), "{:?}", report.doubts);
    assert_eq!((with(MIRROR).exit_code, with(MIRROR).doubts.len()), (Exit::Conforms, 0));
    // One of several traces is enough.
    let other = edited("nonindexed-success.audit", &["shift 1 0"]);
    let traces = [vec![input("a", &trace)], vec![input("b", &other)]];
    let actors = vec![(Role::Manager, MIRROR.to_owned())];
    assert_eq!(judge(&traces, &Judging { actors, ..Judging::default() }, &mut |_, _| {}).doubts, [""; 0]);
}

#[test]
fn a_foreign_writer_of_the_status_is_named() {
    let summary = judged(&[
        "actor 4 intruder kubectl/v1.36.3",
        "set 4 /responseObject/status/failed 1",
        "set 5-6 /responseObject/status/failed 1",
    ]);
    assert_eq!(summary.outcome(), Outcome::Inconclusive);
    let doubts = summary.jobs[0].doubts.join(" ");
    assert!(doubts.contains("intruder with user agent kubectl/v1.36.3"), "{doubts}");
}

/// The user agent of an upgraded manager has another version. It is the same manager.
#[test]
fn an_upgraded_manager_is_the_same() {
    assert_eq!(verdict(&["actor 4-6 system:serviceaccount:acme:mirror mirror/v2"]), right());
    let other = judged(&["actor 4-6 system:serviceaccount:acme:mirror curl/8"]);
    assert_eq!(other.outcome(), Outcome::Inconclusive);
}

//! A manager that writes status alone, judged beside its workers (MR-20 to MR-27).
//!
//! The traces are the logs of Kueue, and small pairs: each right one has wrong ones beside it.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_judge::replay::{Clusters, Judging, judge_clusters};
use jobcheck_judge::report::ReplayReport;
use jobcheck_judge::validate::Outcome;
use jobcheck_tests::corpus::folder;
use jobcheck_tests::traces::input;
use jobcheck_traces::Input;
use serde_json::{Value, json};

pub fn judged(clusters: &Clusters) -> ReplayReport {
    judge_clusters(clusters, &Judging::default(), &mut |_, _| {})
}

/// The broken rules for two clusters of each Job that breaks one.
pub fn broken(report: &ReplayReport) -> BTreeMap<String, BTreeSet<String>> {
    let is_wrong = |id: &String| id.starts_with("MR-2");
    let all = report.jobs.iter().map(|job| {
        let ids = job.violations.iter().filter_map(|it| it.requirement.map(|id| id.0.id().to_owned()));
        (job.job.clone(), ids.filter(is_wrong).collect::<BTreeSet<_>>())
    });
    all.filter(|(_, ids)| !ids.is_empty()).collect()
}

/// A log of another controller.
fn third_party(name: &str) -> Input {
    Input::Path(folder().join("third-party").join(name))
}

/// MB-16, MB-19.
#[test]
fn kueue_beside_its_workers_breaks_the_rules_of_two_clusters_where_it_is_known_to() {
    let worker = |name: &str| vec![third_party(name)];
    let clusters = Clusters {
        manager: vec![third_party("kueue-manager.audit.jsonl.gz")],
        workers: vec![worker("kueue-mk-a.audit.jsonl.gz"), worker("kueue-mk-b.audit.jsonl.gz")],
    };
    let report = judged(&clusters);
    let verdicts: Vec<Outcome> = report.traces.iter().map(|trace| trace.verdict).collect();
    assert_eq!(verdicts, [Outcome::Violates, Outcome::Conforms, Outcome::Conforms]);
    let found = broken(&report);
    let of = |name: &str| {
        let job = found.iter().find(|(job, _)| job.contains(name));
        job.map(|(_, ids)| ids.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_or_default()
    };
    // K1, K2: a redispatch whose status is refused for ever.
    assert_eq!(of("remote-deleted-after-failure"), ["MR-20", "MR-21", "MR-24"]);
    assert_eq!(of("remote-deleted-after-success"), ["MR-20", "MR-24"]);
    assert_eq!(of("drained-after-failure"), ["MR-20", "MR-21", "MR-22", "MR-24"]);
    // K3, K4: the copy of the Job that had the name before.
    assert_eq!(of("replaced-finished-unseen"), ["MR-23"]);
    assert_eq!(of("replaced-unseen"), ["MR-20", "MR-21", "MR-23", "MR-27"]);
    // K5: the copy expires before its end arrives, and the Job runs twice. In the second Job the end arrives within the
    // skew that is granted.
    assert_eq!(of("work/ttl"), ["MR-22", "MR-26"]);
    assert_eq!(of("remote-expires-first"), ["MR-22"]);
    // All others conform.
    assert_eq!(found.len(), 7);
}

/// `jobcheck conform` on Kueue (`docs/results/kueue.md`).
#[test]
fn kueue_copies_a_job_again_after_its_end_and_drops_conditions_of_others() {
    let rules = |name: &str| {
        let log = |side: &str| third_party(&format!("kueue-{name}.{side}.audit.jsonl.gz"));
        let report = judged(&Clusters { manager: vec![log("manager")], workers: vec![vec![log("worker")]] });
        let broken = report.jobs.iter().flat_map(|job| &job.violations);
        broken.filter_map(|it| it.requirement.map(|id| id.0.id())).collect::<Vec<_>>()
    };
    assert_eq!(rules("copy-deleted-at-its-end"), ["MR-22"]);
    assert_eq!(rules("condition-of-others"), ["MR-06"]);
}

/// Builds the trace of one cluster.
#[derive(Clone, Default)]
pub struct Trace {
    pub lines: Vec<Value>,
    pub version: u64,
}

pub const LOCAL: &str = "5d1111a3-e7c8-4dcf-83b7-ad703b7b0f00";
pub const COPY: &str = "00000000-e7c8-4dcf-83b7-ad703b7b0f01";
pub const NEXT: &str = "00000000-e7c8-4dcf-83b7-ad703b7b0f02";
pub const MANAGER: &str = "acme";
pub const REMOTE: &str = "acme-remote";
const TTL: &str = "system:serviceaccount:kube-system:ttl-after-finished-controller";
pub const BUILT_IN: &str = "system:serviceaccount:kube-system:job-controller";

fn stamp(second: i64) -> String {
    format!("{}.000000Z", jobcheck_spec::Time(1_790_000_000 + second).to_string().trim_end_matches('Z'))
}

pub fn seconds(second: i64) -> Value {
    json!(jobcheck_spec::Time(1_790_000_000 + second).to_string())
}

impl Trace {
    /// A request for a Job. `edit` changes the stored object.
    pub fn request(
        &mut self,
        at: i64,
        user: &str,
        verb: &str,
        uid: &str,
        code: u16,
        edit: Value,
    ) -> &mut Trace {
        self.version += 1;
        let is_status = edit.get("status").is_some() && verb == "update" && edit.get("deleted").is_none();
        let sub = if is_status { "status" } else { "" };
        let mut spec = json!({"completions": 2, "parallelism": 2, "backoffLimit": 6, "suspend": false,
            "completionMode": "NonIndexed", "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": true,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}});
        if uid == LOCAL {
            spec["managedBy"] = json!("acme.example.com/mirror");
        }
        merge(&mut spec, edit.get("spec").unwrap_or(&Value::Null));
        let created = edit.get("created").and_then(Value::as_i64).unwrap_or(if uid == LOCAL { 0 } else { 1 });
        let object = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec,
            "metadata": {"name": "train", "namespace": "work", "uid": uid, "generation": 1,
                "creationTimestamp": seconds(created), "resourceVersion": self.version.to_string()},
            "status": edit.get("status").cloned().unwrap_or(json!({}))});
        let mut object = object;
        if let Some(deleted) = edit.get("deleted").and_then(Value::as_i64) {
            object["metadata"]["deletionTimestamp"] = seconds(deleted);
            object["metadata"]["finalizers"] = edit.get("finalizers").cloned().unwrap_or(json!([]));
        }
        let mut request = json!({"received": stamp(at), "done": stamp(at), "level": "RequestResponse", "user": user,
            "verb": verb, "resource": "jobs", "subresource": sub, "namespace": "work", "name": "train", "code": code});
        if code == 422 {
            request["request"] = object;
            request["response"] = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422,
                "reason": "Invalid", "message": "status.failed: Invalid value: 0: cannot decrease the failed counter"});
        } else if verb == "delete" && edit.get("deleted").is_none() {
            request["response"] = json!({"kind": "Status", "apiVersion": "v1", "status": "Success",
                "details": {"name": "train", "kind": "jobs", "uid": uid}});
            request["uid"] = json!(uid);
        } else {
            request["response"] = object;
        }
        self.lines.push(json!({"request": request}));
        self
    }

    pub fn create(&mut self, at: i64, user: &str, uid: &str) -> &mut Trace {
        self.request(at, user, "create", uid, 201, json!({"created": at}))
    }

    pub fn status(&mut self, at: i64, user: &str, uid: &str, status: Value) -> &mut Trace {
        self.request(at, user, "update", uid, 200, json!({"status": status}))
    }

    pub fn delete(&mut self, at: i64, user: &str, uid: &str) -> &mut Trace {
        self.request(at, user, "delete", uid, 200, json!({}))
    }

    /// Requests of the manager for another Job, so that it is seen to work.
    pub fn works(&mut self, until: i64) -> &mut Trace {
        let last = self.lines.len();
        self.request(until, MANAGER, "update", "99999999-e7c8-4dcf-83b7-ad703b7b0f09", 200, json!({}));
        let request = &mut self.lines[last]["request"];
        request["name"] = json!("another");
        request["response"]["metadata"]["name"] = json!("another");
        self
    }

    /// The same every 40 s, by this user.
    pub fn works_on(&mut self, user: &str, from: i64, until: i64) -> &mut Trace {
        for at in (from..until).step_by(40) {
            let last = self.lines.len();
            self.works(at);
            self.lines[last]["request"]["user"] = json!(user);
        }
        self
    }

    pub fn input(&self, name: &str) -> Vec<Input> {
        let header = json!({"format": "jobcheck.dev/trace", "version": "1.0"});
        vec![input(name, &std::iter::once(header).chain(self.lines.iter().cloned()).collect::<Vec<_>>())]
    }
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

pub fn running(succeeded: i32, failed: i32) -> Value {
    json!({"active": 2 - succeeded, "succeeded": succeeded, "failed": failed, "startTime": seconds(2),
        "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}})
}

pub fn ended(kind: &str) -> Value {
    let interim = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
    let reason = if kind == "Complete" { "CompletionsReached" } else { "BackoffLimitExceeded" };
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": "m", "lastProbeTime": seconds(9),
            "lastTransitionTime": seconds(9)})
    };
    let mut status = json!({"active": 0, "ready": 0, "terminating": 0, "succeeded": 2, "startTime": seconds(2),
        "uncountedTerminatedPods": {}, "conditions": [condition(interim), condition(kind)]});
    if kind == "Complete" {
        status["completionTime"] = seconds(9);
    } else {
        (status["succeeded"], status["failed"]) = (json!(0), json!(7));
    }
    status
}

/// The rules for two clusters that a pair of traces breaks.
pub fn rules(manager: &Trace, worker: &Trace) -> Vec<String> {
    let clusters = Clusters { manager: manager.input("manager"), workers: vec![worker.input("worker")] };
    let report = judged(&clusters);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    broken(&report).into_values().flatten().collect()
}

/// A Job that runs, and whose end arrives.
pub fn healthy() -> [Trace; 2] {
    let (mut manager, mut worker) = (Trace::default(), Trace::default());
    manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0));
    worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 0));
    worker.status(9, BUILT_IN, COPY, ended("Complete"));
    [manager, worker]
}

#[test]
fn a_mirror_that_reports_the_end_and_keeps_the_copy_conforms() {
    let [mut manager, worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Complete")).works(300);
    assert_eq!(rules(&manager, &worker), [""; 0]);
}

#[test]
fn the_end_of_a_copy_must_arrive_unless_there_was_no_time() {
    let [mut manager, worker] = healthy();
    manager.works(120);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    manager.works(130);
    assert_eq!(rules(&manager, &worker), ["MR-21"]);
    // The statuses are compared as far as the trace of the worker reaches, too.
    let mut longer = worker.clone();
    longer.works(130);
    assert_eq!(rules(&manager, &longer), ["MR-20", "MR-21"]);
    // A deleted Job needs no end.
    let [mut manager, mut worker] = healthy();
    manager.delete(12, "user", LOCAL).works(300);
    worker.delete(13, REMOTE, COPY);
    assert_eq!(rules(&manager, &worker), [""; 0]);
}

#[test]
fn another_end_than_that_of_the_copy_is_wrong() {
    let [mut manager, worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Failed")).works(20);
    assert_eq!(rules(&manager, &worker), ["MR-21"]);
}

#[test]
fn a_status_that_differs_from_that_of_the_copy_for_long_is_wrong() {
    let [mut manager, mut worker] = [Trace::default(), Trace::default()];
    manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 0)).works(140);
    worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(1, 0)).works(134);
    assert_eq!(rules(&manager, &worker), ["MR-20"]);
    worker.status(135, BUILT_IN, COPY, running(0, 0));
    assert_eq!(rules(&manager, &worker), [""; 0]);
}

#[test]
fn a_difference_that_is_gone_by_the_end_counts_if_the_manager_had_time() {
    type Case = (fn(&mut Trace, i64), &'static [&'static str]);
    let cases: [Case; 3] = [
        (|manager, at| _ = manager.status(at, MANAGER, LOCAL, running(1, 0)), &["MR-20"]),
        (|manager, at| _ = manager.status(at, MANAGER, LOCAL, ended("Complete")), &["MR-20", "MR-21"]),
        (|_, _| {}, &["MR-25"]),
    ];
    for (case, (react, expected)) in cases.into_iter().enumerate() {
        for (works_there, until, is_late) in [(true, 210, true), (false, 210, false), (true, 130, false)] {
            let [mut manager, mut worker] = [Trace::default(), Trace::default()];
            manager.create(0, "user", LOCAL).status(2, MANAGER, LOCAL, running(0, 0));
            worker.create(1, REMOTE, COPY);
            let copied = [running(1, 0), ended("Complete"), running(0, 0)][case].clone();
            worker.status(4, BUILT_IN, COPY, copied);
            if case == 2 {
                manager.delete(5, "user", LOCAL);
            }
            manager.works_on(MANAGER, 6, until);
            worker.works_on(if works_there { REMOTE } else { "somebody" }, 6, until);
            react(&mut manager, until);
            if case == 2 {
                worker.delete(until, REMOTE, COPY);
            }
            let found = rules(&manager, &worker);
            let expected = if is_late { expected } else { &[] };
            assert_eq!(found, expected, "{case} {works_there} {until}");
        }
    }
}

#[test]
fn nothing_is_created_again_after_the_end_of_a_copy() {
    let [mut manager, mut worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Complete")).works(20);
    worker.delete(11, REMOTE, COPY);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    worker.create(12, REMOTE, NEXT);
    assert_eq!(rules(&manager, &worker), ["MR-22"]);
}

#[test]
fn a_copy_that_expires_before_its_end_arrives_is_wrong() {
    for (expiry, arrival, expected) in [(11, 10, vec![]), (11, 16, vec![]), (11, 17, vec!["MR-26"])] {
        let [mut manager, mut worker] = [Trace::default(), Trace::default()];
        let ttl = json!({"ttlSecondsAfterFinished": 2});
        manager.request(0, "user", "create", LOCAL, 201, json!({"created": 0, "spec": ttl}));
        manager.request(4, MANAGER, "update", LOCAL, 200, json!({"spec": ttl, "status": running(0, 0)}));
        let end = json!({"spec": ttl, "status": ended("Complete")});
        manager.request(arrival, MANAGER, "update", LOCAL, 200, end.clone());
        worker.request(1, REMOTE, "create", COPY, 201, json!({"created": 1, "spec": ttl}));
        worker.request(9, BUILT_IN, "update", COPY, 200, end);
        worker.delete(expiry, TTL, COPY);
        assert_eq!(rules(&manager, &worker), expected, "{expiry} {arrival}");
    }
}

#[test]
fn a_finalizer_that_keeps_the_copy_until_its_end_has_arrived_is_a_right_protocol() {
    let ttl = json!({"ttlSecondsAfterFinished": 2});
    let [mut manager, mut worker] = [Trace::default(), Trace::default()];
    manager.request(0, "user", "create", LOCAL, 201, json!({"created": 0, "spec": ttl}));
    manager.request(60, MANAGER, "update", LOCAL, 200, json!({"spec": ttl, "status": ended("Complete")}));
    worker.request(1, REMOTE, "create", COPY, 201, json!({"created": 1, "spec": ttl}));
    worker.request(9, BUILT_IN, "update", COPY, 200, json!({"spec": ttl, "status": ended("Complete")}));
    let kept =
        json!({"spec": ttl, "status": ended("Complete"), "deleted": 11, "finalizers": ["acme.io/keep"]});
    worker.request(11, TTL, "delete", COPY, 200, kept);
    let gone = json!({"spec": ttl, "status": ended("Complete"), "deleted": 11});
    worker.request(62, REMOTE, "update", COPY, 200, gone);
    assert_eq!(rules(&manager, &worker), [""; 0]);
}

#[test]
fn a_job_of_somebody_else_with_this_name_is_no_copy() {
    let [mut manager, worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Complete")).works(300);
    let beside = |creator: &str| {
        let mut worker = worker.clone();
        worker.delete(11, "user", COPY).create(12, creator, NEXT);
        worker
    };
    assert_eq!(rules(&manager, &beside(REMOTE)), ["MR-22"]);
    // The manager creates most Jobs of such names: a third one makes the difference.
    let mut two = beside("bob");
    two.delete(13, "bob", NEXT);
    let mut again = Trace::default();
    again.create(5, REMOTE, "00000000-e7c8-4dcf-83b7-ad703b7b0f03");
    again.delete(6, REMOTE, "00000000-e7c8-4dcf-83b7-ad703b7b0f03");
    two.lines.splice(2..2, again.lines);
    assert_eq!(rules(&manager, &two), [""; 0]);
}

#[test]
fn a_trace_that_begins_late_or_ends_early_shows_nothing_of_the_copies_beyond_it() {
    // The copy of a Job that was created after the end of the manager's trace.
    let [mut manager, mut worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Complete"));
    worker.delete(11, REMOTE, COPY).create(40, REMOTE, NEXT);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    // The copy of a Job that was gone before the beginning of the manager's trace.
    let [mut manager, mut worker] = [Trace::default(), Trace::default()];
    worker.create(1, REMOTE, NEXT).delete(12, REMOTE, NEXT).create(31, REMOTE, COPY);
    worker.status(33, BUILT_IN, COPY, running(0, 0));
    manager.create(30, "user", LOCAL).status(34, MANAGER, LOCAL, running(0, 0)).works(36);
    assert_eq!(rules(&manager, &worker), [""; 0]);
}

#[test]
fn a_recreated_job_never_gets_the_status_of_the_previous_copy() {
    let again = "5d1111a3-e7c8-4dcf-83b7-ad703b7b0f99";
    let status = |start: i64| {
        json!({"active": 2, "startTime": seconds(start), "ready": 0, "terminating": 0,
        "uncountedTerminatedPods": {}})
    };
    for (start, expected) in [(22, vec![]), (2, vec!["MR-23"])] {
        let [mut manager, mut worker] = healthy();
        manager.delete(12, "user", LOCAL);
        let managed = json!({"managedBy": "acme.example.com/mirror"});
        manager.request(20, "user", "create", again, 201, json!({"created": 20, "spec": managed}));
        manager.request(
            24,
            MANAGER,
            "update",
            again,
            200,
            json!({"created": 20, "spec": managed, "status": status(start)}),
        );
        worker.delete(13, REMOTE, COPY).create(21, REMOTE, NEXT).status(22, BUILT_IN, NEXT, status(22));
        assert_eq!(rules(&manager, &worker), expected, "{start}");
    }
}

#[test]
fn a_redispatch_or_a_resumption_whose_status_is_refused_for_ever_is_wrong() {
    let refused = |trace: &mut Trace, at: i64| {
        trace.request(at, MANAGER, "update", LOCAL, 422, json!({"status": running(0, 0)}));
    };
    let [mut manager, mut worker] = [Trace::default(), Trace::default()];
    manager.create(0, "user", LOCAL).status(4, MANAGER, LOCAL, running(0, 1));
    worker.create(1, REMOTE, COPY).status(3, BUILT_IN, COPY, running(0, 1)).delete(5, "user", COPY);
    worker.create(6, REMOTE, NEXT).status(8, BUILT_IN, NEXT, running(0, 0));
    refused(&mut manager, 9);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    refused(&mut manager, 10);
    assert_eq!(rules(&manager, &worker), ["MR-24"]);
    manager.status(11, MANAGER, LOCAL, running(0, 1));
    assert_eq!(rules(&manager, &worker), [""; 0]);

    let [mut manager, mut worker] = [Trace::default(), Trace::default()];
    manager.create(0, "user", LOCAL);
    manager.request(2, "user", "update", LOCAL, 200, json!({"spec": {"suspend": true}}));
    worker.create(1, REMOTE, COPY);
    refused(&mut manager, 3);
    refused(&mut manager, 4);
    assert_eq!(rules(&manager, &worker), ["MR-27"]);
}

#[test]
fn the_removal_of_a_job_removes_its_copy_and_nothing_else() {
    let [mut manager, mut worker] = healthy();
    manager.delete(10, "user", LOCAL).works(140);
    // The trace of the worker does not show what happened later.
    assert_eq!(rules(&manager, &worker), [""; 0]);
    let mut left = worker.clone();
    left.works(140);
    assert_eq!(rules(&manager, &left), ["MR-25"]);
    worker.delete(11, REMOTE, COPY).works(140);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    // Somebody's own Job on the worker, with the same name.
    worker.create(150, "user", NEXT);
    assert_eq!(rules(&manager, &worker), [""; 0]);
    worker.delete(151, REMOTE, NEXT);
    assert_eq!(rules(&manager, &worker), ["MR-25"]);
}

#[test]
fn clusters_that_cannot_be_compared_are_inconclusive() {
    let [mut manager, worker] = healthy();
    manager.status(10, MANAGER, LOCAL, ended("Complete"));
    let elsewhere =
        Clusters { manager: manager.input("manager"), workers: vec![Trace::default().input("w")] };
    let report = judged(&elsewhere);
    let found: Vec<_> = report.jobs.iter().flat_map(|job| &job.violations).collect();
    assert_eq!(report.traces[0].verdict, Outcome::Inconclusive, "{found:?}");
    assert!(
        report.traces[0].doubts[0].contains("no Job of the workers is the copy"),
        "{:?}",
        report.traces[0].doubts
    );
    let watch = json!({"type": "ADDED", "object": worker.lines[0]["request"]["response"].clone()});
    let watched = Clusters { manager: manager.input("manager"), workers: vec![vec![input("w", &[watch])]] };
    assert!(judged(&watched).traces[0].doubts[0].contains("has no times"));
}

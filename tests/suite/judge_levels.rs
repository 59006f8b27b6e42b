//! Audit logs in which the level of one event is lower than that of the others. A record without a body is unknown, never absent, so that
//! right controllers are never wrong by that, also in long logs.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, lines, validated_lines};
use serde_json::{Value, json};

use crate::corpus::recordings;

const LATER: i64 = 600;

/// The time of an event in microseconds.
fn done(event: &Value) -> i64 {
    jobcheck_traces::parse_micros(event["stageTimestamp"].as_str().unwrap()).unwrap()
}

/// Refused requests of both controllers in another namespace, ten minutes after the log: they are there, and have time.
fn at_work(log: &[Value]) -> Vec<Value> {
    let users: Vec<&Value> = log.iter().map(|event| &event["user"]).collect();
    let job_controller = users.iter().find(|user| user.to_string().contains("job-controller"));
    let job_controller = job_controller
        .map_or_else(|| json!({"username": "system:kube-controller-manager"}), |user| (*user).clone());
    let ttl = json!({"username": "system:serviceaccount:kube-system:ttl-after-finished-controller"});
    let last = log.iter().map(done).max().unwrap();
    let request = |user: &Value, verb: &str, resource: &str, group: &str, after: i64| {
        let at = jobcheck_traces::format_micros(last + after * 1_000_000).unwrap();
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
            "auditID": format!("later-{verb}-{after}"), "verb": verb, "user": user,
            "userAgent": "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/f4a2c7d/system:serviceaccount:kube-system:job-controller",
            "objectRef": {"resource": resource, "apiGroup": group, "apiVersion": "v1", "namespace": "elsewhere", "name": "x"},
            "responseStatus": {"code": 403}, "requestReceivedTimestamp": at, "stageTimestamp": at,
        })
    };
    (1..=LATER / 60)
        .flat_map(|minute| {
            let mut by_ttl = request(&ttl, "delete", "jobs", "batch", minute * 60);
            by_ttl["userAgent"] = json!(
                "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/f4a2c7d/system:serviceaccount:kube-system:ttl-after-finished-controller"
            );
            [request(&job_controller, "create", "pods", "", minute * 60), by_ttl]
        })
        .collect()
}

fn at_level(event: &Value, level: &str) -> Value {
    let mut event = event.clone();
    event["level"] = json!(level);
    let members = event.as_object_mut().unwrap();
    members.remove("responseObject");
    if level == "Metadata" {
        members.remove("requestObject");
    }
    event
}

#[test]
fn no_recording_is_wrong_if_the_level_of_one_event_is_lower() {
    let (mut wrong, mut judged, mut overdue) = (Vec::new(), 0, 0);
    for (name, log) in recordings(".audit") {
        let whole: Vec<Value> = log.iter().cloned().chain(at_work(&log)).collect();
        if validated_lines(&whole).outcome() == Outcome::Violates {
            overdue += 1;
            continue;
        }
        for at in 0..log.len() {
            for level in ["Metadata", "Request"] {
                let mut edited = whole.clone();
                edited[at] = at_level(&log[at], level);
                let found = validated_lines(&edited);
                judged += 1;
                if found.outcome() == Outcome::Violates {
                    wrong.push((name.clone(), at + 1, level, broken(&found)));
                }
            }
        }
    }
    assert_eq!(wrong, []);
    assert!(judged > 1_000, "{judged}");
    assert!(overdue < 5, "{overdue}");
}

/// The removal of a TTL, and the deletion of a Job, of which nothing but their success is shown.
#[test]
fn an_expired_job_of_which_a_write_is_hidden_is_not_overdue() {
    for (name, verb, is_hidden_by_namespace) in
        [("ttl-removed", "patch", false), ("ttl-extended", "delete", false), ("ttl-zero", "delete", true)]
    {
        let log = lines(&format!("recordings/{name}.audit.jsonl"));
        let writes: Vec<usize> = (0..log.len())
            .filter(|at| log[*at]["verb"] == *verb && log[*at]["objectRef"]["resource"] == "jobs")
            .filter(|at| log[*at]["objectRef"]["subresource"].is_null())
            .collect();
        // Later events would show the deletion.
        let log = &log[..=*writes.last().unwrap()];
        let mut edited: Vec<Value> = log.iter().cloned().chain(at_work(log)).collect();
        for at in &writes {
            edited[*at] = at_level(&log[*at], "Metadata");
            if is_hidden_by_namespace {
                edited[*at]["verb"] = json!("deletecollection");
                edited[*at]["objectRef"].as_object_mut().unwrap().remove("name");
            }
        }
        assert_ne!(validated_lines(&edited).outcome(), Outcome::Violates, "{name}");
        let mut without = edited.clone();
        without.retain(|event| event["level"] != "Metadata");
        let found = validated_lines(&without);
        assert!(broken(&found).iter().any(|id| id.contains("TT-14")), "{name}: {:?}", broken(&found));
    }
}

/// The deletion of all pods of a namespace, without their list, deletes no Job.
#[test]
fn a_deletion_of_pods_is_none_of_jobs() {
    let log = lines("recordings/ttl-zero.audit.jsonl");
    let is_deletion = |event: &Value| event["verb"] == "delete" && event["objectRef"]["resource"] == "jobs";
    let at = log.iter().position(is_deletion).unwrap();
    let mut deletion = at_level(&log[at], "Metadata");
    deletion["verb"] = json!("deletecollection");
    deletion["objectRef"].as_object_mut().unwrap().remove("name");
    for (resource, group, is_overdue) in [("pods", "", true), ("jobs", "batch", false)] {
        deletion["objectRef"]["resource"] = json!(resource);
        deletion["objectRef"]["apiGroup"] = json!(group);
        let log: Vec<Value> = log[..at].iter().chain([&deletion]).cloned().collect();
        let whole: Vec<Value> = log.iter().cloned().chain(at_work(&log)).collect();
        let found = validated_lines(&whole);
        assert_eq!(broken(&found).iter().any(|id| id.contains("TT-14")), is_overdue, "{resource}");
        assert_ne!(found.outcome(), Outcome::Conforms, "{resource}");
    }
}

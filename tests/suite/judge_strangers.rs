//! A Job controller that harms pods which belong to no Job, or harms its own by force.

use jobcheck_judge::validate::Summary;
use jobcheck_tests::traces::{broken, parsed, recording, validated_lines};
use serde_json::{Value, json};

/// The first line for which this holds.
fn first(trace: &[Value], is_it: impl Fn(&Value) -> bool) -> usize {
    trace.iter().position(is_it).expect("the recording has such a line")
}

fn is_of_controller(line: &Value) -> bool {
    line["userAgent"].as_str().is_some_and(|it| it.ends_with("job-controller"))
}

fn is_creation_of_pod(line: &Value) -> bool {
    line["verb"] == "create" && line["objectRef"]["resource"] == "pods" && is_of_controller(line)
}

/// A recording in which the controller sends a request for another pod, before the end.
fn with_request(change: impl Fn(&mut Value)) -> Summary {
    let mut trace = recording("nonindexed-success.audit");
    let creation = first(&trace, is_creation_of_pod);
    let mut line = trace[creation].clone();
    for part in ["requestObject", "responseObject"] {
        line[part]["metadata"]["name"] = json!("stranger");
        line[part]["metadata"]["uid"] = json!("5e0ffc14-5e08-4b7c-a5c9-5f0c0b3f3f3f");
        line[part]["metadata"]["labels"] = json!({});
    }
    line["objectRef"]["name"] = json!("stranger");
    change(&mut line);
    trace.insert(creation, line);
    validated_lines(&trace)
}

fn is_doubted(summary: &Summary) -> bool {
    summary.doubts.iter().any(|doubt| doubt.contains("belong to no Job"))
}

#[test]
fn a_write_to_a_pod_of_no_job_is_told() {
    let without_owner = |line: &mut Value| {
        for part in ["requestObject", "responseObject"] {
            line[part]["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        }
    };
    let of_replica_set = |line: &mut Value| {
        for part in ["requestObject", "responseObject"] {
            if line[part].is_null() {
                continue;
            }
            line[part]["metadata"]["ownerReferences"][0]["kind"] = json!("ReplicaSet");
            line[part]["metadata"]["ownerReferences"][0]["apiVersion"] = json!("apps/v1");
        }
    };
    let deletes = |line: &mut Value| {
        line["verb"] = json!("delete");
        line["responseStatus"]["code"] = json!(200);
        line.as_object_mut().unwrap().remove("requestObject");
    };
    for (what, change) in [
        ("creates a bare pod", &(|line: &mut Value| without_owner(line)) as &dyn Fn(&mut Value)),
        ("creates a pod of a ReplicaSet", &of_replica_set),
        ("deletes a bare pod", &|line: &mut Value| {
            deletes(line);
            line["responseObject"]["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        }),
        ("patches a pod of a ReplicaSet", &|line: &mut Value| {
            line["verb"] = json!("patch");
            line["responseStatus"]["code"] = json!(200);
            of_replica_set(line);
            line["requestObject"] = json!({"metadata": {"finalizers": null}});
        }),
        ("deletes a pod of a ReplicaSet", &|line: &mut Value| {
            deletes(line);
            of_replica_set(line);
        }),
    ] {
        assert!(is_doubted(&with_request(change)), "{what}");
    }
    assert!(!is_doubted(&validated_lines(&recording("nonindexed-success.audit"))));
}

/// The same requests by somebody else say nothing about a Job controller.
#[test]
fn a_write_of_somebody_else_to_such_a_pod_is_not_told() {
    let summary = with_request(|line| {
        line["userAgent"] = json!("kubectl/v1.36.3");
        line["user"]["username"] = json!("admin");
        line["responseObject"]["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    });
    assert!(!is_doubted(&summary));
}

/// SY-11: somebody else holds the pods of these recordings with a finalizer.
#[test]
fn a_controller_that_removes_the_finalizers_of_others_is_wrong() {
    for name in ["success-policy.audit", "scale-down-then-complete.audit", "replace-when-terminating.audit"] {
        let mut trace = recording(name);
        let is_of_held = |line: &Value| {
            let left = &line["responseObject"]["metadata"]["finalizers"];
            line["verb"] == "patch" && is_of_controller(line) && left[0] == "conformance.example.com/hold"
        };
        let place = first(&trace, is_of_held);
        trace[place]["requestObject"] = json!({"metadata": {"finalizers": null}});
        trace[place]["responseObject"]["metadata"].as_object_mut().unwrap().remove("finalizers");
        let found = broken(&validated_lines(&trace));
        assert!(found.iter().any(|it| it.starts_with("SY-11")), "{name}: {found:?}");
    }
}

/// RP-12: a controller leaves its pods their grace period, whatever the policy for replacements is.
#[test]
fn a_controller_that_deletes_a_running_pod_by_force_is_wrong() {
    for policy in ["TerminatingOrFailed", "Failed"] {
        judge_force_under(policy);
    }
}

fn judge_force_under(policy: &str) {
    let text: Vec<String> = recording("suspend-resume.audit").iter().map(Value::to_string).collect();
    let text = text.join("\n").replace("\"TerminatingOrFailed\"", &format!("\"{policy}\""));
    // The pods of the recordings have no nodes. One without a node may be deleted at once.
    let text = text.replace("\"restartPolicy\":", "\"nodeName\":\"node\",\"restartPolicy\":");
    let mut trace = parsed(&text);
    let gentle = broken(&validated_lines(&trace));
    let is_deletion = |line: &Value| {
        line["verb"] == "delete" && line["objectRef"]["resource"] == "pods" && is_of_controller(line)
    };
    let deletion = first(&trace, is_deletion);
    trace[deletion]["requestObject"] =
        json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 0});
    let found = broken(&validated_lines(&trace));
    assert!(!gentle.iter().any(|it| it.starts_with("RP-12")), "{gentle:?}");
    assert!(found.iter().any(|it| it.starts_with("RP-12")), "{found:?}");
}

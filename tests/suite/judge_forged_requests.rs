//! Requests in forms that a client chooses: user agents, dry runs, other forms of responses, other ways to remove a pod. None
//! of them hides a wrong write, and none makes a right trace wrong.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, lines, recording, validated_lines};
use serde_json::{Value, json};

/// Returns `true` for a request of the Job controller.
fn is_controllers(line: &Value) -> bool {
    line["userAgent"].as_str().is_some_and(|agent| agent.ends_with("job-controller"))
        || line["user"]["username"].as_str().is_some_and(|user| user.ends_with(":job-controller"))
}

fn is_of_pods(line: &Value) -> bool {
    line["objectRef"]["resource"] == "pods"
}

/// A trace whose Job and whose controller have another manager.
fn of_another_manager(name: &str) -> Vec<Value> {
    let text: Vec<String> =
        lines(&format!("invalid/{name}.audit.jsonl")).iter().map(Value::to_string).collect();
    let replaced = |line: &String| {
        line.replace("\"podReplacementPolicy\"", "\"managedBy\":\"acme.io/c\",\"podReplacementPolicy\"")
    };
    let mut trace: Vec<Value> =
        text.iter().map(|line| serde_json::from_str(&replaced(line)).unwrap()).collect();
    for line in trace.iter_mut().filter(|line| is_controllers(line)) {
        line["user"] = json!({"username": "acme"});
        line["userAgent"] = json!("acme/v1");
    }
    trace
}

#[test]
fn a_manager_is_judged_whatever_its_pod_requests_call_themselves() {
    for name in ["BI-04--failed-index-retried", "PC-04--one-pod-too-many", "FT-03--released-before-recorded"]
    {
        let honest = of_another_manager(name);
        assert_eq!(validated_lines(&honest).outcome(), Outcome::Violates, "{name}");
        for agent in ["kubelet", "acme/kubelet", "generic-garbage-collector", "ttl-after-finished-controller"]
        {
            let mut trace = honest.clone();
            for line in trace.iter_mut().filter(|line| is_of_pods(line) && line["user"]["username"] == "acme")
            {
                line["userAgent"] = json!(agent);
            }
            assert_ne!(validated_lines(&trace).outcome(), Outcome::Conforms, "{name} as {agent}");
        }
    }
}

/// The API server reads the options of a DELETE from the body if there is one, and then ignores the query.
#[test]
fn a_deletion_with_a_body_is_no_dry_run_by_its_query() {
    let mut trace = lines("invalid/TT-13--unfinished.audit.jsonl");
    let mut asked = 0;
    for line in trace.iter_mut().filter(|line| line["verb"] == "delete" && line["requestObject"].is_object())
    {
        line["requestURI"] = json!(format!("{}?dryRun=All", line["requestURI"].as_str().unwrap()));
        asked += 1;
    }
    assert!(asked > 0);
    assert_eq!(validated_lines(&trace).outcome(), Outcome::Violates);
    for line in trace.iter_mut().filter(|line| line["verb"] == "delete" && line["requestObject"].is_object())
    {
        line["requestObject"]["dryRun"] = json!(["All"]);
    }
    assert_ne!(validated_lines(&trace).outcome(), Outcome::Violates);
}

/// A request of a user, whose position in the trace is this.
fn inserted(trace: &[Value], at: usize, line: Value) -> Vec<Value> {
    let mut trace = trace.to_vec();
    let mut line = line;
    for time in ["requestReceivedTimestamp", "stageTimestamp"] {
        line[time] = trace[at - 1]["stageTimestamp"].clone();
    }
    trace.insert(at, line);
    trace
}

#[test]
fn a_dry_run_is_known_in_each_spelling() {
    let trace = recording("nonindexed-success.audit");
    let created = trace.iter().position(|line| is_of_pods(line) && line["verb"] == "create").unwrap();
    let pod = trace[created]["responseObject"]["metadata"].clone();
    let (name, namespace) = (pod["name"].as_str().unwrap(), pod["namespace"].as_str().unwrap());
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    let request = |verb: &str, query: &str, subresource: Option<&str>, body: Option<Value>| {
        let mut line = json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": "e",
            "stage": "ResponseComplete", "verb": verb, "user": {"username": "eve"}, "userAgent": "curl/8",
            "requestURI": format!("/api/v1/namespaces/{namespace}/pods/{name}{query}"),
            "objectRef": {"resource": "pods", "namespace": namespace, "name": name, "apiVersion": "v1"},
            "responseStatus": {"metadata": {}, "code": 200}, "responseObject": status});
        if let Some(subresource) = subresource {
            line["objectRef"]["subresource"] = json!(subresource);
        }
        if let Some(body) = body {
            line["requestObject"] = body;
        }
        line
    };
    let eviction = json!({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"dryRun": ["All"]}});
    for line in [
        request("delete", "?dryRun=All", None, None),
        request("delete", "?dryRun=%41ll", None, None),
        request("delete", "?%64ryRun=All", None, None),
        request("create", "", Some("eviction"), Some(eviction)),
    ] {
        let summary = validated_lines(&inserted(&trace, created + 1, line.clone()));
        assert_eq!(summary.outcome(), Outcome::Conforms, "{line}: {:?}", broken(&summary));
    }
}

/// A client can ask for metadata alone, or for a table, in the place of an object.
#[test]
fn a_response_that_shows_too_little_is_no_proof() {
    let metadata_of = |object: &Value| json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]});
    let table = |_: &Value| json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []});
    let forms: [&dyn Fn(&Value) -> Value; 2] = [&metadata_of, &table];
    for form in forms {
        let mut right = recording("suspend-resume.audit");
        let is_of_user = |line: &Value| {
            line["verb"] == "patch" && line["objectRef"]["resource"] == "jobs" && !is_controllers(line)
        };
        let resumed = right.iter_mut().find(|line| is_of_user(line)).unwrap();
        resumed["responseObject"] = form(&resumed["responseObject"]);
        let summary = validated_lines(&right);
        assert_eq!(summary.outcome(), Outcome::Inconclusive, "{:?}", broken(&summary));

        let mut wrong = lines("invalid/MB-02--status-of-an-external-job.audit.jsonl");
        for line in wrong.iter_mut().filter(|line| is_controllers(line) && line["responseObject"].is_object())
        {
            line["responseObject"] = form(&line["responseObject"]);
        }
        assert_ne!(validated_lines(&wrong).outcome(), Outcome::Conforms);
    }
}

/// A controller that removes a pod that is needed may use an eviction or a deletion of a collection.
#[test]
fn each_way_to_remove_a_pod_is_judged() {
    let deleted = lines("invalid/S-07--healthy-pod-deleted.audit.jsonl");
    assert_eq!(validated_lines(&deleted).outcome(), Outcome::Violates);
    let is_removal = |line: &Value| is_controllers(line) && is_of_pods(line) && line["verb"] == "delete";
    let mut evicted = deleted.clone();
    for line in evicted.iter_mut().filter(|line| is_removal(line)) {
        line["verb"] = json!("create");
        line["objectRef"]["subresource"] = json!("eviction");
        line["requestObject"] =
            json!({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {}, "deleteOptions": {}});
        line["responseObject"] =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    }
    let mut collected = deleted.clone();
    for line in
        collected.iter_mut().filter(|line| is_removal(line) && line["responseObject"]["kind"] == "Pod")
    {
        line["verb"] = json!("deletecollection");
        line["objectRef"].as_object_mut().unwrap().remove("name");
        line["responseObject"] = json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
            "items": [line["responseObject"]]});
    }
    for trace in [evicted, collected] {
        assert_ne!(trace, deleted);
        assert_eq!(validated_lines(&trace).outcome(), Outcome::Violates);
    }
}

/// A user can give a Job a hundred thousand labels.
#[test]
fn many_labels_are_judged_in_linear_time() {
    let mut trace = recording("nonindexed-success.audit");
    let labels = trace[0]["responseObject"]["metadata"]["labels"].as_object_mut().unwrap();
    labels.extend((0..100_000).map(|number| (format!("k{number}"), json!("v"))));
    let begun = std::time::Instant::now();
    let _ = validated_lines(&trace);
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

/// The body of a patch may hold bytes that are no UTF-8, and the API server passes them on.
#[test]
fn other_bytes_in_a_body_end_no_judgement() {
    let trace = lines("invalid/FT-03--released-before-recorded.audit.jsonl");
    let mut bytes: Vec<u8> = Vec::new();
    for (number, line) in trace.iter().enumerate() {
        let mut line = line.clone();
        if number == 1 {
            line["userAgent"] = json!("BYTE");
        }
        bytes.extend(
            line.to_string()
                .replace("BYTE", "\u{1}")
                .into_bytes()
                .into_iter()
                .map(|byte| if byte == 1 { 0xff } else { byte }),
        );
        bytes.push(b'\n');
    }
    let input = jobcheck_traces::Input::Bytes("trace".to_owned(), bytes);
    let summary = jobcheck_tests::traces::validated(&[input], jobcheck_judge::validate::Options::default());
    assert_eq!(summary.outcome(), Outcome::Violates, "{:?}", broken(&summary));
}

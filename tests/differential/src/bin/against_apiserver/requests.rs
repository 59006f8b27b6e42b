//! The requests, in order. `{ns}` stands for the namespace. `{uid:STEP}` and similar placeholders stand for values from
//! the response to an earlier step.

use serde_json::{Value, json};

/// A request.
pub struct Step {
    pub name: String,
    pub method: &'static str,
    pub path: String,
    /// `Content-Type`.
    pub kind: &'static str,
    pub body: String,
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/{ns}/jobs";

#[derive(Default)]
struct Script(Vec<Step>);

impl Script {
    fn ask(&mut self, name: &str, method: &'static str, path: &str, kind: &'static str, body: &Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.0.push(Step { name: name.to_owned(), method, path: path.to_owned(), kind, body });
    }

    fn get(&mut self, name: &str, path: &str) {
        self.ask(name, "GET", path, "", &Value::Null);
    }

    fn post(&mut self, name: &str, path: &str, body: &Value) {
        self.ask(name, "POST", path, JSON, body);
    }

    fn delete(&mut self, name: &str, path: &str, options: &Value) {
        self.ask(name, "DELETE", path, JSON, options);
    }
}

/// All requests.
pub fn steps() -> Vec<Step> {
    let mut script = Script::default();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}});
    script.post("namespace", "/api/v1/namespaces", &namespace);
    creations(&mut script);
    job_creations(&mut script);
    updates(&mut script);
    patches(&mut script);
    strategic(&mut script);
    statuses(&mut script);
    deletions(&mut script);
    lists(&mut script);
    others(&mut script);
    script.0
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}})
}

fn job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}}}})
}

fn with(object: Value, pointer: &str, value: Value) -> Value {
    let mut object = object;
    let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    if let Some(parent) = object.pointer_mut(parent) {
        parent[key] = value;
    }
    object
}

fn creations(script: &mut Script) {
    script.post("pod", PODS, &pod("a"));
    script.post("pod again", PODS, &pod("a"));
    script.post("pod generated", PODS, &with(pod(""), "/metadata", json!({"generateName": "g-"})));
    script.post("pod without name", PODS, &with(pod(""), "/metadata", json!({})));
    script.post("pod with bad name", PODS, &pod("A_"));
    script.post("pod of elsewhere", PODS, &with(pod("b"), "/metadata/namespace", json!("other")));
    script.post("pod with version", PODS, &with(pod("b"), "/metadata/resourceVersion", json!("5")));
    script.post("pod with uid", PODS, &with(pod("uid"), "/metadata/uid", json!("mine")));
    script.post("pod without containers", PODS, &with(pod("b"), "/spec/containers", json!([])));
    script.post("pod without image", PODS, &with(pod("b"), "/spec/containers/0/image", json!("")));
    script.post("pod of wrong kind", PODS, &with(pod("b"), "/kind", json!("Job")));
    script.post("pod of wrong version", PODS, &with(pod("b"), "/apiVersion", json!("v2")));
    script.post("pod of wrong type", PODS, &with(pod("b"), "/spec/priority", json!("x")));
    script.post("pod with unknown field", PODS, &with(pod("unknown"), "/spec/foo", json!(1)));
    script.post(
        "pod strict",
        &format!("{PODS}?fieldValidation=Strict"),
        &with(pod("b"), "/spec/foo", json!(1)),
    );
    script.post("pod dry", &format!("{PODS}?dryRun=All"), &pod("dry"));
    script.get("pod dry not there", &format!("{PODS}/dry"));
    script.post(
        "pod with bad labels",
        PODS,
        &with(pod("b"), "/metadata/labels", json!({"a b": "c", "d": "-"})),
    );
    script.post("pod with bad finalizer", PODS, &with(pod("b"), "/metadata/finalizers", json!(["mine"])));
    script.post("pod nowhere", "/api/v1/namespaces/nowhere/pods", &pod("a"));
    let resources = json!({"limits": {"cpu": "1", "memory": "1Gi"}});
    script.post("pod with limits", PODS, &with(pod("limits"), "/spec/containers/0/resources", resources));
    script.post(
        "pod with bad volume",
        PODS,
        &with(pod("b"), "/spec/containers/0/volumeMounts", json!([{"name": "v", "mountPath": "/v"}])),
    );
    let full =
        with(pod("full"), "/spec/volumes", json!([{"name": "v"}, {"name": "c", "configMap": {"name": "m"}}]));
    let full = with(full, "/spec/containers/0/ports", json!([{"containerPort": 80}]));
    let env = json!([{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    let full = with(full, "/spec/containers/0/env", env);
    let full = with(full, "/spec/containers/0/readinessProbe", json!({"httpGet": {"port": 80}}));
    script.post("pod with defaults", PODS, &full);
}

fn job_creations(script: &mut Script) {
    script.post("job", JOBS, &job("j"));
    script.post(
        "job indexed",
        JOBS,
        &with(with(job("i"), "/spec/completionMode", json!("Indexed")), "/spec/completions", json!(3)),
    );
    script.post(
        "job indexed without completions",
        JOBS,
        &with(job("bad"), "/spec/completionMode", json!("Indexed")),
    );
    script.post("job negative", JOBS, &with(job("bad"), "/spec/parallelism", json!(-1)));
    script.post("job always", JOBS, &with(job("bad"), "/spec/template/spec/restartPolicy", json!("Always")));
    script.post("job managed badly", JOBS, &with(job("bad"), "/spec/managedBy", json!("nobody")));
    script.post(
        "job with selector",
        JOBS,
        &with(job("bad"), "/spec/selector", json!({"matchLabels": {"app": "x"}})),
    );
    let manual = with(job("manual"), "/spec/selector", json!({"matchLabels": {"app": "x"}}));
    script.post("job manual", JOBS, &with(manual, "/spec/manualSelector", json!(true)));
    script.post("job dotted", JOBS, &job("a.b"));
    script.post("job long", JOBS, &job(&"a".repeat(64)));
    script.post("job with labels", JOBS, &with(job("labelled"), "/metadata/labels", json!({"l": "1"})));
    script.post(
        "job without template labels",
        JOBS,
        &with(job("bare"), "/spec/template/metadata", json!({})),
    );
    let policy = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]});
    script.post("job with failure policy", JOBS, &with(job("policy"), "/spec/podFailurePolicy", policy));
    script.post("body empty", PODS, &Value::Null);
    script.post("body list", PODS, &json!([]));
    script.ask("body yaml", "POST", PODS, "text/plain", &pod("b"));
}

fn updates(script: &mut Script) {
    let path = format!("{PODS}/a");
    let known = json!({"name": "a", "resourceVersion": "{rv:pod}", "uid": "{uid:pod}", "labels": {"l": "1"}});
    let stored = |metadata: Value| {
        let spec = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}],
            "priority": 0, "preemptionPolicy": "PreemptLowerPriority", "enableServiceLinks": true, "tolerations": [
            {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
            {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300}]});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    };
    script.ask("put", "PUT", &path, JSON, &stored(known.clone()));
    script.ask("put stale", "PUT", &path, JSON, &stored(known));
    script.ask("put unconditional", "PUT", &path, JSON, &stored(json!({"name": "a", "labels": {"l": "2"}})));
    script.ask("put with other uid", "PUT", &path, JSON, &stored(json!({"name": "a", "uid": "other"})));
    script.ask("put with other name", "PUT", &path, JSON, &stored(json!({"name": "z"})));
    script.ask("put without name", "PUT", &path, JSON, &stored(json!({})));
    script.ask("put nowhere", "PUT", &format!("{PODS}/zz"), JSON, &stored(json!({"name": "zz"})));
    let moved = with(stored(json!({"name": "a"})), "/spec/nodeName", json!("n"));
    script.ask("put node", "PUT", &path, JSON, &moved);
    let image = with(stored(json!({"name": "a"})), "/spec/containers/0/image", json!("busybox:2"));
    script.ask("put image", "PUT", &path, JSON, &image);
    let deleting = json!({"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "generation": 9, "creationTimestamp": "2026-01-01T00:00:00Z"});
    script.ask(
        "put with system fields",
        "PUT",
        &path,
        JSON,
        &with(stored(deleting), "/spec/containers/0/image", json!("busybox:2")),
    );
    script.ask("put collection", "PUT", PODS, JSON, &pod("a"));
    script.ask("post object", "POST", &path, JSON, &pod("a"));
}

fn patches(script: &mut Script) {
    let path = format!("{JOBS}/j");
    for (name, kind, body) in [
        ("patch scale", MERGE, json!({"spec": {"parallelism": 3}})),
        ("patch nothing", MERGE, json!({"spec": {"parallelism": 3}})),
        ("patch completions", MERGE, json!({"spec": {"completions": 7}})),
        ("patch image", MERGE, json!({"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}})),
        ("patch suspend", MERGE, json!({"spec": {"suspend": true}})),
        (
            "patch suspended template",
            STRATEGIC,
            json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
        ),
        ("patch labels away", MERGE, json!({"metadata": {"labels": null}})),
        ("patch stale", MERGE, json!({"metadata": {"resourceVersion": "1"}})),
        ("patch uid", MERGE, json!({"metadata": {"uid": "other"}})),
        ("patch name", MERGE, json!({"metadata": {"name": "other"}})),
        ("patch namespace", MERGE, json!({"metadata": {"namespace": "other"}})),
        ("patch type", MERGE, json!({"spec": {"parallelism": "x"}})),
        ("patch status of main", MERGE, json!({"status": {"active": 9}})),
        ("patch json", JSON_PATCH, json!([{"op": "replace", "path": "/spec/backoffLimit", "value": 2}])),
        ("patch json test", JSON_PATCH, json!([{"op": "test", "path": "/spec/backoffLimit", "value": 3}])),
        ("patch json missing", JSON_PATCH, json!([{"op": "remove", "path": "/spec/nothing"}])),
        ("patch json no list", JSON_PATCH, json!({"op": "remove"})),
        ("patch list", MERGE, json!([])),
        ("patch plain", JSON, json!({})),
        ("patch managedBy", MERGE, json!({"spec": {"managedBy": "a.io/b"}})),
        ("patch selector", MERGE, json!({"spec": {"selector": {"matchLabels": {"x": "y"}}}})),
    ] {
        script.ask(name, "PATCH", &path, kind, &body);
    }
    script.ask("patch nowhere", "PATCH", &format!("{JOBS}/zz"), MERGE, &json!({}));
    let applied = with(job("applied"), "/spec/parallelism", json!(2));
    let apply = |script: &mut Script, name: &str, body: &Value| {
        script.ask(name, "PATCH", &format!("{JOBS}/applied?fieldManager=m"), APPLY, body);
    };
    apply(script, "apply new", &applied);
    apply(script, "apply again", &with(applied.clone(), "/spec/parallelism", json!(4)));
    apply(script, "apply nothing", &with(applied, "/spec/parallelism", json!(4)));
    script.ask("apply without manager", "PATCH", &format!("{JOBS}/applied"), APPLY, &job("applied"));
}

fn strategic(script: &mut Script) {
    let owner = |uid: &str| json!({"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid, "controller": true});
    let pod = with(pod("s"), "/metadata/finalizers", json!(["x.io/a", "x.io/b"]));
    let pod = with(pod, "/metadata/ownerReferences", json!([owner("{uid:job}")]));
    script.post("strategic pod", PODS, &pod);
    for (name, body) in [
        (
            "strategic finalizer away",
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}}),
        ),
        (
            "strategic finalizer absent",
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}}),
        ),
        ("strategic finalizer added", json!({"metadata": {"finalizers": ["x.io/c", "x.io/b"]}})),
        (
            "strategic order",
            json!({"metadata": {"$setElementOrder/finalizers": ["x.io/c", "x.io/b"], "finalizers": ["x.io/c"]}}),
        ),
        (
            "strategic release",
            json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "{uid:job}"}]}}),
        ),
        (
            "strategic adopt",
            json!({"metadata": {"ownerReferences": [owner("{uid:job}")], "uid": "{uid:strategic pod}"}}),
        ),
        (
            "strategic second controller",
            json!({"metadata": {"ownerReferences": [with(owner("x"), "/name", json!("k"))]}}),
        ),
        ("strategic wrong uid", json!({"metadata": {"uid": "other", "labels": {"x": "y"}}})),
        ("strategic image", json!({"spec": {"containers": [{"name": "main", "image": "busybox:3"}]}})),
        ("strategic container", json!({"spec": {"containers": [{"name": "new", "image": "busybox"}]}})),
        ("strategic without key", json!({"spec": {"containers": [{"image": "busybox"}]}})),
        ("strategic labels", json!({"metadata": {"labels": {"a": "1", "b": "2"}}})),
        ("strategic replace", json!({"metadata": {"labels": {"$patch": "replace", "c": "3"}}})),
        ("strategic unknown directive", json!({"metadata": {"labels": {"$patch": "other"}}})),
    ] {
        script.ask(name, "PATCH", &format!("{PODS}/s"), STRATEGIC, &body);
    }
}

fn statuses(script: &mut Script) {
    let path = format!("{JOBS}/i/status");
    script.get("status get", &path);
    for (name, body) in [
        (
            "status start",
            json!({"status": {"startTime": "2026-11-21T00:00:00Z", "active": 2, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}}),
        ),
        ("status again", json!({"status": {"active": 2}})),
        ("status ready", json!({"status": {"ready": 3}})),
        ("status indexes", json!({"status": {"completedIndexes": "0-5"}})),
        ("status completed", json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}})),
        ("status negative", json!({"status": {"active": -1}})),
        (
            "status uncounted",
            json!({"status": {"uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["a"]}}}),
        ),
        (
            "status spec ignored",
            json!({"spec": {"parallelism": 9}, "metadata": {"annotations": {"a": "b"}}, "status": {"active": 1}}),
        ),
        ("status start again", json!({"status": {"startTime": "2026-11-21T00:00:01Z"}})),
        ("status target", json!({"status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}})),
        ("status disabled", json!({"status": {"conditions": []}})),
        (
            "status failed",
            json!({"status": {"active": 0, "conditions": [{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]}}),
        ),
    ] {
        script.ask(name, "PATCH", &path, MERGE, &body);
    }
    let pod = format!("{PODS}/a/status");
    for (name, body) in [
        (
            "pod status running",
            json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        ),
        (
            "pod status merged",
            json!({"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}]}}),
        ),
        ("pod status quality", json!({"status": {"qosClass": "Guaranteed"}})),
        ("pod status condition", json!({"status": {"conditions": [{"type": "a b", "status": "True"}]}})),
        ("pod status spec", json!({"spec": {"nodeName": "x"}, "metadata": {"labels": {"via": "status"}}})),
    ] {
        script.ask(name, "PATCH", &pod, STRATEGIC, &body);
    }
    script.ask("pod scale", "GET", &format!("{PODS}/a/scale"), "", &Value::Null);
}

fn deletions(script: &mut Script) {
    for name in ["d1", "d2", "d3", "d4", "d5", "d6"] {
        script.post(&format!("job {name}"), JOBS, &job(name));
    }
    let at = |name: &str| format!("{JOBS}/{name}");
    script.delete("delete with wrong uid", &at("d1"), &json!({"preconditions": {"uid": "other"}}));
    script.delete(
        "delete with wrong version",
        &at("d1"),
        &json!({"preconditions": {"resourceVersion": "1"}}),
    );
    script.delete("delete sideways", &at("d1"), &json!({"propagationPolicy": "Sideways"}));
    script.delete(
        "delete twice told",
        &at("d1"),
        &json!({"propagationPolicy": "Orphan", "orphanDependents": false}),
    );
    script.delete("delete dry", &at("d1"), &json!({"propagationPolicy": "Background", "dryRun": ["All"]}));
    script.delete("delete by default", &at("d1"), &Value::Null);
    script.delete("delete by default again", &at("d1"), &Value::Null);
    script.delete("delete in foreground after all", &at("d1"), &json!({"propagationPolicy": "Foreground"}));
    script.delete("delete in background", &at("d2"), &json!({"propagationPolicy": "Background"}));
    script.delete("delete in foreground", &at("d3"), &json!({"propagationPolicy": "Foreground"}));
    script.delete("delete orphaning", &at("d4"), &json!({"orphanDependents": true}));
    script.delete("delete not orphaning", &at("d5"), &json!({"orphanDependents": false}));
    script.delete("delete by query", &format!("{}?propagationPolicy=Background", at("d6")), &Value::Null);
    script.delete("delete what is gone", &at("d6"), &Value::Null);
    let finalizer = json!({"metadata": {"finalizers": ["x.io/new"]}});
    script.ask("finalizer on deleting", "PATCH", &at("d3"), MERGE, &finalizer);
    script.ask("finalizers away", "PATCH", &at("d3"), MERGE, &json!({"metadata": {"finalizers": null}}));
    script.get("and gone", &at("d3"));
    let bound = |name: &str| with(pod(name), "/spec/nodeName", json!("node-1"));
    for name in ["p1", "p2", "p3"] {
        script.post(&format!("pod {name}"), PODS, &bound(name));
    }
    let at = |name: &str| format!("{PODS}/{name}");
    script.delete("grace", &at("p1"), &Value::Null);
    script.delete("grace longer", &at("p1"), &json!({"gracePeriodSeconds": 60}));
    script.delete("grace shorter", &at("p1"), &json!({"gracePeriodSeconds": 20}));
    script.delete("grace negative", &at("p2"), &json!({"gracePeriodSeconds": -1}));
    script.delete("grace none", &at("p1"), &json!({"gracePeriodSeconds": 0}));
    script.get("grace over", &at("p1"));
    script.delete("unbound", &at("limits"), &Value::Null);
    script.delete("finalizer holds", &at("s"), &Value::Null);
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p3"}});
    script.post("eviction", &format!("{}/eviction", at("p3")), &eviction);
    script.get("evicted", &at("p3"));
    script.post("eviction of another", &format!("{}/eviction", at("p2")), &eviction);
    let binding = |name: &str| json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "node-1"}});
    script.post("binding", &format!("{}/binding", at("full")), &binding("full"));
    script.post("binding again", &format!("{}/binding", at("full")), &binding("full"));
    script.post("binding deleting", &format!("{}/binding", at("s")), &binding("s"));
    script.get("bound", &at("full"));
}

fn lists(script: &mut Script) {
    for name in ["l1", "l2", "l3"] {
        script.post(
            &format!("list {name}"),
            PODS,
            &with(pod(name), "/metadata/labels", json!({"list": "yes", "n": name})),
        );
    }
    let on = |query: &str| format!("{PODS}?{query}");
    for (name, query) in [
        ("list equal", "labelSelector=list%3Dyes"),
        ("list set", "labelSelector=n+in+%28l1%2Cl3%29"),
        ("list absent", "labelSelector=list%2C!nothing%2Cn%21%3Dl2"),
        ("list bad", "labelSelector=%28%28"),
        ("list field", "fieldSelector=metadata.name%3Dl2"),
        ("list phase", "fieldSelector=status.phase%21%3DPending"),
        ("list bad field", "fieldSelector=spec.foo%3Dx"),
        ("list page", "labelSelector=list%3Dyes&limit=2"),
        ("list next page", "labelSelector=list%3Dyes&limit=2&continue={continue:list page}"),
        ("list bad token", "continue=zzz"),
        ("list future", "resourceVersion=99999999"),
        ("list bad version", "resourceVersion=x"),
        ("list exact", "labelSelector=list&resourceVersion={rv:list l2}&resourceVersionMatch=Exact"),
        (
            "list not older",
            "labelSelector=list&resourceVersion={rv:list l2}&resourceVersionMatch=NotOlderThan",
        ),
        ("list match alone", "resourceVersionMatch=Exact"),
        ("list bad match", "resourceVersion=1&resourceVersionMatch=Other"),
        ("watch from", "labelSelector=list%3Dyes&watch=1&timeoutSeconds=1&resourceVersion={rv:list l1}"),
        ("watch state", "labelSelector=list%3Dyes&watch=1&timeoutSeconds=1"),
        (
            "watch initial",
            "labelSelector=n%3Dl1&watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        ),
        ("watch initial badly", "watch=1&timeoutSeconds=1&sendInitialEvents=true"),
        ("watch match alone", "watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan"),
    ] {
        script.get(name, &on(query));
    }
    script.get("get", &format!("{PODS}/l1"));
    script.get("get nothing", &format!("{PODS}/nothing"));
    script.get("get future", &format!("{PODS}/l1?resourceVersion=99999999"));
    script.get("jobs by success", &format!("{JOBS}?fieldSelector=status.successful%3D0&labelSelector=l%3D1"));
    script.delete("delete collection", &on("labelSelector=n+in+%28l1%2Cl2%29"), &Value::Null);
    script.get("collection deleted", &on("labelSelector=list%3Dyes"));
}

fn others(script: &mut Script) {
    let events = "/api/v1/namespaces/{ns}/events";
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e.1"}, "reason": "R", "message": "m",
        "involvedObject": {"kind": "Job", "name": "j", "namespace": "{ns}"}, "type": "Normal", "count": 1});
    script.post("event", events, &event);
    script.get("event in the other form", "/apis/events.k8s.io/v1/namespaces/{ns}/events/e.1");
    let elsewhere = with(event.clone(), "/metadata/name", json!("e.2"));
    script.post(
        "event of elsewhere",
        events,
        &with(elsewhere, "/involvedObject/namespace", json!("default")),
    );
    script.ask("event counted", "PATCH", &format!("{events}/e.1"), STRATEGIC, &json!({"count": 2}));
    let leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";
    let lease = |spec: Value| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": spec});
    let spec = json!({"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-11-21T00:00:00.000000Z"});
    script.post("lease", leases, &lease(spec.clone()));
    script.ask("lease without version", "PUT", &format!("{leases}/l"), JSON, &lease(spec.clone()));
    let renewed = with(lease(spec), "/metadata/resourceVersion", json!("{rv:lease}"));
    let renewed = with(renewed, "/spec/holderIdentity", json!(""));
    script.ask("lease released", "PUT", &format!("{leases}/l"), JSON, &renewed);
    script.ask("lease stale", "PUT", &format!("{leases}/l"), JSON, &renewed);
    script.post("lease bad", leases, &lease(json!({"leaseDurationSeconds": 0})));
    script.get("nothing of this kind", "/api/v1/namespaces/{ns}/widgets");
    script.get("no path", "/nowhere");
    let access = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "{ns}"}}});
    script.post("access", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &access);
}

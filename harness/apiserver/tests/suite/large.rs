//! Large requests. The server does one at a time, so that each must take linear time and memory.

use jobcheck_apiserver::request::PatchKind;
use jobcheck_apiserver::resource::Resource::{Jobs, Pods};
use serde_json::{Map, Value, json};

use crate::cluster::{Cluster, job, pod, with};

const SMALL: usize = 1_000;
const TIMES: usize = 8;

/// The processor time of this thread in seconds. Time in which others run does not count.
fn busy() -> f64 {
    let counters = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    counters.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// Compares the times of a request of two sizes. Eight times the size take 64 times as long in quadratic time.
fn is_linear(what: &str, ask: impl Fn(usize)) {
    let seconds = |count| {
        let begin = busy();
        (0..5).for_each(|_| ask(count));
        busy() - begin
    };
    let (small, large) = (seconds(SMALL), seconds(SMALL * TIMES));
    assert!(large < small * 24.0, "{what}: {small} s, with {TIMES} times the size {large} s");
}

fn list(count: usize, item: impl Fn(usize) -> Value) -> Value {
    Value::Array((0..count).map(item).collect())
}

#[test]
fn patches_take_linear_time() {
    is_linear("containers", |count| {
        let mut cluster = Cluster::new();
        cluster.create(Jobs, job("a")).unwrap();
        let containers = list(count, |it| json!({"name": format!("c{it}"), "image": "i"}));
        let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        // The template is immutable, which the server finds after the merge.
        assert_eq!(cluster.patch(Jobs, "a", PatchKind::Strategic, patch).unwrap_err().code, 422);
    });
    is_linear("conditions", |count| {
        let mut cluster = Cluster::new();
        cluster.create(Pods, pod("a")).unwrap();
        let conditions = list(count, |it| json!({"type": format!("T{it}"), "status": "True"}));
        let patch = json!({"status": {"conditions": conditions}});
        for _ in 0..2 {
            let patched = cluster.patch_status(Pods, "a", PatchKind::Strategic, patch.clone()).unwrap();
            assert_eq!(patched["status"]["conditions"].as_array().unwrap().len(), count);
        }
    });
    is_linear("statuses of containers", |count| {
        let mut cluster = Cluster::new();
        cluster.create(Pods, with(&pod("a"), "/spec/restartPolicy", json!("Never"))).unwrap();
        let ended =
            list(count, |it| json!({"name": format!("c{it}"), "state": {"terminated": {"exitCode": 0}}}));
        let patch = json!({"status": {"containerStatuses": ended}});
        for _ in 0..2 {
            cluster.patch_status(Pods, "a", PatchKind::Merge, patch.clone()).unwrap();
        }
    });
}

#[test]
fn new_objects_take_linear_time() {
    is_linear("containers and volumes", |count| {
        let containers = list(count, |it| {
            let mounts = json!([{"name": format!("v{it}"), "mountPath": "/m"}]);
            json!({"name": format!("c{it}"), "image": "i", "volumeMounts": mounts})
        });
        let volumes = list(count, |it| json!({"name": format!("v{it}"), "emptyDir": {}}));
        let spec = json!({"containers": containers, "volumes": volumes});
        Cluster::new().create(Pods, with(&pod("a"), "/spec", spec)).unwrap();
    });
    is_linear("a selector", |count| {
        let labels: Map<String, Value> = (0..count).map(|it| (format!("l{it}"), json!("v"))).collect();
        let mut body = job("a");
        body["spec"]["manualSelector"] = json!(true);
        body["spec"]["selector"] = json!({"matchLabels": labels});
        body["spec"]["template"]["metadata"] = json!({"labels": labels});
        Cluster::new().create(Jobs, body).unwrap();
    });
}

/// Each error about a second controller shows all owners.
#[test]
fn many_controllers_give_few_errors() {
    let owners = list(
        SMALL,
        |it| json!({"apiVersion": "v1", "kind": "K", "name": format!("o{it}"), "uid": format!("u{it}"), "controller": true}),
    );
    let error =
        Cluster::new().create(Pods, with(&pod("a"), "/metadata/ownerReferences", owners)).unwrap_err();
    assert_eq!(error.code, 422);
    assert_eq!(error.details.unwrap()["causes"].as_array().unwrap().len(), 10);
}

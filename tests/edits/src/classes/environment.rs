//! Steps that the environment of a controller may take: admission, clocks, other clients, other ways to send a write.

use serde_json::{Value, json};

use super::insert::{Write, insert_write};
use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, put};
use crate::recording::{Actor, Form, Recording, Resource, stored_mut};
use crate::time::{self, SECOND};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    admission(all);
    unknown_fields(all);
    clocks(all);
    requests(all);
}

type Change = fn(&mut Value);

fn admission(all: &mut Vec<Class>) {
    let changes: [(&str, Change); 8] = [
        ("sidecar", |pod| {
            put(
                pod,
                "/spec/containers/-",
                Some(json!({"name": "sidecar", "image": "proxy", "resources": {}})),
            )
        }),
        ("init-container", |pod| {
            let init =
                json!([{"name": "init", "image": "proxy", "resources": {}, "restartPolicy": "Always"}]);
            put(pod, "/spec/initContainers", Some(init));
        }),
        ("label", |pod| put(pod, "/metadata/labels/team", Some(json!("a")))),
        ("annotation", |pod| put(pod, "/metadata/annotations/team", Some(json!("a")))),
        ("finalizer", |pod| {
            if let Some(list) = pod["metadata"]["finalizers"].as_array_mut() {
                list.push(json!("example.com/hold"));
            }
        }),
        ("image", |pod| put(pod, "/spec/containers/0/image", Some(json!("mirror.example.com/busybox")))),
        ("resources", |pod| put(pod, "/spec/containers/0/resources", Some(json!({"limits": {"cpu": "1"}})))),
        ("node-selector-and-tolerations", |pod| {
            put(pod, "/spec/nodeSelector", Some(json!({"pool": "a"})));
            put(pod, "/spec/tolerations", Some(json!([{"operator": "Exists"}])));
        }),
    ];
    for (name, change) in changes {
        for every in [false, true] {
            let how = if every { "all-pods" } else { "one-pod" };
            all.push(Class::new("admission", format!("{name}-{how}"), move |base, at| {
                admitted(base, at, every, change)
            }));
        }
    }
}

/// Changes what the server stored of pods, but not what the controller asked for. A foreign finalizer stays, so the pod
/// is not removed; it is used only for pods that no line removes.
fn admitted(base: &Recording, at: usize, every: bool, change: Change) -> Option<Edited> {
    let mut draft = Draft::of(base);
    let one = base.pod_at(at).filter(|pod| pod.created == at);
    if !every && one.is_none() || every && at != 0 {
        return None;
    }
    for pod in base.pods.iter().filter(|pod| every || one.is_some_and(|it| it.uid == pod.uid)) {
        for line in &pod.lines {
            if let Some(object) = stored_mut(&mut draft.lines[*line]) {
                change(object);
            }
        }
    }
    draft.done(Oracle::Legal("admission may change a pod"))
}

fn unknown_fields(all: &mut Vec<Class>) {
    let changes: [(&str, Change); 5] = [
        ("status-field", |it| put(it, "/status/futureField", Some(json!({"a": [1]})))),
        ("spec-field", |it| put(it, "/spec/futureField", Some(json!("x")))),
        ("managedFields", |it| {
            put(
                it,
                "/metadata/managedFields",
                Some(json!([{"manager": "x", "operation": "Update", "fieldsV1": {"f:status": {}}}])),
            );
        }),
        ("annotation-of-a-user", |it| put(it, "/metadata/annotations/example.com~1team", Some(json!("a")))),
        ("label-of-a-user", |it| put(it, "/metadata/labels/team", Some(json!("a")))),
    ];
    for (name, change) in changes {
        all.push(Class::new("unknown fields", format!("{name}-of-Jobs"), move |base, at| {
            let mut draft = Draft::of(base);
            for uid in base.jobs.keys() {
                draft.everywhere(uid, &change);
            }
            if at > 0 { None } else { draft.done(Oracle::Legal("a newer API")) }
        }));
    }
    all.push(Class::new("condition of somebody else", "added-by-a-user", |base, at| {
        let lives = base.next_status(at).is_some() && base.events[at].resource == Resource::Job;
        let by = base.lines.first().filter(|_| lives && base.form == Form::Audit)?.clone();
        let time = "2026-11-21T00:00:00Z";
        let other = json!({"type": "example.com/Checked", "status": "True", "lastTransitionTime": time});
        let patch = json!({"status": {"conditions": [other]}});
        let change = |object: &mut Value| {
            let mut list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            list.insert(0, other.clone());
            put(object, "/status/conditions", Some(Value::Array(list)));
        };
        let write = Write { by, verb: "patch", subresource: "status", patch, change: &change, rule: "" };
        let mut edited = insert_write(base, at, &write)?;
        edited.oracle = Oracle::Legal("other clients may add conditions");
        Some(edited)
    }));
}

/// The clock of the controllers is a second ahead or behind: all times that they write move together.
fn clocks(all: &mut Vec<Class>) {
    for (name, micros) in [("controller-1s-ahead", SECOND), ("controller-1s-behind", -SECOND)] {
        all.push(Class::new("clock skew", name, move |base, at| {
            let mut draft = Draft::of(base);
            let deadline = base.lines.iter().any(|line| line.to_string().contains("activeDeadlineSeconds"));
            let ttl = base.lines.iter().any(|line| line.to_string().contains("ttlSecondsAfterFinished"));
            if at > 0 || deadline || ttl || base.is_mirror() {
                return None;
            }
            for uid in base.jobs.keys() {
                draft.everywhere(uid, &|object| skew(&mut object["status"], micros));
            }
            draft.done(Oracle::Legal("clocks within the bounds of NTP"))
        }));
    }
    for (name, micros) in [("kubelet-1s-ahead", SECOND), ("kubelet-1s-behind", -SECOND)] {
        all.push(Class::new("clock skew", name, move |base, at| {
            let mut draft = Draft::of(base);
            for pod in &base.pods {
                draft.everywhere(&pod.uid, &|object| skew(&mut object["status"], micros));
            }
            // A delay runs from the time at which a container finished.
            let fails =
                base.pods.iter().any(|pod| pod.ended.as_ref().is_some_and(|(_, phase)| phase == "Failed"));
            let oracle = if fails {
                Oracle::Undecidable("delays run from the times of kubelets")
            } else {
                Oracle::Legal("clocks within the bounds of NTP")
            };
            if at > 0 { None } else { draft.done(oracle) }
        }));
    }
}

fn skew(status: &mut Value, micros: i64) {
    crate::draft::walk(status, &mut |_, value| {
        if let Some(new) = value.as_str().and_then(|text| time::moved(text, micros)) {
            *value = json!(new);
        }
    });
}

fn requests(all: &mut Vec<Class>) {
    all.push(Class::new("one plain user agent", "all-controllers", |base, at| {
        let mut draft = Draft::of(base);
        for (number, line) in draft.lines.iter_mut().enumerate() {
            if matches!(base.events[number].actor, Actor::Controller | Actor::Ttl | Actor::Collector) {
                line["userAgent"] = json!("kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/0");
                line["user"]["username"] = json!("system:kube-controller-manager");
            }
        }
        if at > 0 || base.form == Form::Watch {
            None
        } else {
            draft.done(Oracle::Legal("the agent is not part of the rules"))
        }
    }));
    all.push(Class::new("service accounts", "all-controllers", |base, at| {
        let mut draft = Draft::of(base);
        for (number, line) in draft.lines.iter_mut().enumerate() {
            let account = match base.events[number].actor {
                Actor::Controller => "job-controller",
                Actor::Ttl => "ttl-after-finished-controller",
                Actor::Collector => "generic-garbage-collector",
                _ => continue,
            };
            line["user"]["username"] = json!(format!("system:serviceaccount:kube-system:{account}"));
            line["userAgent"] = json!("kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/0");
        }
        if at > 0 || base.form == Form::Watch {
            None
        } else {
            draft.done(Oracle::Legal("the usual accounts"))
        }
    }));
    for verb in ["merge-patch", "apply"] {
        for every in [false, true] {
            let how = if every { "all" } else { "one" };
            all.push(Class::new("status sent by PATCH", format!("{verb}-{how}"), move |base, at| {
                let mut draft = Draft::of(base);
                for (number, line) in draft.lines.iter_mut().enumerate() {
                    if every || number == at {
                        patched(base, number, line, verb);
                    }
                }
                if every && at > 0 || base.form == Form::Watch {
                    None
                } else {
                    draft.done(Oracle::Legal("the same result"))
                }
            }));
        }
    }
}

/// Turns a PUT of a status into a PATCH with the same result.
fn patched(base: &Recording, at: usize, line: &mut Value, verb: &str) {
    let event = &base.events[at];
    let is_put = event.resource == Resource::Job && event.subresource == "status" && event.verb == "update";
    if !is_put || event.code >= 300 {
        return;
    }
    let request = line["requestObject"].clone();
    line["verb"] = json!("patch");
    let meta = &request["metadata"];
    line["requestObject"] = if verb == "apply" {
        json!({"apiVersion": "batch/v1", "kind": "Job", "status": request["status"],
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}})
    } else {
        let mut status = request["status"].clone();
        let before = base.previous(at).map(|line| base.status(line).clone()).unwrap_or_default();
        // A merge patch removes a field with null.
        removed(&before, &mut status);
        json!({"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "status": status})
    };
}

fn removed(before: &Value, after: &mut Value) {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object_mut()) else { return };
    for (name, value) in old {
        match new.get_mut(name) {
            Some(same) => removed(value, same),
            None => drop(new.insert(name.clone(), Value::Null)),
        }
    }
}

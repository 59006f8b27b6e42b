//! Creations of pods: what the controller's own request contains.

use serde_json::{Value, json};

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, put};
use crate::recording::{Actor, Form, Recording, TRACKING, stored};

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const FINALIZERS: &str = "/metadata/finalizers";

type Change = fn(&mut Value);

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    contract(all);
    indexed(all);
    against_the_template(all);
    beyond_the_template(all);
    all.push(Class::new("extra pods", "one-more", |base, at| extra(base, at, false)));
    all.push(Class::new("extra pods", "one-more-and-active", |base, at| extra(base, at, true)));
}

fn is_creation(base: &Recording, at: usize) -> bool {
    let event = &base.events[at];
    let by_controller = event.actor == Actor::Controller && event.verb == "create" || event.verb == "ADDED";
    by_controller && event.code < 300 && base.pod_at(at).is_some_and(|pod| pod.is_own && pod.created == at)
}

/// Changes a pod from its creation on.
fn born(base: &Recording, at: usize, change: &dyn Fn(&mut Value), oracle: Oracle) -> Option<Edited> {
    if !is_creation(base, at) {
        return None;
    }
    let mut draft = Draft::of(base);
    draft.carry(at, &|_| true, change);
    draft.done(oracle)
}

fn classes_of(
    all: &mut Vec<Class>,
    group: &'static str,
    rule: &'static str,
    changes: &[(&'static str, Change)],
) {
    for (name, change) in changes.iter().copied() {
        all.push(Class::new(group, name, move |base, at| {
            // In a watch, anybody may have created a pod that the Job does not own.
            let foreign = base.form == Form::Watch && name.starts_with("owner");
            let anybody = Oracle::Undecidable("a watch does not show who creates a pod");
            born(base, at, &change, if foreign { anybody } else { Oracle::Wrong(rule) })
        }));
    }
}

fn drop_tracking(pod: &mut Value) {
    let kept: Vec<Value> = pod["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|it| *it != TRACKING)
        .cloned()
        .collect();
    put(pod, FINALIZERS, (!kept.is_empty()).then_some(Value::Array(kept)));
}

fn label(pod: &mut Value, name: &str, value: Option<&str>) {
    if let Some(labels) = pod["metadata"]["labels"].as_object_mut() {
        match value {
            Some(value) => drop(labels.insert(name.to_owned(), json!(value))),
            None => drop(labels.remove(name)),
        }
    }
}

fn contract(all: &mut Vec<Class>) {
    classes_of(all, "pod contract", "FT-01", &[("no-finalizer", drop_tracking)]);
    classes_of(
        all,
        "pod contract",
        "PC-14",
        &[
            ("label-job-name-missing", |pod| label(pod, "batch.kubernetes.io/job-name", None)),
            ("label-controller-uid-missing", |pod| label(pod, "batch.kubernetes.io/controller-uid", None)),
            ("label-job-name-other", |pod| {
                if pod["metadata"]["labels"]["batch.kubernetes.io/job-name"].is_string() {
                    label(pod, "batch.kubernetes.io/job-name", Some("other"));
                }
            }),
            ("legacy-labels-missing", |pod| {
                label(pod, "job-name", None);
                label(pod, "controller-uid", None);
            }),
            ("owner-missing", |pod| put(pod, "/metadata/ownerReferences", None)),
            ("owner-is-no-controller", |pod| {
                put(pod, "/metadata/ownerReferences/0/controller", Some(json!(false)))
            }),
            ("owner-does-not-block", |pod| put(pod, "/metadata/ownerReferences/0/blockOwnerDeletion", None)),
            ("owner-of-another-kind", |pod| {
                put(pod, "/metadata/ownerReferences/0/kind", Some(json!("ReplicaSet")))
            }),
            ("owner-with-another-name", |pod| {
                put(pod, "/metadata/ownerReferences/0/name", Some(json!("other")))
            }),
            ("two-owners", |pod| {
                let owner = pod["metadata"]["ownerReferences"][0].clone();
                if owner.is_object() {
                    put(pod, "/metadata/ownerReferences/-", Some(owner));
                }
            }),
        ],
    );
    classes_of(
        all,
        "pod contract",
        "PC-16",
        &[("generateName", |pod| {
            put(pod, "/metadata/generateName", Some(json!("other-")));
        })],
    );
}

fn is_indexed(pod: &Value) -> bool {
    pod["metadata"]["annotations"][INDEX].is_string()
}

fn annotate(pod: &mut Value, value: &str) {
    if is_indexed(pod) {
        pod["metadata"]["annotations"][INDEX] = json!(value);
    }
}

fn env(pod: &mut Value, edit: fn(&mut Vec<Value>)) {
    if is_indexed(pod)
        && let Some(list) = pod["spec"]["containers"][0]["env"].as_array_mut()
    {
        edit(list);
    }
}

fn indexed(all: &mut Vec<Class>) {
    classes_of(
        all,
        "pod of an index",
        "PC-17",
        &[
            ("annotation-missing", |pod| put(pod, "/metadata/annotations", None)),
            ("annotation-with-plus", |pod| annotate_with(pod, |it| format!("+{it}"))),
            ("annotation-with-zero", |pod| annotate_with(pod, |it| format!("0{it}"))),
            ("annotation-negative", |pod| annotate(pod, "-1")),
            ("annotation-beyond", |pod| annotate(pod, "9999")),
            ("annotation-text", |pod| annotate(pod, "first")),
            ("label-missing", |pod| label(pod, INDEX, None)),
            ("label-other", |pod| {
                if is_indexed(pod) {
                    label(pod, INDEX, Some("9"));
                }
            }),
            ("env-missing", |pod| env(pod, |list| list.retain(|it| it["name"] != "JOB_COMPLETION_INDEX"))),
            ("env-constant", |pod| {
                env(pod, |list| {
                    for it in list.iter_mut().filter(|it| it["name"] == "JOB_COMPLETION_INDEX") {
                        *it = json!({"name": "JOB_COMPLETION_INDEX", "value": "0"});
                    }
                });
            }),
            ("env-of-another-field", |pod| {
                env(pod, |list| {
                    for it in list.iter_mut().filter(|it| it["name"] == "JOB_COMPLETION_INDEX") {
                        it["valueFrom"]["fieldRef"]["fieldPath"] = json!("metadata.name");
                    }
                });
            }),
            ("hostname-missing", |pod| {
                if is_indexed(pod) {
                    put(pod, "/spec/hostname", None);
                }
            }),
            ("hostname-other", |pod| {
                if is_indexed(pod) {
                    put(pod, "/spec/hostname", Some(json!("other")));
                }
            }),
        ],
    );
}

fn annotate_with(pod: &mut Value, change: fn(&str) -> String) {
    if let Some(old) = pod["metadata"]["annotations"][INDEX].as_str().map(change) {
        annotate(pod, &old);
    }
}

/// Fields that the template sets. In a watch, admission may have changed them.
fn against_the_template(all: &mut Vec<Class>) {
    let changes: [(&str, Change); 6] = [
        ("image", |pod| put(pod, "/spec/containers/0/image", Some(json!("other")))),
        ("restartPolicy", |pod| {
            let other = if pod["spec"]["restartPolicy"] == "Never" { "OnFailure" } else { "Never" };
            put(pod, "/spec/restartPolicy", Some(json!(other)));
        }),
        ("grace-period", |pod| put(pod, "/spec/terminationGracePeriodSeconds", Some(json!(999)))),
        ("container-name", |pod| put(pod, "/spec/containers/0/name", Some(json!("other")))),
        ("container-missing", |pod| put(pod, "/spec/containers", Some(json!([])))),
        ("dnsPolicy", |pod| put(pod, "/spec/dnsPolicy", Some(json!("Default")))),
    ];
    for (name, change) in changes {
        all.push(Class::new("pod against its template", name, move |base, at| {
            let in_watch = Oracle::Undecidable("admission may change it, and a watch has no request");
            born(base, at, &change, if base.form == Form::Watch { in_watch } else { Oracle::Wrong("PC-14") })
        }));
    }
    all.push(Class::new("pod against its template", "template-label-dropped", |base, at| {
        let job = base.pod_at(at)?.job.clone();
        let mut draft = Draft::of(base);
        draft.everywhere(&job, &|object| {
            put(object, "/spec/template/metadata/labels/team", Some(json!("a")));
        });
        is_creation(base, at).then_some(draft)?.done(Oracle::Wrong("PC-14"))
    }));
    all.push(Class::new("pod against its template", "template-annotation-dropped", |base, at| {
        let job = base.pod_at(at)?.job.clone();
        let mut draft = Draft::of(base);
        draft.everywhere(&job, &|object| {
            put(object, "/spec/template/metadata/annotations/team", Some(json!("a")));
        });
        is_creation(base, at).then_some(draft)?.done(Oracle::Wrong("PC-14"))
    }));
}

/// Additions to the controller's own request. In a watch they may come from admission.
fn beyond_the_template(all: &mut Vec<Class>) {
    let changes: [(&str, Change); 15] = [
        ("privileged", |pod| {
            put(pod, "/spec/containers/0/securityContext", Some(json!({"privileged": true})))
        }),
        ("run-as-root", |pod| put(pod, "/spec/securityContext/runAsUser", Some(json!(0)))),
        ("host-network", |pod| put(pod, "/spec/hostNetwork", Some(json!(true)))),
        ("host-pid", |pod| put(pod, "/spec/hostPID", Some(json!(true)))),
        ("volume", |pod| put(pod, "/spec/volumes", Some(json!([{"name": "v", "hostPath": {"path": "/"}}])))),
        ("account", |pod| put(pod, "/spec/serviceAccountName", Some(json!("admin")))),
        ("command", |pod| put(pod, "/spec/containers/0/command", Some(json!(["sh"])))),
        ("args", |pod| put(pod, "/spec/containers/0/args", Some(json!(["-c", "true"])))),
        ("env-added", |pod| {
            if pod["spec"]["containers"][0]["env"].is_null() {
                put(pod, "/spec/containers/0/env", Some(json!([])));
            }
            put(pod, "/spec/containers/0/env/-", Some(json!({"name": "ADDED", "value": "1"})));
        }),
        ("container-added", |pod| {
            put(
                pod,
                "/spec/containers/-",
                Some(json!({"name": "sidecar", "image": "proxy", "resources": {}})),
            );
        }),
        ("init-container-added", |pod| {
            put(
                pod,
                "/spec/initContainers",
                Some(json!([{"name": "init", "image": "proxy", "resources": {}}])),
            );
        }),
        ("node", |pod| put(pod, "/spec/nodeName", Some(json!("node-b")))),
        ("priority-class", |pod| put(pod, "/spec/priorityClassName", Some(json!("system-node-critical")))),
        ("scheduler", |pod| put(pod, "/spec/schedulerName", Some(json!("other")))),
        ("foreign-finalizer", |pod| put(pod, "/metadata/finalizers/-", Some(json!("example.com/hold")))),
    ];
    for (name, change) in changes {
        all.push(Class::new("request beyond the template", name, move |base, at| {
            let in_watch = Oracle::Undecidable("admission may add it, and a watch has no request");
            born(base, at, &change, if base.form == Form::Watch { in_watch } else { Oracle::Wrong("PC-14") })
        }));
    }
}

/// The controller creates one pod more than it wants.
fn extra(base: &Recording, at: usize, with_active: bool) -> Option<Edited> {
    if !is_creation(base, at) {
        return None;
    }
    let mut draft = Draft::of(base);
    let next = base.status_writes(&base.pod_at(at)?.job).into_iter().find(|line| base.precedes(at, *line));
    if let Some(next) = next.filter(|_| with_active) {
        let more = crate::draft::count(base.status(next), "active") + 1;
        draft.set(next, "/status/active", Some(&json!(more)));
    }
    let mut line = draft.lines[at].clone();
    for name in ["responseObject", "object"] {
        if line[name].is_object() {
            let old = stored(&base.lines[at])["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let prefix = old.rsplit_once('-').map_or("job", |(prefix, _)| prefix).to_owned();
            line[name]["metadata"]["name"] = json!(format!("{prefix}-extra"));
            line[name]["metadata"]["uid"] = json!("ed170000-0000-4000-8000-00000000000e");
        }
    }
    draft.insert(at + 1, line);
    draft.done(Oracle::Wrong("PC-08"))
}

//! Requests of a controller that it has no reason to make. Only an audit log shows their sender.

use serde_json::{Value, json};

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, is_by_controller, put};
use crate::recording::{Actor, Form, Recording, Resource, stored, stored_mut};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    writes_of_jobs(all);
    writes_of_pods(all);
    deletions(all);
    all.push(Class::new("controller writes spec or metadata", "the-write-of-a-user", |base, at| {
        let event = &base.events[at];
        let is_users = event.actor == Actor::User && event.resource == Resource::Job && event.code < 300;
        if !is_users || event.verb == "create" || !event.subresource.is_empty() || base.is_mirror() {
            return None;
        }
        let by = by_the_controller(base)?;
        let mut draft = Draft::of(base);
        sign(&mut draft.lines[at], &by);
        let oracle = if event.verb == "delete" {
            Oracle::Undecidable("no rule of a trace forbids the deletion")
        } else {
            Oracle::Wrong("SY-11")
        };
        draft.done(oracle)
    }));
}

/// A line of the Job controller, whose identity other lines take.
fn by_the_controller(base: &Recording) -> Option<Value> {
    let at = base.events.iter().position(|event| event.actor == Actor::Controller)?;
    Some(base.lines[at].clone())
}

fn sign(line: &mut Value, by: &Value) {
    for name in ["user", "userAgent"] {
        line[name] = by[name].clone();
    }
}

type Change = fn(&mut Value);

/// Inserts a write of the controller after a line, of the object that the line stores. Later versions show the change.
fn insert_write(base: &Recording, at: usize, change: Change, write: &Write) -> Option<Edited> {
    let object = stored(&base.lines[at]);
    if base.form == Form::Watch || !object["spec"].is_object() || base.events[at].code >= 300 {
        return None;
    }
    let by = by_the_controller(base)?;
    let mut draft = Draft::of(base);
    for later in draft.later(at) {
        let line = &mut draft.lines[later];
        let full = |object: &Value| object["spec"].is_object();
        if full(&line["requestObject"]) {
            change(&mut line["requestObject"]);
        }
        if full(stored(line))
            && let Some(object) = stored_mut(line)
        {
            change(object);
        }
    }
    let mut line = base.lines[at].clone();
    sign(&mut line, &by);
    let mut changed = object.clone();
    change(&mut changed);
    let version = object["metadata"]["resourceVersion"].clone();
    let (uid, name) = (object["metadata"]["uid"].clone(), object["metadata"]["name"].clone());
    line["verb"] = json!(write.verb);
    line["requestObject"] = if write.verb == "update" { changed.clone() } else { write.patch.clone() };
    line["responseObject"] = changed;
    line["responseStatus"] = json!({"metadata": {}, "code": 200});
    let subresource = if write.subresource.is_empty() { Value::Null } else { json!(write.subresource) };
    let resource = line["objectRef"]["resource"].as_str().unwrap_or_default().to_owned();
    let group = if resource == "jobs" { "/apis/batch/v1" } else { "/api/v1" };
    let namespace = line["objectRef"]["namespace"].as_str().unwrap_or_default().to_owned();
    let tail = if write.subresource.is_empty() { String::new() } else { format!("/{}", write.subresource) };
    let plain = name.as_str().unwrap_or_default();
    line["requestURI"] = json!(format!("{group}/namespaces/{namespace}/{resource}/{plain}{tail}"));
    put(&mut line, "/objectRef/subresource", Some(subresource).filter(|it| !it.is_null()));
    put(&mut line, "/objectRef/name", Some(name));
    put(&mut line, "/objectRef/uid", Some(uid));
    put(&mut line, "/objectRef/resourceVersion", Some(version).filter(|_| write.verb == "update"));
    draft.insert(at + 1, line);
    draft.done(Oracle::Wrong(write.rule))
}

struct Write {
    verb: &'static str,
    subresource: &'static str,
    patch: Value,
    rule: &'static str,
}

fn is_living_job(base: &Recording, at: usize) -> bool {
    let meta = &stored(&base.lines[at])["metadata"];
    base.events[at].resource == Resource::Job && !meta["deletionTimestamp"].is_string() && !base.is_mirror()
}

fn writes_of_jobs(all: &mut Vec<Class>) {
    let changes: [(&'static str, Change, fn() -> Value); 8] = [
        (
            "parallelism",
            |it| put(it, "/spec/parallelism", Some(json!(7))),
            || json!({"spec": {"parallelism": 7}}),
        ),
        (
            "backoffLimit",
            |it| put(it, "/spec/backoffLimit", Some(json!(77))),
            || json!({"spec": {"backoffLimit": 77}}),
        ),
        (
            "ttl",
            |it| put(it, "/spec/ttlSecondsAfterFinished", Some(json!(7777))),
            || json!({"spec": {"ttlSecondsAfterFinished": 7777}}),
        ),
        (
            "deadline",
            |it| put(it, "/spec/activeDeadlineSeconds", Some(json!(7777))),
            || json!({"spec": {"activeDeadlineSeconds": 7777}}),
        ),
        (
            "label",
            |it| put(it, "/metadata/labels/team", Some(json!("a"))),
            || json!({"metadata": {"labels": {"team": "a"}}}),
        ),
        (
            "annotation",
            |it| put(it, "/metadata/annotations/team", Some(json!("a"))),
            || json!({"metadata": {"annotations": {"team": "a"}}}),
        ),
        (
            "finalizer",
            |it| put(it, "/metadata/finalizers", Some(json!(["example.com/hold"]))),
            || json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        ),
        ("nothing", |_| {}, || json!({})),
    ];
    for (name, change, patch) in changes {
        for verb in ["update", "patch"] {
            all.push(Class::new(
                "controller writes spec or metadata",
                format!("{name}-{verb}"),
                move |base, at| {
                    let write = Write { verb, subresource: "", patch: patch(), rule: "SY-11" };
                    let mut edited =
                        insert_write(base, at, change, &write).filter(|_| is_living_job(base, at))?;
                    if name == "nothing" {
                        edited.oracle = Oracle::Undecidable("the write changes nothing");
                    }
                    Some(edited)
                },
            ));
        }
    }
    all.push(Class::new("controller writes spec or metadata", "label-in-a-status-write", |base, at| {
        if !base.is_status_write(at) || base.form == Form::Watch || base.is_mirror() {
            return None;
        }
        let mut draft = Draft::of(base);
        draft.carry(at, &|_| true, &|it| put(it, "/metadata/labels/team", Some(json!("a"))));
        draft.done(Oracle::Wrong("SY-11"))
    }));
}

fn writes_of_pods(all: &mut Vec<Class>) {
    let changes: [(&'static str, &'static str, Change, fn() -> Value); 5] = [
        (
            "label",
            "",
            |it| put(it, "/metadata/labels/team", Some(json!("a"))),
            || json!({"metadata": {"labels": {"team": "a"}}}),
        ),
        (
            "annotation",
            "",
            |it| put(it, "/metadata/annotations/team", Some(json!("a"))),
            || json!({"metadata": {"annotations": {"team": "a"}}}),
        ),
        (
            "finalizer",
            "",
            |it| put(it, "/metadata/finalizers/-", Some(json!("example.com/hold"))),
            || json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        ),
        (
            "image",
            "",
            |it| put(it, "/spec/containers/0/image", Some(json!("other"))),
            || json!({"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        ),
        (
            "status",
            "status",
            |it| put(it, "/status/message", Some(json!("x"))),
            || json!({"status": {"message": "x"}}),
        ),
    ];
    for (name, subresource, change, patch) in changes {
        all.push(Class::new("controller writes pods", name, move |base, at| {
            let write = Write { verb: "patch", subresource, patch: patch(), rule: "PC-14" };
            let pod = base.pod_at(at)?;
            let lives = pod.lines.last() != Some(&at) && pod.is_own && !base.is_mirror();
            let has_finalizer = stored(&base.lines[at])["metadata"]["finalizers"].is_array();
            insert_write(base, at, change, &write).filter(|_| lives && has_finalizer)
        }));
    }
}

/// Deletions by the controller without a reason.
fn deletions(all: &mut Vec<Class>) {
    all.push(Class::new("controller deletes", "a-terminated-pod", |base, at| {
        let pod = base.pod_at(at)?;
        let ends_here = pod.ended.as_ref().is_some_and(|(line, _)| *line == at);
        let mut edited =
            delete(base, at, Actor::Controller).filter(|_| ends_here && pod.deleted.is_none())?;
        edited.oracle = Oracle::Wrong("FT-32");
        Some(edited)
    }));
    all.push(Class::new("controller deletes", "a-needed-pod", |base, at| {
        let pod = base.pod_at(at)?;
        let fails = base.jobs.get(&pod.job)?.iter().any(|line| {
            let spec = &stored(&base.lines[*line])["spec"];
            let first = &stored(&base.lines[base.jobs[&pod.job][0]])["spec"];
            spec["suspend"] == true || spec["parallelism"] != first["parallelism"]
        });
        let later = (0..base.lines.len()).any(|it| {
            it > at && is_by_controller(base, it, Resource::Pod) && base.events[it].verb == "delete"
        });
        let mut edited = delete(base, at, Actor::Controller)
            .filter(|_| pod.created == at && pod.is_own && !fails && !later)?;
        edited.oracle = Oracle::Wrong("PC-09");
        Some(edited)
    }));
    for (name, actor, oracle) in [
        ("the-Job", Actor::Controller, Oracle::Wrong("SY-11")),
        ("the-Job-by-ttl", Actor::Ttl, Oracle::Wrong("TT-13")),
    ] {
        all.push(Class::new("controller deletes", name, move |base, at| {
            let spec = &stored(&base.lines[at])["spec"];
            let allowed = actor == Actor::Ttl && spec["ttlSecondsAfterFinished"].is_number();
            let last = base.jobs.get(&base.events[at].uid)?.last() == Some(&at);
            let mut edited =
                delete(base, at, actor).filter(|_| !allowed && last && is_living_job(base, at))?;
            edited.oracle = oracle;
            Some(edited)
        }));
    }
}

/// Inserts a deletion after a line, answered with a `Status`, as 1.38 answers deletions.
fn delete(base: &Recording, at: usize, actor: Actor) -> Option<Edited> {
    let object = stored(&base.lines[at]);
    if base.form == Form::Watch || !object["metadata"]["uid"].is_string() || base.events[at].code >= 300 {
        return None;
    }
    let mut by = by_the_controller(base)?;
    if actor == Actor::Ttl {
        by["userAgent"] =
            json!("kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/0/ttl-after-finished-controller");
    }
    let (name, uid) = (object["metadata"]["name"].clone(), object["metadata"]["uid"].clone());
    let mut line = base.lines[at].clone();
    sign(&mut line, &by);
    line["verb"] = json!("delete");
    line["requestObject"] = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal", "propagationPolicy": "Background"});
    line["responseStatus"] = json!({"metadata": {}, "status": "Success", "code": 200});
    line["responseObject"] = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": name, "uid": uid}});
    for (field, value) in
        [("name", Some(name)), ("uid", Some(uid)), ("subresource", None), ("resourceVersion", None)]
    {
        put(&mut line, &format!("/objectRef/{field}"), value);
    }
    let mut draft = Draft::of(base);
    draft.insert(at + 1, line);
    draft.done(Oracle::Undecidable("no oracle yet"))
}

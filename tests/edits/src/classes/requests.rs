//! Requests of a controller that it has no reason to make. Only an audit log shows their sender.

use serde_json::{Value, json};

use super::insert::{Write, by_the_controller, insert_write, sign};
use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, is_by_controller, put};
use crate::recording::{Actor, Form, Recording, Resource, stored};
use crate::time;

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

type Change = fn(&mut Value);
/// The name of a class, its effect on the object, and the body of its PATCH.
type Row = (&'static str, Change, fn() -> Value);

fn is_living_job(base: &Recording, at: usize) -> bool {
    let meta = &stored(&base.lines[at])["metadata"];
    base.events[at].resource == Resource::Job && !meta["deletionTimestamp"].is_string() && !base.is_mirror()
}

fn writes_of_jobs(all: &mut Vec<Class>) {
    let changes: [Row; 8] = [
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
                    let by = by_the_controller(base).filter(|_| is_living_job(base, at))?;
                    let write =
                        Write { by, verb, subresource: "", patch: patch(), change: &change, rule: "SY-11" };
                    let mut edited = insert_write(base, at, &write)?;
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
    let changes: [Row; 5] = [
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
            |it| put(it, "/metadata/finalizers/-", Some(json!("example.com/hold"))),
            || json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        ),
        (
            "image",
            |it| put(it, "/spec/containers/0/image", Some(json!("other"))),
            || json!({"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        ),
        ("status", |it| put(it, "/status/message", Some(json!("x"))), || json!({"status": {"message": "x"}})),
    ];
    for (name, change, patch) in changes {
        let subresource = if name == "status" { "status" } else { "" };
        all.push(Class::new("controller writes pods", name, move |base, at| {
            let by = by_the_controller(base)?;
            let write =
                Write { by, verb: "patch", subresource, patch: patch(), change: &change, rule: "PC-14" };
            let pod = base.pod_at(at)?;
            let lives = pod.lines.last() != Some(&at) && pod.is_own && !base.is_mirror();
            let has_finalizer = stored(&base.lines[at])["metadata"]["finalizers"].is_array();
            insert_write(base, at, &write).filter(|_| lives && has_finalizer)
        }));
    }
}

/// Deletions by the controller without a reason. A `Status` in answer does not show the pod, so such a deletion may be
/// inconclusive.
fn deletions(all: &mut Vec<Class>) {
    for shows in [true, false] {
        let how = if shows { "" } else { "-answered-with-a-Status" };
        let oracle = |rule| if shows { Oracle::Wrong(rule) } else { Oracle::Partial(rule) };
        let (terminated, needed) = (oracle("FT-32"), oracle("PC-09"));
        all.push(Class::new("controller deletes", format!("a-terminated-pod{how}"), move |base, at| {
            let pod = base.pod_at(at)?;
            let ends_here = pod.ended.as_ref().is_some_and(|(line, _)| *line == at);
            (ends_here && pod.deleted.is_none()).then_some(())?;
            delete(base, at, Actor::Controller, shows, terminated)
        }));
        all.push(Class::new("controller deletes", format!("a-needed-pod{how}"), move |base, at| {
            (base.pod_at(at)?.created == at && is_needed(base, at)).then_some(())?;
            delete(base, at, Actor::Controller, shows, needed)
        }));
    }
    for (name, actor, rule) in
        [("the-Job", Actor::Controller, "SY-11"), ("the-Job-by-ttl", Actor::Ttl, "TT-13")]
    {
        all.push(Class::new("controller deletes", name, move |base, at| {
            let spec = &stored(&base.lines[at])["spec"];
            let allowed = actor == Actor::Ttl && spec["ttlSecondsAfterFinished"].is_number();
            let last = base.jobs.get(&base.events[at].uid)?.last() == Some(&at);
            (!allowed && last && is_living_job(base, at)).then_some(())?;
            delete(base, at, actor, false, Oracle::Wrong(rule))
        }));
    }
}

/// Returns true if nothing in the recording is a reason to delete the pod of a line.
fn is_needed(base: &Recording, at: usize) -> bool {
    let Some(pod) = base.pod_at(at).filter(|pod| pod.is_own) else { return false };
    let Some(lines) = base.jobs.get(&pod.job) else { return false };
    let spec = |line: &usize| &stored(&base.lines[*line])["spec"];
    let changes = lines.iter().any(|line| {
        spec(line)["suspend"] == true || spec(line)["parallelism"] != spec(&lines[0])["parallelism"]
    });
    let deletes = |it: usize| is_by_controller(base, it, Resource::Pod) && base.events[it].verb == "delete";
    !changes && !(at..base.lines.len()).any(deletes)
}

/// Inserts a deletion after a line. The answer is the object, or a `Status`.
fn delete(base: &Recording, at: usize, actor: Actor, shows: bool, oracle: Oracle) -> Option<Edited> {
    let object = stored(&base.lines[at]);
    let mut by = by_the_controller(base)?;
    if actor == Actor::Ttl {
        let agent =
            "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/0/ttl-after-finished-controller";
        by["userAgent"] = json!(agent);
    }
    let when = json!(time::whole(base.events[at].interval.1));
    let stays = object["metadata"]["finalizers"].is_array();
    let change = |object: &mut Value| {
        if stays {
            put(object, "/metadata/deletionTimestamp", Some(when.clone()));
            put(object, "/metadata/deletionGracePeriodSeconds", Some(json!(0)));
        }
    };
    let patch = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal", "propagationPolicy": "Background"});
    let write = Write { by, verb: "delete", subresource: "", patch, change: &change, rule: "" };
    let mut edited = insert_write(base, at, &write)?;
    edited.oracle = oracle;
    if !shows {
        let (name, uid) = (object["metadata"]["name"].clone(), object["metadata"]["uid"].clone());
        edited.files[0][at + 1]["responseObject"] = json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Success", "details": {"name": name, "uid": uid}});
    }
    Some(edited)
}

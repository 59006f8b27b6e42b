//! Logs that contradict themselves, and writes whose answer was lost.

use serde_json::{Value, json};

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, count, put, refuse};
use crate::recording::{Actor, Form, Recording, Resource, stored_mut};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    inconsistent(all);
    lost_answers(all);
    other_senders(all);
}

/// One record alone is changed, so that its request, its answer and the next version do not fit.
fn inconsistent(all: &mut Vec<Class>) {
    const WHY: Oracle = Oracle::Partial("judging.md 3: a change without a recorded write");
    for (name, in_request) in [("answer", false), ("request", true)] {
        all.push(Class::new("inconsistent log", format!("succeeded-of-one-{name}"), move |base, at| {
            let more = json!(count(base.status(at), "succeeded") + 1);
            alone(base, at, in_request, "/status/succeeded", Some(more)).and_then(|draft| draft.done(WHY))
        }));
        all.push(Class::new("inconsistent log", format!("startTime-of-one-{name}"), move |base, at| {
            base.status(at)["startTime"].as_str()?;
            alone(base, at, in_request, "/status/startTime", None).and_then(|draft| draft.done(WHY))
        }));
        all.push(Class::new("inconsistent log", format!("conditions-of-one-{name}"), move |base, at| {
            base.status(at)["conditions"].as_array()?;
            alone(base, at, in_request, "/status/conditions", None).and_then(|draft| draft.done(WHY))
        }));
    }
    all.push(Class::new("inconsistent log", "phase-of-one-answer", |base, at| {
        let pod = base.pod_at(at)?;
        let (line, phase) = pod.ended.as_ref()?;
        let later = base.precedes(*line, at) && base.form == Form::Audit;
        let other = if phase == "Failed" { "Succeeded" } else { "Failed" };
        let mut draft = Draft::of(base);
        put(stored_mut(&mut draft.lines[at])?, "/status/phase", Some(json!(other)));
        if later { draft.done(WHY) } else { None }
    }));
}

fn alone<'a>(
    base: &'a Recording,
    at: usize,
    in_request: bool,
    pointer: &str,
    value: Option<Value>,
) -> Option<Draft<'a>> {
    if !base.is_status_write(at) || base.form == Form::Watch {
        return None;
    }
    let mut draft = Draft::of(base);
    let object =
        if in_request { draft.lines[at].get_mut("requestObject") } else { stored_mut(&mut draft.lines[at]) };
    put(object?, pointer, value);
    Some(draft)
}

/// A write was stored, and its answer is an error. The next version shows it.
fn lost_answers(all: &mut Vec<Class>) {
    for (name, code, reason) in [("500", 500, "InternalError"), ("504", 504, "Timeout")] {
        for retried in [false, true] {
            let how = if retried { "-and-retried" } else { "" };
            all.push(Class::new("5xx after the commit", format!("status-{name}{how}"), move |base, at| {
                lost_status(base, at, (code, reason), retried)
            }));
        }
        all.push(Class::new(
            "5xx after the commit",
            format!("finalizer-{name}-and-retried"),
            move |base, at| {
                let removes =
                    base.pod_at(at)?.released == Some(at) && base.events[at].actor == Actor::Controller;
                let mut draft = Draft::of(base);
                let mut again = base.lines[at].clone();
                again["auditID"] = json!("ed170000-0000-4000-8000-000000000000");
                refuse(&mut draft.lines[at], code, reason, "request timed out");
                // The second removal changes nothing, so its answer has the version of the first.
                draft.lines.insert(at + 1, again);
                draft.clock(at + 1, at, 1);
                if removes { draft.done(Oracle::Legal("the write was stored")) } else { None }
            },
        ));
    }
}

fn lost_status(base: &Recording, at: usize, (code, reason): (u64, &str), retried: bool) -> Option<Edited> {
    let is_meant = base.is_status_write(at) && base.form == Form::Audit && base.events[at].verb == "update";
    base.next(at).filter(|_| is_meant && !base.is_mirror())?;
    let mut draft = Draft::of(base);
    if retried {
        let mut again = base.lines[at].clone();
        again["auditID"] = json!("ed170000-0000-4000-8000-000000000000");
        let message = "Operation cannot be fulfilled on jobs.batch \"job\": the object has been modified";
        refuse(&mut again, 409, "Conflict", message);
        draft.lines.insert(at + 1, again);
        draft.clock(at + 1, at, 1);
    }
    refuse(&mut draft.lines[at], code, reason, "request timed out");
    draft.done(Oracle::Legal("the write was stored"))
}

/// Writes of the Job controller under the identity of another controller, which has no business with them.
fn other_senders(all: &mut Vec<Class>) {
    for (name, agent) in
        [("ttl", "ttl-after-finished-controller"), ("collector", "generic-garbage-collector")]
    {
        for resource in [Resource::Job, Resource::Pod] {
            let what = if resource == Resource::Job { "status" } else { "pod" };
            all.push(Class::new(
                "write by another controller",
                format!("{what}-by-{name}"),
                move |base, at| {
                    let event = &base.events[at];
                    let is_meant =
                        event.actor == Actor::Controller && event.resource == resource && event.code < 300;
                    let mut draft = Draft::of(base);
                    let line = &mut draft.lines[at];
                    line["user"]["username"] = json!("system:kube-controller-manager");
                    line["userAgent"] =
                        json!(format!("kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/0/{agent}"));
                    // A step of the environment: what depends on it is inconclusive.
                    let oracle = match (resource, name) {
                        (Resource::Pod, "collector") => Oracle::Undecidable("the collector writes pods too"),
                        (_, "ttl") => Oracle::Partial("TT-11"),
                        _ => Oracle::Partial("EN-05"),
                    };
                    if is_meant && base.form == Form::Audit { draft.done(oracle) } else { None }
                },
            ));
        }
    }
}

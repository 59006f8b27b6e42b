//! Refused requests of the controller.

use serde_json::json;

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, count, refuse};
use crate::recording::{Actor, Form, Recording, Resource, stored};
use crate::time;

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    let webhook = "admission webhook \"deny.example.com\" denied the request: not now";
    let forbidden = "jobs.batch \"job\" is forbidden: User \"system:kube-controller-manager\" cannot update resource \"jobs/status\"";
    // A write that the rules allow, refused once by the environment and then accepted.
    for (name, code, reason, message) in [
        ("403-webhook", 403, "Forbidden", webhook),
        ("403-without-text", 403, "", ""),
        ("422-without-text", 422, "Invalid", ""),
        ("429", 429, "TooManyRequests", "Too many requests, please try again later."),
        ("500", 500, "InternalError", "Internal error occurred: etcdserver: request timed out"),
        ("503", 503, "ServiceUnavailable", "the server is currently unable to handle the request"),
    ] {
        let group =
            if code == 429 || code >= 500 { "429 and 5xx retried" } else { "allowed write refused once" };
        all.push(Class::new(group, name, move |base, at| {
            let retried = repeated(base, at, 1, 0, (code, reason, message))?;
            retried.done(match follows_a_deletion(base, at) {
                false => Oracle::Legal("the environment refuses, and the controller tries again"),
                true => Oracle::Undecidable("the next sync sees the pods that this one has deleted"),
            })
        }));
    }
    // The same write again and again.
    for (name, times, gap, code, message) in [
        ("403-eight-times", 8, 0, 403, forbidden),
        ("403-sixty-times", 60, 0, 403, forbidden),
        ("422-sixty-times", 60, 0, 422, ""),
        ("422-eight-times", 8, 0, 422, ""),
        ("422-sixty-times-10ms", 60, 10_000, 422, ""),
    ] {
        all.push(Class::new("refused again and again", name, move |base, at| {
            let draft = repeated(
                base,
                at,
                times,
                gap,
                (code, if code == 403 { "Forbidden" } else { "Invalid" }, message),
            )?;
            draft.done(Oracle::Partial("section 4"))
        }));
    }
    for (name, code, reason, message, rule) in [
        ("409", 409, "Conflict", "Operation cannot be fulfilled: the object has been modified", "SS-32"),
        ("404", 404, "NotFound", "not found", "section 4"),
    ] {
        all.push(Class::new("conflict without a cause", name, move |base, at| {
            let draft = repeated(base, at, 1, 0, (code, reason, message))?;
            let is_update = base.events[at].verb == "update" || code == 404;
            let races = (0..base.events.len()).any(|other| {
                let (a, b) = (&base.events[other], &base.events[at]);
                other != at && a.uid == b.uid && a.interval.1 >= b.interval.0 && a.interval.0 <= b.interval.1
            });
            let oracle =
                if races { Oracle::Undecidable("another write is concurrent") } else { Oracle::Wrong(rule) };
            (is_update && base.events[at].verb != "create").then_some(draft)?.done(oracle)
        }));
    }
    all.push(Class::new("refused writes that no rule allows", "succeeded+5", |base, at| {
        let mut draft = repeated(base, at, 1, 0, (403, "Forbidden", webhook))?;
        let more = count(base.status(at), "succeeded") + 5;
        let is_status = base.events[at].subresource == "status" && base.events[at].resource == Resource::Job;
        draft.lines[at]["requestObject"]["status"]["succeeded"] = json!(more);
        is_status.then_some(draft)?.done(Oracle::Wrong("FT-02"))
    }));
    for (name, code, message) in
        [("quota", 403, "pods \"job-\" is forbidden: exceeded quota: pods"), ("422-without-text", 422, "")]
    {
        all.push(Class::new(
            "refused writes that no rule allows",
            format!("creation-{name}"),
            move |base, at| surplus_creation(base, at, code, message),
        ));
    }
}

/// The controller has deleted a pod since its last status write, and this is the next one. If it is refused, another sync makes
/// the same write again only if that does not depend on the deletion.
fn follows_a_deletion(base: &Recording, at: usize) -> bool {
    let own = |line: &usize| base.events[*line].actor == Actor::Controller && base.events[*line].code < 300;
    let mut since = (0..at).rev().filter(own).take_while(|line| !base.is_status_write(*line));
    base.is_status_write(at) && since.any(|line| base.events[line].verb == "delete")
}

/// Inserts refused copies of a write of the controller before it. Gaps shift the rest of the trace.
fn repeated<'a>(
    base: &'a Recording,
    at: usize,
    times: u32,
    gap: i64,
    (code, reason, message): (u64, &str, &str),
) -> Option<Draft<'a>> {
    let event = &base.events[at];
    if base.form == Form::Watch || event.actor != Actor::Controller || event.code >= 300 {
        return None;
    }
    let mut line = base.lines[at].clone();
    refuse(&mut line, code, reason, message);
    let mut draft = Draft::of(base);
    let room = i64::from(times) * gap.max(10);
    draft.shift(at, event.interval.0, room);
    for number in 0..i64::from(times) {
        let mut copy = line.clone();
        let received = event.interval.0 + number * gap.max(10);
        copy["requestReceivedTimestamp"] = json!(time::precise(received));
        copy["stageTimestamp"] = json!(time::precise(received + 5));
        copy["auditID"] = json!(format!("ed170000-0000-4000-8000-{number:012}"));
        draft.lines.insert(at + usize::try_from(number).unwrap_or(0), copy);
    }
    Some(draft)
}

/// A refused creation after the last one of a Job that wants no more pods: all its pods are created, and none has ended.
fn surplus_creation(base: &Recording, at: usize, code: u64, message: &str) -> Option<Edited> {
    let pod = base.pod_at(at).filter(|pod| pod.created == at && pod.is_own)?;
    let event = &base.events[at];
    if base.form == Form::Watch || event.actor != Actor::Controller {
        return None;
    }
    let specs = base.jobs.get(&pod.job)?.iter().map(|line| &stored(&base.lines[*line])["spec"]);
    let wanted = specs.filter_map(|spec| {
        Some(spec["parallelism"].as_i64()?.min(spec["completions"].as_i64().unwrap_or(i64::MAX)))
    });
    let wanted = wanted.max()?;
    let alive = base.pods_of(&pod.job).filter(|it| {
        let over = [it.deleted, it.ended.as_ref().map(|(line, _)| *line)];
        !base.precedes(at, it.created) && !over.into_iter().flatten().any(|line| base.precedes(line, at))
    });
    if i64::try_from(alive.count()).unwrap_or(0) < wanted {
        return None;
    }
    let mut line = base.lines[at].clone();
    refuse(&mut line, code, "", message);
    let mut draft = Draft::of(base);
    draft.lines.insert(at + 1, line);
    draft.clock(at + 1, at, 1);
    draft.done(Oracle::Wrong("PC-04"))
}

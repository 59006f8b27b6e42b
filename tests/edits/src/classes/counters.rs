//! Counters and gauges of a status: `succeeded`, `failed`, `active`, `ready`, `terminating`.

use serde_json::Value;

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, count, counter};
use crate::recording::{Actor, Form, Pod, Recording, Resource, has_true, stored};

const COUNTERS: [&str; 2] = ["succeeded", "failed"];
const GAUGES: [&str; 3] = ["active", "ready", "terminating"];

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    for field in COUNTERS {
        for delta in [-1, 1, 2, 1000] {
            all.push(Class::new("counters", format!("{field}{delta:+}"), move |base, at| {
                let new = count(base.status(at), field) + delta;
                change(base, at, field, new).filter(|_| new >= 0)?.done(counting(base))
            }));
        }
    }
    for field in GAUGES {
        for delta in [-1, 1, 50] {
            for once in [true, false] {
                let how = if once { "" } else { "-carried" };
                all.push(Class::new("gauges", format!("{field}{delta:+}{how}"), move |base, at| {
                    gauge(base, at, field, delta, once)
                }));
            }
        }
    }
    for field in COUNTERS.into_iter().chain(GAUGES) {
        all.push(Class::new("negative numbers", field, move |base, at| {
            change(base, at, field, -1)?.done(Oracle::Wrong("SS-01"))
        }));
    }
}

fn change<'a>(base: &'a Recording, at: usize, field: &str, value: i64) -> Option<Draft<'a>> {
    base.is_status_write(at).then(|| {
        let mut draft = Draft::of(base);
        draft.set(at, &format!("/status/{field}"), counter(field, value).as_ref());
        draft
    })
}

/// A counter that changes without records of pods is wrong for an executor. A mirror reports what another cluster does.
fn counting(base: &Recording) -> Oracle {
    if base.is_mirror() {
        Oracle::Undecidable("a mirror counts pods that the trace does not show")
    } else {
        Oracle::Wrong("FT-02")
    }
}

fn gauge(base: &Recording, at: usize, field: &str, delta: i64, once: bool) -> Option<Edited> {
    if !base.is_status_write(at) {
        return None;
    }
    let status = base.status(at);
    let new = count(status, field) + delta;
    if new < 0 {
        return None;
    }
    let pointer = format!("/status/{field}");
    let mut draft = Draft::of(base);
    if once {
        draft.set_once(at, &pointer, counter(field, new).as_ref());
    } else {
        draft.set(at, &pointer, counter(field, new).as_ref());
    }
    let finished = has_true(status, "Complete") || has_true(status, "Failed");
    let oracle = match field {
        _ if delta > 0 && finished => Oracle::Wrong("SS-12"),
        "ready" if new > count(status, "active") => Oracle::Wrong("SS-19"),
        _ if base.is_mirror() => Oracle::Undecidable("a mirror reports pods that the trace does not show"),
        _ if adopts(base, at) => Oracle::Undecidable("pods join and leave the Job"),
        "active" => active(base, at, new),
        "terminating" => terminating(base, at, new),
        _ => ready(base, at, new),
    };
    // A write that changes nothing would store nothing.
    let changed = stored(&draft.lines[at])["status"].clone();
    let is_void = base.previous(at).is_some_and(|line| *base.status(line) == changed);
    if is_void { None } else { draft.done(oracle) }
}

/// Returns true if somebody else creates pods that the Job may own later.
fn adopts(base: &Recording, at: usize) -> bool {
    own_pods(base, at).any(|pod| !pod.is_own) || base.pods.iter().any(|pod| pod.job.is_empty())
}

fn own_pods(base: &Recording, at: usize) -> impl Iterator<Item = &Pod> {
    base.pods_of(&base.events[at].uid)
}

/// The bounds of `active` in any view that the controller may have. It grows only by pods that the controller creates after
/// its last status write. It lacks only pods that have ended or are recorded.
fn active(base: &Recording, at: usize, new: i64) -> Oracle {
    let before = base.previous_status(at);
    let reported = before.map_or(0, |line| count(base.status(line), "active"));
    let is_new =
        |pod: &&Pod| base.precedes(pod.created, at) && before.is_none_or(|it| base.precedes(it, pod.created));
    let created = i64::try_from(own_pods(base, at).filter(is_new).count()).unwrap_or(0);
    // J-01: an older view may still show a pod that the controller has deleted itself.
    let is_deleted = |pod: &&Pod| {
        let by_controller =
            |line: &usize| base.form == Form::Watch || base.events[*line].actor == Actor::Controller;
        pod.deleted.filter(by_controller).is_some_and(|line| base.precedes(line, at))
    };
    let deleted = i64::try_from(own_pods(base, at).filter(is_deleted).count()).unwrap_or(0);
    if new > reported + created + deleted {
        return Oracle::Wrong("PC-01");
    }
    if new > reported + created {
        return Oracle::Undecidable("J-01 has this form");
    }
    let lives = |pod: &&Pod| {
        let over = [pod.deleted, pod.ended.as_ref().map(|(line, _)| *line), pod.released];
        base.precedes(pod.created, at) && !over.into_iter().flatten().any(|line| base.precedes(line, at))
    };
    let alive = i64::try_from(own_pods(base, at).filter(lives).count()).unwrap_or(0);
    if new < alive { Oracle::Wrong("PC-01") } else { Oracle::Undecidable("an older view may show it") }
}

/// `terminating` grows only by pods that are deleted: by the controller after its last write, or by others at any time.
fn terminating(base: &Recording, at: usize, new: i64) -> Oracle {
    let before = base.previous_status(at);
    let reported = before.map_or(0, |line| count(base.status(line), "terminating"));
    let is_new = |line: usize| {
        let by_controller = base.events[line].actor == Actor::Controller;
        base.precedes(line, at) && (!by_controller || before.is_none_or(|it| base.precedes(it, line)))
    };
    let deleted = own_pods(base, at).filter(|pod| pod.deleted.is_some_and(is_new)).count();
    // A deletion whose answer is a Status shows no object.
    let hidden = (0..base.events.len()).filter(|line| {
        let event = &base.events[*line];
        event.resource == Resource::Pod
            && event.verb.starts_with("delete")
            && base.pod_at(*line).is_none_or(|pod| pod.deleted.is_none())
    });
    let most = reported + i64::try_from(deleted + hidden.count()).unwrap_or(0);
    if new > most { Oracle::Wrong("PC-02") } else { Oracle::Undecidable("an older view may show it") }
}

/// Without any pod that was ever ready, none is.
fn ready(base: &Recording, at: usize, new: i64) -> Oracle {
    let is_ready = |line: &usize| {
        let conditions = &base.status(*line)["conditions"];
        base.precedes(*line, at) && conditions.as_array().is_some_and(|list| shows_ready(list))
    };
    let ever = own_pods(base, at).filter(|pod| pod.lines.iter().any(&is_ready)).count();
    if new > i64::try_from(ever).unwrap_or(0) {
        Oracle::Wrong("PC-03")
    } else {
        Oracle::Undecidable("an older view may show it")
    }
}

fn shows_ready(conditions: &[Value]) -> bool {
    conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

//! Events in another order, missing events, and delays.

use serde_json::{Value, json};

use super::lists::parse_indexes;
use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, is_by_controller};
use crate::forms::native;
use crate::recording::{Actor, Form, Pod, Recording, Resource, has_true, stored};
use crate::time::{self, SECOND};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    moved(all);
    missing(all);
    delays(all);
    phases(all);
}

/// The pods that a status write records first: by UID, or by index.
fn recorded(base: &Recording, at: usize) -> Vec<&Pod> {
    let before = base.previous(at).map_or(&Value::Null, |line| base.status(line));
    let status = base.status(at);
    let has = |status: &Value, pod: &Pod| {
        let listed = |of: &str| {
            let list = status["uncountedTerminatedPods"][of].as_array();
            list.is_some_and(|it| it.iter().any(|uid| *uid == pod.uid))
        };
        let text = status["completedIndexes"].as_str().unwrap_or_default();
        let won = pod.ended.as_ref().is_some_and(|(_, phase)| phase == "Succeeded");
        let by_index = won && pod.index.is_some_and(|index| parse_indexes(text).contains(&index));
        listed("succeeded") || listed("failed") || by_index
    };
    base.pods_of(&base.events[at].uid).filter(|pod| has(status, pod) && !has(before, pod)).collect()
}

fn moved(all: &mut Vec<Class>) {
    all.push(Class::new("finalizer", "removed-before-recorded", |base, at| {
        let pod = base.pod_at(at).filter(|pod| pod.released == Some(at))?;
        let status = base
            .status_writes(&pod.job)
            .into_iter()
            .find(|line| recorded(base, *line).iter().any(|it| it.uid == pod.uid))?;
        let after_end = pod.ended.as_ref().is_some_and(|(line, _)| *line < status);
        if status >= at || !after_end || !may_remove(base, at) {
            return None;
        }
        let mut draft = Draft::of(base);
        draft.move_before(at, status);
        draft.done(Oracle::Wrong("FT-03"))
    }));
    all.push(Class::new("finalizer", "never-removed", |base, at| {
        let pod = base.pod_at(at).filter(|pod| pod.released == Some(at))?;
        let ends = base.finishes(&pod.job) && may_remove(base, at);
        let listed = base.status_writes(&pod.job).into_iter().any(|line| {
            let lists = &base.status(line)["uncountedTerminatedPods"];
            base.precedes(line, at) && lists.to_string().contains(&pod.uid)
        });
        let mut draft = Draft::of(base);
        draft.carry(at, &|_| true, &|object| {
            if object["kind"] == "Pod" {
                object["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
            }
        });
        draft.lines.remove(at);
        let oracle = if listed {
            Oracle::Wrong("FT-02")
        } else {
            Oracle::Undecidable("it may be removed after the trace")
        };
        ends.then_some(draft)?.done(oracle)
    }));
    for (name, forward) in [("one-event-later", true), ("one-event-earlier", false)] {
        all.push(Class::new("status moved by one event", name, move |base, at| one_event(base, at, forward)));
    }
}

fn may_remove(base: &Recording, at: usize) -> bool {
    base.form == Form::Watch || is_by_controller(base, at, Resource::Pod)
}

/// Exchanges a status write with its neighbour.
fn one_event(base: &Recording, at: usize, later: bool) -> Option<Edited> {
    let other = if later { at + 1 } else { at.checked_sub(1)? };
    if !base.is_status_write(at) || other >= base.lines.len() || base.is_mirror() {
        return None;
    }
    let pod = base.pod_at(other)?;
    let recorded = recorded(base, at);
    let concerns = recorded.iter().any(|it| it.uid == pod.uid);
    let ends = pod.ended.as_ref().is_some_and(|(line, _)| *line == other);
    let fails = has_true(base.status(at), "FailureTarget") || pod.deleted.is_some();
    let oracle = match later {
        true if concerns && pod.released == Some(other) => Oracle::Wrong("FT-03"),
        false if concerns && ends && !fails => Oracle::Wrong("FT-02"),
        _ => Oracle::Undecidable("an older view may explain it"),
    };
    let mut draft = Draft::of(base);
    if later {
        draft.move_before(other, at)
    } else {
        draft.move_before(at, other)
    }
    draft.done(oracle)
}

/// Lines of another Job, which the same controllers write later.
fn activity(base: &Recording, seconds: i64) -> Vec<Value> {
    let mut other = Draft::of(base);
    let Some(first) = base.events.iter().map(|it| it.interval.0).min() else { return Vec::new() };
    let last = base.events.iter().map(|it| it.interval.1).max().unwrap_or(first);
    other.shift(0, first - time::HOUR, last - first + seconds * SECOND);
    let newest = base.events.iter().map(|it| it.version).max().unwrap_or(0);
    other.renumber(&|version| version + newest + 1000);
    super::merging::rename(&mut other.lines, "later");
    other.lines
}

fn missing(all: &mut Vec<Class>) {
    for dropped in 1..=3_usize {
        all.push(Class::new(
            "last writes missing, 130 s later activity",
            format!("{dropped}"),
            move |base, at| {
                let end = base.lines.len();
                if base.form == Form::Watch
                    || at + dropped != end
                    || end < 6
                    || base.is_known
                    || base.is_mirror()
                {
                    return None;
                }
                let cut = &base.events[at..];
                let all_by_controller = cut.iter().all(|it| it.actor == Actor::Controller && it.code < 300);
                let settled = base.jobs.len() == 1 && base.jobs.keys().all(|uid| base.finishes(uid));
                if !all_by_controller || !settled {
                    return None;
                }
                let mut lines = base.lines[..at].to_vec();
                lines.extend(activity(base, 130));
                let hides_an_end = base.pods.iter().any(|pod| pod.deleted.is_some() && pod.ended.is_none());
                let oracle = if hides_an_end {
                    Oracle::Undecidable("the end of a deleted pod may not show")
                } else {
                    Oracle::Wrong("FT-02 or TC-14, overdue")
                };
                Some(Edited { files: vec![lines], oracle })
            },
        ));
    }
    all.push(Class::new("nothing missing, 130 s later activity", "0", |base, at| {
        if base.form == Form::Watch || at != 0 {
            return None;
        }
        let mut lines = base.lines.clone();
        lines.extend(activity(base, 130));
        Some(Edited { files: vec![lines], oracle: Oracle::Legal("two Jobs, one after the other") })
    }));
    all.push(Class::new("mid-life", "tail", |base, at| {
        let uids: Vec<&String> = base.jobs.keys().collect();
        let lost = uids.iter().all(|uid| base.jobs[*uid].first().is_some_and(|line| *line < at));
        let shows = (at..base.lines.len()).any(|line| base.is_status_write(line));
        if at == 0 || !lost || !shows {
            return None;
        }
        Some(Edited {
            files: vec![base.lines[at..].to_vec()],
            oracle: Oracle::Partial("judging.md 5, in part"),
        })
    }));
}

fn delays(all: &mut Vec<Class>) {
    // A delay of less than a second shows no silence that a restart could explain.
    for (name, left) in [("200ms", SECOND / 5), ("1s", SECOND), ("3s", 3 * SECOND), ("5s", 5 * SECOND)] {
        all.push(Class::new("replacement before its delay", name, move |base, at| {
            let draft = hurried(base, at, left)?;
            draft.done(if left < SECOND { Oracle::Wrong("BO-01") } else { Oracle::Partial("BO-01") })
        }));
    }
    for (kind, actor) in [
        ("restart", "ttl-after-finished-controller"),
        ("leader", "kube-scheduler"),
        ("restart", "generic-garbage-collector"),
    ] {
        all.push(Class::new(
            "replacement before its delay",
            format!("with-a-{kind}-of-{actor}"),
            move |base, at| {
                let draft = hurried(base, at, SECOND)?;
                let mut lines = native(&draft.lines);
                let first =
                    lines.get(1).and_then(|it| it["request"]["received"].as_str()).and_then(time::parse)?;
                let mark =
                    json!({"mark": {"at": time::precise(first - 60 * SECOND), "kind": kind, "actor": actor}});
                lines.insert(1, mark);
                Some(Edited { files: vec![lines], oracle: Oracle::Partial("BO-01") })
            },
        ));
    }
}

/// Moves a creation, and all that follows, so that it follows the event before it after `left`. The recording has a
/// longer delay there, after a failure.
fn hurried<'a>(base: &'a Recording, at: usize, left: i64) -> Option<Draft<'a>> {
    let pod = base.pod_at(at).filter(|pod| pod.created == at && pod.is_own)?;
    let before = at.checked_sub(1)?;
    if base.form == Form::Watch || base.events[before].interval.1 == 0 {
        return None;
    }
    let gap = base.events[at].interval.0 - base.events[before].interval.1;
    let failed = base.pods_of(&pod.job).any(|it| {
        let ended =
            it.ended.as_ref().is_some_and(|(line, phase)| phase == "Failed" && base.precedes(*line, at));
        (ended || it.deleted.is_some_and(|line| base.precedes(line, at)))
            && (pod.index.is_none() || it.index == pod.index)
    });
    let suspended =
        base.jobs.get(&pod.job)?.iter().any(|line| stored(&base.lines[*line])["spec"]["suspend"] == true);
    if !failed || suspended || gap < 8 * SECOND {
        return None;
    }
    let mut draft = Draft::of(base);
    draft.shift(at, base.events[at].interval.0 - SECOND, left - gap);
    Some(draft)
}

/// The phase in which a pod ends is the other one, in all versions from there.
fn phases(all: &mut Vec<Class>) {
    for to in ["Failed", "Succeeded", "Running"] {
        all.push(Class::new("pod phases", format!("to-{to}"), move |base, at| {
            let pod = base.pod_at(at)?;
            let (_, phase) = pod.ended.as_ref().filter(|(line, phase)| *line == at && phase != to)?;
            let counted = |line: &usize, of: &str| {
                let lists = &base.status(*line)["uncountedTerminatedPods"][of];
                lists.as_array().is_some_and(|it| it.iter().any(|uid| *uid == pod.uid))
            };
            let writes = base.status_writes(&pod.job);
            let as_success = writes.iter().any(|line| {
                counted(line, "succeeded")
                    || phase == "Succeeded" && recorded(base, *line).iter().any(|it| it.uid == pod.uid)
            });
            let as_failure = writes.iter().find(|line| counted(line, "failed"));
            let fails = as_failure.is_some_and(|line| has_true(base.status(*line), "FailureTarget"));
            let oracle = match to {
                "Failed" | "Running" if as_success => Oracle::Wrong("FT-12"),
                _ if as_failure.is_some() && !fails && pod.deleted.is_none() => Oracle::Wrong("FT-02"),
                _ => Oracle::Undecidable("the pod is recorded by another fact"),
            };
            let mut draft = Draft::of(base);
            let same = phase.clone();
            draft.carry(at, &|object| object["status"]["phase"] == *same, &|object| {
                object["status"]["phase"] = json!(to);
            });
            draft.done(oracle)
        }));
    }
}

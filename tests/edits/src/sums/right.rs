//! Right aggregators: each of their writes is the sum of what the members have counted.

use serde_json::{Value, json};

use super::fleet::{Act, Event, Fleet, condition, has, time};

/// A change of a member: the second, the member, and what happens.
type Change = (i64, usize, Of);

/// An event in the life of a member.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// It is created on this cluster.
    New(usize),
    /// It has these active, succeeded and failed pods.
    Pods(i64, i64, i64),
    /// It has ended so, after as many succeeded and failed pods.
    End(&'static str, i64, i64),
    /// The same, as an older Kubernetes writes it.
    OldEnd(&'static str, i64, i64),
    /// It is removed.
    Gone,
}

/// The right aggregators: a name, and the Job with its members.
#[must_use]
pub fn all() -> Vec<(&'static str, Fleet)> {
    use Of::{End, Gone, New, OldEnd, Pods};
    let begin = [(5, 0, New(0)), (6, 1, New(1)), (20, 0, Pods(2, 0, 0)), (40, 1, Pods(2, 0, 0))];
    let two = |rest: &[Change]| [&begin[..], rest].concat();
    let complete = two(&[
        (60, 0, Pods(1, 1, 0)),
        (80, 1, Pods(1, 1, 0)),
        (100, 0, End("Complete", 2, 0)),
        (120, 1, End("Complete", 2, 0)),
    ]);
    let failed = two(&[
        (60, 0, Pods(1, 0, 1)),
        (80, 0, End("Failed", 0, 2)),
        (110, 1, Pods(1, 1, 0)),
        (140, 1, End("Complete", 2, 0)),
    ]);
    let all_failed = two(&[
        (60, 0, Pods(1, 0, 1)),
        (80, 0, End("Failed", 0, 2)),
        (110, 1, Pods(1, 1, 0)),
        (140, 1, End("Failed", 1, 1)),
    ]);
    let leaves = two(&[
        (60, 0, Pods(1, 1, 0)),
        (90, 0, Gone),
        (120, 1, Pods(1, 1, 0)),
        (150, 1, End("Complete", 3, 0)),
    ]);
    let returns = two(&[
        (60, 0, Pods(1, 1, 1)),
        (90, 0, Gone),
        (120, 2, New(0)),
        (140, 2, Pods(2, 0, 0)),
        (160, 1, End("Complete", 2, 0)),
        (180, 2, End("Complete", 1, 0)),
    ]);
    let older = two(&[
        (60, 0, Pods(1, 1, 0)),
        (80, 1, Pods(1, 1, 0)),
        (100, 0, OldEnd("Complete", 2, 0)),
        (120, 1, End("Complete", 2, 0)),
    ]);
    let older_failed =
        two(&[(60, 0, Pods(1, 0, 1)), (80, 0, OldEnd("Failed", 0, 2)), (140, 1, End("Complete", 2, 0))]);
    let three = two(&[
        (45, 2, New(2)),
        (60, 2, Pods(1, 0, 0)),
        (80, 2, End("Complete", 1, 0)),
        (100, 1, End("Complete", 2, 0)),
        (120, 0, Pods(1, 1, 1)),
        (140, 0, End("Complete", 2, 1)),
    ]);
    vec![
        ("both-complete", fleet(4, false, &complete)),
        ("one-failed", fleet(4, false, &failed)),
        ("all-failed", fleet(4, true, &all_failed)),
        ("one-leaves", fleet(4, false, &leaves)),
        ("one-returns", fleet(4, false, &returns)),
        ("older-complete", fleet(4, false, &older)),
        ("older-failed", fleet(4, false, &older_failed)),
        ("three-in-another-order", fleet(5, false, &three)),
    ]
}

/// The Job with its members. The aggregator reacts after one second, and writes the end in a write of its own.
fn fleet(completions: i64, fails_by_all: bool, changes: &[Change]) -> Fleet {
    let mut fleet = Fleet { completions, fails_by_all, ..Fleet::default() };
    fleet.local.push(Event { at: 0, act: Act::Create });
    for (at, member, of) in changes {
        let act = match *of {
            Of::New(cluster) => {
                fleet.members.push((cluster, Vec::new()));
                Act::Create
            }
            Of::Pods(active, succeeded, failed) => {
                Act::Status(pods(fleet.begun(*member), active, succeeded, failed))
            }
            Of::End(kind, succeeded, failed) => {
                Act::Status(ended((fleet.begun(*member), *at), kind, succeeded, failed))
            }
            Of::OldEnd(kind, succeeded, failed) => {
                let mut status = ended((fleet.begun(*member), *at), kind, succeeded, failed);
                status.as_object_mut().and_then(|status| status.remove("terminating"));
                let conditions = status["conditions"].as_array_mut();
                conditions.into_iter().for_each(|all| all.retain(|it| it["type"] == kind));
                Act::Status(status)
            }
            Of::Gone => Act::Remove,
        };
        fleet.members[*member].1.push(Event { at: *at, act });
        report(&mut fleet, at + 1);
    }
    fleet
}

fn pods(start: i64, active: i64, succeeded: i64, failed: i64) -> Value {
    json!({"active": active, "ready": 0, "terminating": 0, "succeeded": succeeded, "failed": failed,
        "startTime": time(start), "uncountedTerminatedPods": {}})
}

fn ended((start, at): (i64, i64), kind: &str, succeeded: i64, failed: i64) -> Value {
    let interim = if kind == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
    let mut status = pods(start, 0, succeeded, failed);
    status["conditions"] = json!([condition(interim, at), condition(kind, at)]);
    if kind == "Complete" {
        status["completionTime"] = time(at);
    }
    status
}

/// Writes the sum, if it has changed, and the end in a second write.
fn report(fleet: &mut Fleet, at: i64) {
    let mut is_over = false;
    for second in [at, at + 1] {
        let last = fleet.local.last().map(|event| event.act.clone());
        let before = if let Some(Act::Status(status)) = last { status } else { json!({}) };
        if has(&before, "Complete") || has(&before, "Failed") {
            return;
        }
        let status = sum(fleet, &before, second);
        is_over |= status == before || status["startTime"].is_null();
        if !is_over {
            fleet.local.push(Event { at: second, act: Act::Status(status) });
        }
    }
}

/// The sum of the members. `before` is the status that is stored.
fn sum(fleet: &Fleet, before: &Value, at: i64) -> Value {
    let shown = |events: &[Event]| {
        events.iter().rev().find_map(|event| match &event.act {
            Act::Status(status) => Some(status.clone()),
            _ => None,
        })
    };
    let is_there = |events: &[Event]| events.last().is_some_and(|event| event.act != Act::Remove);
    let all: Vec<(bool, Value)> =
        fleet.members.iter().filter_map(|(_, events)| Some((is_there(events), shown(events)?))).collect();
    let total = |name: &str, with_gone: bool| -> i64 {
        let counted = all.iter().filter(|(is_there, _)| *is_there || with_gone);
        counted.map(|(_, status)| status[name].as_i64().unwrap_or(0)).sum()
    };
    let (active, succeeded) = (total("active", false), total("succeeded", true));
    let mut status = pods(10, active, succeeded, total("failed", true));
    status["startTime"] = if all.is_empty() { Value::Null } else { time(10) };
    let failed = all.iter().filter(|(_, status)| has(status, "Failed")).count();
    let fails = if fleet.fails_by_all { failed == fleet.members.len() } else { failed > 0 };
    let interim = match () {
        () if fails => Some(("FailureTarget", "Failed")),
        () if succeeded >= fleet.completions => Some(("SuccessCriteriaMet", "Complete")),
        () => None,
    };
    let mut conditions = before["conditions"].as_array().cloned().unwrap_or_default();
    if let Some((interim, terminal)) = interim {
        if !has(before, interim) {
            conditions.push(condition(interim, at));
        } else if active == 0 {
            conditions.push(condition(terminal, at));
            if terminal == "Complete" {
                status["completionTime"] = time(at);
            }
        }
    }
    if !conditions.is_empty() {
        status["conditions"] = json!(conditions);
    }
    status
}

//! Audit logs without a kind of request, with coarse times, or without empty objects: a policy, or a store, leaves them out. Right
//! controllers are never wrong by that, and wrong ones stay wrong in a log that has the kind.

use jobcheck_judge::replay::{Assumption, Judging};
use jobcheck_judge::report::Exit;
use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, exit_of, input, lines, parsed, replayed, validated_lines};
use jobcheck_traces::{Header, Reader, Writer};
use serde_json::{Value, json};

use crate::corpus::recordings;

/// Returns `true` if the log keeps the event, perhaps after a change.
type Policy = fn(&mut Value) -> bool;

fn resource(event: &Value) -> String {
    let target = &event["objectRef"];
    let word = |name: &str| target[name].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", word("resource"), word("subresource"))
}

fn user(event: &Value) -> &str {
    event["user"]["username"].as_str().unwrap_or_default()
}

fn is_controllers(event: &Value) -> bool {
    user(event).ends_with("kube-controller-manager")
}

/// Cuts the times to a number of characters.
fn cut_times(event: &mut Value, length: usize) {
    for field in ["requestReceivedTimestamp", "stageTimestamp"] {
        if let Some(time) = event[field].as_str() {
            event[field] = json!(format!("{}Z", &time[..length]));
        }
    }
}

fn without_empty_objects(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(without_empty_objects);
            members.retain(|_, member| *member != json!({}));
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty_objects),
        _ => {}
    }
}

const POLICIES: [(&str, Policy); 16] = [
    ("no jobs/status", |event| resource(event) != "jobs/status"),
    ("no pods/status", |event| resource(event) != "pods/status"),
    ("jobs and pods alone", |event| resource(event).ends_with('/')),
    ("no patch", |event| event["verb"] != "patch"),
    ("no patch of pods", |event| event["verb"] != "patch" || resource(event) != "pods/"),
    ("pods are created and deleted", |event| {
        resource(event) != "pods/" || event["verb"] == "create" || event["verb"] == "delete"
    }),
    ("no pods of the controller", |event| !is_controllers(event) || !resource(event).starts_with("pods/")),
    ("no update", |event| event["verb"] != "update"),
    ("no delete", |event| event["verb"] != "delete"),
    ("create and delete", |event| event["verb"] == "create" || event["verb"] == "delete"),
    ("no kubelets", |event| !user(event).starts_with("system:node:")),
    ("the controller alone", |event| is_controllers(event)),
    ("no controller", |event| !is_controllers(event)),
    ("whole seconds", |event| {
        cut_times(event, 19);
        true
    }),
    ("tenths of a second", |event| {
        cut_times(event, 21);
        true
    }),
    ("no empty objects", |event| {
        without_empty_objects(event);
        true
    }),
];

/// In these logs nothing shows that requests are missing. No pod is being deleted, or counts as terminating, and the log ends soon after
/// a user's change of the Job.
const NOT_SHOWN: [(&str, &str); 6] = [
    ("adoption.audit", "no delete"),
    // A user has created the pods.
    ("adoption.audit", "no pods of the controller"),
    ("job-deleted-background.audit", "no delete"),
    ("adoption.audit", "create and delete"),
    ("created-suspended.audit", "create and delete"),
    ("parallelism-zero.audit", "create and delete"),
];

fn under(policy: Policy, log: &[Value]) -> Vec<Value> {
    let mut log = log.to_vec();
    log.retain_mut(policy);
    log
}

/// The recordings under each policy, with their names. Those that do not show it are left out.
fn narrow_logs() -> impl Iterator<Item = (String, &'static str, Vec<Value>)> {
    let under_each = |(name, whole): (String, Vec<Value>)| {
        POLICIES.map(|(what, policy)| (name.clone(), what, under(policy, &whole)))
    };
    recordings(".audit")
        .into_iter()
        .flat_map(under_each)
        .filter(|(name, what, log)| !log.is_empty() && !NOT_SHOWN.contains(&(&**name, *what)))
}

#[test]
fn no_recording_is_wrong_under_a_narrow_policy() {
    let (mut wrong, mut traces) = (Vec::new(), 0);
    for (name, what, log) in narrow_logs() {
        traces += 1;
        let found = validated_lines(&log);
        if found.outcome() == Outcome::Violates {
            wrong.push((name, what, broken(&found)));
        }
    }
    assert_eq!(wrong, []);
    assert!(traces > 300, "{traces}");
}

/// The number of lines after which a log shows what its last writes rested on.
const SOON: usize = 3;

/// A log may end at any time. Without DELETE, a status alone may show the terminating pods, and may as well be wrong. Without a
/// user's PATCH, nothing shows the change before the next write of the Job.
#[test]
fn no_beginning_of_a_recording_is_wrong_for_long_under_a_narrow_policy() {
    let mut wrong = Vec::new();
    for (name, what, log) in
        narrow_logs().filter(|(_, what, _)| !["no patch", "no delete", "create and delete"].contains(what))
    {
        let violates = |length: usize| validated_lines(&log[..length]).outcome() == Outcome::Violates;
        let outcomes: Vec<bool> = (1..=log.len()).map(violates).collect();
        // One sync of a burst creates dozens of pods before its status write.
        let is_long = outcomes.windows(SOON + 1).any(|some| some.iter().all(|it| *it));
        if is_long && name != "many-pods-burst.audit" {
            wrong.push((name, what));
        }
    }
    assert_eq!(wrong, []);
}

/// The log as `jobcheck record --audit` records it.
fn recorded(log: &[Value]) -> Vec<Value> {
    let (mut reader, mut writer) =
        (Reader::open(&[input("log", log)]), Writer::new(Vec::new(), &Header::new()).unwrap());
    while let Some(record) = reader.next().unwrap() {
        writer.write(&record.body).unwrap();
    }
    parsed(&String::from_utf8(writer.finish().unwrap()).unwrap())
}

#[test]
fn no_recording_of_a_log_under_a_narrow_policy_is_wrong() {
    let (mut wrong, mut lacking) = (Vec::new(), 0);
    for (name, what, log) in narrow_logs() {
        let found = validated_lines(&recorded(&log));
        lacking += usize::from(found.doubts.iter().any(|doubt| doubt.contains("leaves them out")));
        if found.outcome() == Outcome::Violates {
            wrong.push((name, what, broken(&found)));
        }
    }
    assert_eq!(wrong, []);
    assert!(lacking > 50, "{lacking}");
}

/// The other log with its objects in this namespace.
fn moved(log: &[Value], namespace: &str) -> Vec<Value> {
    let own = log[0]["objectRef"]["namespace"].as_str().unwrap();
    let text = |event: &Value| event.to_string().replace(own, namespace);
    log.iter().map(|event| text(event).parse().unwrap()).collect()
}

/// A log that shows the kind about another Job of the namespace shows that the policy has it. Rules may name namespaces.
#[test]
fn a_kind_that_the_log_has_shown_excuses_nothing() {
    let other = lines("recordings/suspend-resume.audit.jsonl");
    let (mut judged, mut apart) = (0, 0);
    for what in ["no jobs/status", "no patch", "no delete"] {
        let (_, policy) = POLICIES.into_iter().find(|(name, _)| *name == what).unwrap();
        for (name, whole) in
            recordings(".audit").into_iter().filter(|(name, _)| name != "suspend-resume.audit")
        {
            let alone = under(policy, &whole);
            let elsewhere: Vec<Value> = other.iter().chain(&alone).cloned().collect();
            let namespace = whole[0]["objectRef"]["namespace"].as_str().unwrap();
            let beside: Vec<Value> = moved(&other, namespace).into_iter().chain(alone.clone()).collect();
            let (alone, beside) = (validated_lines(&alone), validated_lines(&beside));
            let lacks = |found: &jobcheck_judge::validate::Summary| {
                found.doubts.iter().any(|doubt| doubt.contains("leaves them out"))
            };
            assert!(!lacks(&beside), "{name} {what}: {:?}", beside.doubts);
            judged += usize::from(lacks(&alone) && beside.outcome() == Outcome::Violates);
            // A Job without pods shows nothing of a controller that is alive elsewhere.
            if alone.outcome() != Outcome::Violates && name != "completions-zero.audit" {
                let elsewhere = validated_lines(&elsewhere);
                assert_ne!(elsewhere.outcome(), Outcome::Violates, "{name} {what}: {:?}", broken(&elsewhere));
                apart += usize::from(lacks(&elsewhere));
            }
        }
    }
    assert!(judged > 30 && apart > 30, "{judged} {apart}");
}

/// Only a user knows that a log lacks no kind. Then the effect itself is wrong.
#[test]
fn a_complete_log_excuses_nothing() {
    let assume = vec![Assumption::CompleteLog];
    let (_, policy) = POLICIES.into_iter().find(|(name, _)| *name == "no patch of pods").unwrap();
    let mut wrong = 0;
    for (name, whole) in recordings(".audit") {
        let log = under(policy, &whole);
        let complete = replayed(&log, &Judging { assume: assume.clone(), ..Judging::default() });
        assert!(complete.doubts.iter().all(|doubt| !doubt.contains("leaves them out")), "{name}");
        wrong += usize::from(complete.exit_code == Exit::Violates && exit_of(&log) == Exit::Inconclusive);
    }
    assert!(wrong > 10, "{wrong}");
}

/// A mirror has no pods, so that its statuses are judged whatever a log lacks about pods.
#[test]
fn a_mirror_does_not_rest_on_pods() {
    let log = lines("invalid/S-12--mirror-appends-twice.audit.jsonl");
    assert!(log.iter().all(|event| resource(event) != "pods/"));
    assert_eq!(validated_lines(&log).outcome(), Outcome::Violates);
}

//! Audit logs without a kind of request, with coarse times, or without empty objects: a policy, or a store, leaves them out. Right
//! controllers are never wrong by that, and wrong ones stay wrong in a log that has the kind.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, input, lines, parsed, validated_lines};
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

const POLICIES: [(&str, Policy); 14] = [
    ("no jobs/status", |event| resource(event) != "jobs/status"),
    ("no pods/status", |event| resource(event) != "pods/status"),
    ("jobs and pods alone", |event| resource(event).ends_with('/')),
    ("no patch", |event| event["verb"] != "patch"),
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

/// A log that shows the kind about another Job shows that the policy has it.
#[test]
fn a_kind_that_the_log_has_shown_excuses_nothing() {
    let other = lines("recordings/suspend-resume.audit.jsonl");
    let mut judged = 0;
    for what in ["no jobs/status", "no patch", "no delete"] {
        let (_, policy) = POLICIES.into_iter().find(|(name, _)| *name == what).unwrap();
        for (name, whole) in
            recordings(".audit").into_iter().filter(|(name, _)| name != "suspend-resume.audit")
        {
            let alone = under(policy, &whole);
            let beside: Vec<Value> = other.iter().chain(&alone).cloned().collect();
            let (alone, beside) = (validated_lines(&alone), validated_lines(&beside));
            let lacks = |found: &jobcheck_judge::validate::Summary| {
                found.doubts.iter().any(|doubt| doubt.contains("leaves them out"))
            };
            assert!(!lacks(&beside), "{name} {what}: {:?}", beside.doubts);
            judged += usize::from(lacks(&alone) && beside.outcome() == Outcome::Violates);
        }
    }
    assert!(judged > 30, "{judged}");
}

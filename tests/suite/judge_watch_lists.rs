//! Watches of pods that begin late, or are interrupted: a list then shows each pod in its last state. The pods were there before,
//! so that no right controller is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, parsed, validated_lines};
use serde_json::{Value, json};

use crate::corpus::{files, recordings};

fn is_of_pod(line: &Value) -> bool {
    line["object"]["kind"] == "Pod"
}

/// The pods that live after these events, in the order of their names, as a list shows them.
fn listed(before: &[Value]) -> Vec<Value> {
    let mut pods = BTreeMap::new();
    for line in before.iter().filter(|line| is_of_pod(line)) {
        let name = line["object"]["metadata"]["name"].to_string();
        match line["type"] == "DELETED" {
            true => pods.remove(&name),
            false => pods.insert(name, json!({"type": "ADDED", "object": line["object"]})),
        };
    }
    pods.into_values().collect()
}

/// The recording whose stream of pods was not open between two lines.
fn without_pods(whole: &[Value], closed: usize, open: usize) -> Vec<Value> {
    let others = whole[closed..open].iter().filter(|line| !is_of_pod(line)).cloned();
    let list = listed(&whole[..open]);
    whole[..closed].iter().cloned().chain(others).chain(list).chain(whole[open..].iter().cloned()).collect()
}

/// The UIDs of the pods in these events that a predicate chooses.
fn uids(lines: &[Value], chosen: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let pods = lines.iter().filter(|line| is_of_pod(line) && chosen(line));
    pods.map(|line| line["object"]["metadata"]["uid"].to_string()).collect()
}

/// Returns true if a pod looks as if nobody had written it since its creation.
fn looks_new(line: &Value) -> bool {
    let (status, metadata) = (&line["object"]["status"], &line["object"]["metadata"]);
    status["phase"] == "Pending"
        && status["containerStatuses"].is_null()
        && metadata["deletionTimestamp"].is_null()
}

/// Returns true if the list shows that the stream was closed, and nothing was lost without a trace. It was closed for a while
/// before the place `open`. A pod that is gone by then, and one that was written and still looks new, shows nothing.
fn shows_the_gap(whole: &[Value], closed: usize, open: usize) -> bool {
    let (known, before) = (uids(&whole[..closed], |_| true), uids(&whole[..open], |_| true));
    let list = listed(&whole[..open]);
    let there = uids(&list, |_| true);
    let written = uids(&whole[..open], |line| line["type"] == "MODIFIED");
    let is_marked = closed == 0 || known.intersection(&there).next().is_some();
    is_marked && before == there && uids(&list, looks_new).is_disjoint(&written)
}

/// A recording that is wrong: its name, the places between which the stream was closed, and what is broken.
type Wrong = (String, usize, usize, Vec<String>);

/// The recordings that are wrong if their streams of pods were closed between two of these places.
fn wrong(places: impl Fn(usize) -> Vec<(usize, usize)>) -> (Vec<Wrong>, usize) {
    let (mut wrong, mut traces) = (Vec::new(), 0);
    for (name, whole) in recordings(".watch") {
        let shown = |(closed, open): &(usize, usize)| shows_the_gap(&whole, *closed, *open);
        for (closed, open) in places(whole.len()).into_iter().filter(shown) {
            let found = validated_lines(&without_pods(&whole, closed, open));
            traces += 1;
            if found.outcome() == Outcome::Violates {
                wrong.push((name.clone(), closed, open, broken(&found)));
            }
        }
    }
    (wrong, traces)
}

#[test]
fn a_watch_of_pods_that_begins_late_makes_no_recording_wrong() {
    let (wrong, traces) = wrong(|lines| (1..lines).map(|open| (0, open)).collect());
    assert_eq!(wrong, []);
    assert!(traces > 300, "{traces}");
}

#[test]
fn an_interrupted_watch_of_pods_makes_no_recording_wrong() {
    let gaps = |lines: usize| {
        let of = |open: usize| [2, 5].map(|length| (open.saturating_sub(length).max(1), open));
        (2..lines).flat_map(of).collect()
    };
    let (wrong, traces) = wrong(gaps);
    assert_eq!(wrong, []);
    assert!(traces > 300, "{traces}");
}

/// A pod that is listed says nothing about a controller that was wrong before, or is wrong later.
#[test]
fn a_late_list_hides_no_later_violation() {
    let path =
        files("invalid").into_iter().find(|path| path.ends_with("TC-07--late-pod-in-the-watch.watch.jsonl"));
    let whole = parsed(&fs::read_to_string(path.unwrap()).unwrap());
    let found = validated_lines(&without_pods(&whole, 0, 1));
    assert_eq!(found.outcome(), Outcome::Violates);
}

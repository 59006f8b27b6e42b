//! Statuses of a size that only somebody else would write. A search for each entry in all others would take minutes.

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_tests::corpus::folder;
use jobcheck_traces::Input;
use serde_json::{Value, json};

/// Changes each status in a recording, and judges it. `change` gets the number of the line.
fn judge_changed(name: &str, change: impl Fn(usize, &mut Value)) {
    let path = folder().join("recordings").join(format!("{name}.audit.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let changed = text.lines().enumerate().map(|(number, line)| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let is_job = event["objectRef"]["resource"] == "jobs";
        for object in ["requestObject", "responseObject"] {
            if let Some(status) = event[object].get_mut("status").filter(|it| is_job && it.is_object()) {
                change(number, status);
            }
        }
        event.to_string()
    });
    let input = Input::Bytes(name.to_owned(), changed.collect::<Vec<_>>().join("\n").into_bytes());
    let report = judge(&[vec![input]], &Judging::default(), &mut |_, _| {});
    assert!(report.errors.is_empty() && report.jobs.len() == 1, "{name}");
}

/// The list of this name, which is empty at first.
fn list<'a>(object: &'a mut Value, name: &str) -> &'a mut Vec<Value> {
    if object[name].is_null() {
        object[name] = json!([]);
    }
    object[name].as_array_mut().unwrap()
}

/// The types of conditions are free for whoever writes a status. Each write changes each of them.
#[test]
fn many_conditions_are_judged() {
    for (name, kind) in
        [("managed-by-mirror", None), ("nonindexed-success", None), ("ttl-zero", Some("Complete"))]
    {
        judge_changed(name, |number, status| {
            list(status, "conditions").extend((0..16_000).map(|at| {
                let kind = kind.map_or_else(|| format!("x{at}"), str::to_owned);
                json!({"type": kind, "status": "False", "reason": format!("r{number}-{at}")})
            }));
        });
    }
}

#[test]
fn many_uncounted_pods_are_judged() {
    for outcome in ["succeeded", "failed"] {
        judge_changed("nonindexed-success", |number, status| {
            let lists = &mut status["uncountedTerminatedPods"];
            list(lists, outcome).extend((0..100_000).map(|at| json!(format!("u{}", at + number))));
        });
    }
}

//! The right traces of managers that write status alone.
//!
//! | name | source |
//! | --- | --- |
//! | `kueue-...` | a Job in the log of Kueue, `traces/corpus/third-party` |
//! | `copy-...` | a mirror that copies each status of a recording of the built-in controller |
//! | `fewer-...` | the same, and it misses every second status |

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use jobcheck_judge::report::Exit;
use serde_json::{Value, json};

use super::story::{Kind, Story};
use crate::recording::{Actor, Form, Recording, corpus, recordings};
use crate::run::{reasons, replay};

/// The value of `spec.managedBy` of the copied Jobs.
const VALUE: &str = "acme.example.com/mirror";
/// The account of their mirror.
const MIRROR: [&str; 2] = ["system:serviceaccount:acme:mirror", "mirror/v1.0 (linux/amd64)"];
/// The log of Kueue.
const KUEUE: &str = "third-party/kueue-manager.audit.jsonl.gz";

/// The right traces, each of one Job. Traces of Kueue that break a rule before any edit are left out.
///
/// # Errors
///
/// The corpus cannot be read, or a copy does not conform.
pub fn traces() -> Result<Vec<Recording>, String> {
    let mut found = Vec::new();
    for recording in recordings()?.iter().filter(|it| it.form == Form::Audit && !it.is_known) {
        for (number, uid) in recording.jobs.keys().enumerate() {
            let copy = copied(recording, uid);
            let base = recording.name.trim_end_matches(".audit");
            let fewer = with_fewer(&copy);
            for (prefix, story) in [("copy", copy), ("fewer", fewer)] {
                if story.manager().is_none() {
                    continue;
                }
                let trace = Recording::new(&format!("{prefix}-{base}-{number}"), false, story.lines());
                let report = replay(std::slice::from_ref(&trace.lines));
                if report.exit_code != Exit::Conforms {
                    return Err(format!("{} does not conform: {:?}", trace.name, reasons(&report)));
                }
                found.push(trace);
            }
        }
    }
    for (name, lines) in of_kueue()? {
        let trace = Recording::new(&format!("kueue-{name}"), false, Story::read(&lines).lines());
        if replay(std::slice::from_ref(&trace.lines)).exit_code == Exit::Conforms {
            found.push(trace);
        }
    }
    Ok(found)
}

/// A mirror with the status of a Job of the built-in controller, until the Job is deleted. The form of its requests depends
/// on the recording.
fn copied(recording: &Recording, uid: &str) -> Story {
    let verb = ["patch", "update", "apply"][recording.name.len() % 3];
    let is_its = |at: &usize| recording.events[*at].uid == uid && recording.events[*at].code < 300;
    let mut order: Vec<usize> = (0..recording.lines.len()).filter(is_its).collect();
    order.sort_by_key(|at| recording.events[*at].rank);
    let lasts =
        |at: &usize| recording.events[*at].verb != "delete" && recording.events[*at].actor != Actor::Ttl;
    let lines: Vec<Value> =
        order.iter().take_while(|at| lasts(at)).map(|at| recording.lines[*at].clone()).collect();
    let mut story = Story::read(&lines);
    for step in &mut story.steps {
        step.job["spec"]["managedBy"] = json!(VALUE);
        if step.kind == Kind::Status {
            (step.by, step.verb) = (MIRROR.map(str::to_owned).into(), verb.to_owned());
        }
    }
    story
}

/// The same without every second status write. The last one stays.
fn with_fewer(story: &Story) -> Story {
    let mut fewer = story.clone();
    let last = fewer.steps.iter().rposition(|step| step.kind == Kind::Status);
    let mut number = 0;
    let mut at = 0;
    fewer.steps.retain(|step| {
        number += usize::from(step.kind == Kind::Status);
        at += 1;
        step.kind != Kind::Status || Some(at - 1) == last || number % 2 == 0
    });
    fewer
}

/// The lines of each Job in the log of Kueue, by its name without the time of the run.
fn of_kueue() -> Result<BTreeMap<String, Vec<Value>>, String> {
    let path = corpus().join(KUEUE);
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(&path).map_err(|error| problem(&error))?;
    let mut jobs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line: Value =
            serde_json::from_str(&line.map_err(|error| problem(&error))?).map_err(|error| problem(&error))?;
        let name = line["objectRef"]["name"].as_str().unwrap_or_default();
        let name = name.rsplit_once('-').map_or(name, |(name, _)| name).to_owned();
        let lines = jobs.entry(name).or_default();
        let is_over = lines.last().is_some_and(|last| last["verb"] == "delete");
        if line["objectRef"]["resource"] == "jobs" && !is_over {
            lines.push(line);
        }
    }
    for lines in jobs.values_mut() {
        lines.retain(|line| line["verb"] != "delete");
        let version =
            |line: &Value| line["responseObject"]["metadata"]["resourceVersion"].as_str()?.parse().ok();
        let mut newest = 0_u64;
        // A refusal stays behind the newest version before it.
        lines.sort_by_cached_key(|line| line["stageTimestamp"].as_str().map(str::to_owned));
        lines.sort_by_cached_key(|line| {
            newest = newest.max(version(line).unwrap_or(0));
            version(line).unwrap_or(newest)
        });
    }
    Ok(jobs)
}

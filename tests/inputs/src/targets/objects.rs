//! Single objects and texts: the projection, transitions of a status, times and durations, redaction.

use std::hash::RandomState;

use jobcheck_judge::transition::transition;
use jobcheck_projection::{Projector, parse_time};
use jobcheck_traces::{Redactor, format_duration, parse_duration, parse_micros};
use serde_json::{Value, json};

use super::seeds;
use crate::json::pointers;
use crate::{Signs, Target, sign};

pub(super) fn projection() -> Target {
    Target {
        name: "projection",
        about: "an object; a warm cache and a spread text give the same",
        seeds: all_objects,
        run: project,
        share: 20_000,
    }
}

pub(super) fn status() -> Target {
    Target {
        name: "status",
        about: "{old, new} of a Job; the judgement of the transition is the same again",
        seeds: transitions,
        run: judge_transition,
        share: 20_000,
    }
}

pub(super) fn texts() -> Target {
    Target {
        name: "texts",
        about: "times, durations, and a line to be redacted; what is written can be read",
        seeds: all_texts,
        run: read_texts,
        share: 20_000,
    }
}

/// Jobs and pods of recordings, one object an input.
fn all_objects() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for text in seeds::files("traces/corpus/recordings", ".watch.jsonl", 90_000) {
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        found.extend(lines.iter().step_by(4).take(6).map(|line| line["object"].to_string().into_bytes()));
    }
    found
}

fn project(bytes: &[u8]) -> Result<Signs, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut signs = Signs::new();
    let mut projector = Projector::new();
    let first = projected(&mut projector, &text, &mut signs);
    if projected(&mut projector, &text, &mut signs) != first {
        return Err("a warm cache gives something else".to_owned());
    }
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        let compact = projected(&mut Projector::new(), &value.to_string(), &mut signs);
        let pretty = serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?;
        if projected(&mut Projector::new(), &pretty, &mut signs) != compact {
            return Err("the same object, spread over lines, gives something else".to_owned());
        }
    }
    Ok(signs)
}

/// All projections of an object, as text.
fn projected(projector: &mut Projector, text: &str, signs: &mut Signs) -> Vec<String> {
    let mut all = Vec::new();
    let mut take = |result: Result<String, String>| {
        signs.insert(match &result {
            Ok(_) => "an object".to_owned(),
            Err(error) => sign(error),
        });
        // An error ends with its position in the text.
        let cut = |error: String| error.split(" at line ").next().unwrap_or_default().to_owned();
        all.push(result.unwrap_or_else(cut));
    };
    let job = projector.job(text).map_err(|error| error.to_string());
    let policy = job.as_ref().ok().and_then(|it| it.job.spec.pod_failure_policy.clone());
    take(job.map(|it| format!("{it:?}")));
    let pod = projector.pod(text, policy.as_ref());
    take(pod.map(|it| format!("{it:?}")).map_err(|error| error.to_string()));
    let created = projector.created(text, Some(text));
    take(created.map(|it| format!("{it:?}")).map_err(|error| error.to_string()));
    take(projector.birth(text).map(|it| format!("{it:?}")).map_err(|error| error.to_string()));
    take(projector.metadata(text).map(|it| format!("{it:?}")).map_err(|error| error.to_string()));
    all
}

/// Two versions of the Job in each recording.
fn transitions() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for text in seeds::files("traces/corpus/recordings", ".watch.jsonl", 90_000) {
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let jobs: Vec<Value> =
            lines.map(|mut line| line["object"].take()).filter(|it| it["kind"] == "Job").collect();
        found.extend(
            jobs.windows(2).take(4).map(|two| json!({"old": two[0], "new": two[1]}).to_string().into_bytes()),
        );
    }
    found
}

fn judge_transition(bytes: &[u8]) -> Result<Signs, String> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Ok(Signs::new()) };
    let judged = || match transition(
        &value["old"].to_string(),
        &value["new"].to_string(),
        &[32, 34, 35, 36, 37, 99],
    ) {
        Ok(report) => serde_json::to_string(&report).map_err(|error| error.to_string()),
        Err(error) => Ok(error.to_string()),
    };
    let first = judged()?;
    if judged()? != first {
        return Err("judged again, the report differs".to_owned());
    }
    let ids = first.split('"').filter(|word| word.len() < 7 && word.contains('-'));
    Ok(ids.map(str::to_owned).chain([sign(&first)]).collect())
}

fn all_texts() -> Vec<Vec<u8>> {
    let texts =
        ["2026-11-21T00:28:30.999999999+14:00", "1m30s", "1.5h", "250ms", "2026-11-21T10:11:12Z", "\"x\""];
    let mut found: Vec<Vec<u8>> = texts.map(|text| text.as_bytes().to_vec()).to_vec();
    found.extend(all_objects().into_iter().step_by(9));
    let patch = json!({"patch": [{"op": "add", "path": "/spec/template/spec/containers/0/env/-",
        "value": {"name": "A", "value": "SECRET"}}], "auditID": "1", "annotations": {"a": "b"}});
    found.push(patch.to_string().into_bytes());
    found
}

fn read_texts(bytes: &[u8]) -> Result<Signs, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut signs = Signs::new();
    signs.insert(format!("time {:?}", parse_time(&text).is_some()));
    signs.insert(format!("micros {:?}", parse_micros(&text).is_some()));
    match parse_duration(&text) {
        Err(error) => drop(signs.insert(sign(&error.to_string()))),
        Ok(duration) => {
            signs.insert("a duration".to_owned());
            let shown = format_duration(duration);
            if parse_duration(&shown) != Ok(duration) && duration.subsec_nanos() % 1_000_000 == 0 {
                return Err(format!("the duration {duration:?} is written as {shown}, and read otherwise"));
            }
        }
    }
    let redactor = Redactor::new(RandomState::new());
    if let Ok(line) = redactor.line(&text) {
        let one: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let other: Value =
            serde_json::from_str(&line).map_err(|error| format!("a redacted line is not JSON: {error}"))?;
        // Only a part of an audit event stays.
        let differs =
            !text.contains("auditID") && !text.contains("requestURI") && pointers(&one) != pointers(&other);
        if differs {
            return Err("redaction changed the form of a line".to_owned());
        }
        signs.insert("a line".to_owned());
    }
    Ok(signs)
}

//! Counters and indexes: MR-01, MR-02, MR-03, MR-11 and MR-12.

use serde_json::{Value, json};

use super::class;
use super::story::Story;
use crate::class::{Class, Oracle};
use crate::draft::{count, put};
use crate::recording::has_true;
use crate::time;

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    class(all, "MR-01", "complete at once", |story, at| {
        let (fits, end) = (too_few(story, at), time::whole(story.steps[at].when.0));
        story.end(at);
        story.once(at, &|status| complete(status, &end));
        fits.then_some(Oracle::Wrong("MR-01"))
    });
    class(all, "MR-01", "criteria met too early", |story, at| {
        let (fits, end) =
            (too_few(story, at) && recorded(story.steps[at].status()) == 0, story.steps[at].when.0);
        story.from(at, &|status| add(status, "SuccessCriteriaMet", &time::whole(end)));
        fits.then_some(Oracle::Wrong("MR-01"))
    });
    class(all, "MR-01", "more successes than completions", |story, at| {
        let most = completions(story, at)?;
        story.from(at, &|status| put(status, "/succeeded", Some(json!(most + 1))));
        Some(Oracle::Wrong("MR-01"))
    });
    class(all, "MR-01", "one success too few at the end", |story, at| {
        let plain = !indexed(story, at) && !has_policy(story);
        let fits = ends_well(story, at) && completions(story, at)? > 0 && plain;
        story.from(at, &|status| put(status, "/succeeded", Some(json!(count(status, "succeeded") - 1))));
        fits.then_some(Oracle::Wrong("MR-01"))
    });

    class(all, "MR-01", "an index is missing at the end", |story, at| {
        let fits = ends_well(story, at) && indexed(story, at) && !has_policy(story);
        let few = completions(story, at)? - 1;
        let text = if few == 1 { "0".to_owned() } else { format!("0-{}", few - 1) };
        story.from(at, &|status| {
            put(status, "/completedIndexes", Some(json!(text)));
            put(status, "/succeeded", Some(json!(few)));
        });
        (fits && few > 0).then_some(Oracle::Wrong("MR-01"))
    });
    indexes(all);

    class(all, "MR-03", "failed falls", |story, at| falls(story, at, "failed"));
    class(all, "MR-03", "succeeded falls", |story, at| falls(story, at, "succeeded"));
    class(all, "MR-03", "a failed UID is dropped", |story, at| drops(story, at, "failed"));
    class(all, "MR-03", "a succeeded UID is dropped", |story, at| drops(story, at, "succeeded"));

    class(all, "MR-03", "a UID is counted in the other counter", |story, at| {
        let fits = !is_decided(story.steps[at].status());
        let oracle = drops(story, at, "failed").filter(|_| fits);
        story.once(at, &|status| put(status, "/succeeded", Some(json!(count(status, "succeeded") + 1))));
        oracle.filter(|_| !indexed(story, at))
    });

    class(all, "MR-11", "active", |story, at| left(story, at, "/active"));
    class(all, "MR-11", "ready", |story, at| left(story, at, "/ready"));
    class(all, "MR-11", "terminating", |story, at| left(story, at, "/terminating"));
    class(all, "MR-11 (advice)", "terminating is not reported", |story, at| {
        let fits = ends(story, at);
        story.from(0, &|status| put(status, "/terminating", None));
        // A write that changed nothing else is idle now.
        let is_idle = |it: usize| story.before(it)["status"] == *story.steps[it].status();
        let fits = fits && !(0..story.steps.len()).any(|it| story.is_status_write(it) && is_idle(it));
        fits.then_some(Oracle::Advice("MR-11"))
    });
    class(all, "MR-12 (advice)", "more active pods than parallelism", |story, at| {
        let most = story.steps.iter().filter_map(|step| step.job["spec"]["parallelism"].as_i64()).max()?;
        let runs = !is_over(story.steps[at].status()) && spec(story, at)["suspend"] != true;
        story.once(at, &|status| put(status, "/active", Some(json!(most + 7))));
        runs.then_some(Oracle::Advice("MR-12"))
    });
}

fn indexes(all: &mut Vec<Class>) {
    class(all, "MR-02", "one success more", |story, at| shift_succeeded(story, at, 1));
    class(all, "MR-02", "one success less", |story, at| shift_succeeded(story, at, -1));
    class(all, "MR-02", "no indexes", |story, at| {
        let had = indexed(story, at) && count(story.steps[at].status(), "succeeded") > 0;
        story.from(at, &|status| put(status, "/completedIndexes", None));
        had.then_some(Oracle::Wrong("MR-02"))
    });
    class(all, "MR-02", "an index in both lists", |story, at| {
        let text = story.steps[at].status()["completedIndexes"].as_str()?;
        let first = json!(text.split([',', '-']).next()?);
        story.from(at, &|status| put(status, "/failedIndexes", Some(first.clone())));
        Some(Oracle::Wrong("MR-02"))
    });
    class(all, "MR-02", "an index beyond completions", |story, at| {
        let most = completions(story, at).filter(|_| indexed(story, at))?;
        story.from(at, &|status| put(status, "/completedIndexes", Some(json!(format!("{most}")))));
        story.from(at, &|status| put(status, "/succeeded", Some(json!(1))));
        Some(Oracle::Wrong("MR-02"))
    });
    class(all, "MR-02 (advice)", "indexes in another text", |story, at| {
        let text = story.steps[at].status()["completedIndexes"].as_str()?;
        let (first, last) = text.split_once('-')?;
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let list: Vec<String> = (first..=last).map(|index| index.to_string()).collect();
        story.once(at, &|status| put(status, "/completedIndexes", Some(json!(list.join(",")))));
        Some(Oracle::Advice("MR-02"))
    });
}

/// Returns true if a status has a terminal condition.
pub fn is_over(status: &Value) -> bool {
    has_true(status, "Complete") || has_true(status, "Failed")
}

/// Returns true if a status has an interim or a terminal condition.
pub fn is_decided(status: &Value) -> bool {
    is_over(status) || has_true(status, "SuccessCriteriaMet") || has_true(status, "FailureTarget")
}

/// Returns true if a step ends the Job.
pub fn ends(story: &Story, at: usize) -> bool {
    is_over(story.steps[at].status()) && !is_over(&story.before(at)["status"])
}

fn ends_well(story: &Story, at: usize) -> bool {
    ends(story, at) && has_true(story.steps[at].status(), "Complete")
}

fn spec(story: &Story, at: usize) -> Value {
    story.before(at)["spec"].clone()
}

fn has_policy(story: &Story) -> bool {
    story.steps.iter().any(|step| step.job["spec"]["successPolicy"].is_object())
}

fn completions(story: &Story, at: usize) -> Option<i64> {
    spec(story, at)["completions"].as_i64()
}

fn indexed(story: &Story, at: usize) -> bool {
    spec(story, at)["completionMode"] == "Indexed"
}

/// The number of UIDs that a status lists.
pub fn recorded(status: &Value) -> usize {
    let lists = &status["uncountedTerminatedPods"];
    ["succeeded", "failed"].iter().filter_map(|name| lists[*name].as_array()).map(Vec::len).sum()
}

/// Returns true if a status is not decided, and has fewer successes than the Job needs.
fn too_few(story: &Story, at: usize) -> bool {
    let status = story.steps[at].status();
    let needed = completions(story, at).unwrap_or(1);
    !is_decided(status) && count(status, "succeeded") < needed && !has_policy(story)
}

/// Adds a condition that is True.
pub fn add(status: &mut Value, kind: &str, time: &str) {
    if has_true(status, kind) {
        return;
    }
    let condition = json!({"type": kind, "status": "True", "lastProbeTime": time, "lastTransitionTime": time,
        "reason": "CompletionsReached", "message": "Reached expected number of succeeded pods"});
    put(status, "/conditions/-", Some(condition));
}

/// Ends a Job well.
pub fn complete(status: &mut Value, time: &str) {
    add(status, "SuccessCriteriaMet", time);
    add(status, "Complete", time);
    put(status, "/completionTime", Some(json!(time)));
    put(status, "/active", None);
    put(status, "/ready", Some(json!(0)));
    put(status, "/terminating", Some(json!(0)));
    put(status, "/uncountedTerminatedPods", Some(json!({})));
}

fn shift_succeeded(story: &mut Story, at: usize, by: i64) -> Option<Oracle> {
    let status = story.steps[at].status();
    let shows = indexed(story, at) && status["completedIndexes"].as_str().is_some_and(|it| !it.is_empty());
    story.once(at, &|status| put(status, "/succeeded", Some(json!(count(status, "succeeded") + by))));
    shows.then_some(Oracle::Wrong("MR-02"))
}

/// The counter is one less than before, from a step on.
fn falls(story: &mut Story, at: usize, field: &str) -> Option<Oracle> {
    let before = count(&story.before(at)["status"], field);
    story.once(at, &|status| put(status, &format!("/{field}"), Some(json!(before - 1))));
    // A scale-down removes the successes of indexes.
    let is_elastic = field == "succeeded" && completions(story, at) != completions(story, story.steps.len());
    (before > 0 && !is_elastic).then_some(Oracle::Wrong("MR-03"))
}

/// A UID is in the list before a step, and leaves it there without being counted.
fn drops(story: &mut Story, at: usize, field: &str) -> Option<Oracle> {
    let before = story.steps[..at].iter().rposition(|step| step.kind == super::story::Kind::Status)?;
    let was = story.steps[before].status().clone();
    let fits = recorded(&was) == 0
        && recorded(story.steps[at].status()) == 0
        && count(&was, field) == count(story.steps[at].status(), field)
        && !is_decided(&was);
    let uid = json!(["c0000000-0000-4000-8000-0000000000aa"]);
    let pointer = format!("/uncountedTerminatedPods/{field}");
    story.once(before, &|status| put(status, &pointer, Some(uid.clone())));
    fits.then_some(Oracle::Wrong("MR-03"))
}

/// The Job ends, and a pod is left.
fn left(story: &mut Story, at: usize, pointer: &str) -> Option<Oracle> {
    let fits = ends(story, at);
    story.from(at, &|status| put(status, pointer, Some(json!(1))));
    fits.then_some(Oracle::Wrong("MR-11"))
}

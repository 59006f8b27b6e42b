//! Times: MR-04, MR-05, MR-10 and MR-14.

use serde_json::{Value, json};

use super::class;
use super::story::{Kind, Step, Story};
use crate::class::{Class, Oracle};
use crate::draft::put;
use crate::recording::condition;
use crate::time::{self, SECOND};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    class(all, "MR-04", "startTime before the creation", |story, at| {
        let old = early(story);
        let is_new = sets(story, at, "startTime");
        story.from(at, &|status| replace(status, "/startTime", &old));
        is_new.then_some(Oracle::Wrong("MR-04"))
    });
    class(all, "MR-04", "lastTransitionTime before the creation", |story, at| {
        let (kind, old) = (new_condition(story, at)?, early(story));
        story.from(at, &|status| alter(status, &kind, &|it| it["lastTransitionTime"] = json!(old)));
        Some(Oracle::Wrong("MR-04"))
    });
    class(all, "MR-04", "completionTime before the creation", |story, at| {
        let old = early(story);
        let is_new = sets(story, at, "completionTime");
        story.from(at, &|status| replace(status, "/completionTime", &old));
        is_new.then_some(Oracle::Wrong("MR-04"))
    });

    class(all, "MR-05", "startTime moves", |story, at| {
        let start = moved(&runs_since(story, at)?, SECOND)?;
        story.once(at, &|status| put(status, "/startTime", Some(json!(start))));
        Some(Oracle::Wrong("MR-05"))
    });
    class(all, "MR-05", "startTime is removed", |story, at| {
        runs_since(story, at)?;
        story.once(at, &|status| put(status, "/startTime", None));
        Some(Oracle::Wrong("MR-05"))
    });
    class(all, "MR-05", "resumed with the old startTime", |story, at| {
        let (is, was) = (story.steps[at].status().clone(), story.before(at)["status"].clone());
        let resumed = state(&was, "Suspended") == "True" && state(&is, "Suspended") == "False";
        let had = |step: &Step| step.status()["startTime"].is_string();
        let first = story.steps[..at].iter().position(had).filter(|_| resumed)?;
        let start = story.steps[first].status()["startTime"].clone();
        story.from(first, &|status| put(status, "/startTime", Some(start.clone())));
        Some(Oracle::Wrong("MR-05"))
    });
    class(all, "MR-05", "startTime of a Job that never ran", |story, at| {
        let is_suspended = |step: &Step| step.job["spec"]["suspend"] == true;
        let never = story.steps[..=at].iter().all(is_suspended);
        let fits = never && !super::counts::is_decided(story.steps[at].status());
        let start = time::whole(story.steps[at].when.0);
        story.once(at, &|status| put(status, "/startTime", Some(json!(start))));
        fits.then_some(Oracle::Wrong("MR-05"))
    });

    at_quiescence(all);
    conditions(all);
}

fn at_quiescence(all: &mut Vec<Class>) {
    class(all, "MR-10", "no change, twice", |story, at| idle(story, at, &|_, _| true));
    class(all, "MR-10", "lastTransitionTime alone, twice", |story, at| {
        idle(story, at, &|status, turn| change_times(status, "lastTransitionTime", turn))
    });
    class(all, "MR-10", "lastProbeTime alone, twice", |story, at| {
        idle(story, at, &|status, turn| change_times(status, "lastProbeTime", turn))
    });
    class(all, "MR-10", "no change, then a time", |story, at| {
        idle(story, at, &|status, turn| turn == 1 || change_times(status, "lastProbeTime", turn))
    });
    class(all, "MR-10", "no change, a label of the manager, no change", |story, at| {
        let oracle = idle(story, at, &|_, _| true)?;
        let label = |job: &mut Value| put(job, "/metadata/labels/copy", Some(json!("c-1")));
        let step = story.main(at + 1, None, &label);
        story.insert(at + 1, step);
        story.main_from(at + 2, &label);
        Some(oracle)
    });
}

fn conditions(all: &mut Vec<Class>) {
    class(all, "MR-14", "status of a condition", |story, at| {
        let kind = new_condition(story, at)?;
        story.once(at, &|status| alter(status, &kind, &|it| it["status"] = json!("Maybe")));
        Some(Oracle::Wrong("MR-14"))
    });
    class(all, "MR-14", "no lastTransitionTime", |story, at| {
        let kind = new_condition(story, at)?;
        story.from(at, &|status| alter(status, &kind, &|it| put(it, "/lastTransitionTime", None)));
        Some(Oracle::Wrong("MR-14"))
    });
    class(all, "MR-14", "lastTransitionTime in the future", |story, at| {
        let (kind, later) = (new_condition(story, at)?, time::whole(story.steps[at].when.1 + 60 * SECOND));
        story.from(at, &|status| alter(status, &kind, &|it| it["lastTransitionTime"] = json!(later)));
        Some(Oracle::Wrong("MR-14"))
    });
    class(all, "MR-14", "startTime in the future", |story, at| {
        let later = time::whole(story.steps[at].when.1 + 60 * SECOND);
        let is_new = sets(story, at, "startTime");
        story.from(at, &|status| replace(status, "/startTime", &later));
        is_new.then_some(Oracle::Wrong("MR-14"))
    });
    class(all, "MR-14", "lastTransitionTime without a transition", |story, at| {
        let was = story.before(at)["status"].clone();
        let same = |kind: &&str| {
            let of = |status: &Value| condition(status, kind).map(|it| it["status"].clone());
            *kind != "Suspended" && of(&was).is_some() && of(&was) == of(story.steps[at].status())
        };
        let kind = ["SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"].into_iter().find(same)?;
        let time = moved(condition(&was, kind)?["lastTransitionTime"].as_str()?, SECOND)?;
        story.from(at, &|status| alter(status, kind, &|it| it["lastTransitionTime"] = json!(time)));
        Some(Oracle::Wrong("MR-14"))
    });
}

/// A time ten seconds before the creation of the Job.
fn early(story: &Story) -> String {
    let created = story.steps[0].job["metadata"]["creationTimestamp"].as_str().and_then(time::parse);
    time::whole(created.unwrap_or(0) - 10 * SECOND)
}

fn moved(text: &str, micros: i64) -> Option<String> {
    Some(time::whole(time::parse(text)? + micros))
}

/// Returns true if a step sets a field that was unset or different.
fn sets(story: &Story, at: usize, field: &str) -> bool {
    let new = &story.steps[at].status()[field];
    new.is_string() && story.before(at)["status"][field] != *new
}

fn replace(status: &mut Value, pointer: &str, text: &str) {
    if status.pointer(pointer).is_some() {
        put(status, pointer, Some(json!(text)));
    }
}

fn state(status: &Value, kind: &str) -> String {
    let text = condition(status, kind).and_then(|it| it["status"].as_str().map(str::to_owned));
    text.unwrap_or_default()
}

/// The first condition that a step adds, or sets to another status.
fn new_condition(story: &Story, at: usize) -> Option<String> {
    let was = story.before(at)["status"].clone();
    let list = story.steps[at].status()["conditions"].as_array()?;
    let kind = |it: &Value| it["type"].as_str().map(str::to_owned);
    list.iter().filter_map(kind).find(|kind| state(&was, kind) != state(story.steps[at].status(), kind))
}

/// Changes the condition of a type.
pub fn alter(status: &mut Value, kind: &str, edit: &dyn Fn(&mut Value)) {
    let list = status["conditions"].as_array_mut().into_iter().flatten();
    list.filter(|it| it["type"] == kind).for_each(edit);
}

/// The startTime that is stored before a step of a Job that runs and was not suspended.
fn runs_since(story: &Story, at: usize) -> Option<String> {
    let before = story.before(at);
    let runs = before["spec"]["suspend"] != true && state(&before["status"], "Suspended") != "True";
    let start = before["status"]["startTime"].as_str()?.to_owned();
    (runs && story.steps[at].status()["startTime"] == *start).then_some(start)
}

/// Two writes before a step that change nothing, or times alone.
fn idle(story: &mut Story, at: usize, edit: &dyn Fn(&mut Value, i64) -> bool) -> Option<Oracle> {
    let has_written = story.steps[..at].iter().any(|step| step.kind == Kind::Status);
    for turn in 1..=2 {
        let mut step = story.again(at + turn - 1);
        let fits = edit(&mut step.job["status"], i64::try_from(turn).unwrap_or(0));
        if !fits || !has_written {
            return None;
        }
        story.insert(at + turn - 1, step);
    }
    Some(Oracle::Wrong("MR-10"))
}

/// Moves a time of the first condition. Returns false if there is none.
fn change_times(status: &mut Value, field: &str, turn: i64) -> bool {
    let Some(first) = status["conditions"].as_array_mut().and_then(|list| list.first_mut()) else {
        return false;
    };
    let Some(text) = first["lastTransitionTime"].as_str().and_then(|text| moved(text, turn * SECOND)) else {
        return false;
    };
    first[field] = json!(text);
    true
}

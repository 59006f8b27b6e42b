//! The end of a Job, and its suspension: MR-07, MR-08 and MR-13.

use serde_json::{Value, json};

use super::class;
use super::counts::{ends, is_decided, is_over, recorded};
use super::story::Story;
use crate::class::{Class, Oracle};
use crate::draft::{count, put};
use crate::recording::{condition, has_true};
use crate::time::SECOND;

const INTERIM: [&str; 2] = ["SuccessCriteriaMet", "FailureTarget"];

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    class(all, "MR-07", "no interim condition", |story, at| {
        let fits = ends(story, at);
        story.from(0, &|status| drop_conditions(status, &INTERIM));
        fits.then_some(Oracle::Wrong("MR-07"))
    });
    class(all, "MR-07 (advice)", "both conditions in one write", |story, at| {
        let fits = ends(story, at) && is_decided(&story.before(at)["status"]);
        for step in &mut story.steps[..at] {
            drop_conditions(&mut step.job["status"], &INTERIM);
        }
        fits.then_some(Oracle::Advice("MR-07"))
    });

    class(all, "MR-08", "the end never comes", |story, at| {
        let fits = is_due(story, at);
        story.end(at);
        story.work(3);
        fits.then_some(Oracle::Wrong("MR-08"))
    });
    class(all, "MR-08", "the end comes late", |story, at| {
        let fits = is_due(story, at) && story.steps[at].status()["terminating"] == 0;
        let rest = story.steps.split_off(at + 1);
        let next_ends = rest.first().is_some_and(|step| is_over(step.status()));
        story.work(3);
        story.steps.extend(rest.into_iter().map(|mut step| {
            step.when = (step.when.0 + 155 * SECOND, step.when.1 + 155 * SECOND);
            step
        }));
        (fits && next_ends).then_some(Oracle::Wrong("MR-08"))
    });
    class(all, "MR-08", "the end never comes, and the Job is written", |story, at| {
        let fits = is_due(story, at);
        story.end(at);
        let end = story.steps[at].when.1;
        for turn in 1..=3 {
            let mut step = story.again(story.steps.len());
            let failed = count(step.status(), "failed") + 1;
            put(&mut step.job, "/status/failed", Some(json!(failed)));
            step.when = (end + turn * 55 * SECOND, end + turn * 55 * SECOND + 2000);
            story.steps.push(step);
        }
        fits.then_some(Oracle::Wrong("MR-08"))
    });
    class(all, "MR-08", "the decision is taken back", |story, at| {
        let fits = is_decided(&story.before(at)["status"]);
        story.once(at, &|status| {
            drop_conditions(status, &[INTERIM[0], INTERIM[1], "Complete", "Failed"]);
            put(status, "/completionTime", None);
        });
        fits.then_some(Oracle::Wrong("MR-08"))
    });

    suspension(all);
}

fn suspension(all: &mut Vec<Class>) {
    class(all, "MR-13", "suspended, and not reported", |story, at| {
        let status = story.steps[at].status();
        let is_reported = condition(status, "Suspended").is_some_and(|it| it["status"] == "True");
        let agrees = is_reported && count(status, "active") == 0;
        let fits = is_plain(story, at) && story.before(at)["spec"]["suspend"] != true && !agrees;
        story.end(at);
        suspend(story, true);
        story.work(3);
        fits.then_some(Oracle::Wrong("MR-13"))
    });
    class(all, "MR-13", "suspended, and pods are active", |story, at| {
        let fits = is_plain(story, at) && count(story.steps[at].status(), "active") > 0;
        story.end(at);
        suspend(story, true);
        let mut step = story.again(story.steps.len());
        let end = story.steps.last()?.when.1;
        step.when = (end + SECOND, end + SECOND + 2000);
        let start = step.status()["startTime"].clone();
        let set = json!([{"type": "Suspended", "status": "True", "lastTransitionTime": start,
            "reason": "JobSuspended", "message": "Job suspended"}]);
        put(&mut step.job, "/status/conditions", Some(set));
        story.steps.push(step);
        story.work(3);
        (fits && start.is_string()).then_some(Oracle::Wrong("MR-13"))
    });
    class(all, "MR-13", "resumed, and not reported", |story, at| {
        let status = story.steps[at].status();
        let is_suspended = condition(status, "Suspended").is_some_and(|it| it["status"] == "True");
        let fits = is_suspended && !is_decided(status);
        story.end(at);
        suspend(story, false);
        story.work(3);
        fits.then_some(Oracle::Wrong("MR-13"))
    });
}

fn drop_conditions(status: &mut Value, kinds: &[&str]) {
    if let Some(list) = status["conditions"].as_array_mut() {
        list.retain(|it| !kinds.iter().any(|kind| it["type"] == *kind));
        if list.is_empty() {
            put(status, "/conditions", None);
        }
    }
}

/// Returns true if a step has decided the end, and no pod is left to wait for.
fn is_due(story: &Story, at: usize) -> bool {
    let status = story.steps[at].status();
    let decided = INTERIM.iter().any(|kind| has_true(status, kind)) && !is_over(status);
    decided && count(status, "active") == 0 && count(status, "terminating") == 0 && recorded(status) == 0
}

/// Returns true if nothing is decided, and no success policy or count decides at once.
fn is_plain(story: &Story, at: usize) -> bool {
    let status = story.steps[at].status();
    let needed = story.before(at)["spec"]["completions"].as_i64().unwrap_or(i64::MAX);
    !is_decided(status) && count(status, "succeeded") < needed
}

/// A user changes `suspend` after the last step.
fn suspend(story: &mut Story, value: bool) {
    let end = story.steps.last().map_or(0, |step| step.when.1);
    let mut step = story.main(story.steps.len(), Some("admin"), &|job| job["spec"]["suspend"] = json!(value));
    step.when = (end + SECOND, end + SECOND + 2000);
    story.steps.push(step);
}

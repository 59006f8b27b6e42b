//! Edits that break no rule of a mirror.

use serde_json::{Value, json};

use super::class;
use super::counts::{ends, is_decided};
use super::story::{Kind, Step, Story};
use super::writers::check;
use crate::class::{Class, Edited, Oracle};
use crate::draft::{put, walk};
use crate::recording::{Recording, condition};
use crate::time::{self, SECOND};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    class(all, "right", "a status is missed", |story, at| {
        let later = story.steps[at + 1..].iter().any(|step| step.kind == Kind::Status);
        let resumes = |story: &Story, at: usize| {
            let state = |job: &Value| {
                let found = condition(&job["status"], "Suspended");
                found.map(|it| it["status"].clone())
            };
            state(&story.before(at)) != state(&story.steps[at].job)
        };
        // The write that resumes a Job has to be made before pods are counted again.
        let fits = later && !resumes(story, at) && story.is_status_write(at);
        story.steps.remove(at);
        fits.then_some(Oracle::Legal("a mirror misses states"))
    });
    class(all, "right", "one write without a change", |story, at| {
        let step = story.again(at);
        // A second write of times alone in a row is wrong.
        let fits = without_times(step.status()) != without_times(story.steps[at].status());
        story.insert(at, step);
        fits.then_some(Oracle::Legal("the cache of the mirror lagged"))
    });
    class(all, "right", "a condition of another actor is kept", |story, at| {
        let added = check(story, at)?;
        story.from(at + 1, &|status| put(status, "/conditions/-", Some(added.clone())));
        Some(Oracle::Legal("a checker has a condition of its own"))
    });
    class(all, "right", "a conflict", |story, at| {
        refused(story, at, 409, "Operation cannot be fulfilled on jobs.batch: the object has been modified");
        // Somebody else has written meanwhile.
        let step = story.main(at, Some("admin"), &|job| put(job, "/metadata/labels/team", Some(json!("a"))));
        story.insert(at, step);
        story.main_from(at + 1, &|job| put(job, "/metadata/labels/team", Some(json!("a"))));
        Some(Oracle::Legal("another write came first"))
    });
    class(all, "right", "a server error", |story, at| {
        refused(story, at, 503, "the server is currently unable to handle the request");
        Some(Oracle::Legal("the server was not able to answer"))
    });
    class(all, "right", "a webhook denies once", |story, at| {
        refused(story, at, 403, "admission webhook \"deny.example.com\" denied the request: not now");
        Some(Oracle::Legal("a webhook denied the request"))
    });
    class(all, "right", "a server error, and the write was stored", |story, at| {
        let next = story.steps.get(at + 1).filter(|next| next.kind == Kind::Status)?;
        let is_shown = next.verb == "update" || next.verb == "patch";
        (story.steps[at].kind, story.steps[at].verb) = (Kind::Lost, "update".to_owned());
        is_shown.then_some(Oracle::Legal("the next write is made on its version"))
    });
    class(all, "right", "the manager's own label", |story, at| {
        let edit = |job: &mut Value| put(job, "/metadata/labels/copy", Some(json!("c-1")));
        let step = story.main(at, None, &edit);
        story.insert(at, step);
        story.main_from(at + 1, &edit);
        Some(Oracle::Legal("a dispatcher owns its labels"))
    });
    class(all, "right", "a label of the user", |story, at| {
        let edit = |job: &mut Value| put(job, "/metadata/labels/team", Some(json!("a")));
        let step = story.main(at, Some("admin"), &edit);
        story.insert(at, step);
        story.main_from(at + 1, &edit);
        Some(Oracle::Legal("the user owns the Job"))
    });
    class(all, "right", "the mirror is away before the end", |story, at| {
        let fits = ends(story, at) && is_decided(&story.before(at)["status"]);
        let later = story.steps[at..].iter_mut();
        later.for_each(|step| step.when = (step.when.0 + 3600 * SECOND, step.when.1 + 3600 * SECOND));
        fits.then_some(Oracle::Legal("an absent manager does not work"))
    });
    class(all, "right", "a clock 4 s behind", |story, at| skew(story, at, -4));
    class(all, "right", "a clock 4 s ahead", |story, at| skew(story, at, 4));
    evidence(all);
}

/// Traces that show the same in another way, or less.
fn evidence(all: &mut Vec<Class>) {
    class(all, "right", "a suspender removes startTime", |story, at| {
        let before = story.before(at);
        let is_set = before["status"]["startTime"].is_string();
        let fits = before["spec"]["suspend"] == true && is_set;
        let mut step = story.again(at);
        put(&mut step.job, "/status/startTime", None);
        step.by = ("system:serviceaccount:queue:suspender".to_owned(), "queue/v1".to_owned());
        story.insert(at, step);
        fits.then_some(Oracle::Legal("SS-09"))
    });
    class(all, "right", "the manager is upgraded", |story, at| {
        let (user, agent) = story.manager()?;
        let upgraded = format!("{}/v99.0", agent.split('/').next()?);
        let later = story.steps[at..].iter_mut().filter(|step| step.by.0 == user);
        later.for_each(|step| step.by.1.clone_from(&upgraded));
        Some(Oracle::Legal("one account, another version"))
    });
    class(all, "right", "a server error, and the write is sent again", |story, at| {
        let retry = Step { verb: "update".to_owned(), ..story.again(at + 1) };
        story.insert(at + 1, retry);
        (story.steps[at].kind, story.steps[at].verb) = (Kind::Lost, "update".to_owned());
        Some(Oracle::Legal("the manager did not learn that the write was stored"))
    });
    all.push(of_lines("reversed lines", |lines, at| {
        lines.reverse();
        at == 1
    }));
    all.push(of_lines("a line is read twice", |lines, at| {
        let line = lines[at].clone();
        lines.push(line);
        true
    }));
    all.push(of_lines("a line is missing", |lines, at| {
        lines.remove(at);
        at > 0
    }));
    all.push(of_lines("the log begins later", |lines, at| {
        lines.drain(..at);
        at > 0
    }));
    all.push(of_lines("the log ends earlier", |lines, at| {
        lines.truncate(at + 1);
        true
    }));
    all.push(of_lines("two lines are exchanged", |lines, at| {
        let fits = at + 1 < lines.len();
        if fits {
            lines.swap(at, at + 1);
        }
        fits
    }));
}

fn without_times(status: &Value) -> Value {
    let mut status = status.clone();
    walk(&mut status, &mut |field, value| {
        if field.ends_with("Time") {
            *value = Value::Null;
        }
    });
    status
}

/// Inserts a refused copy of a status write before it.
fn refused(story: &mut Story, at: usize, code: u64, message: &str) {
    let mut step = story.steps[at].clone();
    step.kind = Kind::Refused(code, message.to_owned(), true);
    story.insert(at, step);
}

/// The clock of the copy's cluster differs: all times of the status are moved.
fn skew(story: &mut Story, at: usize, seconds: i64) -> Option<Oracle> {
    let is_first = !story.steps[..at].iter().any(|step| step.kind == Kind::Status);
    story.from(0, &|status| {
        walk(status, &mut |field, value| {
            let moved = value.as_str().and_then(|text| time::moved(text, seconds * SECOND));
            if let (true, Some(moved)) = (field.ends_with("Time"), moved) {
                *value = json!(moved);
            }
        });
    });
    is_first.then_some(Oracle::Legal("5 s are granted"))
}

/// A class that changes the lines and no object. The function returns whether it makes sense at a line.
fn of_lines(name: &'static str, edit: fn(&mut Vec<Value>, usize) -> bool) -> Class {
    Class::new("right", name, move |base: &Recording, at: usize| {
        let mut lines = base.lines.clone();
        let fits = edit(&mut lines, at) && lines != base.lines;
        let oracle = Oracle::Legal("the log shows the same, or less");
        fits.then_some(Edited { files: vec![lines], oracle })
    })
}

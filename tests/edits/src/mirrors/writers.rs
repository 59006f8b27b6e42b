//! The conditions and metadata of others, and refused requests: MR-06, MR-09 and MR-15.

use serde_json::{Value, json};

use super::class;
use super::counts::is_over;
use super::story::{Kind, Step, Story};
use crate::class::{Class, Oracle};
use crate::draft::{count, put};
use crate::recording::condition;
use crate::time;

/// A type of condition that no Job controller sets.
pub const CHECKED: &str = "example.com/Checked";

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    class(all, "MR-06", "a condition of another actor is gone", |story, at| {
        check(story, at)?;
        Some(Oracle::Wrong("MR-06"))
    });
    class(all, "MR-06", "a condition of another actor is changed", |story, at| {
        let added = check(story, at)?;
        let changed = |status: &mut Value| {
            let mut it = added.clone();
            it["status"] = json!("False");
            put(status, "/conditions/-", Some(it));
        };
        story.from(at + 1, &changed);
        Some(Oracle::Wrong("MR-06"))
    });

    let invalid =
        "Job.batch \"job\" is invalid: status.active: Invalid value: -1: must be greater than or equal to 0";
    let forbidden = "jobs.batch \"job\" is forbidden: User \"mirror\" cannot patch resource \"jobs/status\" in API group \"batch\"";
    let malformed = "Job in version \"v1\" cannot be handled as a Job: json: cannot unmarshal string into Go struct field JobStatus.status.active of type int32";
    for (name, code, message, times) in [
        ("refused once", 422, invalid, 1),
        ("refused in a loop", 422, invalid, 12),
        ("malformed", 400, malformed, 1),
        ("no permission", 403, forbidden, 1),
    ] {
        class(all, "MR-09", name, move |story, at| {
            for turn in 0..times {
                let mut step = story.again(at + turn);
                put(&mut step.job, "/status/active", Some(json!(-1)));
                step.kind = Kind::Refused(code, message.to_owned(), true);
                story.insert(at + turn, step);
            }
            Some(Oracle::Wrong("MR-09"))
        });
    }

    class(all, "MR-15", "parallelism", |story, at| {
        main(story, at, &|job| {
            let old = job["spec"]["parallelism"].as_i64().unwrap_or(1);
            job["spec"]["parallelism"] = json!(old + 1);
        })
    });
    class(all, "MR-15", "a deadline", |story, at| {
        main(story, at, &|job| job["spec"]["activeDeadlineSeconds"] = json!(86_400))
    });
    class(all, "MR-15", "a label of the user is changed", |story, at| {
        label_at_creation(story);
        main(story, at, &|job| job["metadata"]["labels"]["team"] = json!("b"))
    });
    class(all, "MR-15", "a label of the user is removed", |story, at| {
        label_at_creation(story);
        main(story, at, &|job| put(job, "/metadata/labels/team", None))
    });
    class(all, "MR-15", "a finalizer of the user is removed", |story, at| {
        everywhere(story, &|job| put(job, "/metadata/finalizers/-", Some(json!("example.org/keep"))));
        main(story, at, &|job| {
            let list = job["metadata"]["finalizers"].as_array_mut();
            list.into_iter().for_each(|list| list.retain(|it| it != "example.org/keep"));
        })
    });
    class(all, "MR-15", "an owner reference is added", |story, at| {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c-1"});
        main(story, at, &|job| put(job, "/metadata/ownerReferences/-", Some(owner.clone())))
    });
    class(all, "MR-15", "the labels of the copy come with the status", |story, at| {
        label_at_creation(story);
        put(&mut story.steps[at].job, "/metadata/labels/team", Some(json!("of the copy")));
        story.main_from(at, &|job| put(job, "/metadata/labels/team", Some(json!("of the copy"))));
        let step = &mut story.steps[at];
        (step.brings_metadata, step.verb, step.body) = (true, "update".to_owned(), None);
        Some(Oracle::Wrong("MR-15"))
    });
}

/// A checker adds its condition before a step. Returns the condition.
pub fn check(story: &mut Story, at: usize) -> Option<Value> {
    let mut step = story.again(at);
    if condition(step.status(), CHECKED).is_some() || step.status().is_null() {
        return None;
    }
    let now = time::whole(story.steps[at - 1].when.1);
    let added = json!({"type": CHECKED, "status": "True", "lastProbeTime": now, "lastTransitionTime": now,
        "reason": "Checked", "message": "checked"});
    put(&mut step.job, "/status/conditions/-", Some(added.clone()));
    step.by = ("system:serviceaccount:acme:checker".to_owned(), "checker/v1".to_owned());
    story.insert(at, step);
    Some(added)
}

fn everywhere(story: &mut Story, edit: &dyn Fn(&mut Value)) {
    story.steps.iter_mut().filter(|step| step.kind != Kind::Status).for_each(|step| edit(&mut step.job));
    story.steps.iter_mut().filter(|step| step.kind == Kind::Status).for_each(|step| edit(&mut step.job));
}

fn label_at_creation(story: &mut Story) {
    everywhere(story, &|job| put(job, "/metadata/labels/team", Some(json!("a"))));
}

/// The manager writes the main resource before a step, after its first status write.
fn main(story: &mut Story, at: usize, edit: &dyn Fn(&mut Value)) -> Option<Oracle> {
    let manager = story.manager()?;
    let is_known =
        story.steps[..at].iter().any(|step: &Step| step.kind == Kind::Status && step.by == manager);
    let before = story.before(at);
    let is_steady = !is_over(&before["status"]) && count(&before["status"], "active") >= 0;
    let step = story.main(at, None, edit);
    story.insert(at, step);
    story.main_from(at + 1, edit);
    (is_known && is_steady).then_some(Oracle::Wrong("MR-15"))
}

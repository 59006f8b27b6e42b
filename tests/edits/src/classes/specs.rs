//! The same behaviour under another specification of the Job: the spec is changed in all versions.

use serde_json::json;

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, count, put};
use crate::recording::{Actor, Form, Pod, Recording, Resource, condition, has_true, stored};
use crate::time::{self, SECOND};

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    deadlines(all);
    limits(all);
    all.push(Class::new("other specification", "managedBy-another-controller", |base, at| {
        let uid = created(base, at)?;
        if base.is_mirror() {
            return None;
        }
        let writes = base.status_writes(uid).len();
        let oracle = match base.form {
            Form::Audit if writes > 0 => Oracle::Wrong("MB-03"),
            _ => Oracle::Undecidable("a watch does not show who writes"),
        };
        respecified(base, uid, "/spec/managedBy", &json!("example.com/other"), oracle)
    }));
    all.push(Class::new("other specification", "suspended", |base, at| {
        let uid = created(base, at)?;
        let mine = base.pods_of(uid).filter(|pod| pod.is_own).count();
        let always = base.jobs[uid].iter().all(|line| stored(&base.lines[*line])["spec"]["suspend"] != true);
        respecified(base, uid, "/spec/suspend", &json!(true), Oracle::Wrong("SU-01"))
            .filter(|_| mine > 0 && always)
    }));
    all.push(Class::new("other specification", "replace-only-failed-pods", |base, at| {
        let uid = created(base, at)?;
        let first = &stored(&base.lines[at])["spec"]["podReplacementPolicy"];
        let early = |pod: &Pod| {
            let gone = pod.lines.iter().copied().find(|line| {
                let phase = &base.status(*line)["phase"];
                phase == "Succeeded" || phase == "Failed" || base.events[*line].verb == "DELETED"
            });
            let replaced = |other: &Pod| {
                let after = pod.deleted.is_some_and(|line| base.precedes(line, other.created));
                after
                    && gone.is_none_or(|line| base.precedes(other.created, line))
                    && other.index == pod.index
            };
            base.pods_of(uid).filter(|other| other.is_own && other.uid != pod.uid).any(replaced)
        };
        let breaks = first == "TerminatingOrFailed" && base.pods_of(uid).any(early);
        breaks.then_some(())?;
        respecified(
            base,
            uid,
            "/spec/podReplacementPolicy",
            &json!("Failed"),
            Oracle::Undecidable("parallelism may leave room"),
        )
    }));
}

/// The UID of the Job that a line creates. Edits of the specification have this one position.
fn created(base: &Recording, at: usize) -> Option<&str> {
    let uid = base.events[at].uid.as_str();
    (base.events[at].resource == Resource::Job && base.jobs.get(uid)?.first() == Some(&at)).then_some(uid)
}

fn respecified(
    base: &Recording,
    uid: &str,
    pointer: &str,
    value: &serde_json::Value,
    oracle: Oracle,
) -> Option<Edited> {
    let mut draft = Draft::of(base);
    draft.everywhere(uid, &|object| put(object, pointer, Some(value.clone())));
    draft.done(oracle)
}

fn seconds(base: &Recording, at: usize, field: &str) -> Option<i64> {
    base.status(at)[field].as_str().and_then(time::parse)
}

fn deadlines(all: &mut Vec<Class>) {
    all.push(Class::new("deadline", "1s-and-pod-created-later", |base, at| {
        let uid = created(base, at)?;
        let starts = base.status_writes(uid).into_iter().find_map(|line| seconds(base, line, "startTime"))?;
        let restarts =
            base.jobs[uid].iter().any(|line| stored(&base.lines[*line])["spec"]["suspend"] == true);
        let late = base.pods_of(uid).filter(|pod| pod.is_own).any(|pod| {
            let born = stored(&base.lines[pod.created])["metadata"]["creationTimestamp"].as_str();
            born.and_then(time::parse).is_some_and(|it| it >= starts + 3 * SECOND)
        });
        if !late || restarts {
            return None;
        }
        let oracle = if base.form == Form::Watch { Oracle::Partial("SU-08") } else { Oracle::Wrong("SU-08") };
        respecified(base, uid, "/spec/activeDeadlineSeconds", &json!(1), oracle)
    }));
    all.push(Class::new("deadline", "1s-and-completed-later", |base, at| {
        let uid = created(base, at)?;
        let writes = base.status_writes(uid);
        let starts = writes.iter().find_map(|line| seconds(base, *line, "startTime"))?;
        let end = writes.iter().find_map(|line| {
            let met = condition(base.status(*line), "SuccessCriteriaMet")?;
            met["lastTransitionTime"].as_str().and_then(time::parse)
        })?;
        let restarts =
            base.jobs[uid].iter().any(|line| stored(&base.lines[*line])["spec"]["suspend"] == true);
        let is_late = end >= starts + 4 * SECOND && !restarts;
        is_late.then_some(())?;
        let oracle = if base.form == Form::Watch { Oracle::Partial("TC-01") } else { Oracle::Wrong("TC-01") };
        respecified(base, uid, "/spec/activeDeadlineSeconds", &json!(1), oracle)
    }));
    all.push(Class::new("deadline", "an-hour-and-exceeded-at-once", |base, at| {
        let uid = created(base, at)?;
        let met =
            |line: &usize| condition(base.status(*line), "FailureTarget").map(|it| it["reason"].clone());
        let exceeded = base.jobs[uid].iter().filter_map(met).any(|it| it == "DeadlineExceeded");
        exceeded.then_some(())?;
        respecified(base, uid, "/spec/activeDeadlineSeconds", &json!(3600), Oracle::Wrong("SU-08"))
    }));
    all.push(Class::new("TTL", "deleted-too-early", |base, at| {
        let uid = created(base, at)?;
        is_deleted_by_ttl(base, uid).then_some(())?;
        respecified(base, uid, "/spec/ttlSecondsAfterFinished", &json!(3600), Oracle::Wrong("TT-03"))
    }));
    all.push(Class::new("TTL", "deleted-without-a-ttl", |base, at| {
        let uid = created(base, at)?;
        is_deleted_by_ttl(base, uid).then_some(())?;
        let mut draft = Draft::of(base);
        draft.everywhere(uid, &|object| put(object, "/spec/ttlSecondsAfterFinished", None));
        draft.done(Oracle::Wrong("TT-13"))
    }));
}

fn limits(all: &mut Vec<Class>) {
    all.push(Class::new("other specification", "backoffLimit-0-and-replaced", |base, at| {
        let uid = created(base, at)?;
        let spec = &stored(&base.lines[at])["spec"];
        let plain = spec["podFailurePolicy"].is_null() && spec["backoffLimitPerIndex"].is_null();
        // A status write after a counted failure shows no decision.
        let goes_on = base.status_writes(uid).into_iter().any(|line| {
            let status = base.status(line);
            count(status, "failed") > 0 && !has_true(status, "FailureTarget")
        });
        (plain && goes_on).then_some(())?;
        respecified(base, uid, "/spec/backoffLimit", &json!(0), Oracle::Wrong("BO-12"))
    }));
    all.push(Class::new("other specification", "backoffLimit-100-and-exceeded", |base, at| {
        let uid = created(base, at)?;
        let exceeded = |line: &usize| {
            condition(base.status(*line), "FailureTarget")
                .is_some_and(|it| it["reason"] == "BackoffLimitExceeded")
        };
        base.jobs[uid].iter().any(exceeded).then_some(())?;
        respecified(base, uid, "/spec/backoffLimit", &json!(100), Oracle::Wrong("BO-12"))
    }));
    all.push(Class::new("other specification", "completions-100-and-complete", |base, at| {
        let uid = created(base, at)?;
        let spec = &stored(&base.lines[at])["spec"];
        let counts = spec["completions"].is_number() && spec["successPolicy"].is_null();
        let last = *base.jobs[uid].last()?;
        (counts && has_true(base.status(last), "Complete") && !base.is_mirror()).then_some(())?;
        respecified(base, uid, "/spec/completions", &json!(100), Oracle::Wrong("S-01"))
    }));
    all.push(Class::new("other specification", "parallelism-1-and-more-active", |base, at| {
        let uid = created(base, at)?;
        let more = base.status_writes(uid).into_iter().any(|line| count(base.status(line), "active") > 1);
        let spec = &stored(&base.lines[at])["spec"]["parallelism"];
        let same =
            base.jobs[uid].iter().all(|line| stored(&base.lines[*line])["spec"]["parallelism"] == *spec);
        (more && same && !base.is_mirror()).then_some(())?;
        respecified(base, uid, "/spec/parallelism", &json!(1), Oracle::Wrong("PC-08"))
    }));
    all.push(Class::new("other specification", "maxFailedIndexes-0-and-more-failed", |base, at| {
        let uid = created(base, at)?;
        stored(&base.lines[at])["spec"]["backoffLimitPerIndex"].as_i64()?;
        // The index fails in a write without a decision.
        let goes_on = base.status_writes(uid).into_iter().any(|line| {
            let failed = base.status(line)["failedIndexes"].as_str().is_some_and(|it| !it.is_empty());
            failed && !has_true(base.status(line), "FailureTarget")
        });
        goes_on.then_some(())?;
        respecified(base, uid, "/spec/maxFailedIndexes", &json!(0), Oracle::Wrong("BI-06"))
    }));
}

/// The TTL controller deletes this Job.
fn is_deleted_by_ttl(base: &Recording, uid: &str) -> bool {
    base.events
        .iter()
        .any(|it| it.actor == Actor::Ttl && it.uid == uid && it.verb == "delete" && it.code < 300)
}

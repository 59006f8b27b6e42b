//! The states for which a run waits: whether they are there, and what it means if they do not come.

use jobcheck_record::watch::text;
use jobcheck_spec::Req;
use serde_json::Value;

use crate::board::{Board, MANAGER, has, has_ended, is_copy, is_deleting, is_named_after};
use crate::play::{Met, NAME, is_owned};
use crate::scenario::{Awaited, Scenario};

/// Returns whether something awaited is there.
pub(crate) fn is_met(awaited: Awaited, board: &Board, met: &Met) -> bool {
    let local = local(board, met);
    let status = |field: &str| local.map_or(0, |job| job["status"][field].as_i64().unwrap_or(0));
    match awaited {
        Awaited::CopyEnd => copies(board, met).any(|copy| is_newest(copy, met) && has_ended(copy)),
        Awaited::CopyGone => board.clusters.iter().skip(1).all(|worker| {
            let mut copies = worker.jobs.values().filter(|job| is_copy(job, NAME, &met.uids));
            copies.next().is_none()
        }),
        Awaited::Active(count) => status("active") == i64::from(count),
        Awaited::Succeeded(count) => status("succeeded") >= i64::from(count),
        Awaited::Failed(count) => status("failed") >= i64::from(count),
        Awaited::Suspended => local.is_some_and(|job| has(job, "Suspended")) && status("active") == 0,
        Awaited::Complete => local.is_some_and(|job| has(job, "Complete")),
        Awaited::FailedEnd => local.is_some_and(|job| has(job, "Failed")),
        Awaited::JobGone => !board.clusters[MANAGER].jobs.contains_key(NAME),
        Awaited::StrangersUntouched => touched(board, met).is_none(),
        Awaited::Unreported => local.and_then(report).is_none(),
        Awaited::Started => local.is_some_and(|job| job["status"]["startTime"].is_string()),
        Awaited::Untouched => local.is_some() && touch(board, met).is_none(),
        Awaited::Copy | Awaited::CopyOn(_) | Awaited::Rest(_) | Awaited::RestBeyondSkew => false,
    }
}

/// The requirement that a wait breaks by taking too long, if what was awaited is all that the manager had left to do. Also
/// a part of the sentence that says so.
pub(crate) fn consequence(
    scenario: &Scenario,
    awaited: Awaited,
    board: &Board,
    met: &Met,
) -> (Option<Req>, String) {
    let reported = |field: &str, count: i32| {
        let number = |copy: &Value| copy["status"][field].as_i64().unwrap_or(0);
        let shown: i64 = match scenario.is_sum() {
            true => copies(board, met).map(number).sum(),
            false => copies(board, met).find(|copy| is_newest(copy, met)).map_or(0, number),
        };
        match (shown >= i64::from(count), scenario.is_sum()) {
            (true, false) => (Some(Req::MR20), ", but the copy shows it".to_owned()),
            // Nothing says which active pods an aggregator has to report.
            (true, true) if field == "active" => (None, ", but the members show it".to_owned()),
            (true, true) => (Some(Req::MR30), ", but the members show it".to_owned()),
            (false, _) => (None, ", neither does the copy show it".to_owned()),
        }
    };
    match awaited {
        Awaited::Complete | Awaited::FailedEnd => match has_all_ends(scenario, board, met) {
            true => (Some(Req::MR21), ", but the copy has ended".to_owned()),
            false => (None, ", and no copy has ended".to_owned()),
        },
        Awaited::Active(count) => reported("active", count),
        Awaited::Succeeded(count) => reported("succeeded", count),
        Awaited::Failed(count) => reported("failed", count),
        // A dispatcher that owns `spec.suspend` starts the Job as soon as there is room for it.
        Awaited::Suspended => match local(board, met).map(|job| &job["spec"]["suspend"]) {
            Some(Value::Bool(true)) => (Some(Req::MR13), String::new()),
            _ => (None, ", since somebody has resumed the Job".to_owned()),
        },
        Awaited::CopyGone => (Some(Req::MR25), String::new()),
        Awaited::StrangersUntouched => match touched(board, met) {
            Some((MANAGER, what)) => (Some(Req::MR15), format!(": {what}")),
            Some((_, what)) => (Some(Req::MR25), format!(": {what}")),
            None => (None, String::new()),
        },
        Awaited::Unreported => {
            let what = local(board, met).and_then(report).map(|field| format!(": it has {field}"));
            (Some(Req::MR23), what.unwrap_or_default())
        }
        Awaited::Started if met.built_in > 0 => {
            (Some(Req::MB02), ", but the built-in controller works".to_owned())
        }
        Awaited::Started => (None, "; does a Job controller run on the cluster?".to_owned()),
        Awaited::Untouched => {
            let what = touch(board, met).map(|what| format!(": {what}"));
            (Some(Req::MB03), what.unwrap_or_default())
        }
        Awaited::Copy
        | Awaited::CopyOn(_)
        | Awaited::CopyEnd
        | Awaited::JobGone
        | Awaited::Rest(_)
        | Awaited::RestBeyondSkew => (None, String::new()),
    }
}

/// Returns true if what the Job has to report has ended: any copy, or all members.
fn has_all_ends(scenario: &Scenario, board: &Board, met: &Met) -> bool {
    if !scenario.is_sum() {
        return copies(board, met).any(has_ended);
    }
    let is_member = |copy: &&Value| met.on.values().any(|(_, uid)| text(copy, "uid") == uid);
    copies(board, met).filter(is_member).filter(|copy| has_ended(copy)).count() == met.on.len()
}

/// The newest incarnation of the Job, also if it was removed meanwhile.
pub(crate) fn local<'a>(board: &'a Board, met: &Met) -> Option<&'a Value> {
    let uid = met.uids.last()?;
    board.clusters[MANAGER].all_jobs().find(|job| text(job, "uid") == uid)
}

/// The copies of the newest incarnation that steps have found, in their last versions.
fn copies<'a>(board: &'a Board, met: &'a Met) -> impl Iterator<Item = &'a Value> {
    let workers = board.clusters.iter().skip(1);
    workers.flat_map(|worker| worker.all_jobs()).filter(|job| met.copies.contains(text(job, "uid")))
}

fn is_newest(copy: &Value, met: &Met) -> bool {
    met.copy.as_ref().is_some_and(|(_, _, uid)| text(copy, "uid") == uid)
}

/// The first Job of somebody else that was changed, with its cluster.
fn touched(board: &Board, met: &Met) -> Option<(usize, String)> {
    met.strangers.iter().find_map(|(cluster, created)| {
        let (name, uid) = (text(created, "name"), text(created, "uid"));
        let found = board.clusters[*cluster].jobs.get(name).filter(|job| text(job, "uid") == uid);
        let what = match found {
            None => "it was removed",
            Some(job) if is_deleting(job) => "it is being deleted",
            Some(job) if job["spec"] != created["spec"] => "its specification was changed",
            Some(job)
                if ["labels", "annotations", "finalizers"].iter().any(|it| differs(job, created, it)) =>
            {
                "its metadata was changed"
            }
            // On a worker, the Job controller writes the status.
            Some(job) if *cluster == MANAGER && job["status"] != created["status"] => {
                "its status was written"
            }
            Some(_) if *cluster == MANAGER && has_copy(board, created) => "it was copied to another cluster",
            Some(_) => return None,
        };
        Some((*cluster, format!("the Job {name} of somebody else: {what}")))
    })
}

/// Returns true if somebody has copied a Job of the manager's cluster. A Job of somebody else on a worker has another name.
fn has_copy(board: &Board, created: &Value) -> bool {
    let uids = [text(created, "uid").to_owned()];
    let workers = board.clusters.iter().skip(1);
    workers.flat_map(|worker| worker.all_jobs()).any(|job| is_named_after(job, text(created, "name"), &uids))
}

/// The part of a status that only a copy can explain. A Job that is suspended says so without one.
fn report(job: &Value) -> Option<&'static str> {
    let status = &job["status"];
    let is_suspended = job["spec"]["suspend"] == Value::Bool(true);
    if status["startTime"].is_string() {
        return Some("startTime");
    }
    let counts = ["active", "ready", "succeeded", "failed"];
    let count = counts.into_iter().find(|field| status[field].as_i64().is_some_and(|count| count > 0));
    let ends = ["SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"];
    let condition = ends.into_iter().find(|kind| has(job, kind));
    let suspended = (!is_suspended && has(job, "Suspended")).then_some("Suspended");
    count.or(condition).or(suspended)
}

/// The first thing that somebody has done to the Job since its creation.
fn touch(board: &Board, met: &Met) -> Option<String> {
    let (job, created) = (local(board, met)?, met.created.as_ref()?);
    let mut pods = board.clusters[MANAGER].pods.values();
    if let Some(pod) = pods.find(|pod| is_owned(pod, text(job, "uid"))) {
        return Some(format!("it has the pod {}", text(pod, "name")));
    }
    let parts = [("status", "its status was written"), ("spec", "its specification was changed")];
    if let Some((_, what)) = parts.iter().find(|(part, _)| job[*part] != created[*part]) {
        return Some((*what).to_owned());
    }
    let metadata = ["labels", "annotations", "finalizers"];
    metadata.iter().any(|it| differs(job, created, it)).then(|| "its metadata was changed".to_owned())
}

fn differs(job: &Value, created: &Value, field: &str) -> bool {
    job["metadata"][field] != created["metadata"][field]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::report;

    #[test]
    fn only_a_copy_explains_a_report() {
        let of = |suspend: bool, status: serde_json::Value| {
            report(&json!({"spec": {"suspend": suspend}, "status": status}))
        };
        let suspended = || json!({"conditions": [{"type": "Suspended", "status": "True"}]});
        assert_eq!((of(false, json!({})), of(true, suspended())), (None, None));
        assert_eq!(of(false, suspended()), Some("Suspended"));
        assert_eq!(of(false, json!({"startTime": "2026-11-30T00:00:00Z"})), Some("startTime"));
        assert_eq!(of(true, json!({"active": 1})), Some("active"));
        let end = json!({"conditions": [{"type": "Complete", "status": "True"}]});
        assert_eq!(of(false, end), Some("Complete"));
        let strange = json!({"conditions": [{"type": "example.com/Waits", "status": "True"}]});
        assert_eq!(of(false, strange), None);
    }
}

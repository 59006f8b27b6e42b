//! Managers that are wrong in one way.

use clap::ValueEnum;
use jobcheck_managers::protocol::{CopyView, LocalView, Request};
use jobcheck_spec::Time;
use serde_json::{Value, json};

use crate::{Action, copies};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Defect {
    /// The status of the copy replaces that of the Job, and nothing is kept of earlier copies (K1).
    CopiesWholesale,
    /// A copy is found by its name, and survives its Job (K3, K4).
    FindsByName,
    /// No finalizer keeps the copy, and its end is reported late (K5).
    ReportsLate,
    /// The Job is Complete as soon as a pod of the copy runs.
    CompletesEarly,
    /// The terminal condition is never written.
    NeverFinishes,
    /// The terminal condition is written without the interim one.
    LeavesOutInterim,
    /// A status that the API server refuses is written again and again.
    HotLoop,
    /// A condition of its own gets a new time again and again.
    Restless,
    /// Conditions of others are dropped.
    DropsConditions,
    /// Jobs with another manager are taken, too.
    WritesStrangers,
    /// The Job of this name is deleted with the local Job, whose ever it is.
    DeletesByName,
    /// A suspension is not passed on.
    IgnoresSuspend,
    /// The copy stays when its Job is deleted.
    KeepsCopies,
    /// Only the first completed index is reported.
    LosesIndexes,
    /// The Job has started years ago.
    StartsInThePast,
    /// A Job has started although it is suspended since its creation.
    StartsSuspended,
    /// The terminal condition is written while a pod is active.
    EndsActive,
    /// One pod too many is active.
    CountsTooMany,
    /// Conditions have no time.
    HasNoTimes,
    /// Active pods are not reported.
    HidesActive,
    /// Once the Job is suspended, a status is written that the API server refuses.
    StuckSuspended,
    /// A request that fails is not sent again.
    GivesUp,
}

impl Defect {
    /// Returns true if it writes without a change.
    pub fn repeats(self) -> bool {
        matches!(self, Defect::HotLoop | Defect::Restless | Defect::ReportsLate | Defect::StuckSuspended)
    }

    /// Returns true if it writes before its cache shows the previous write.
    pub fn writes_blindly(self) -> bool {
        self.repeats() || self == Defect::CopiesWholesale
    }

    /// Returns true if a copy has no finalizer.
    pub fn has_no_finalizer(self) -> bool {
        matches!(self, Defect::CopiesWholesale | Defect::ReportsLate)
    }

    /// Changes what the manager believes to see.
    pub fn distort(self, copy: &mut CopyView, local: Option<&LocalView>) {
        match self {
            Defect::FindsByName => copy.origin = local.map(|it| it.job.uid).filter(|_| copy.origin.is_some()),
            Defect::KeepsCopies if local.is_none() => copy.origin = None,
            Defect::DeletesByName if local.is_none() && copy.origin.is_none() => {
                copy.origin = Some(jobcheck_spec::Uid::EMPTY);
            }
            Defect::CopiesWholesale => copy.finalizer = false,
            _ => {}
        }
    }

    /// Changes what the manager sends.
    pub fn apply(
        self,
        mut actions: Vec<Action>,
        local: Option<&Value>,
        copy: Option<&Value>,
        now: Time,
    ) -> Vec<Action> {
        let Some(local) = local else { return actions };
        let status = &local["status"];
        let (has_end, is_new) = (ends(status), !status["startTime"].is_string());
        let mine = copy.filter(|it| it["metadata"]["labels"][copies::ORIGIN] == local["metadata"]["uid"]);
        let theirs = mine.map(|it| &it["status"]);
        match self {
            Defect::CopiesWholesale => {
                actions.retain(|it| !matches!(it, Action::Write(_)));
                actions.extend(theirs.filter(|it| *it != status && !has_end).map(wholesale));
            }
            Defect::ReportsLate => {
                let time = theirs.and_then(|it| it["completionTime"].as_str()).and_then(|it| it.parse().ok());
                let is_early = time.is_some_and(|time: jiff::Timestamp| now.0 - time.as_second() < 3);
                let is_end = theirs.is_some_and(ends);
                actions.retain(|it| !(matches!(it, Action::Write(_)) && is_end && is_early));
            }
            Defect::CompletesEarly if theirs.is_some_and(|it| it["active"] == 1) && !is_new && !has_end => {
                return vec![Action::Write(complete(now))];
            }
            Defect::NeverFinishes => actions.retain(|it| !matches!(it, Action::Write(new) if ends(new))),
            Defect::HotLoop if !is_new && !has_end => {
                return vec![Action::Write(json!({"active": -1}))];
            }
            Defect::Restless if !is_new && !has_end && actions.is_empty() => {
                let mut all = status["conditions"].as_array().cloned().unwrap_or_default();
                all.retain(|it| it["type"] != "Seen");
                all.push(condition("Seen", now));
                actions.push(Action::Write(json!({"conditions": all})));
            }
            Defect::StuckSuspended if !has_end && local["spec"]["suspend"] == true => {
                return vec![Action::Write(json!({"active": -1}))];
            }
            Defect::IgnoresSuspend => {
                actions.retain(|it| !matches!(it, Action::Decided(Request::Suspend(_, true))));
            }
            _ => {}
        }
        for action in &mut actions {
            if let Action::Write(new) = action {
                self.spoil(new, now);
            }
        }
        actions
    }

    /// Changes a status that the manager sends.
    fn spoil(self, new: &mut Value, now: Time) {
        match self {
            Defect::LeavesOutInterim => leave_out_interim(new, now),
            Defect::DropsConditions => keep(new, |kind| !kind.contains('/')),
            Defect::LosesIndexes if new["completedIndexes"].is_string() => {
                new["completedIndexes"] = json!("0")
            }
            Defect::StartsInThePast if new["startTime"].is_string() => {
                new["startTime"] = json!("2020-01-01T00:00:00Z");
            }
            Defect::StartsSuspended if new["startTime"].is_null() => {
                new["startTime"] = json!(now.to_string())
            }
            Defect::EndsActive if ends(new) => (new["active"], new["ready"]) = (json!(1), json!(1)),
            Defect::CountsTooMany if new["active"].as_i64() > Some(0) => new["active"] = json!(2),
            Defect::HasNoTimes => {
                for condition in new["conditions"].as_array_mut().into_iter().flatten() {
                    condition["lastTransitionTime"] = Value::Null;
                }
            }
            Defect::HidesActive => (new["active"], new["ready"]) = (json!(0), json!(0)),
            _ => {}
        }
    }
}

/// The whole status of the copy. A field that it lacks is removed.
fn wholesale(theirs: &Value) -> Action {
    let mut new = json!({
        "active": null, "ready": null, "terminating": null, "succeeded": null, "failed": null, "startTime": null,
        "completionTime": null, "completedIndexes": null, "failedIndexes": null, "conditions": [],
    });
    for (field, value) in theirs.as_object().into_iter().flatten() {
        new[field] = value.clone();
    }
    Action::Write(new)
}

fn ends(status: &Value) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| matches!(it["type"].as_str(), Some("Complete" | "Failed")))
}

fn leave_out_interim(new: &mut Value, now: Time) {
    let is_decided = new["conditions"]
        .as_array()
        .is_some_and(|all| all.iter().any(|it| it["type"] == "SuccessCriteriaMet" && it["status"] == "True"));
    if is_decided {
        keep(new, |kind| kind != "SuccessCriteriaMet" && kind != "Complete");
        if let Some(all) = new["conditions"].as_array_mut() {
            all.push(condition("Complete", now));
        }
        new["completionTime"] = json!(now.to_string());
    }
}

fn keep(new: &mut Value, wanted: impl Fn(&str) -> bool) {
    if let Some(all) = new["conditions"].as_array_mut() {
        all.retain(|it| it["type"].as_str().is_some_and(&wanted));
    }
}

fn complete(now: Time) -> Value {
    json!({
        "active": 0, "ready": 0, "terminating": 0, "completionTime": now.to_string(),
        "conditions": [condition("SuccessCriteriaMet", now), condition("Complete", now)],
    })
}

fn condition(kind: &str, now: Time) -> Value {
    let now = now.to_string();
    json!({
        "type": kind, "status": "True", "reason": "Reported", "message": "reported by the other cluster",
        "lastProbeTime": now, "lastTransitionTime": now,
    })
}

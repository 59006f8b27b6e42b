//! Evaluation of claims about a Job and its pods on a cluster.

use crate::{Claims, Condition, PodClaims, Quantity, Scenario};
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::pod::TRACKING_FINALIZER;
use serde_json::Value;

use crate::runtime::cluster::{Cluster, Created};
use crate::runtime::pods::{has_not_ended, is_deleting, owner, phase};

/// A Job and its pods on a cluster.
#[derive(Debug)]
pub struct ObservedJob<'a> {
    /// The Job. `None` if it does not exist.
    pub job: Option<&'a Value>,
    /// The existing pods of the Jobs of this name.
    pub pods: Vec<&'a Value>,
    /// The number of pods that were created for the Job. If there is no Job: for the previous Jobs of its name.
    pub created: usize,
}

/// The numbers of pods in each state, as in [`PodClaims`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    total: u64,
    active: u64,
    terminating: u64,
    succeeded: u64,
    failed: u64,
    tracked: u64,
    controlled: u64,
    created: u64,
}

impl<'a> ObservedJob<'a> {
    /// Returns the Job of this name and its pods.
    #[must_use]
    pub fn of(cluster: &'a impl Cluster, name: &str) -> ObservedJob<'a> {
        let job = cluster.job(name);
        let created = cluster.created(name);
        // The pods of a previous Job do not count for a recreated one.
        let uid = job.map(|job| &job["metadata"]["uid"]);
        let mut pods = cluster.pods();
        pods.retain(|pod| created.iter().any(|it| pod["metadata"]["uid"] == *it.uid));
        ObservedJob {
            job,
            pods,
            created: created.iter().filter(|pod| uid.is_none_or(|uid| *uid == *pod.job)).count(),
        }
    }

    /// The facts that do not depend on the batching of writes, or on UIDs, names, and times. They are compared at
    /// quiescence.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let (status, pods) = (self.status(), self.counts());
        let number = |name: &str| status[name].as_u64().unwrap_or(0).to_string();
        let text = |name: &str| status[name].as_str().unwrap_or_default().to_owned();
        let is_set = |name: &str| (!status[name].is_null()).to_string();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let conditions: Vec<String> = conditions
            .filter(|it| it["status"] == "True")
            .map(|it| condition_with_reason(&it["type"], &it["reason"]))
            .collect();
        let mut facts = vec![
            ("exists", self.job.is_some().to_string()),
            ("deleting", self.job.is_some_and(is_deleting).to_string()),
            ("conditions", conditions.join(", ")),
        ];
        facts.extend(NUMBERS.map(|name| (name, number(name))));
        facts.extend(["completedIndexes", "failedIndexes"].map(|name| (name, text(name))));
        facts.extend(["startTime", "completionTime"].map(|name| (name, is_set(name))));
        facts.extend(pods.named().map(|(name, count)| (name, count.to_string())));
        Facts(facts)
    }

    fn status(&self) -> &'a Value {
        self.job.map_or(&Value::Null, |job| &job["status"])
    }

    fn counts(&self) -> Counts {
        let count = |fits: &dyn Fn(&Value) -> bool| self.pods.iter().filter(|pod| fits(pod)).count() as u64;
        Counts {
            total: count(&|_| true),
            active: count(&|pod| has_not_ended(pod) && !is_deleting(pod)),
            terminating: count(&|pod| has_not_ended(pod) && is_deleting(pod)),
            succeeded: count(&|pod| phase(pod) == "Succeeded"),
            failed: count(&|pod| phase(pod) == "Failed"),
            tracked: count(&is_tracked),
            controlled: count(&|pod| owner(pod).is_some()),
            created: self.created as u64,
        }
    }
}

/// The numbers of a status.
const NUMBERS: [&str; 5] = ["active", "ready", "terminating", "succeeded", "failed"];

/// A condition with its reason.
fn condition_with_reason(kind: &Value, reason: &Value) -> String {
    format!("{} ({})", kind.as_str().unwrap_or_default(), reason.as_str().unwrap_or_default())
}

/// The state of a Job at quiescence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuiescentState {
    /// The line of the step `settle`. `None`: the end of the run.
    pub line: Option<u64>,
    /// The Job.
    pub job: String,
    /// The facts about the Job and its pods.
    pub facts: Facts,
}

impl QuiescentState {
    /// Returns the current state of each Job of a scenario.
    pub fn of(cluster: &impl Cluster, scenario: &Scenario, line: Option<u64>) -> Vec<QuiescentState> {
        let names = scenario.jobs.iter().map(|entry| entry.name.clone());
        names.map(|job| QuiescentState { line, facts: ObservedJob::of(cluster, &job).facts(), job }).collect()
    }
}

/// The facts about a Job and its pods, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts(Vec<(&'static str, String)>);

impl Facts {
    /// The first difference: the name of the fact, its value here, and its value in `other`.
    #[must_use]
    pub fn difference<'a>(&'a self, other: &'a Facts) -> Option<(&'static str, &'a str, &'a str)> {
        let pairs = self.0.iter().zip(&other.0);
        let differs = pairs.into_iter().find(|(here, there)| here.1 != there.1);
        differs.map(|(here, there)| (here.0, &*here.1, &*there.1))
    }
}

impl Counts {
    fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("pods.total", self.total),
            ("pods.active", self.active),
            ("pods.terminating", self.terminating),
            ("pods.succeeded", self.succeeded),
            ("pods.failed", self.failed),
            ("pods.tracked", self.tracked),
            ("pods.controlled", self.controlled),
            ("pods.created", self.created),
        ]
    }
}

fn is_tracked(pod: &Value) -> bool {
    pod["metadata"]["finalizers"].as_array().is_some_and(|it| it.contains(&TRACKING_FINALIZER.into()))
}

/// A sentence about the pods of a Job and their states.
#[must_use]
pub fn describe_pods(cluster: &impl Cluster, name: &str) -> String {
    let describe = |(number, created): (usize, &Created)| {
        let Some(pod) = cluster.pod(&created.name) else { return format!("pod {number} was removed") };
        let going = if pod["metadata"]["deletionTimestamp"].is_null() { "" } else { " and being deleted" };
        format!("pod {number} is {}{going}", pod["status"]["phase"].as_str().unwrap_or("Pending"))
    };
    let pods: Vec<String> = (1..).zip(cluster.created(name)).map(describe).collect();
    if pods.is_empty() { format!("{name} had no pod") } else { pods.join(", ") }
}

/// A sentence about the first claim that does not hold. `None`: all hold.
#[must_use]
pub fn objection(cluster: &impl Cluster, name: &str, claims: &Claims) -> Option<String> {
    let observed = ObservedJob::of(cluster, name);
    let status = observed.status();
    flags(observed.job, status, claims)
        .or_else(|| conditions(status, claims))
        .or_else(|| numbers(status, claims))
        .or_else(|| indexes(status, claims))
        .or_else(|| claims.pods.as_ref().and_then(|pods| pod_numbers(&observed, pods)))
}

fn flags(job: Option<&Value>, status: &Value, claims: &Claims) -> Option<String> {
    let deleting = job.is_some_and(|job| !job["metadata"]["deletionTimestamp"].is_null());
    let finished = is_true(status, Condition::Complete) || is_true(status, Condition::Failed);
    let all = [
        ("exists", claims.exists, job.is_some()),
        ("deleting", claims.deleting, deleting),
        ("finished", claims.finished, finished),
        ("startTime", claims.start_time, !status["startTime"].is_null()),
        ("completionTime", claims.completion_time, !status["completionTime"].is_null()),
    ];
    let wrong = all.into_iter().find(|(_, wanted, is)| wanted.is_some_and(|wanted| wanted != *is));
    wrong.map(|(name, _, is)| format!("{name} is {is}"))
}

fn conditions(status: &Value, claims: &Claims) -> Option<String> {
    if let Some(kind) = claims.conditions.iter().find(|kind| !is_true(status, **kind)) {
        return Some(format!("condition {kind:?} is not true"));
    }
    if let Some(kind) = claims.no_conditions.iter().find(|kind| is_true(status, **kind)) {
        return Some(format!("condition {kind:?} is true"));
    }
    let wrong = claims.reasons.iter().find(|(kind, reason)| {
        true_condition(status, **kind).is_none_or(|it| it["reason"].as_str() != Some(reason.as_str()))
    });
    wrong.map(|(kind, reason)| format!("condition {kind:?} does not have the reason {reason}"))
}

fn is_true(status: &Value, kind: Condition) -> bool {
    true_condition(status, kind).is_some()
}

fn true_condition(status: &Value, kind: Condition) -> Option<&Value> {
    let name = format!("{kind:?}");
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|it| it["type"] == *name && it["status"] == "True")
}

fn numbers(status: &Value, claims: &Claims) -> Option<String> {
    let number = |name: &str| status[name].as_u64().unwrap_or(0);
    let lists = &status["uncountedTerminatedPods"];
    let length = |name: &str| lists[name].as_array().map_or(0, |list| list.len() as u64);
    let all = [
        ("active", claims.active, number("active")),
        ("ready", claims.ready, number("ready")),
        ("terminating", claims.terminating, number("terminating")),
        ("succeeded", claims.succeeded, number("succeeded")),
        ("failed", claims.failed, number("failed")),
        ("uncounted", claims.uncounted, length("succeeded") + length("failed")),
    ];
    first_wrong(&all)
}

fn first_wrong(all: &[(&str, Option<Quantity>, u64)]) -> Option<String> {
    let fits = |wanted: Quantity, is: u64| u32::try_from(is).is_ok_and(|is| wanted.0.fits(is));
    let wrong = all.iter().find(|(_, wanted, is)| wanted.is_some_and(|wanted| !fits(wanted, *is)));
    wrong.map(|(name, _, is)| format!("{name} is {is}"))
}

fn indexes(status: &Value, claims: &Claims) -> Option<String> {
    let all = [("completedIndexes", &claims.completed_indexes), ("failedIndexes", &claims.failed_indexes)];
    let set = |text: &str| IndexSet::read(text, None);
    let wrong = all.into_iter().find(|(name, wanted)| {
        let is = status[*name].as_str().unwrap_or_default();
        wanted.as_ref().is_some_and(|wanted| set(wanted) != set(is))
    });
    wrong.map(|(name, _)| format!("{name} is {}", status[name]))
}

fn pod_numbers(observed: &ObservedJob<'_>, claims: &PodClaims) -> Option<String> {
    let wanted = [
        claims.total,
        claims.active,
        claims.terminating,
        claims.succeeded,
        claims.failed,
        claims.tracked,
        claims.controlled,
        claims.created,
    ];
    let all: Vec<_> = observed.counts().named().into_iter().zip(wanted).collect();
    first_wrong(&all.into_iter().map(|((name, is), wanted)| (name, wanted, is)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn observed(job: &Value) -> ObservedJob<'_> {
        ObservedJob { job: Some(job), pods: Vec::new(), created: 1 }
    }

    #[test]
    fn states_differ_by_facts_and_not_by_names_and_times() {
        let job = |uid: &str, start: &str, failed: u64| {
            let condition =
                json!({"type": "Failed", "status": "True", "reason": "x", "lastTransitionTime": start});
            let withdrawn = json!({"type": "FailureTarget", "status": "False"});
            let status = json!({"startTime": start, "failed": failed, "conditions": [condition, withdrawn]});
            json!({"metadata": {"uid": uid}, "status": status})
        };
        let (one, same, other) = (job("a", "t1", 1), job("b", "t2", 1), job("b", "t2", 2));
        let facts = observed(&one).facts();
        assert_eq!(facts.difference(&observed(&same).facts()), None);
        assert_eq!(facts.difference(&observed(&other).facts()), Some(("failed", "1", "2")));
        let gone = ObservedJob { job: None, pods: Vec::new(), created: 1 }.facts();
        assert_eq!(facts.difference(&gone), Some(("exists", "true", "false")));
    }
}

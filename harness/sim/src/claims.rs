//! What a scenario says of a Job and its pods, asked of what the API server holds.

use jobcheck_apiserver::resource::Resource;
use jobcheck_harness::scenario::{Claims, Condition, PodClaims, Quantity};
use jobcheck_model::indexes::IndexSet;
use jobcheck_model::pod::TRACKING_FINALIZER;
use serde_json::Value;

use crate::cluster::{Cluster, NAMESPACE};

/// The first claim about a Job that does not hold, in words.
#[must_use]
pub fn objection(cluster: &Cluster, name: &str, claims: &Claims) -> Option<String> {
    let job = cluster.job(name).map(|job| &**job);
    let status = job.map_or(&Value::Null, |job| &job["status"]);
    flags(job, status, claims)
        .or_else(|| conditions(status, claims))
        .or_else(|| numbers(status, claims))
        .or_else(|| indexes(status, claims))
        .or_else(|| claims.pods.as_ref().and_then(|pods| of_pods(cluster, name, pods)))
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
    wrong.map(|(kind, reason)| format!("condition {kind:?} has not the reason {reason}"))
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

fn of_pods(cluster: &Cluster, job: &str, claims: &PodClaims) -> Option<String> {
    let created = cluster.created(job);
    // A Job that was created again has pods of its own.
    let uid = cluster.job(job).map(|job| &job["metadata"]["uid"]);
    let own = created.iter().filter(|pod| uid.is_none_or(|uid| *uid == *pod.job)).count();
    let prefix = format!("{NAMESPACE}/");
    let pods: Vec<&Value> = cluster
        .server
        .store()
        .scan(Resource::Pods, &prefix)
        .map(|(_, pod)| &**pod)
        .filter(|pod| created.iter().any(|it| pod["metadata"]["uid"] == *it.uid))
        .collect();
    let count = |fits: &dyn Fn(&Value) -> bool| pods.iter().filter(|pod| fits(pod)).count() as u64;
    let phase = |pod: &Value, phase: &str| pod["status"]["phase"] == phase;
    let ended = |pod: &Value| phase(pod, "Succeeded") || phase(pod, "Failed");
    let deleting = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
    let tracked = |pod: &Value| {
        pod["metadata"]["finalizers"].as_array().is_some_and(|it| it.contains(&TRACKING_FINALIZER.into()))
    };
    let controlled = |pod: &Value| {
        let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        owners.into_iter().any(|owner| owner["controller"] == true)
    };
    let all = [
        ("pods.total", claims.total, count(&|_| true)),
        ("pods.active", claims.active, count(&|pod| !ended(pod) && !deleting(pod))),
        ("pods.terminating", claims.terminating, count(&|pod| !ended(pod) && deleting(pod))),
        ("pods.succeeded", claims.succeeded, count(&|pod| phase(pod, "Succeeded"))),
        ("pods.failed", claims.failed, count(&|pod| phase(pod, "Failed"))),
        ("pods.tracked", claims.tracked, count(&tracked)),
        ("pods.controlled", claims.controlled, count(&controlled)),
        ("pods.created", claims.created, own as u64),
    ];
    first_wrong(&all)
}

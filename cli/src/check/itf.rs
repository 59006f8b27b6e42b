//! A path through a scope in Apalache's Informal Trace Format (ITF, ADR 15), which other tools read.
//!
//! # Caveats
//!
//! The variables are those that a user of a cluster can see. History variables and the memory of controllers are left
//! out, so that different states may look equal.

use jobcheck_explorer::narrative;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::{Driver, JobState, World};
use jobcheck_spec::job::{Condition, Job, JobStatus};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;
use serde_json::{Value, json};

/// The path of these steps as JSON. If there is a cycle, it begins after `turn` steps.
pub fn render(scope: &Scope, what: &str, path: &[Step], turn: Option<usize>) -> String {
    let mut world = initial(scope);
    let mut states = vec![state(0, &world, "the initial state", "")];
    for (number, step) in (1..).zip(path) {
        let line = narrative::line(step, &world, scope);
        world = world.apply(step, scope);
        states.push(state(number, &world, line.who, &line.what));
    }
    let mut whole = json!({
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache.informal.systems/docs/adr/015adr-trace.html",
            "description": format!("jobcheck check {}: {what}", scope.name),
        },
        "params": [],
        "vars": ["jobs", "now", "step"],
        "states": states,
    });
    if let Some(turn) = turn {
        whole["loop"] = json!(turn);
    }
    serde_json::to_string_pretty(&whole).expect("a value is always JSON") + "\n"
}

fn state(number: usize, world: &World, who: &str, what: &str) -> Value {
    json!({
        "#meta": { "index": number },
        "now": integer(world.now.0),
        "jobs": world.job_states.iter().map(job_state).collect::<Vec<_>>(),
        "step": { "who": who, "what": what },
    })
}

fn job_state(job_state: &JobState) -> Value {
    let Driver::Specification(knowledge) = &job_state.driver else { return Value::Null };
    let pods: Vec<Value> = job_state.pods.iter().map(|pod| json!([uid(pod.uid), self::pod(pod)])).collect();
    json!({
        "job": variant(job_state.job.as_deref().map(job)),
        "jobCacheShows": variant(knowledge.cached_job(job_state.job.as_ref()).map(|shown| job(shown))),
        "pods": { "#map": pods },
        "podCacheLacks": knowledge.behind.iter().map(|unseen| uid(unseen.uid)).collect::<Vec<_>>(),
    })
}

fn job(job: &Job) -> Value {
    json!({
        "deleting": job.deleting,
        "parallelism": variant(job.spec.parallelism.map(|it| integer(it.into()))),
        "completions": variant(job.spec.completions.map(|it| integer(it.into()))),
        "suspend": job.spec.is_suspended(),
        "status": status(&job.status),
    })
}

fn status(status: &JobStatus) -> Value {
    let number = |count: i32| integer(count.into());
    json!({
        "active": number(status.active),
        "ready": number(status.ready.unwrap_or(0)),
        "terminating": number(status.terminating.unwrap_or(0)),
        "succeeded": number(status.succeeded),
        "failed": number(status.failed),
        "startTime": variant(status.start_time.map(|time| integer(time.0))),
        "completionTime": variant(status.completion_time.map(|time| integer(time.0))),
        "completedIndexes": &*status.completed_indexes,
        "failedIndexes": status.failed_indexes.as_deref().unwrap_or_default(),
        "uncountedSucceeded": set(status.uncounted_succeeded()),
        "uncountedFailed": set(status.uncounted_failed()),
        "conditions": status.conditions.iter().map(condition).collect::<Vec<_>>(),
    })
}

fn condition(condition: &Condition) -> Value {
    json!({
        "type": condition.kind.as_str(),
        "status": format!("{:?}", condition.status),
        "reason": &*condition.reason,
        "message": &*condition.message,
    })
}

fn pod(pod: &Pod) -> Value {
    json!({
        "phase": format!("{:?}", pod.phase),
        "ready": pod.ready,
        "deleting": pod.deleting,
        "finalizer": pod.finalizer,
        "index": variant(pod.index.map(|index| integer(index.into()))),
    })
}

fn set(uids: &[Uid]) -> Value {
    json!({ "#set": uids.iter().map(|it| uid(*it)).collect::<Vec<_>>() })
}

fn uid(uid: Uid) -> Value {
    json!({ "#bigint": uid.0.to_string() })
}

fn integer(number: i64) -> Value {
    json!({ "#bigint": number.to_string() })
}

/// An optional value as a variant: `Some` of it, or `None` of the unit.
fn variant(value: Option<Value>) -> Value {
    match value {
        Some(value) => json!({ "tag": "Some", "value": value }),
        None => json!({ "tag": "None", "value": { "tag": "UNIT", "value": "U_OF_UNIT" } }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jobcheck_explorer::scopes::named;

    #[test]
    fn a_trace_has_a_state_more_than_steps_and_all_its_variables() {
        let scope = named("ttl").unwrap();
        let first = initial(&scope).enabled(&scope).swap_remove(0);
        let trace: Value = serde_json::from_str(&render(&scope, "a test", &[first], Some(1))).unwrap();
        let states = trace["states"].as_array().unwrap();
        assert_eq!(states.len(), 2);
        for (number, state) in states.iter().enumerate() {
            assert_eq!(state["#meta"]["index"], number);
            for variable in trace["vars"].as_array().unwrap() {
                assert!(!state[variable.as_str().unwrap()].is_null(), "{variable}");
            }
        }
        assert_eq!(trace["loop"], 1);
        assert_eq!(states[0]["now"]["#bigint"], "0");
        assert_eq!(states[0]["jobs"][0]["job"]["tag"], "Some");
    }
}

//! The head of a narrative: the Jobs as the server stores them, and the bounds of the scope.

use super::user::action_text;
use crate::env::disruption::Disruption;
use crate::env::user::UserAction;
use crate::scope::{FoundPod, Scope};
use crate::scopes::initial;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::{
    FailureAction, JobSpec, PodFailureRule, PodReplacementPolicy, RestartPolicy, SuccessRule,
};
use jobcheck_spec::time::Time;
use jobcheck_spec::words::numbers;

/// Returns one line for each Job and one line for the scope.
#[must_use]
pub fn head(scope: &Scope) -> Vec<String> {
    let job_states = initial(scope).job_states;
    let several = job_states.len() > 1;
    let mut lines: Vec<String> = Vec::new();
    for (number, job) in job_states
        .iter()
        .enumerate()
        .filter_map(|(number, job_state)| Some((number, job_state.job.as_ref()?)))
    {
        let name = if several { format!("Job {number}") } else { "Job".to_owned() };
        lines.push(format!("{name}: {}", spec_text(&job.spec)));
    }
    lines.push(format!("scope: {}", scope_text(scope)));
    lines
}

/// The fields of a specification, with the names of the API. Fields with the default that all Jobs share are
/// left out.
#[must_use]
pub fn spec_text(spec: &JobSpec) -> String {
    let mut parts = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{name} {value}")));
    };
    let number = |value: Option<i32>| value.map(|value| value.to_string());
    add("completions", number(spec.completions).or(Some("nil".to_owned())));
    add("parallelism", number(spec.parallelism));
    add("completionMode", spec.is_indexed().then(|| "Indexed".to_owned()));
    add("suspend", spec.suspend.filter(|suspend| *suspend).map(|_| "true".to_owned()));
    add("backoffLimit", number(spec.backoff_limit.filter(|limit| *limit != i32::MAX)));
    add("backoffLimitPerIndex", number(spec.backoff_limit_per_index));
    add("maxFailedIndexes", number(spec.max_failed_indexes));
    add("activeDeadlineSeconds", spec.active_deadline_seconds.map(|seconds| seconds.to_string()));
    add("ttlSecondsAfterFinished", number(spec.ttl_seconds_after_finished));
    let replacing_failed = spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
    add("podReplacementPolicy", replacing_failed.then(|| "Failed".to_owned()));
    let restarts = spec.template.restart_policy == RestartPolicy::OnFailure;
    add("restartPolicy", restarts.then(|| "OnFailure".to_owned()));
    let failures = spec.pod_failure_policy.as_ref().map(|policy| policy.rules.iter().map(failure_rule));
    add("podFailurePolicy", failures.map(|rules| rules.collect::<Vec<_>>().join("; ")));
    let successes = spec.success_policy.as_ref().map(|policy| policy.rules.iter().map(success_rule));
    add("successPolicy", successes.map(|rules| rules.collect::<Vec<_>>().join("; ")));
    add("managedBy", spec.managed_by.as_ref().map(ToString::to_string));
    parts.join(", ")
}

fn failure_rule(rule: &PodFailureRule) -> String {
    let action = match rule.action {
        FailureAction::Ignore => "Ignore",
        FailureAction::Count => "Count",
        FailureAction::FailIndex => "FailIndex",
        FailureAction::FailJob => "FailJob",
        FailureAction::Unknown => "an unknown action",
    };
    let codes = rule.on_exit_codes.iter().map(|codes| {
        let sense = if codes.is_in == Some(false) { "other than " } else { "" };
        format!("exit code {sense}{}", numbers(&codes.values))
    });
    let conditions =
        rule.on_pod_conditions.iter().map(|pattern| format!("{}={}", pattern.kind, pattern.status));
    format!("{action} on {}", codes.chain(conditions).collect::<Vec<_>>().join(" or "))
}

fn success_rule(rule: &SuccessRule) -> String {
    match (&rule.succeeded_indexes, rule.succeeded_count) {
        (Some(indexes), None) => format!("indexes {indexes}"),
        (Some(indexes), Some(count)) => format!("{count} of the indexes {indexes}"),
        (None, count) => format!("{} indexes", count.unwrap_or_default()),
    }
}

/// The bounds of a scope, and the events that may happen in it.
#[must_use]
pub fn scope_text(scope: &Scope) -> String {
    let mut parts = vec![format!("at most {}", counted(scope.pods, "pod", "pods"))];
    let gates: Vec<String> = scope.gates.iter().map(gates_text).collect();
    if !gates.is_empty() {
        parts.push(gates.join(", then "));
    }
    parts.extend(scope.found.iter().map(found_text));
    caches(scope, &mut parts);
    constants(scope, &mut parts);
    kubelet(scope, &mut parts);
    if scope.script.is_none() {
        actions(scope, &mut parts);
    }
    parts.extend(scope.disruptions.iter().map(|what| disruption_text(*what).to_owned()));
    faults(scope, &mut parts);
    if !scope.without.is_empty() {
        let ids: Vec<&str> = scope.without.iter().map(|req| req.id()).collect();
        parts.push(format!("guards switched off: {}", ids.join(", ")));
    }
    parts.join("; ")
}

fn counted(count: usize, one: &str, more: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {more}") }
}

fn gates_text(gates: &Gates) -> String {
    let off = gates.off();
    if off.is_empty() { "all gates on".to_owned() } else { format!("{} off", off.join(", ")) }
}

fn found_text(found: &FoundPod) -> String {
    let phase = found.phase;
    if found.controlled {
        format!("the Job has a {phase:?} pod without the finalizer, from before Kubernetes 1.27")
    } else {
        format!("the selector matches a {phase:?} pod without an owner")
    }
}

fn caches(scope: &Scope, parts: &mut Vec<String>) {
    if scope.lag > 0 {
        parts.push(format!("the Pod cache lags by up to {}", counted(scope.lag, "event", "events")));
    }
    if scope.job_lag > 0 {
        parts.push(format!("the Job cache lags by up to {}", counted(scope.job_lag, "version", "versions")));
    }
}

fn constants(scope: &Scope, parts: &mut Vec<String>) {
    if scope.constants.max_uncounted_pods < 100 {
        parts.push(format!(
            "the uncounted lists hold at most {}",
            counted(scope.constants.max_uncounted_pods, "UID", "UIDs")
        ));
    }
    if scope.has_delays() {
        parts.push(format!("the first backoff delay is {} s", scope.constants.pod_failure_backoff_ms / 1000));
    }
    if scope.ticks > 0 {
        parts.push(format!("{} s pass", scope.ticks));
    }
    let ahead = scope.ttl_clock(Time(0)).0;
    if ahead != 0 {
        let side = if ahead > 0 { "ahead" } else { "behind" };
        parts.push(format!("the clock of the TTL controller is {} s {side}", ahead.abs()));
    }
}

fn kubelet(scope: &Scope, parts: &mut Vec<String>) {
    if scope.unready {
        parts.push("pods may stop being ready".to_owned());
    }
    if scope.unscheduled {
        parts.push("pods wait for the scheduler".to_owned());
    }
    if scope.flips {
        parts.push("the phase of a pod may change from Succeeded to Failed".to_owned());
    }
    if scope.restarts > 0 {
        parts.push(format!(
            "a container may restart up to {}",
            counted(scope.restarts as usize, "time", "times")
        ));
    }
}

/// The actions of users, by actor.
fn actions(scope: &Scope, parts: &mut Vec<String>) {
    let mut by_actor: Vec<(&str, Vec<String>)> = Vec::new();
    for action in &scope.user {
        let who = match action {
            UserAction::DeleteEndedPod => "pod GC",
            _ => super::editor(*action),
        };
        match by_actor.iter_mut().find(|(other, _)| *other == who) {
            Some((_, what)) => what.push(action_text(*action)),
            None => by_actor.push((who, vec![action_text(*action)])),
        }
    }
    let once = |(who, what): &(&str, Vec<String>)| format!("{who}, each at most once: {}", what.join(", "));
    parts.extend(by_actor.iter().map(once));
}

fn disruption_text(what: Disruption) -> &'static str {
    match what {
        Disruption::Evict => "a pod may be evicted",
        Disruption::LoseNode => "a node may be lost",
        Disruption::ForceDelete => "a pod may be deleted by force",
        Disruption::OutOfService => "a node may be tainted out-of-service",
    }
}

fn faults(scope: &Scope, parts: &mut Vec<String>) {
    let faults = &scope.faults;
    let times = |count: u8, one: &str, more: &str| (count > 0).then(|| counted(count.into(), one, more));
    parts.extend(times(faults.failures, "request may fail", "requests may fail"));
    parts.extend(times(faults.losses, "response may be lost", "responses may be lost"));
    parts.extend(times(faults.crashes, "crash", "crashes"));
    if scope.delayed_requests {
        parts.push("the last request of the crashed process may still be handled".to_owned());
    }
    parts.extend(times(faults.second_leaders, "time two leaders", "times two leaders"));
    parts.extend(scope.refused.iter().map(|refusal| format!("the API server always refuses {refusal}")));
}

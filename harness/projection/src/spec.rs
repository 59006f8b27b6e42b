//! `spec` of a Job.
//!
//! | field of `JobSpec` | JSON path below `spec` |
//! | --- | --- |
//! | `completion_mode` | `completionMode`; another value is `Unknown` (PC-28) |
//! | `pod_replacement_policy` | `podReplacementPolicy`; another value is `Unknown` |
//! | `pod_failure_policy.rules[].action` | the same; another value is `Unknown` (PF-05) |
//! | `pod_failure_policy.rules[].on_exit_codes.is_in` | `onExitCodes.operator`: `In`, `NotIn`, other |
//! | `pod_failure_policy.rules[].on_pod_conditions[].status` | the same; `True` if it is absent (PF-04) |
//! | `selector.match_labels` | `selector.matchLabels`, sorted |
//! | `selector.expressions_digest` | `selector.matchExpressions` |
//! | `template` | `template`, see `template.rs` |
//! | all others | the same in camel case |

use jobcheck_spec::job::{
    CompletionMode, ConditionPattern, FailureAction, JobSpec, OnExitCodes, PodFailurePolicy, PodFailureRule,
    PodReplacementPolicy, Selector, SuccessPolicy, SuccessRule, Template,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::cache::{TextCache, Texts};
use super::error::{ProjectError, read};
use super::wire::{Pairs, Str};
use super::{digest, metadata, template};

/// The path of the specification in its object.
const ROOT: &str = "spec";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpec<'a> {
    parallelism: Option<i32>,
    completions: Option<i32>,
    active_deadline_seconds: Option<i64>,
    backoff_limit: Option<i32>,
    backoff_limit_per_index: Option<i32>,
    max_failed_indexes: Option<i32>,
    ttl_seconds_after_finished: Option<i32>,
    #[serde(borrow)]
    completion_mode: Option<Str<'a>>,
    suspend: Option<bool>,
    manual_selector: Option<bool>,
    #[serde(borrow)]
    pod_replacement_policy: Option<Str<'a>>,
    #[serde(borrow)]
    pod_failure_policy: Option<WireFailurePolicy<'a>>,
    #[serde(borrow)]
    success_policy: Option<WireSuccessPolicy<'a>>,
    #[serde(borrow)]
    managed_by: Option<Str<'a>>,
    #[serde(borrow)]
    selector: Option<WireSelector<'a>>,
    #[serde(borrow)]
    template: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireFailurePolicy<'a> {
    #[serde(borrow)]
    rules: Option<Vec<WireFailureRule<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFailureRule<'a> {
    #[serde(borrow)]
    action: Option<Str<'a>>,
    #[serde(borrow)]
    on_exit_codes: Option<WireExitCodes<'a>>,
    #[serde(borrow)]
    on_pod_conditions: Option<Vec<WirePattern<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireExitCodes<'a> {
    #[serde(borrow)]
    container_name: Option<Str<'a>>,
    #[serde(borrow)]
    operator: Option<Str<'a>>,
    values: Option<Vec<i32>>,
}

#[derive(Deserialize)]
struct WirePattern<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Str<'a>>,
    #[serde(borrow)]
    status: Option<Str<'a>>,
}

#[derive(Deserialize)]
struct WireSuccessPolicy<'a> {
    #[serde(borrow)]
    rules: Option<Vec<WireSuccessRule<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSuccessRule<'a> {
    #[serde(borrow)]
    succeeded_indexes: Option<Str<'a>>,
    succeeded_count: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSelector<'a> {
    #[serde(borrow)]
    match_labels: Option<Pairs<'a>>,
    match_expressions: Option<Vec<Value>>,
}

/// Projects a specification.
pub(super) fn project(
    texts: &mut Texts,
    templates: &mut TextCache<Template>,
    text: &str,
) -> Result<JobSpec, ProjectError> {
    let wire: WireSpec = read(text, ROOT)?;
    let template_text = wire.template.map_or("{}", RawValue::get);
    let template = match templates.get(template_text) {
        Some(seen) => seen,
        None => {
            let new = template::project(texts, template_text)?;
            templates.put(template_text, new.clone());
            new
        }
    };
    Ok(JobSpec {
        parallelism: wire.parallelism,
        completions: wire.completions,
        active_deadline_seconds: wire.active_deadline_seconds,
        backoff_limit: wire.backoff_limit,
        backoff_limit_per_index: wire.backoff_limit_per_index,
        max_failed_indexes: wire.max_failed_indexes,
        ttl_seconds_after_finished: wire.ttl_seconds_after_finished,
        completion_mode: wire.completion_mode.as_ref().map(completion_mode),
        suspend: wire.suspend,
        manual_selector: wire.manual_selector,
        pod_replacement_policy: wire.pod_replacement_policy.as_ref().map(replacement_policy),
        pod_failure_policy: wire.pod_failure_policy.as_ref().map(|policy| failure_policy(texts, policy)),
        success_policy: wire.success_policy.as_ref().map(|policy| success_policy(texts, policy)),
        managed_by: wire.managed_by.as_ref().map(|manager| texts.share(manager.as_ref())),
        selector: wire.selector.as_ref().map(|s| selector(texts, s)).unwrap_or_default(),
        template,
    })
}

fn completion_mode(text: &Str<'_>) -> CompletionMode {
    match text.as_ref() {
        "NonIndexed" => CompletionMode::NonIndexed,
        "Indexed" => CompletionMode::Indexed,
        _ => CompletionMode::Unknown,
    }
}

fn replacement_policy(text: &Str<'_>) -> PodReplacementPolicy {
    match text.as_ref() {
        "TerminatingOrFailed" => PodReplacementPolicy::TerminatingOrFailed,
        "Failed" => PodReplacementPolicy::Failed,
        _ => PodReplacementPolicy::Unknown,
    }
}

fn failure_policy(texts: &mut Texts, wire: &WireFailurePolicy<'_>) -> PodFailurePolicy {
    PodFailurePolicy { rules: wire.rules.iter().flatten().map(|rule| failure_rule(texts, rule)).collect() }
}

fn failure_rule(texts: &mut Texts, wire: &WireFailureRule<'_>) -> PodFailureRule {
    let action = match wire.action.as_ref().map_or("", AsRef::as_ref) {
        "FailJob" => FailureAction::FailJob,
        "FailIndex" => FailureAction::FailIndex,
        "Ignore" => FailureAction::Ignore,
        "Count" => FailureAction::Count,
        _ => FailureAction::Unknown,
    };
    PodFailureRule {
        action,
        on_exit_codes: wire.on_exit_codes.as_ref().map(|codes| exit_codes(texts, codes)),
        on_pod_conditions: wire.on_pod_conditions.iter().flatten().map(|p| pattern(texts, p)).collect(),
    }
}

fn exit_codes(texts: &mut Texts, wire: &WireExitCodes<'_>) -> OnExitCodes {
    OnExitCodes {
        container_name: wire.container_name.as_ref().map(|name| texts.share(name.as_ref())),
        is_in: match wire.operator.as_ref().map_or("", AsRef::as_ref) {
            "In" => Some(true),
            "NotIn" => Some(false),
            _ => None,
        },
        values: wire.values.clone().unwrap_or_default(),
    }
}

fn pattern(texts: &mut Texts, wire: &WirePattern<'_>) -> ConditionPattern {
    let status = wire.status.as_ref().map_or("", AsRef::as_ref);
    ConditionPattern {
        kind: texts.share_or_empty(wire.kind.as_ref()),
        status: texts.share(if status.is_empty() { "True" } else { status }),
    }
}

fn success_policy(texts: &mut Texts, wire: &WireSuccessPolicy<'_>) -> SuccessPolicy {
    let rule = |rule: &WireSuccessRule<'_>| SuccessRule {
        succeeded_indexes: rule.succeeded_indexes.as_ref().map(|indexes| texts.share(indexes.as_ref())),
        succeeded_count: rule.succeeded_count,
    };
    SuccessPolicy { rules: wire.rules.iter().flatten().map(rule).collect() }
}

fn selector(texts: &mut Texts, wire: &WireSelector<'_>) -> Selector {
    let expressions = wire.match_expressions.as_deref().unwrap_or_default();
    Selector {
        match_labels: metadata::pairs(texts, wire.match_labels.as_ref()),
        expressions_digest: if expressions.is_empty() {
            0
        } else {
            digest::of_values(expressions.iter().map(Some))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jobcheck_spec::job::RestartPolicy;
    use serde_json::json;

    fn spec(value: &Value) -> JobSpec {
        project(&mut Texts::default(), &mut TextCache::default(), &value.to_string()).unwrap()
    }

    #[test]
    fn every_field_is_read() {
        let full = json!({
            "parallelism": 1, "completions": 2, "activeDeadlineSeconds": 3, "backoffLimit": 4,
            "backoffLimitPerIndex": 5, "maxFailedIndexes": 6, "ttlSecondsAfterFinished": 7,
            "completionMode": "Indexed", "suspend": true, "manualSelector": false,
            "podReplacementPolicy": "TerminatingOrFailed", "managedBy": "example.com/other",
            "podFailurePolicy": {"rules": [
                {"action": "FailIndex", "onExitCodes": {"containerName": "main", "operator": "NotIn", "values": [0, 1]}},
                {"action": "Ignore", "onPodConditions": [{"type": "A", "status": ""}, {"type": "B", "status": "False"}]},
            ]},
            "successPolicy": {"rules": [{"succeededIndexes": "0-2", "succeededCount": 1}, {}]},
            "selector": {"matchLabels": {"b": "2", "a": "1"}},
            "template": {"spec": {"restartPolicy": "OnFailure"}},
        });
        let codes =
            OnExitCodes { container_name: Some("main".into()), is_in: Some(false), values: vec![0, 1] };
        let pattern =
            |kind: &str, status: &str| ConditionPattern { kind: kind.into(), status: status.into() };
        let rules = vec![
            PodFailureRule {
                action: FailureAction::FailIndex,
                on_exit_codes: Some(codes),
                on_pod_conditions: vec![],
            },
            PodFailureRule {
                action: FailureAction::Ignore,
                on_exit_codes: None,
                on_pod_conditions: vec![pattern("A", "True"), pattern("B", "False")],
            },
        ];
        let success = SuccessRule { succeeded_indexes: Some("0-2".into()), succeeded_count: Some(1) };
        let read = spec(&full);
        assert_eq!(read.template.restart_policy, RestartPolicy::OnFailure);
        let expected = JobSpec {
            parallelism: Some(1),
            completions: Some(2),
            active_deadline_seconds: Some(3),
            backoff_limit: Some(4),
            backoff_limit_per_index: Some(5),
            max_failed_indexes: Some(6),
            ttl_seconds_after_finished: Some(7),
            completion_mode: Some(CompletionMode::Indexed),
            suspend: Some(true),
            manual_selector: Some(false),
            pod_replacement_policy: Some(PodReplacementPolicy::TerminatingOrFailed),
            pod_failure_policy: Some(PodFailurePolicy { rules }),
            success_policy: Some(SuccessPolicy { rules: vec![success, SuccessRule::default()] }),
            managed_by: Some("example.com/other".into()),
            selector: Selector {
                match_labels: vec![("a".into(), "1".into()), ("b".into(), "2".into())],
                expressions_digest: 0,
            },
            template: read.template.clone(),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn values_of_a_newer_kubernetes_are_unknown() {
        let new = spec(&json!({
            "completionMode": "Sharded", "podReplacementPolicy": "Never",
            "podFailurePolicy": {"rules": [{"action": "Retry", "onExitCodes": {"operator": "Above", "values": [3]}}]},
        }));
        assert_eq!(new.completion_mode, Some(CompletionMode::Unknown));
        assert_eq!(new.pod_replacement_policy, Some(PodReplacementPolicy::Unknown));
        let rule = &new.pod_failure_policy.unwrap().rules[0];
        assert_eq!(rule.action, FailureAction::Unknown);
        assert_eq!(rule.on_exit_codes.as_ref().unwrap().is_in, None);
    }

    #[test]
    fn selector_expressions_have_different_digests() {
        let digest = |expressions| {
            spec(&json!({"selector": {"matchExpressions": expressions}})).selector.expressions_digest
        };
        let exists = digest(json!([{"key": "a", "operator": "Exists"}]));
        assert_eq!(digest(json!([])), 0);
        assert_ne!(exists, 0);
        assert_ne!(exists, digest(json!([{"key": "b", "operator": "Exists"}])));
    }

    #[test]
    fn null_reads_as_absent() {
        let nulls = json!({
            "parallelism": null, "completionMode": null, "podFailurePolicy": null, "successPolicy": {"rules": null},
            "selector": {"matchLabels": null, "matchExpressions": null}, "template": null, "suspend": null,
        });
        assert_eq!(
            spec(&nulls),
            JobSpec { success_policy: Some(SuccessPolicy::default()), ..spec(&json!({})) }
        );
    }
}

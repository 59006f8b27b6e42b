//! Evaluation of `podFailurePolicy` on a failed pod (KEP-3329, PF-01 to PF-07).

use crate::job::{ConditionPattern, FailureAction, OnExitCodes, PodFailurePolicy, PodFailureRule, Text};
use crate::pod::PolicyMatch;

/// The facts about a failed pod that a pod failure policy reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct FailureEvidence {
    /// `metadata.namespace`.
    pub namespace: Text,
    /// `metadata.name`.
    pub name: Text,
    /// `status.containerStatuses`, in order.
    pub containers: Vec<ContainerEnd>,
    /// `status.initContainerStatuses`, in order.
    pub init_containers: Vec<ContainerEnd>,
    /// `type` and `status` of `status.conditions`, in order.
    pub conditions: Vec<(Text, Text)>,
}

/// The exit code of a container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContainerEnd {
    /// `name`.
    pub name: Text,
    /// `state.terminated.exitCode`; `None` if the container has not terminated.
    pub exit_code: Option<i32>,
}

/// The first rule of `policy` that the pod matches (PF-01).
///
/// # Assumptions
///
/// The phase of the pod is `Failed`. Other pods are not evaluated (PF-02).
#[must_use]
pub fn evaluate(policy: &PodFailurePolicy, pod: &FailureEvidence) -> PolicyMatch {
    let rules = policy.rules.iter().enumerate();
    rules.filter_map(|(index, rule)| apply(index, rule, pod)).next().unwrap_or_default()
}

/// The result of one rule; `None` if the rule does not match, or has an unknown action (PF-05).
fn apply(index: usize, rule: &PodFailureRule, pod: &FailureEvidence) -> Option<PolicyMatch> {
    let cause = cause(rule, pod)?;
    match rule.action {
        FailureAction::FailJob => {
            Some(PolicyMatch::FailJob(format!("{cause} matching FailJob rule at index {index}").into()))
        }
        FailureAction::FailIndex | FailureAction::Ignore | FailureAction::Count => {
            Some(PolicyMatch::Action(rule.action))
        }
        FailureAction::Unknown => None,
    }
}

/// The reason why the pod matches the rule, as the message of PF-07 begins.
///
/// A rule with `onExitCodes` ignores `onPodConditions`.
fn cause(rule: &PodFailureRule, pod: &FailureEvidence) -> Option<String> {
    let FailureEvidence { namespace, name, .. } = pod;
    match &rule.on_exit_codes {
        Some(pattern) => {
            let (container, code) = matching_container(pattern, pod)?;
            Some(format!("Container {container} for pod {namespace}/{name} failed with exit code {code}"))
        }
        None => {
            let condition = matching_condition(&rule.on_pod_conditions, pod)?;
            Some(format!("Pod {namespace}/{name} has condition {condition}"))
        }
    }
}

/// The first container whose exit code matches the pattern, regular containers before init containers (PF-03).
fn matching_container<'a>(pattern: &OnExitCodes, pod: &'a FailureEvidence) -> Option<(&'a Text, i32)> {
    let mut ends = pod.containers.iter().chain(&pod.init_containers);
    ends.find_map(|end| {
        let code = end.exit_code.filter(|code| *code != 0)?;
        let named = pattern.container_name.as_ref().is_none_or(|name| *name == end.name);
        // An unknown operator matches nothing (PF-05).
        let is_matched = pattern.is_in? == pattern.values.contains(&code);
        (named && is_matched).then_some((&end.name, code))
    })
}

/// The type of the first condition of the pod that matches one of the patterns (PF-04).
fn matching_condition<'a>(patterns: &[ConditionPattern], pod: &'a FailureEvidence) -> Option<&'a Text> {
    let described =
        |kind: &Text, status: &Text| patterns.iter().any(|p| p.kind == *kind && p.status == *status);
    pod.conditions.iter().find(|(kind, status)| described(kind, status)).map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Containers and init containers as (name, exit code), conditions as (type, status).
    type Sketch = (
        &'static [(&'static str, Option<i32>)],
        &'static [(&'static str, Option<i32>)],
        &'static [(&'static str, &'static str)],
    );

    fn pod((containers, init_containers, conditions): Sketch) -> FailureEvidence {
        let ends = |list: &[(&str, Option<i32>)]| {
            list.iter()
                .map(|(name, exit_code)| ContainerEnd { name: (*name).into(), exit_code: *exit_code })
                .collect()
        };
        FailureEvidence {
            namespace: "ns".into(),
            name: "pod".into(),
            containers: ends(containers),
            init_containers: ends(init_containers),
            conditions: conditions.iter().map(|(kind, status)| ((*kind).into(), (*status).into())).collect(),
        }
    }

    fn exit(
        action: FailureAction,
        container: Option<&str>,
        is_in: Option<bool>,
        values: &[i32],
    ) -> PodFailureRule {
        let codes = OnExitCodes { container_name: container.map(Into::into), is_in, values: values.to_vec() };
        PodFailureRule { action, on_exit_codes: Some(codes), on_pod_conditions: Vec::new() }
    }

    fn condition(action: FailureAction, patterns: &[(&str, &str)]) -> PodFailureRule {
        let pattern = |(kind, status): &(&str, &str)| ConditionPattern {
            kind: (*kind).into(),
            status: (*status).into(),
        };
        PodFailureRule {
            action,
            on_exit_codes: None,
            on_pod_conditions: patterns.iter().map(pattern).collect(),
        }
    }

    fn fail_job(message: &str) -> PolicyMatch {
        PolicyMatch::FailJob(message.into())
    }

    type Case = (&'static str, Sketch, Vec<PodFailureRule>, PolicyMatch);

    fn check(table: Vec<Case>) {
        for (case, sketch, rules, expected) in table {
            assert_eq!(evaluate(&PodFailurePolicy { rules }, &pod(sketch)), expected, "{case}");
        }
    }

    #[test]
    fn exit_codes_are_matched_by_operator_and_container() {
        use FailureAction::{Count, FailIndex, Ignore};
        let (is_in, not_in) = (Some(true), Some(false));
        let act = PolicyMatch::Action;
        let failed: Sketch = (&[("main", Some(3))], &[], &[]);
        let succeeded: Sketch = (&[("main", Some(0))], &[], &[]);
        check(vec![
            ("In", failed, vec![exit(Ignore, None, is_in, &[2, 3])], act(Ignore)),
            ("In misses", failed, vec![exit(Ignore, None, is_in, &[2])], PolicyMatch::None),
            ("NotIn", failed, vec![exit(FailIndex, None, not_in, &[2])], act(FailIndex)),
            ("NotIn misses", failed, vec![exit(FailIndex, None, not_in, &[3])], PolicyMatch::None),
            ("unknown operator", failed, vec![exit(Count, None, None, &[3])], PolicyMatch::None),
            ("other container", failed, vec![exit(Count, Some("side"), is_in, &[3])], PolicyMatch::None),
            ("named container", failed, vec![exit(Count, Some("main"), is_in, &[3])], act(Count)),
            ("success never matches", succeeded, vec![exit(Count, None, not_in, &[3])], PolicyMatch::None),
        ]);
    }

    #[test]
    fn the_first_rule_that_matches_decides_and_its_message_has_the_cause() {
        use FailureAction::{Count, FailJob, Ignore, Unknown};
        let is_in = Some(true);
        let failed: Sketch = (&[("main", Some(3))], &[], &[]);
        let both: Sketch = (&[("main", Some(3))], &[("init", Some(3))], &[]);
        let init: Sketch = (&[("main", Some(4))], &[("init", Some(3))], &[]);
        let on_3 = |action| exit(action, None, is_in, &[3]);
        let on_4 = |action| exit(action, None, is_in, &[4]);
        let message = |container: &str, index: usize| {
            fail_job(&format!(
                "Container {container} for pod ns/pod failed with exit code 3 matching FailJob rule at index {index}"
            ))
        };
        check(vec![
            ("no rule", failed, vec![], PolicyMatch::None),
            ("in order", failed, vec![on_3(Ignore), on_3(Count)], PolicyMatch::Action(Ignore)),
            ("unknown action", failed, vec![on_3(Unknown), on_3(Count)], PolicyMatch::Action(Count)),
            ("rules count from 0", failed, vec![on_4(Ignore), on_3(FailJob)], message("main", 1)),
            ("regular before init", both, vec![on_3(FailJob)], message("main", 0)),
            ("init where no regular one matches", init, vec![on_3(FailJob)], message("init", 0)),
            ("no requirement", failed, vec![condition(Count, &[])], PolicyMatch::None),
        ]);
    }

    #[test]
    fn conditions_are_matched_by_type_and_status() {
        use FailureAction::{FailJob, Ignore};
        const DISRUPTED: &[(&str, &str)] = &[("DisruptionTarget", "True")];
        let disrupted: Sketch = (&[], &[], &[("Ready", "False"), ("DisruptionTarget", "True")]);
        let undisturbed: Sketch = (&[], &[], &[("DisruptionTarget", "False")]);
        let two: Sketch = (&[], &[], &[("B", "True"), ("A", "True")]);
        let message = |kind: &str| {
            fail_job(&format!("Pod ns/pod has condition {kind} matching FailJob rule at index 0"))
        };
        check(vec![
            ("matches", disrupted, vec![condition(FailJob, DISRUPTED)], message("DisruptionTarget")),
            ("another status", undisturbed, vec![condition(Ignore, DISRUPTED)], PolicyMatch::None),
            (
                "the pod's order counts",
                two,
                vec![condition(FailJob, &[("A", "True"), ("B", "True")])],
                message("B"),
            ),
        ]);
    }

    #[test]
    fn a_rule_with_exit_codes_ignores_its_conditions() {
        let mut rule = exit(FailureAction::Ignore, None, Some(true), &[3]);
        rule.on_pod_conditions =
            condition(FailureAction::Ignore, &[("DisruptionTarget", "True")]).on_pod_conditions;
        let policy = PodFailurePolicy { rules: vec![rule] };
        let disrupted = pod((&[("main", Some(1))], &[], &[("DisruptionTarget", "True")]));
        assert_eq!(evaluate(&policy, &disrupted), PolicyMatch::None);
    }

    #[test]
    fn a_partial_pod_status_matches_only_by_what_it_shows() {
        let is_in = Some(true);
        let policy = PodFailurePolicy {
            rules: vec![
                exit(FailureAction::FailJob, None, is_in, &[42]),
                condition(FailureAction::Ignore, &[("DisruptionTarget", "True")]),
            ],
        };
        let nothing = pod((&[], &[], &[]));
        let still_running = pod((&[("main", None), ("side", None)], &[("init", Some(0))], &[]));
        let half_terminated =
            pod((&[("main", None), ("side", Some(42))], &[], &[("DisruptionTarget", "True")]));
        let only_condition = pod((&[("main", None)], &[], &[("DisruptionTarget", "True")]));
        assert_eq!(evaluate(&policy, &nothing), PolicyMatch::None);
        assert_eq!(evaluate(&policy, &still_running), PolicyMatch::None);
        let message =
            "Container side for pod ns/pod failed with exit code 42 matching FailJob rule at index 0";
        assert_eq!(evaluate(&policy, &half_terminated), fail_job(message));
        assert_eq!(evaluate(&policy, &only_condition), PolicyMatch::Action(FailureAction::Ignore));
    }
}

//! `spec.podFailurePolicy`: the rules that classify the failure of a pod (family PF).

use super::observed::{
    ContainerFacts, ContainerKind, ExitCodeOperator, Gates, PodCondition, PodConditionPattern, PodFacts,
    PodFailureAction, PodFailureMatch, PodFailureRule,
};

/// A match of a failed pod with a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched<'a> {
    /// The action of the rule.
    pub action: PodFailureAction,
    /// The position of the rule, from 0.
    pub rule: usize,
    /// The property of the pod that matched.
    pub by: Evidence<'a>,
}

/// The property of a pod that made a rule match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence<'a> {
    /// The container with this name exited with this code.
    Exit(&'a str, i32),
    /// The pod has a condition of this type.
    Condition(&'a str),
}

/// Returns the first rule that a failed pod matches; none means that the failure counts (PF-01).
///
/// The caller passes only pods in phase Failed (PF-02).
#[must_use]
pub fn matched<'a>(rules: &[PodFailureRule], pod: &'a PodFacts, gates: Gates) -> Option<Matched<'a>> {
    rules.iter().enumerate().filter(|(_, rule)| acts(rule.action, gates)).find_map(|(position, rule)| {
        let by = match &rule.on {
            PodFailureMatch::ExitCodes { container, operator, values } => {
                let found = exited(pod, container.as_deref(), *operator, values)?;
                Evidence::Exit(&found.0.name, found.1)
            }
            PodFailureMatch::PodConditions(patterns) => Evidence::Condition(&condition(pod, patterns)?.kind),
            PodFailureMatch::Nothing => return None,
        };
        Some(Matched { action: rule.action, rule: position, by })
    })
}

/// Returns true if rules with this action apply: not if it is unknown (PF-05), and `FailIndex` only with its gate (UG-09).
fn acts(action: PodFailureAction, gates: Gates) -> bool {
    match action {
        PodFailureAction::FailIndex => gates.backoff_limit_per_index,
        PodFailureAction::FailJob | PodFailureAction::Ignore | PodFailureAction::Count => true,
        PodFailureAction::Unknown => false,
    }
}

/// The first container whose exit code matches: regular containers first, then init containers (PF-03).
fn exited<'a>(
    pod: &'a PodFacts,
    name: Option<&str>,
    operator: ExitCodeOperator,
    values: &[i32],
) -> Option<(&'a ContainerFacts, i32)> {
    let regular = |it: &&ContainerFacts| it.kind == ContainerKind::Regular;
    let init = |it: &&ContainerFacts| it.kind != ContainerKind::Regular;
    let all = pod.containers.iter().filter(regular).chain(pod.containers.iter().filter(init));
    all.filter(|it| name.is_none_or(|name| name == &*it.name)).find_map(|it| {
        let code = it.terminated?.exit_code;
        let matches = match operator {
            ExitCodeOperator::In => values.contains(&code),
            ExitCodeOperator::NotIn => !values.contains(&code),
            ExitCodeOperator::Unknown => false,
        };
        (code != 0 && matches).then_some((it, code))
    })
}

/// The first condition of the pod that matches one of the patterns (PF-04).
fn condition<'a>(pod: &'a PodFacts, patterns: &[PodConditionPattern]) -> Option<&'a PodCondition> {
    let fits = |it: &PodCondition| patterns.iter().any(|one| one.kind == it.kind && one.status == it.status);
    pod.conditions.iter().find(|it| fits(it))
}

/// The message of the condition of a Job that a rule fails (PF-07).
#[must_use]
pub fn message(namespace: &str, pod: &str, found: Matched) -> String {
    let rule = found.rule;
    match found.by {
        Evidence::Exit(container, code) => format!(
            "Container {container} for pod {namespace}/{pod} failed with exit code {code} matching FailJob rule at index {rule}"
        ),
        Evidence::Condition(kind) => {
            format!("Pod {namespace}/{pod} has condition {kind} matching FailJob rule at index {rule}")
        }
    }
}

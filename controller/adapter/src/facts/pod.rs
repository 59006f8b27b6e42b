//! Facts of a pod.

use std::sync::Arc;

use jobcheck_controller::job::observed::{
    ContainerFacts, ContainerKind, Controller, Deletion, Phase, PodCondition, PodFacts, Terminated,
};
use jobcheck_controller::values::Text;
use jobcheck_spec::failure_policy::{ContainerEnd, FailureEvidence, evaluate};
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::pod::{self, Pod};

use super::{constant, time, version};
use crate::names::Names;

/// The name of the one container of each pod.
const CONTAINER: &str = "main";

/// The context of a pod's facts.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The specification of the Job whose policy applied when the pod failed. `None` if the Job does not
    /// exist.
    pub spec: Option<&'a JobSpec>,
    /// The codes with which failing containers exit.
    pub exit_codes: &'a [i32],
    /// The texts of UIDs.
    pub names: &'a Names,
}

/// The facts of a pod.
#[must_use]
pub fn facts(pod: &Pod, surroundings: &Surroundings<'_>) -> PodFacts {
    let per_index = surroundings.spec.is_some_and(|spec| spec.backoff_limit_per_index.is_some());
    let count = |count: u32| per_index.then(|| Text::from(count.to_string()));
    PodFacts {
        name: Text::from(name(pod)),
        uid: surroundings.names.text(pod.uid),
        resource_version: version(),
        created: Some(time(pod.created)),
        deletion: pod.deleting.then(|| Deletion { at: time(pod.finish_time()), grace_seconds: 0 }),
        tracking_finalizer: pod.finalizer,
        controller: if pod.controlled { Controller::ThisJob } else { Controller::Nobody },
        selected: pod.selected,
        completion_index: pod.index.map(|index| Text::from(index.to_string())),
        failure_count: count(pod.failure_count),
        ignored_failure_count: count(pod.ignored_failure_count).filter(|_| pod.ignored_failure_count > 0),
        scheduled: pod.scheduled,
        phase: phase(pod.phase),
        conditions: Arc::new(conditions(pod)),
        containers: Arc::new(vec![container(pod, surroundings)]),
    }
}

/// The name of the pod as the model's kubelet writes it in messages.
fn name(pod: &Pod) -> String {
    format!("pod-{}", pod.uid.0)
}

fn phase(phase: pod::Phase) -> Phase {
    match phase {
        pod::Phase::Pending => Phase::Pending,
        pod::Phase::Running => Phase::Running,
        pod::Phase::Succeeded => Phase::Succeeded,
        pod::Phase::Failed => Phase::Failed,
        pod::Phase::Unknown => Phase::Unknown,
    }
}

fn conditions(pod: &Pod) -> Vec<PodCondition> {
    let condition = |kind, status, last_transition| PodCondition {
        kind: constant(kind),
        status: constant(status),
        last_transition,
    };
    let ready = match pod.finished.filter(|_| pod.is_terminated()) {
        Some(finished) => Some(condition("Ready", "False", Some(time(finished)))),
        None if pod.ready => Some(condition("Ready", "True", pod.ready_changed.map(time))),
        None => None,
    };
    let disrupted = pod.disrupted.then(|| condition("DisruptionTarget", "True", pod.finished.map(time)));
    ready.into_iter().chain(disrupted).collect()
}

fn container(pod: &Pod, surroundings: &Surroundings<'_>) -> ContainerFacts {
    let exit_code = match pod.phase {
        pod::Phase::Succeeded => Some(0),
        pod::Phase::Failed => exit_code(pod, surroundings),
        pod::Phase::Pending | pod::Phase::Running | pod::Phase::Unknown => None,
    };
    let terminated = exit_code.map(|exit_code| Terminated { exit_code, finished_at: pod.finished.map(time) });
    let restarts = i32::try_from(pod.restarts).unwrap_or(i32::MAX);
    ContainerFacts { name: constant(CONTAINER), kind: ContainerKind::Regular, restarts, terminated }
}

/// The exit code of a failed pod's container. The pod shows which rule of the policy it matches. The exit
/// code is the first one of the scope that matches this rule.
///
/// Returns `None` if no code matches, because the node of the pod was lost. Without a policy any code is
/// possible.
fn exit_code(pod: &Pod, surroundings: &Surroundings<'_>) -> Option<i32> {
    let Some(policy) = surroundings.spec.and_then(|spec| spec.pod_failure_policy.as_ref()) else {
        return Some(1);
    };
    let conditions = pod.disrupted.then(|| (constant("DisruptionTarget"), constant("True")));
    let mut evidence = FailureEvidence {
        namespace: constant("default"),
        name: Text::from(name(pod)),
        containers: vec![ContainerEnd { name: constant(CONTAINER), exit_code: None }],
        conditions: conditions.into_iter().collect(),
        ..FailureEvidence::default()
    };
    surroundings.exit_codes.iter().copied().find(|code| {
        evidence.containers[0].exit_code = Some(*code);
        evaluate(policy, &evidence) == pod.policy
    })
}

#[cfg(test)]
mod tests {
    use jobcheck_explorer::scopes::named;
    use jobcheck_spec::job::{FailureAction, JobSpec, OnExitCodes, PodFailurePolicy, PodFailureRule};
    use jobcheck_spec::pod::PolicyMatch;
    use jobcheck_spec::time::Time;
    use jobcheck_spec::uid::Uid;

    use super::*;

    fn spec() -> JobSpec {
        let on = |value| OnExitCodes { container_name: None, is_in: Some(true), values: vec![value] };
        let rule = |action, value| PodFailureRule {
            action,
            on_exit_codes: Some(on(value)),
            on_pod_conditions: Vec::new(),
        };
        let rules = vec![rule(FailureAction::Ignore, 3), rule(FailureAction::FailIndex, 4)];
        let base = named("non-indexed").map(|scope| scope.jobs[0].clone()).expect("a scope of the library");
        JobSpec { pod_failure_policy: Some(PodFailurePolicy { rules }), ..base }
    }

    fn exit_code_of(policy: PolicyMatch, exit_codes: &[i32]) -> Option<i32> {
        let names = Names::in_order(vec![Uid(1)]);
        let pod = Pod { phase: pod::Phase::Failed, finished: Some(Time(2)), policy, ..Pod::new(Uid(1)) };
        let facts = facts(&pod, &Surroundings { spec: Some(&spec()), exit_codes, names: &names });
        facts.containers[0].terminated.map(|terminated| terminated.exit_code)
    }

    #[test]
    fn the_exit_code_matches_the_same_rule_as_the_pod() {
        let act = PolicyMatch::Action;
        assert_eq!(exit_code_of(act(FailureAction::Ignore), &[1, 3, 4]), Some(3));
        assert_eq!(exit_code_of(act(FailureAction::FailIndex), &[1, 3, 4]), Some(4));
        assert_eq!(exit_code_of(PolicyMatch::None, &[1, 3, 4]), Some(1));
        assert_eq!(exit_code_of(PolicyMatch::None, &[3]), None, "its node was lost");
    }
}

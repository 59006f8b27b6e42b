//! The settings of the Job controller and of the API server in a scenario: constants, feature gates, rules.

use std::collections::BTreeMap;

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;

use super::format::Scenario;
use super::steps::Rollout;
use super::values::Gate;
use jobcheck_judge::replay::Subject;

impl Scenario {
    /// The settings with which the Job controller and the API server are started. The defaults are those of
    /// Kubernetes 1.36.
    #[must_use]
    pub fn subject(&self) -> Subject {
        let controller = self.controller.clone().unwrap_or_default();
        let server = self.api_server.clone().unwrap_or_default();
        let default = Constants::V1_36;
        Subject {
            rules: rules(&gates(&server.feature_gates)),
            constants: Constants {
                pod_failure_backoff_ms: controller
                    .pod_failure_backoff
                    .map_or(default.pod_failure_backoff_ms, |span| span.0),
                pod_failure_backoff_max_ms: controller
                    .pod_failure_backoff_max
                    .map_or(default.pod_failure_backoff_max_ms, |span| span.0),
                max_uncounted_pods: controller.max_uncounted_pods.unwrap_or(default.max_uncounted_pods),
                ..default
            },
            gates: gates(&controller.feature_gates),
            logs_all: false,
        }
    }
}

impl Rollout {
    /// The gates of the new process.
    #[must_use]
    pub fn gates(&self) -> Gates {
        gates(&self.feature_gates)
    }
}

/// The gates. Gates that are not named are on.
fn gates(switched: &BTreeMap<Gate, bool>) -> Gates {
    let on = |gate| switched.get(&gate).copied().unwrap_or(true);
    Gates {
        job_managed_by: on(Gate::JobManagedBy),
        job_pod_replacement_policy: on(Gate::JobPodReplacementPolicy),
        job_backoff_limit_per_index: on(Gate::JobBackoffLimitPerIndex),
        job_success_policy: on(Gate::JobSuccessPolicy),
    }
}

/// The rules of an API server of 1.36 with these gates.
pub(super) fn rules(gates: &Gates) -> RuleSet {
    RuleSet {
        job_managed_by: gates.job_managed_by,
        pod_replacement_policy: gates.job_pod_replacement_policy,
        backoff_limit_per_index: gates.job_backoff_limit_per_index,
        success_policy: gates.job_success_policy,
        ..RuleSet::V1_36
    }
}

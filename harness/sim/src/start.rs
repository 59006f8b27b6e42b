//! How the processes of a scenario are started.

use std::collections::BTreeMap;

use jobcheck_controller::job::observed::{Gates, Settings};
use jobcheck_harness::scenario::{Gate, Scenario};
use jobcheck_model::apiserver::RuleSet;
use serde_json::{Map, Value, json};

/// Whether a gate is on: those that are not named are.
pub fn is_on(switched: &BTreeMap<Gate, bool>, gate: Gate) -> bool {
    switched.get(&gate).copied().unwrap_or(true)
}

/// The gates of a process.
pub fn gates(switched: &BTreeMap<Gate, bool>) -> Gates {
    Gates {
        pod_replacement_policy: is_on(switched, Gate::JobPodReplacementPolicy),
        backoff_limit_per_index: is_on(switched, Gate::JobBackoffLimitPerIndex),
        success_policy: is_on(switched, Gate::JobSuccessPolicy),
        managed_by: is_on(switched, Gate::JobManagedBy),
    }
}

/// How the controller of a scenario is started.
pub fn settings(scenario: &Scenario) -> Settings {
    let default = Settings::default();
    let Some(it) = &scenario.controller else { return default };
    let span = |milliseconds: i64| std::time::Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0));
    Settings {
        pod_failure_backoff: it.pod_failure_backoff.map_or(default.pod_failure_backoff, |it| span(it.0)),
        pod_failure_backoff_max: it
            .pod_failure_backoff_max
            .map_or(default.pod_failure_backoff_max, |it| span(it.0)),
        max_uncounted_pods: it.max_uncounted_pods.unwrap_or(default.max_uncounted_pods),
        gates: gates(&it.feature_gates),
        ..default
    }
}

/// The rules of the API server of a scenario.
pub fn rules(scenario: &Scenario) -> RuleSet {
    let none = BTreeMap::new();
    let switched = scenario.api_server.as_ref().map_or(&none, |it| &it.feature_gates);
    RuleSet {
        job_managed_by: is_on(switched, Gate::JobManagedBy),
        pod_replacement_policy: is_on(switched, Gate::JobPodReplacementPolicy),
        backoff_limit_per_index: is_on(switched, Gate::JobBackoffLimitPerIndex),
        success_policy: is_on(switched, Gate::JobSuccessPolicy),
        ..RuleSet::V1_36
    }
}

/// The first line of the trace.
pub fn header(scenario: &Scenario, settings: &Settings, seed: u64) -> Value {
    let mut assume = Map::new();
    let milliseconds = |span: std::time::Duration| json!(format!("{}ms", span.as_millis()));
    assume.insert("pod-failure-backoff".to_owned(), milliseconds(settings.pod_failure_backoff));
    assume.insert("pod-failure-backoff-max".to_owned(), milliseconds(settings.pod_failure_backoff_max));
    assume.insert("max-uncounted-pods".to_owned(), json!(settings.max_uncounted_pods.to_string()));
    let none = BTreeMap::new();
    let own = scenario.controller.as_ref().map_or(&none, |it| &it.feature_gates);
    let server = scenario.api_server.as_ref().map_or(&none, |it| &it.feature_gates);
    for gate in Gate::ALL {
        for (prefix, switched) in [("", own), ("apiserver/", server)] {
            if !is_on(switched, gate) {
                assume.insert(format!("{prefix}{gate:?}"), json!("false"));
            }
        }
    }
    json!({
        "format": "jobcheck.dev/trace", "version": "1.1", "kubernetes": "1.36", "assume": assume,
        "producer": format!("jobcheck {}, scenario {}, seed {seed}", env!("CARGO_PKG_VERSION"), scenario.name),
    })
}

//! What cannot be run on a real API server, and why.

use jobcheck_harness::scenario::{Scenario, Step};

use crate::{Manager, Plan};

/// The longest time that is really waited for.
const LONGEST: i64 = 30_000;

/// Why a scenario is not run; none if it can be.
#[must_use]
pub fn unfit(scenario: &Scenario, plan: &Plan) -> Option<String> {
    let (mut reasons, mut told) = (Vec::new(), Vec::new());
    for step in &scenario.steps {
        let Some(why) = of_step(&step.value, plan).filter(|why| !told.contains(why)) else { continue };
        let line = step.referenced.line();
        let happening = step.value.happenings().first().cloned().unwrap_or_default();
        told.push(why);
        reasons.push(format!("{happening} (line {line}) {why}"));
    }
    reasons.extend(of_settings(scenario, plan));
    reasons.extend(of_time(scenario));
    if reasons.is_empty() { None } else { Some(reasons.join("; ")) }
}

/// Why this step cannot be made to happen.
fn of_step(step: &Step, plan: &Plan) -> Option<&'static str> {
    let of_requests = step.request.is_some()
        || step.late_request.is_some()
        || step.hold.is_some()
        || step.release.is_some()
        || step.catch_up.is_some()
        || step.crash.is_some_and(|crash| crash.during.is_some());
    let of_processes =
        step.crash.is_some() || step.rollout.is_some() || step.pause.is_some() || step.unpause.is_some();
    let is_ours = matches!(plan.manager, Manager::Shipped { .. });
    if of_requests {
        Some("needs a fault proxy before the controllers, which is not there yet")
    } else if step.second_leader.is_some() || step.resign.is_some() {
        Some("needs a second process, which is not started here yet")
    } else if of_processes && !is_ours {
        Some("is about a process that the run has not started")
    } else if step.rollout.as_ref().is_some_and(|it| !it.gates().job_managed_by) && plan.managed_by.is_some()
    {
        Some("turns JobManagedBy off, and its Jobs are known by managedBy")
    } else {
        None
    }
}

/// What of the settings cannot be had.
fn of_settings(scenario: &Scenario, plan: &Plan) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut unless = |fits: bool, why: &str| {
        if !fits {
            reasons.push(why.to_owned());
        }
    };
    unless(!scenario.unscheduled, "unscheduled: the pods of a run are bound as soon as they are there");
    let server = scenario.api_server.as_ref();
    unless(
        server.is_none_or(|it| it.feature_gates.values().all(|on| *on)),
        "apiServer.featureGates: those of a real API server cannot be turned off",
    );
    let ahead = scenario.ttl_controller.as_ref().and_then(|it| it.clock_ahead);
    unless(ahead.unwrap_or_default() == 0, "ttlController.clockAhead: there is one clock");
    let controller = scenario.controller.clone().unwrap_or_default();
    if matches!(plan.manager, Manager::Shipped { .. }) {
        let needs_managed_by = plan.managed_by.is_some() && !scenario.subject().gates.job_managed_by;
        unless(!needs_managed_by, "controller.featureGates: its Jobs are known by managedBy");
        let are_controlled = scenario.pods_before.iter().any(|pod| pod.controlled);
        unless(
            plan.managed_by.is_none() || !are_controlled,
            "podsBefore: whoever has created pods is taken for the manager of a Job with managedBy",
        );
    } else {
        unless(
            controller.feature_gates.values().all(|on| *on) && controller.max_uncounted_pods.is_none(),
            "controller: the feature gates and maxUncountedPods are those that the controller was started with",
        );
        unless(scenario.pods_before.is_empty(), "podsBefore: the controller runs before them");
    }
    reasons
}

/// What a real clock does not wait for.
fn of_time(scenario: &Scenario) -> Vec<String> {
    let spans = scenario.steps.iter().filter_map(|step| step.value.advance);
    let total: i64 = spans.map(|span| span.0).sum();
    let mut reasons = Vec::new();
    if total > LONGEST {
        reasons.push(format!(
            "advance: {} s in all, and no more than {} s are waited",
            total / 1000,
            LONGEST / 1000
        ));
    }
    let first = scenario.steps.iter().position(|step| step.value.advance.is_some());
    let last = scenario.steps.iter().rposition(|step| step.value.advance.is_some());
    let between = first.zip(last).and_then(|(first, last)| scenario.steps.get(first..last));
    let moment = between.into_iter().flatten().find(|step| step.value.settle.is_some());
    reasons.extend(moment.map(|step| {
        let line = step.referenced.line();
        format!("settle (line {line}) is about a moment between two advances, for which a real clock does not wait")
    }));
    reasons
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobcheck_harness::scenario::read;

    use super::*;

    fn scenario(tail: &str) -> Scenario {
        let head = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
                    jobs:\n- name: job\n  spec: {completions: 1}\n";
        read(&format!("{head}{tail}")).unwrap()
    }

    fn why(tail: &str, manager: Manager) -> String {
        let managed_by = (manager != Manager::BuiltIn).then(|| "example.com/x".to_owned());
        let plan =
            Plan { manager, managed_by, at_once: 0, patience: Duration::from_secs(1), allow_known: false };
        unfit(&scenario(tail), &plan).unwrap_or_default()
    }

    fn ours() -> Manager {
        Manager::Shipped { command: Vec::new(), ttl: true }
    }

    #[test]
    fn what_a_real_server_cannot_do_is_told_with_its_line() {
        let steps = |step: &str| format!("steps:\n- {step}\n- succeed: {{pod: 1}}\n");
        assert_eq!(why(&steps("fail: {pod: 1}"), Manager::BuiltIn), "");
        assert!(why(&steps("hold: {watch: pods}"), ours()).starts_with("hold (line 9) needs a fault proxy"));
        assert_eq!(why(&steps("crash: {}"), ours()), "");
        assert!(why(&steps("crash: {}"), Manager::BuiltIn).contains("has not started"));
        let during = "crash: {during: {verb: create, resource: pods}}";
        assert!(why(&steps(during), ours()).contains("fault proxy"));
        assert!(why(&steps("rollout: {featureGates: {JobManagedBy: false}}"), ours()).contains("managedBy"));
    }

    #[test]
    fn settings_that_a_target_cannot_have_are_told() {
        assert!(why("controller: {maxUncountedPods: 1}\n", Manager::External).contains("maxUncountedPods"));
        assert_eq!(why("controller: {maxUncountedPods: 1}\n", ours()), "");
        assert_eq!(why("controller: {podFailureBackoff: 0s}\n", Manager::BuiltIn), "");
        assert!(why("apiServer: {featureGates: {JobManagedBy: false}}\n", ours()).contains("apiServer"));
        assert!(why("ttlController: {clockAhead: -1}\n", ours()).contains("one clock"));
    }

    #[test]
    fn a_real_clock_waits_for_no_moment_between_two_advances() {
        let between = "steps:\n- advance: 1s\n- settle: {active: 1}\n- advance: 1s\n";
        assert!(why(between, ours()).contains("settle (line 10)"), "{}", why(between, ours()));
        assert_eq!(why("steps:\n- settle: {active: 1}\n- advance: 1s\n- settle: {active: 1}\n", ours()), "");
        assert!(why("steps:\n- advance: 60s\n", ours()).contains("60 s in all"));
    }
}

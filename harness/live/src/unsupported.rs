//! The scenarios that a real API server cannot run.

use jobcheck_scenario::{Outcome, Scenario, Step};
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::gates::Gates;

use crate::{Manager, Plan};

/// The maximum sum of `advance`, in milliseconds, because a real clock must pass it.
pub(crate) const MAX_ADVANCE_MS: i64 = 30_000;

/// Returns the reasons why a scenario cannot be run, joined by `; `. `None`: it can be run.
#[must_use]
pub fn unsupported(scenario: &Scenario, plan: &Plan) -> Option<String> {
    let (mut reasons, mut reported) = (Vec::new(), Vec::new());
    for step in &scenario.steps {
        let Some(why) = step_reason(&step.value, plan).filter(|why| !reported.contains(why)) else {
            continue;
        };
        let line = step.referenced.line();
        let happening = step.value.events().first().cloned().unwrap_or_default();
        reported.push(why);
        reasons.push(format!("{happening} (line {line}) {why}"));
    }
    reasons.extend(setting_reasons(scenario, plan));
    reasons.extend(time_reasons(scenario));
    if reasons.is_empty() { None } else { Some(reasons.join("; ")) }
}

/// Returns true if a step concerns requests or watches of the controllers.
fn concerns_requests(step: &Step) -> bool {
    step.request.is_some()
        || step.late_request.is_some()
        || step.hold.is_some()
        || step.release.is_some()
        || step.expire.is_some()
        || step.catch_up.is_some()
        || step.held_request.is_some()
        || step.crash.is_some_and(|crash| crash.during.is_some())
}

/// Returns true if a step concerns the processes of the controllers.
fn concerns_processes(step: &Step) -> bool {
    step.crash.is_some()
        || step.rollout.is_some()
        || step.pause.is_some()
        || step.unpause.is_some()
        || step.second_leader.is_some()
        || step.resign.is_some()
}

/// Returns true if a write is carried out and its sender gets no response. The trace can only show this if the
/// request is identified in an audit log.
fn loses_the_response(step: &Step) -> bool {
    let outcome = step.request.and_then(|it| it.outcome).or(step.held_request.and_then(|it| it.outcome));
    let is_lost = outcome == Some(Outcome::ResponseLost);
    is_lost || step.late_request.is_some() || step.crash.is_some_and(|crash| crash.during.is_some())
}

/// Returns true if a scenario requires a fault proxy before the controllers.
pub(crate) fn needs_proxy(scenario: &Scenario) -> bool {
    scenario.steps.iter().any(|step| concerns_requests(&step.value))
}

/// Returns true if the run must start the controllers itself: the scenario acts on them, or it has pods that exist
/// before them.
#[must_use]
pub fn needs_process(scenario: &Scenario) -> bool {
    let mut steps = scenario.steps.iter().map(|step| &step.value);
    let needs_own = !scenario.pods_before.is_empty() || scenario.subject().gates != Gates::ON;
    needs_own || steps.any(|step| concerns_requests(step) || concerns_processes(step))
}

/// The reason why a step is not possible.
fn step_reason(step: &Step, plan: &Plan) -> Option<&'static str> {
    let turns_off_managed_by =
        step.rollout.as_ref().is_some_and(|it| !it.gates().job_managed_by) && plan.managed_by.is_some();
    let is_started = match plan.manager {
        Manager::Shipped { .. } | Manager::BuiltIn { program: Some(_) } => true,
        Manager::BuiltIn { program: None } | Manager::External => false,
    };
    if concerns_requests(step) && !is_started {
        Some("requires a fault proxy before the controllers, which the run has not started")
    } else if concerns_processes(step) && !is_started {
        Some("concerns a process that the run has not started")
    } else if loses_the_response(step) && !plan.has_audit_log {
        Some("requires an audit log that identifies a request whose response is lost")
    } else if step.rollout.as_ref().is_some_and(|it| is_locked(it.gates(), plan)) {
        Some("changes feature gates that are locked in kube-controller-manager")
    } else if turns_off_managed_by {
        Some("turns JobManagedBy off, but the run's controllers select Jobs by managedBy")
    } else {
        None
    }
}

/// The version that kube-controller-manager emulates to unlock gates: the oldest one that it can emulate. Until 1.36 it unlocks
/// JobManagedBy and JobPodReplacementPolicy. 1.37 has JobManagedBy alone.
pub(crate) fn unlocking(rules: RuleSet) -> &'static str {
    if has_replacement_gate(rules) { "1.33" } else { "1.34" }
}

fn has_replacement_gate(rules: RuleSet) -> bool {
    rules.minor < 37
}

/// Returns true if the controllers cannot be started with these gates.
fn is_locked(gates: Gates, plan: &Plan) -> bool {
    match plan.manager {
        Manager::Shipped { .. } => false,
        Manager::BuiltIn { program: Some(_) } => {
            let has_policy = gates.job_pod_replacement_policy || has_replacement_gate(plan.rules);
            !(gates.job_backoff_limit_per_index && gates.job_success_policy && has_policy)
        }
        Manager::BuiltIn { program: None } | Manager::External => gates != Gates::ON,
    }
}

/// The reasons why settings of the scenario are not possible.
fn setting_reasons(scenario: &Scenario, plan: &Plan) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut unless = |fits: bool, why: &str| {
        if !fits {
            reasons.push(why.to_owned());
        }
    };
    unless(!scenario.unscheduled, "unscheduled: the pods of a run are bound at once");
    let server = scenario.api_server.as_ref();
    unless(
        server.is_none_or(|it| it.feature_gates.values().all(|on| *on)),
        "apiServer.featureGates: the gates of a real API server cannot be turned off",
    );
    let ahead = scenario.ttl_controller.as_ref().and_then(|it| it.clock_ahead);
    unless(ahead.unwrap_or_default() == 0, "ttlController.clockAhead: all processes have one clock");
    let controller = scenario.controller.clone().unwrap_or_default();
    if matches!(plan.manager, Manager::Shipped { .. }) {
        let needs_managed_by = plan.managed_by.is_some() && !scenario.subject().gates.job_managed_by;
        unless(!needs_managed_by, "controller.featureGates: the run's controllers select Jobs by managedBy");
        let are_controlled = scenario.pods_before.iter().any(|pod| pod.controlled);
        unless(
            plan.managed_by.is_none() || !are_controlled,
            "podsBefore: the judge treats the creator of pods as the manager of a Job with managedBy",
        );
    } else {
        unless(
            !is_locked(scenario.subject().gates, plan) && controller.max_uncounted_pods.is_none(),
            "controller: the feature gates and maxUncountedPods of this controller cannot be changed",
        );
        let is_started = matches!(plan.manager, Manager::BuiltIn { program: Some(_) });
        unless(
            is_started || scenario.pods_before.is_empty(),
            "podsBefore: the controller runs before these pods exist",
        );
    }
    reasons
}

/// The reasons why the times of the scenario are not possible with a real clock.
fn time_reasons(scenario: &Scenario) -> Vec<String> {
    let spans = scenario.steps.iter().filter_map(|step| step.value.advance);
    let total: i64 = spans.map(|span| span.0).sum();
    let mut reasons = Vec::new();
    if total > MAX_ADVANCE_MS {
        reasons.push(format!(
            "advance: {} s in total, more than the maximum of {} s",
            total / 1000,
            MAX_ADVANCE_MS / 1000
        ));
    }
    let first = scenario.steps.iter().position(|step| step.value.advance.is_some());
    let last = scenario.steps.iter().rposition(|step| step.value.advance.is_some());
    let between = first.zip(last).and_then(|(first, last)| scenario.steps.get(first..last));
    let is_moment = |step: &Step| step.settle.as_ref().is_some_and(|claims| !claims.is_empty());
    let moment = between.into_iter().flatten().find(|step| is_moment(&step.value));
    reasons.extend(moment.map(|step| {
        let line = step.referenced.line();
        format!("settle (line {line}) concerns a state between two advances, at which a real clock cannot be stopped")
    }));
    reasons
}

#[cfg(test)]
mod tests {
    use jobcheck_scenario::read;

    use super::*;

    fn scenario(tail: &str) -> Scenario {
        let head = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
                    jobs:\n- name: job\n  spec: {completions: 1}\n";
        read(&format!("{head}{tail}")).unwrap()
    }

    fn why(tail: &str, manager: Manager) -> String {
        let managed_by = (manager == Manager::External).then(|| "example.com/x".to_owned());
        unsupported(&scenario(tail), &plan(manager, managed_by, true)).unwrap_or_default()
    }

    fn plan(manager: Manager, managed_by: Option<String>, has_audit_log: bool) -> Plan {
        let rules = RuleSet::default();
        Plan { manager, managed_by, rules, at_once: 0, patience: None, has_audit_log, allow_known: false }
    }

    fn ours() -> Manager {
        Manager::Shipped { command: Vec::new(), ttl: true }
    }

    fn shared() -> Manager {
        Manager::BuiltIn { program: None }
    }

    fn steps(step: &str) -> String {
        format!("steps:\n- {step}\n- succeed: {{pod: 1}}\n")
    }

    const DURING: &str = "crash: {during: {verb: create, resource: pods}}";

    #[test]
    fn a_step_on_a_foreign_controller_is_refused_with_its_line() {
        assert_eq!(why(&steps("fail: {pod: 1}"), shared()), "");
        assert!(why(&steps("crash: {}"), shared()).contains("has not started"));
        for step in ["hold: {watch: pods}", "expire: {watch: jobs}", "catchUp: {}", DURING] {
            let (built_in, external) = (why(&steps(step), shared()), why(&steps(step), Manager::External));
            assert!(built_in.contains(" (line 9) requires a fault proxy"), "{built_in}");
            assert_eq!(built_in, external);
            assert!(needs_process(&scenario(&steps(step))) && needs_proxy(&scenario(&steps(step))));
        }
        assert!(!needs_process(&scenario(&steps("fail: {pod: 1}"))));
        assert!(
            !needs_proxy(&scenario(&steps("crash: {}"))) && needs_process(&scenario(&steps("crash: {}")))
        );
    }

    #[test]
    fn the_gates_that_are_off_are_those_that_the_version_can_unlock() {
        let own = Manager::BuiltIn { program: Some(vec!["controlplane".into()]) };
        let is_locked_in = |rules, gate: &str| {
            let gates = Gates::ON.with(gate, false).unwrap();
            is_locked(gates, &Plan { rules, ..plan(own.clone(), None, true) })
        };
        let [before, since] = [RuleSet::V1_36, RuleSet::V1_37];
        assert!(!is_locked_in(before, "JobManagedBy") && !is_locked_in(since, "JobManagedBy"));
        assert!(!is_locked_in(before, "JobPodReplacementPolicy"));
        assert!(is_locked_in(since, "JobPodReplacementPolicy"));
        assert!(is_locked_in(before, "JobSuccessPolicy") && is_locked_in(since, "JobSuccessPolicy"));
        assert_eq!([before, since].map(unlocking), ["1.33", "1.34"]);
    }

    #[test]
    fn a_step_on_a_process_of_the_run_is_possible() {
        let own = Manager::BuiltIn { program: Some(vec!["controlplane".into()]) };
        for step in ["hold: {watch: pods}", "crash: {}", "secondLeader: {}", DURING] {
            assert_eq!((why(&steps(step), ours()), why(&steps(step), own.clone())), Default::default());
        }
        let rollout = steps("rollout: {featureGates: {JobManagedBy: false}}");
        assert_eq!((why(&rollout, ours()), why(&rollout, own.clone())), Default::default());
        let other = steps("rollout: {featureGates: {JobSuccessPolicy: false}}");
        assert!(why(&other, own).contains("locked") && why(&rollout, shared()).contains("not started"));
        let known_by = plan(ours(), Some("example.com/x".to_owned()), true);
        assert!(unsupported(&scenario(&rollout), &known_by).unwrap().contains("managedBy"));
    }

    #[test]
    fn without_an_audit_log_no_request_is_identified() {
        let reason =
            |step: &str| unsupported(&scenario(&steps(step)), &plan(ours(), None, false)).unwrap_or_default();
        assert!(reason(DURING).contains("audit log"));
        let request =
            |outcome: &str| reason(&format!("request: {{verb: create, resource: pods, outcome: {outcome}}}"));
        assert!(request("answerLost").contains("audit log"));
        assert_eq!((request("fails"), reason("hold: {watch: jobs}")), Default::default());
    }

    #[test]
    fn impossible_settings_are_reported() {
        assert!(why("controller: {maxUncountedPods: 1}\n", Manager::External).contains("maxUncountedPods"));
        assert_eq!(why("controller: {maxUncountedPods: 1}\n", ours()), "");
        assert_eq!(why("controller: {podFailureBackoff: 0s}\n", shared()), "");
        assert!(why("apiServer: {featureGates: {JobManagedBy: false}}\n", ours()).contains("apiServer"));
        assert!(why("ttlController: {clockAhead: -1}\n", ours()).contains("one clock"));
    }

    #[test]
    fn a_state_between_two_advances_is_refused() {
        let between = "steps:\n- advance: 1s\n- settle: {active: 1}\n- advance: 1s\n";
        assert!(why(between, ours()).contains("settle (line 10)"), "{}", why(between, ours()));
        assert_eq!(why("steps:\n- settle: {active: 1}\n- advance: 1s\n- settle: {active: 1}\n", ours()), "");
        assert_eq!(why("steps:\n- advance: 1s\n- settle: {}\n- advance: 1s\n", ours()), "");
        assert!(why("steps:\n- advance: 60s\n", ours()).contains("60 s in total"));
    }
}

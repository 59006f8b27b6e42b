//! What cannot be run on a real API server, and why.

use jobcheck_scenario::{Outcome, Scenario, Step};
use jobcheck_spec::gates::Gates;

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

/// Whether a step is about requests or watches of the controllers.
fn is_of_requests(step: &Step) -> bool {
    step.request.is_some()
        || step.late_request.is_some()
        || step.hold.is_some()
        || step.release.is_some()
        || step.expire.is_some()
        || step.catch_up.is_some()
        || step.held_request.is_some()
        || step.crash.is_some_and(|crash| crash.during.is_some())
}

/// Whether a step is about the processes of the controllers.
fn is_of_processes(step: &Step) -> bool {
    step.crash.is_some()
        || step.rollout.is_some()
        || step.pause.is_some()
        || step.unpause.is_some()
        || step.second_leader.is_some()
        || step.resign.is_some()
}

/// Whether a write of a controller comes to be, and its sender does not know of it. Only where the request is known again
/// can a judge be told so.
fn is_unheard(step: &Step) -> bool {
    let outcome = step.request.and_then(|it| it.outcome).or(step.held_request.and_then(|it| it.outcome));
    let is_lost = outcome == Some(Outcome::ResponseLost);
    is_lost || step.late_request.is_some() || step.crash.is_some_and(|crash| crash.during.is_some())
}

/// Whether a fault proxy has to stand before the controllers.
pub(crate) fn needs_proxy(scenario: &Scenario) -> bool {
    scenario.steps.iter().any(|step| is_of_requests(&step.value))
}

/// Whether the controllers have to be a process of this run alone: because of what happens to them, or because something
/// is there before them.
#[must_use]
pub fn needs_process(scenario: &Scenario) -> bool {
    let mut steps = scenario.steps.iter().map(|step| &step.value);
    let is_apart = !scenario.pods_before.is_empty() || scenario.subject().gates != Gates::ON;
    is_apart || steps.any(|step| is_of_requests(step) || is_of_processes(step))
}

/// Why this step cannot be made to happen.
fn of_step(step: &Step, plan: &Plan) -> Option<&'static str> {
    let turns_off_managed_by =
        step.rollout.as_ref().is_some_and(|it| !it.gates().job_managed_by) && plan.managed_by.is_some();
    let is_started = match plan.manager {
        Manager::Shipped { .. } | Manager::BuiltIn { program: Some(_) } => true,
        Manager::BuiltIn { program: None } | Manager::External => false,
    };
    if is_of_requests(step) && !is_started {
        Some("needs a fault proxy before the controllers, and they were started without one, not by the run")
    } else if is_of_processes(step) && !is_started {
        Some("is about a process that the run has not started")
    } else if is_unheard(step) && !plan.has_audit_log {
        Some(
            "needs an audit log, in which a request is known again whose sender does not know what became of it",
        )
    } else if step.rollout.as_ref().is_some_and(|it| is_locked(it.gates(), plan)) {
        Some(LOCKED)
    } else if turns_off_managed_by {
        Some("turns JobManagedBy off, and its Jobs are known by managedBy")
    } else {
        None
    }
}

/// Whether the controllers cannot be started with these gates. kube-controller-manager unlocks two of them where it emulates
/// an older version.
fn is_locked(gates: Gates, plan: &Plan) -> bool {
    match plan.manager {
        Manager::Shipped { .. } => false,
        Manager::BuiltIn { program: Some(_) } => {
            !(gates.job_backoff_limit_per_index && gates.job_success_policy)
        }
        Manager::BuiltIn { program: None } | Manager::External => gates != Gates::ON,
    }
}

const LOCKED: &str = "is about feature gates, which kube-controller-manager has locked";

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
            !is_locked(scenario.subject().gates, plan) && controller.max_uncounted_pods.is_none(),
            "controller: the feature gates and maxUncountedPods are those that the controller has",
        );
        let is_started = matches!(plan.manager, Manager::BuiltIn { program: Some(_) });
        unless(is_started || scenario.pods_before.is_empty(), "podsBefore: the controller runs before them");
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
    let is_moment = |step: &Step| step.settle.as_ref().is_some_and(|claims| !claims.is_empty());
    let moment = between.into_iter().flatten().find(|step| is_moment(&step.value));
    reasons.extend(moment.map(|step| {
        let line = step.referenced.line();
        format!("settle (line {line}) is about a moment between two advances, for which a real clock does not wait")
    }));
    reasons
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobcheck_scenario::read;

    use super::*;

    fn scenario(tail: &str) -> Scenario {
        let head = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
                    jobs:\n- name: job\n  spec: {completions: 1}\n";
        read(&format!("{head}{tail}")).unwrap()
    }

    fn why(tail: &str, manager: Manager) -> String {
        let managed_by = (manager == Manager::External).then(|| "example.com/x".to_owned());
        unfit(&scenario(tail), &plan(manager, managed_by, true)).unwrap_or_default()
    }

    fn plan(manager: Manager, managed_by: Option<String>, has_audit_log: bool) -> Plan {
        let patience = Duration::from_secs(1);
        Plan { manager, managed_by, at_once: 0, patience, has_audit_log, allow_known: false }
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
    fn what_cannot_happen_to_a_controller_that_others_have_started_is_told_with_its_line() {
        assert_eq!(why(&steps("fail: {pod: 1}"), shared()), "");
        assert!(why(&steps("crash: {}"), shared()).contains("has not started"));
        for step in ["hold: {watch: pods}", "expire: {watch: jobs}", "catchUp: {}", DURING] {
            let (built_in, external) = (why(&steps(step), shared()), why(&steps(step), Manager::External));
            assert!(built_in.contains(" (line 9) needs a fault proxy"), "{built_in}");
            assert_eq!(built_in, external);
            assert!(needs_process(&scenario(&steps(step))) && needs_proxy(&scenario(&steps(step))));
        }
        assert!(!needs_process(&scenario(&steps("fail: {pod: 1}"))));
        assert!(
            !needs_proxy(&scenario(&steps("crash: {}"))) && needs_process(&scenario(&steps("crash: {}")))
        );
    }

    #[test]
    fn what_happens_to_a_process_of_the_run_can_be_made_to_happen() {
        let own = Manager::BuiltIn { program: Some("controlplane".into()) };
        for step in ["hold: {watch: pods}", "crash: {}", "secondLeader: {}", DURING] {
            assert_eq!((why(&steps(step), ours()), why(&steps(step), own.clone())), Default::default());
        }
        let rollout = steps("rollout: {featureGates: {JobManagedBy: false}}");
        assert_eq!((why(&rollout, ours()), why(&rollout, own.clone())), Default::default());
        let other = steps("rollout: {featureGates: {JobSuccessPolicy: false}}");
        assert!(why(&other, own).contains("locked") && why(&rollout, shared()).contains("not started"));
        let known_by = plan(ours(), Some("example.com/x".to_owned()), true);
        assert!(unfit(&scenario(&rollout), &known_by).unwrap().contains("managedBy"));
    }

    #[test]
    fn without_an_audit_log_no_request_is_known_again() {
        let told =
            |step: &str| unfit(&scenario(&steps(step)), &plan(ours(), None, false)).unwrap_or_default();
        assert!(told(DURING).contains("audit log"));
        let request =
            |outcome: &str| told(&format!("request: {{verb: create, resource: pods, outcome: {outcome}}}"));
        assert!(request("answerLost").contains("audit log"));
        assert_eq!((request("fails"), told("hold: {watch: jobs}")), Default::default());
    }

    #[test]
    fn settings_that_a_target_cannot_have_are_told() {
        assert!(why("controller: {maxUncountedPods: 1}\n", Manager::External).contains("maxUncountedPods"));
        assert_eq!(why("controller: {maxUncountedPods: 1}\n", ours()), "");
        assert_eq!(why("controller: {podFailureBackoff: 0s}\n", shared()), "");
        assert!(why("apiServer: {featureGates: {JobManagedBy: false}}\n", ours()).contains("apiServer"));
        assert!(why("ttlController: {clockAhead: -1}\n", ours()).contains("one clock"));
    }

    #[test]
    fn a_real_clock_waits_for_no_moment_between_two_advances() {
        let between = "steps:\n- advance: 1s\n- settle: {active: 1}\n- advance: 1s\n";
        assert!(why(between, ours()).contains("settle (line 10)"), "{}", why(between, ours()));
        assert_eq!(why("steps:\n- settle: {active: 1}\n- advance: 1s\n- settle: {active: 1}\n", ours()), "");
        assert_eq!(why("steps:\n- advance: 1s\n- settle: {}\n- advance: 1s\n", ours()), "");
        assert!(why("steps:\n- advance: 60s\n", ours()).contains("60 s in all"));
    }
}

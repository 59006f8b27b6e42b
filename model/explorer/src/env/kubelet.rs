//! The kubelet: it runs pods, and sets the final phase of each before the pod is removed (EN-01).

use std::sync::Arc;

use crate::scope::Scope;
use crate::world::{JobId, JobState, World};
use jobcheck_spec::failure_policy::{ContainerEnd, FailureEvidence, evaluate};
use jobcheck_spec::job::{Job, JobSpec, RestartPolicy};
use jobcheck_spec::pod::{Phase, Pod, PolicyMatch};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

/// A step of the kubelet, or of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KubeletStep {
    /// The scheduler binds the pod to a node.
    Schedule,
    /// The phase becomes `Running`.
    Run,
    /// The condition Ready becomes true.
    Ready,
    /// The condition Ready becomes false.
    Unready,
    /// The container restarts in its pod.
    Restart,
    /// The phase becomes `Succeeded`.
    Succeed,
    /// The phase becomes `Failed`, and the container exits with this code.
    Fail(i32),
    /// The phase changes from `Succeeded` to `Failed`.
    Flip,
    /// The pod is removed: it was deleted, it has terminated or has no grace period, and no finalizer holds
    /// it (SY-12).
    Remove,
}

/// The enabled steps of each pod.
pub fn enabled(job_state: &JobState, scope: &Scope, add: &mut dyn FnMut(Uid, KubeletStep)) {
    let restarts = may_restart(job_state);
    for pod in job_state.pods.iter() {
        for what in possible(pod, restarts, scope) {
            add(pod.uid, what);
        }
    }
}

fn may_restart(job_state: &JobState) -> bool {
    job_state.job.as_ref().is_some_and(|job| job.spec.template.restart_policy == RestartPolicy::OnFailure)
}

fn possible(pod: &Pod, restarts: bool, scope: &Scope) -> Vec<KubeletStep> {
    let free = pod.deleting && !pod.finalizer && !pod.other_finalizers;
    if pod.is_terminated() {
        let flips = scope.flips && pod.phase == Phase::Succeeded;
        let flip = flips.then_some(KubeletStep::Flip);
        return free.then_some(KubeletStep::Remove).into_iter().chain(flip).collect();
    }
    if !pod.scheduled {
        // An unscheduled pod has no kubelet.
        let binds = (!pod.deleting).then_some(KubeletStep::Schedule);
        let goes = (free && pod.forced).then_some(KubeletStep::Remove);
        return binds.into_iter().chain(goes).collect();
    }
    let has_not_run = scope.phases && pod.phase == Phase::Pending && !pod.deleting;
    // A script need not contain the step from Pending to Running.
    if has_not_run && scope.script.is_none() {
        return vec![KubeletStep::Run];
    }
    let mut steps = vec![KubeletStep::Succeed];
    steps.extend(has_not_run.then_some(KubeletStep::Run));
    if free && pod.forced {
        steps.push(KubeletStep::Remove);
    }
    steps.extend(scope.exit_codes().iter().map(|code| KubeletStep::Fail(*code)));
    if scope.phases && !pod.ready && !pod.deleting && !has_not_run {
        steps.push(KubeletStep::Ready);
    }
    if scope.unready && pod.ready && !pod.deleting {
        steps.push(KubeletStep::Unready);
    }
    if restarts && pod.restarts < scope.restarts && !pod.deleting && !has_not_run {
        steps.push(KubeletStep::Restart);
    }
    steps
}

/// Takes a step.
pub fn apply(world: &mut World, job: JobId, uid: Uid, what: KubeletStep, scope: &Scope) {
    let now = scope.stamp(world.now);
    let job_state = world.job_state_mut(job);
    let Some(pod) = job_state.pods.get(uid) else { return };
    let after = changed(pod, what, job_state.job.as_ref(), now);
    if let Some(after) = &after {
        job_state.ghost.pod_changed(after);
    }
    job_state.set_pod(uid, after, scope.lag);
}

fn changed(pod: &Pod, what: KubeletStep, job: Option<&Arc<Job>>, now: Time) -> Option<Pod> {
    let pod = pod.clone();
    match what {
        KubeletStep::Schedule => Some(Pod { scheduled: true, ..pod }),
        KubeletStep::Run => Some(Pod { phase: Phase::Running, ..pod }),
        KubeletStep::Ready => Some(Pod { ready: true, ready_changed: Some(now), ..pod }),
        KubeletStep::Unready => Some(Pod { ready: false, ready_changed: Some(now), ..pod }),
        KubeletStep::Restart => {
            Some(Pod { restarts: pod.restarts + 1, max_restarts: pod.max_restarts + 1, ..pod })
        }
        KubeletStep::Succeed => {
            Some(Pod { phase: Phase::Succeeded, ready: false, forced: false, finished: Some(now), ..pod })
        }
        KubeletStep::Fail(code) => Some(failed(pod, Some(code), job, now)),
        KubeletStep::Flip => {
            let policy = job.map_or(PolicyMatch::None, |job| policy_match(&job.spec, &pod, None));
            Some(Pod { phase: Phase::Failed, policy, ..pod })
        }
        KubeletStep::Remove => None,
    }
}

/// The pod in phase `Failed`. Its only container exited with this code, or with an unknown one.
pub(super) fn failed(pod: Pod, code: Option<i32>, job: Option<&Arc<Job>>, now: Time) -> Pod {
    let policy = job.map_or(PolicyMatch::None, |job| policy_match(&job.spec, &pod, code));
    Pod { phase: Phase::Failed, ready: false, forced: false, finished: Some(now), policy, ..pod }
}

/// The rule of the pod failure policy that the pod matches.
fn policy_match(spec: &JobSpec, pod: &Pod, code: Option<i32>) -> PolicyMatch {
    let Some(policy) = &spec.pod_failure_policy else { return PolicyMatch::None };
    let container = ContainerEnd { name: "main".into(), exit_code: code };
    let conditions = pod.disrupted.then(|| ("DisruptionTarget".into(), "True".into()));
    let evidence = FailureEvidence {
        namespace: "default".into(),
        name: format!("pod-{}", pod.uid.0).into(),
        containers: vec![container],
        conditions: conditions.into_iter().collect(),
        ..FailureEvidence::default()
    };
    evaluate(policy, &evidence)
}

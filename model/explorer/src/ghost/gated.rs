//! The history of feature gates: writes that the gates of their process forbid.

use super::{Decision, GhostHistory, restarts};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job, JobSpec, JobStatus};
use jobcheck_spec::time::Time;

/// The managers that have written a Job's status (MB-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Writers {
    /// The built-in controller.
    pub built_in: bool,
    /// Another manager.
    pub external: bool,
}

impl GhostHistory {
    /// Notes a write of the built-in controller with these gates.
    pub fn built_in_wrote(&mut self, gates: Gates, job: Option<&Job>) {
        if gates.job_managed_by && job.is_some_and(|job| !job.is_managed_by_built_in()) {
            self.violations.gates.get_or_insert(Req::UG15);
        }
    }

    /// Notes a status write of the built-in controller with these gates. [`GhostHistory::status_written`] was
    /// called before.
    pub fn status_written_with(&mut self, gates: Gates, job: &Job, new: &JobStatus, now: Time) {
        self.writers.built_in |= !job.is_managed_by_built_in();
        let old = &job.status;
        let is_new = |it: &&Condition| it.status == ConditionStatus::True && !old.is_true(&it.kind);
        let mut fresh = new.conditions.iter().filter(is_new);
        let announced = fresh.find(|it| is_interim(&it.kind) && !is_of_a_policy(it)).is_some();
        let violations = [
            (Req::UG05, !gates.job_pod_replacement_policy && new.terminating.is_some()),
            (Req::UG09, !gates.job_backoff_limit_per_index && new.failed_indexes.is_some()),
            (Req::UG07, !gates.delays_terminal_condition() && announced),
        ];
        if let Some((req, _)) = violations.into_iter().find(|(_, violated)| *violated) {
            self.violations.gates.get_or_insert(req);
        }
        if !gates.delays_terminal_condition() && !old.is_finished() {
            self.ended_at_once(&job.spec, new, restarts(&job.spec, &self.pods), now);
        }
    }

    /// UG-07: a Job finishes without an interim condition, and without waiting for pods.
    fn ended_at_once(&mut self, spec: &JobSpec, new: &JobStatus, restarts: u32, now: Time) {
        let Some(ending) = &mut self.ending else { return };
        ending.needs_delay = false;
        let decided = self.decision.is_some();
        let of_a_policy = ["PodFailurePolicy", "SuccessPolicy"].contains(&&*ending.text.0);
        ending.needs_interim = decided || of_a_policy;
        if !ending.needs_interim && new.is_finished() {
            let (good, (reason, message)) = (ending.good, ending.text.clone());
            self.decision = Some(Decision {
                good,
                reason,
                message,
                when: now,
                completions: self.most,
                restarts,
                backoff_limit: spec.backoff_limit,
                deadline: spec.active_deadline_seconds,
                max_failed_indexes: spec.max_failed_indexes,
                failed_indexes: new.failed_set(None).len() as usize,
            });
        }
    }
}

fn is_interim(kind: &ConditionKind) -> bool {
    matches!(kind, ConditionKind::SuccessCriteriaMet | ConditionKind::FailureTarget)
}

/// The verdict of a policy has an interim condition that does not depend on the gates.
fn is_of_a_policy(condition: &Condition) -> bool {
    ["PodFailurePolicy", "SuccessPolicy"].contains(&&*condition.reason)
}

//! Termination: the interim and the terminal condition of a Job.

use super::Property;
use crate::ghost::{Decision, End, PodHistory};
use crate::world::{Driver, JobState};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::decision::Reason;
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{ConditionKind, ConditionStatus};
use jobcheck_spec::words::or_none;

/// TC-04, SS-18: a Job finishes after its last active or terminating pod.
pub const NOTHING_TERMINATES_AT_THE_END: Property = Property {
    req: Req::TC04,
    name: "a Job has no terminal condition while a pod is active or terminating",
    needs_processes: false,
    broken: |job_state| {
        let ending = job_state.ghost.ending.as_ref().filter(|ending| ending.needs_delay)?;
        (ending.terminating + ending.active > 0).then(|| {
            format!(
                "the Job finished with {} terminating and {} active pods",
                ending.terminating, ending.active
            )
        })
    },
    premise: |it| it.job_state.ghost.decision.is_some() && it.job_state.pods.sums().terminating > 0,
};

/// TC-05, SS-24 to SS-26: `completionTime` belongs to the condition `Complete`.
pub const COMPLETION_TIME_ONLY_WITH_COMPLETE: Property = Property {
    req: Req::TC05,
    name: "a Job has a completionTime exactly if it has the condition Complete",
    needs_processes: false,
    broken: |job_state| {
        let job = job_state.job.as_ref()?;
        let completed = job_state.ghost.ending.as_ref().filter(|ending| ending.good);
        let wrong = match completed {
            None => job.status.completion_time.is_some(),
            Some(ending) => {
                job.status.completion_time.is_none() || job.status.completion_time != ending.completion_time
            }
        };
        wrong.then(|| format!("completionTime is {}", or_none(job.status.completion_time)))
    },
    premise: |it| it.job_state.ghost.ending.as_ref().is_some_and(|ending| ending.good),
};

/// TC-03: the terminal condition repeats the interim condition.
pub const END_REPEATS_THE_DECISION: Property = Property {
    req: Req::TC03,
    name: "the terminal condition has the reason and the message of the interim condition",
    needs_processes: false,
    broken: |job_state| {
        let ending = job_state.ghost.ending.as_ref()?;
        let repeats = job_state.ghost.decision.as_ref().is_some_and(|decision| {
            decision.good == ending.good
                && (&decision.reason, &decision.message) == (&ending.text.0, &ending.text.1)
        });
        (!repeats).then(|| {
            format!(
                "the terminal condition has the reason {} and the message \"{}\"",
                ending.text.0, ending.text.1
            )
        })
    },
    premise: |it| it.job_state.ghost.ending.is_some(),
};

/// SS-34: two separate writes store the two conditions.
pub const DECISION_COMES_EARLIER: Property = Property {
    req: Req::SS34,
    name: "the interim condition is stored in an earlier write than the terminal condition",
    needs_processes: false,
    broken: |job_state| {
        let ending = job_state.ghost.ending.as_ref().filter(|ending| ending.needs_interim)?;
        (!ending.decided_before).then(|| "no earlier write stored the interim condition".to_owned())
    },
    premise: |it| it.job_state.ghost.ending.is_some(),
};

/// TC-06: the first decision is final.
pub const DECISION_STAYS: Property = Property {
    req: Req::TC06,
    name: "the first interim condition stays, and the other one is never added",
    needs_processes: false,
    broken: |job_state| {
        let (job, decision) = (job_state.job.as_ref()?, job_state.ghost.decision.as_ref()?);
        if job_state.ghost.ending.as_ref().is_some_and(|ending| !ending.needs_interim) {
            return None;
        }
        let (kind, other) = kinds(decision);
        // S-12: if several conditions have this type, any of them may be the one.
        let stays =
            job.status.conditions.iter().any(|it| {
                it.kind == kind && it.status == ConditionStatus::True && it.reason == decision.reason
            });
        let alone = !job.status.is_true(&other);
        (!stays || !alone).then(|| {
            format!(
                "{} ({}) was removed, or the other interim condition was added",
                kind.as_str(),
                decision.reason
            )
        })
    },
    premise: |it| it.job_state.ghost.decision.is_some(),
};

fn kinds(decision: &Decision) -> (ConditionKind, ConditionKind) {
    let (good, bad) = (ConditionKind::SuccessCriteriaMet, ConditionKind::FailureTarget);
    if decision.good { (good, bad) } else { (bad, good) }
}

/// FT-10, TC-04: a sync that reaches the limit of the lists must not finish the Job.
pub const NO_END_OVER_A_TRACKED_POD: Property = Property {
    req: Req::FT10,
    name: "a Job does not finish while a pod that its controller knows to have terminated holds the finalizer",
    needs_processes: true,
    broken: |job_state| {
        let pods = job_state.ghost.violations.tracked_at_the_end;
        (pods > 0).then(|| format!("the Job finished while {pods} terminated pods held the finalizer"))
    },
    premise: |it| {
        let held = it.job_state.pods.iter().filter(|pod| pod.is_terminated() && pod.finalizer).count();
        let has_processes = matches!(it.job_state.driver, Driver::Processes { .. });
        has_processes && it.job_state.ghost.decision.is_some() && held > it.scope.constants.max_uncounted_pods
    },
};

/// TC-11: the write of the terminal condition is the last one.
pub const NO_WRITE_AFTER_THE_END: Property = Property {
    req: Req::TC11,
    name: "the status is not written after the terminal condition",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .write_after_end
            .then(|| "the status was written after the terminal condition".to_owned())
    },
    premise: |it| it.job_state.ghost.ending.is_some() && it.job_state.pods.iter().any(|pod| pod.finalizer),
};

/// S-01: the pods that completion by `completions` needs have succeeded.
pub const COMPLETE_MEANS_ENOUGH_SUCCESSES: Property = Property {
    req: Req::S01,
    name: "a Job that completes by completions has enough successful pods",
    needs_processes: false,
    broken: |job_state| {
        let decision = job_state.ghost.decision.as_ref()?;
        let wanted = usize::try_from(decision.completions.unwrap_or(1)).unwrap_or(0);
        if job_state.ghost.ending.as_ref().is_none_or(|ending| !ending.good)
            || !decided(job_state, Reason::CompletionsReached)
        {
            return None;
        }
        let successes = successes(job_state);
        (successes < wanted).then(|| format!("{successes} of {wanted} needed pods succeeded"))
    },
    premise: |it| decided(it.job_state, Reason::CompletionsReached),
};

/// The number of pods that succeeded and were not recorded as failed before (FT-13). For an Indexed Job, the
/// number of their indexes.
fn successes(job_state: &JobState) -> usize {
    let indexed = job_state.job.as_ref().is_some_and(|job| job.spec.is_indexed());
    // FT-07: a completed index does not show which pod succeeded. After that pod's phase changes to `Failed`,
    // the pod may also be recorded as failed. The index stays completed.
    let ended_well = |ghost: &&PodHistory| {
        let failed_first = ghost.recorded == Some(End::Failure) && !(indexed && ghost.flipped);
        ghost.end == Some(End::Success) && !failed_first
    };
    if indexed {
        let done: IndexSet =
            job_state.ghost.pods.iter().filter(ended_well).filter_map(|ghost| ghost.index).collect();
        done.len() as usize
    } else {
        job_state.ghost.pods.iter().filter(ended_well).count()
    }
}

/// BO-12, BO-13, BO-16: more pods failed than `backoffLimit` allows, or containers restarted as often.
pub const LIMIT_WAS_EXCEEDED: Property = Property {
    req: Req::BO12,
    name: "a Job that fails by backoffLimit has more failed pods than the limit",
    needs_processes: false,
    broken: |job_state| {
        let decision = job_state.ghost.decision.as_ref()?;
        let limit = usize::try_from(decision.backoff_limit?).unwrap_or(usize::MAX);
        let restarted = usize::try_from(decision.restarts).is_ok_and(|restarts| restarts >= limit.max(1));
        if !decided(job_state, Reason::BackoffLimitExceeded) || restarted {
            return None;
        }
        let failures = job_state.ghost.pods.iter().filter(|ghost| may_count_as_failure(ghost)).count();
        (failures <= limit)
            .then(|| format!("{failures} pods failed, which does not exceed backoffLimit {limit}"))
    },
    premise: |it| decided(it.job_state, Reason::BackoffLimitExceeded),
};

fn may_count_as_failure(ghost: &PodHistory) -> bool {
    !ghost.ignored && (ghost.has_failed() || ghost.deleted)
}

/// PF-06, PF-09: FailJob acts on a failed pod, which stays until the Job is decided.
pub const FAIL_JOB_HAS_A_POD: Property = Property {
    req: Req::PF09,
    name: "a pod that matches a FailJob rule keeps its finalizer until the Job is decided",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .verdict_lost
            .map(|uid| format!("pod {} lost its finalizer before the Job was decided", uid.0))
    },
    premise: |it| {
        it.job_state.ghost.decision.is_none() && it.job_state.pods.matching_fail_job().next().is_some()
    },
};

/// SX-02: all indexes that one success rule needs have succeeded.
pub const SUCCESS_POLICY_HAS_ITS_INDEXES: Property = Property {
    req: Req::SX02,
    name: "a Job that completes by its success policy meets one of the rules",
    needs_processes: false,
    broken: |job_state| {
        let policy = job_state.job.as_ref()?.spec.success_policy.as_ref()?;
        if !decided(job_state, Reason::SuccessPolicy) {
            return None;
        }
        let ended_well = job_state.ghost.pods.iter().filter(|ghost| ghost.end == Some(End::Success));
        let done: IndexSet = ended_well.filter_map(|ghost| ghost.index).collect();
        let met = policy.rules.iter().any(|rule| {
            let wanted = rule.succeeded_indexes.as_deref().map(|text| IndexSet::read(text, None));
            let have =
                done.iter().filter(|index| wanted.as_ref().is_none_or(|set| set.contains(*index))).count();
            let all = wanted.as_ref().is_some_and(|set| have == set.len() as usize);
            all || rule
                .succeeded_count
                .is_some_and(|count| usize::try_from(count).is_ok_and(|count| have >= count))
        });
        (!met).then(|| format!("the completed indexes \"{done}\" meet no rule"))
    },
    premise: |it| decided(it.job_state, Reason::SuccessPolicy),
};

/// SU-08: the deadline had passed when the Job was decided for it.
pub const DEADLINE_HAD_PASSED: Property = Property {
    req: Req::SU08,
    name: "a Job that fails by activeDeadlineSeconds was active for that long",
    needs_processes: false,
    broken: |job_state| {
        let job = job_state.job.as_ref()?;
        let decision = job_state.ghost.decision.as_ref()?;
        let deadline = decision.deadline?;
        let start = job.status.start_time?;
        let early = decided(job_state, Reason::DeadlineExceeded) && decision.when.since(start) < deadline;
        early.then(|| {
            format!(
                "the Job was active for {} s, activeDeadlineSeconds is {deadline}",
                decision.when.since(start)
            )
        })
    },
    premise: |it| decided(it.job_state, Reason::DeadlineExceeded),
};

/// Returns true if the Job was decided for this reason.
fn decided(job_state: &JobState, reason: Reason) -> bool {
    job_state.ghost.decision.as_ref().is_some_and(|decision| reason.is_written_as(&decision.reason))
}

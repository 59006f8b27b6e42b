//! How a Job comes to its end.

use super::Property;
use crate::ghost::{Decision, End, PodHistory};
use crate::world::{Driver, JobState};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::decision::Reason;
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{ConditionKind, ConditionStatus};
use jobcheck_spec::words::or_none;

/// TC-04, SS-18: the second of the three that everybody names.
pub const NOTHING_TERMINATES_AT_THE_END: Property = Property {
    req: Req::TC04,
    name: "no terminal condition while a pod is active or terminating",
    needs_processes: false,
    broken: |job_state| {
        let ending = job_state.ghost.ending.as_ref().filter(|ending| ending.owes_delay)?;
        (ending.terminating + ending.active > 0).then(|| {
            format!("it finished with {} pods terminating, {} active", ending.terminating, ending.active)
        })
    },
    premise: |it| it.job_state.ghost.decision.is_some() && it.job_state.pods.sums().terminating > 0,
};

/// TC-05, SS-24 to SS-26: the third.
pub const COMPLETION_TIME_ONLY_WITH_COMPLETE: Property = Property {
    req: Req::TC05,
    name: "completionTime only with Complete",
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

/// TC-03: the terminal condition repeats the interim one.
pub const END_REPEATS_THE_DECISION: Property = Property {
    req: Req::TC03,
    name: "a terminal condition repeats the interim condition that came before",
    needs_processes: false,
    broken: |job_state| {
        let ending = job_state.ghost.ending.as_ref()?;
        let repeats = job_state.ghost.decision.as_ref().is_some_and(|decision| {
            decision.good == ending.good
                && (&decision.reason, &decision.message) == (&ending.text.0, &ending.text.1)
        });
        (!repeats).then(|| format!("it ended with {}: {}", ending.text.0, ending.text.1))
    },
    premise: |it| it.job_state.ghost.ending.is_some(),
};

/// SS-34: in an earlier write.
pub const DECISION_COMES_EARLIER: Property = Property {
    req: Req::SS34,
    name: "the interim condition stands in an earlier write than the terminal one",
    needs_processes: false,
    broken: |job_state| {
        let ending = job_state.ghost.ending.as_ref().filter(|ending| ending.owes_interim)?;
        (!ending.announced).then(|| "no earlier write held the interim condition".to_owned())
    },
    premise: |it| it.job_state.ghost.ending.is_some(),
};

/// TC-06: the first decision is the decision.
pub const DECISION_STAYS: Property = Property {
    req: Req::TC06,
    name: "the first interim condition stays, alone",
    needs_processes: false,
    broken: |job_state| {
        let (job, decision) = (job_state.job.as_ref()?, job_state.ghost.decision.as_ref()?);
        if job_state.ghost.ending.as_ref().is_some_and(|ending| !ending.owes_interim) {
            return None;
        }
        let (kind, other) = kinds(decision);
        // S-12: of several entries of the type any may be the one.
        let stays =
            job.status.conditions.iter().any(|it| {
                it.kind == kind && it.status == ConditionStatus::True && it.reason == decision.reason
            });
        let alone = !job.status.is_true(&other);
        (!stays || !alone).then(|| format!("{} ({}) did not stay alone", kind.as_str(), decision.reason))
    },
    premise: |it| it.job_state.ghost.decision.is_some(),
};

fn kinds(decision: &Decision) -> (ConditionKind, ConditionKind) {
    let (good, bad) = (ConditionKind::SuccessCriteriaMet, ConditionKind::FailureTarget);
    if decision.good { (good, bad) } else { (bad, good) }
}

/// FT-10, TC-04: a sync that hits the cap of the lists finishes nothing.
pub const NO_END_OVER_A_POD_THAT_HOLDS: Property = Property {
    req: Req::FT10,
    name: "a Job does not finish while a pod that its controller has seen ended holds the finalizer",
    needs_processes: true,
    broken: |job_state| {
        let pods = job_state.ghost.violations.passed_over;
        (pods > 0).then(|| format!("it finished, and of the pods that had ended {pods} held the finalizer"))
    },
    premise: |it| {
        let held = it.job_state.pods.iter().filter(|pod| pod.is_terminated() && pod.finalizer).count();
        let has_processes = matches!(it.job_state.driver, Driver::Processes { .. });
        has_processes && it.job_state.ghost.decision.is_some() && held > it.scope.constants.max_uncounted_pods
    },
};

/// TC-11: the terminal write is the last one.
pub const SILENCE_AFTER_THE_END: Property = Property {
    req: Req::TC11,
    name: "no status write after the terminal condition",
    needs_processes: false,
    broken: |job_state| {
        job_state.ghost.violations.write_after_end.then(|| "the status was written again".to_owned())
    },
    premise: |it| it.job_state.ghost.ending.is_some() && it.job_state.pods.iter().any(|pod| pod.finalizer),
};

/// S-01: enough pods really succeeded.
pub const COMPLETE_MEANS_ENOUGH_SUCCESSES: Property = Property {
    req: Req::S01,
    name: "a Job that completes by completions has had enough successes",
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
        (successes < wanted).then(|| format!("{successes} of {wanted} succeeded"))
    },
    premise: |it| decided(it.job_state, Reason::CompletionsReached),
};

/// How many pods succeeded and were not recorded as failed before (FT-13); of an Indexed Job, how many indexes.
fn successes(job_state: &JobState) -> usize {
    let indexed = job_state.job.as_ref().is_some_and(|job| job.spec.is_indexed());
    // FT-07: of a success by index nothing tells whose it was, so that a pod whose success was taken back may be listed
    // as failed too. The index stays completed.
    let ended_well = |ghost: &&PodHistory| {
        let failed_first = ghost.listed == Some(End::Failure) && !(indexed && ghost.flipped);
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
    name: "a Job that fails by backoffLimit has had more failures",
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
            .then(|| format!("{failures} failed, and only more than backoffLimit {limit} exceeds it"))
    },
    premise: |it| decided(it.job_state, Reason::BackoffLimitExceeded),
};

fn may_count_as_failure(ghost: &PodHistory) -> bool {
    !ghost.ignored && (ghost.has_failed() || ghost.deleted)
}

/// PF-06, PF-09: FailJob had a failed pod to act on, which is not released before the decision.
pub const FAIL_JOB_HAS_A_POD: Property = Property {
    req: Req::PF09,
    name: "a pod that fails the Job by FailJob is kept until the Job is decided",
    needs_processes: false,
    broken: |job_state| {
        job_state
            .ghost
            .violations
            .verdict_lost
            .map(|uid| format!("pod {} was released before the decision", uid.0))
    },
    premise: |it| {
        it.job_state.ghost.decision.is_none() && it.job_state.pods.matching_fail_job().next().is_some()
    },
};

/// SX-02: the indexes that a success rule asks for have succeeded.
pub const SUCCESS_POLICY_HAS_ITS_INDEXES: Property = Property {
    req: Req::SX02,
    name: "a Job that succeeds by its success policy has the successes of one rule",
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
        (!met).then(|| format!("the indexes \"{done}\" meet no rule"))
    },
    premise: |it| decided(it.job_state, Reason::SuccessPolicy),
};

/// SU-08: the deadline had passed.
pub const DEADLINE_HAD_PASSED: Property = Property {
    req: Req::SU08,
    name: "a Job that fails by its deadline was active for that long",
    needs_processes: false,
    broken: |job_state| {
        let job = job_state.job.as_ref()?;
        let decision = job_state.ghost.decision.as_ref()?;
        let deadline = decision.deadline?;
        let start = job.status.start_time?;
        let early = decided(job_state, Reason::DeadlineExceeded) && decision.when.since(start) < deadline;
        early.then(|| format!("it was active for {} s of {deadline}", decision.when.since(start)))
    },
    premise: |it| decided(it.job_state, Reason::DeadlineExceeded),
};

/// Whether the Job was decided for this reason.
fn decided(job_state: &JobState, reason: Reason) -> bool {
    job_state.ghost.decision.as_ref().is_some_and(|decision| reason.is_said_by(&decision.reason))
}

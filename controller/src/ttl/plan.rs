//! The decision about the deletion of a finished Job (family TT).

use std::time::Duration;

use crate::job::conditions::{COMPLETE, FAILED};
use crate::job::observed::Condition;
use crate::values::{ResourceVersion, Text, Time, Uid};

/// The facts about a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlFacts {
    /// `metadata.name`.
    pub name: Text,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub resource_version: ResourceVersion,
    /// `metadata.deletionTimestamp`.
    pub deletion: Option<Time>,
    /// `spec.ttlSecondsAfterFinished`.
    pub ttl_seconds_after_finished: Option<i32>,
    /// `status.conditions`, in their order.
    pub conditions: Vec<Condition>,
}

/// The input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct TtlObserved<'a> {
    /// The Job.
    pub job: &'a TtlFacts,
    /// True if the facts were just read from the API server, false if they are from a cache.
    pub fresh: bool,
}

/// The plan for a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TtlPlan {
    /// Do nothing until the Job changes.
    Leave,
    /// Plan again after this time (TT-04).
    WaitFor(Duration),
    /// Read the Job from the API server, and plan again with `fresh` set (TT-05). Do nothing after a 404.
    FetchFresh,
    /// Delete the Job with foreground propagation (TT-06).
    Delete(TtlDelete),
    /// Plan again after the delay of a failure, because the finish time is unknown (TT-02).
    Retry {
        /// The reason, as a lower-case fragment.
        why: &'static str,
    },
}

/// The deletion of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlDelete {
    /// The UID, a precondition.
    pub uid: Uid,
    /// The version, a precondition: a Job whose TTL was raised meanwhile is not deleted (TT-06).
    pub resource_version: ResourceVersion,
    /// The time at which the TTL expired, for the metric of TT-12.
    pub expired_at: Time,
}

/// Decides what to do about a Job now: wait for its TTL (TT-03, TT-04), read it again (TT-05), or delete it (TT-06). `now`
/// is the time of the clock of this controller.
#[must_use]
pub fn plan(observed: &TtlObserved, now: Time) -> TtlPlan {
    let job = observed.job;
    let Some(ttl) = job.ttl_seconds_after_finished.filter(|_| job.deletion.is_none()) else {
        return TtlPlan::Leave;
    };
    // TT-02: the first condition of either type counts.
    let terminal = |it: &&Condition| matches!(&*it.kind, COMPLETE | FAILED) && &*it.status == "True";
    let Some(condition) = job.conditions.iter().find(terminal) else { return TtlPlan::Leave };
    let Some(finished) = condition.last_transition else {
        return TtlPlan::Retry { why: "the terminal condition has no lastTransitionTime" };
    };
    let expired_at = finished.plus(Duration::from_secs(u64::try_from(ttl).unwrap_or(0)));
    if now < expired_at {
        return TtlPlan::WaitFor(now.until(expired_at));
    }
    if !observed.fresh {
        return TtlPlan::FetchFresh;
    }
    let (uid, resource_version) = (job.uid.clone(), job.resource_version.clone());
    TtlPlan::Delete(TtlDelete { uid, resource_version, expired_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::conditions;

    const FINISHED: Time = Time::from_seconds(1_000);

    fn job(ttl: Option<i32>, conditions: &[(&str, &str, i64)]) -> TtlFacts {
        let made = |it: &(&str, &str, i64)| {
            conditions::new(it.0, it.1, &Text::from(""), &Text::from(""), Time::from_seconds(it.2))
        };
        TtlFacts {
            name: Text::from("job"),
            uid: Uid::new("u"),
            resource_version: ResourceVersion::new("7"),
            deletion: None,
            ttl_seconds_after_finished: ttl,
            conditions: conditions.iter().map(made).collect(),
        }
    }

    fn at(job: &TtlFacts, seconds: i64, fresh: bool) -> TtlPlan {
        plan(&TtlObserved { job, fresh }, Time::from_seconds(seconds))
    }

    /// TT-01, TT-13.
    #[test]
    fn only_a_finished_job_with_a_ttl_that_is_not_being_deleted_is_a_candidate() {
        assert_eq!(at(&job(None, &[("Complete", "True", 1_000)]), 9_999, true), TtlPlan::Leave);
        assert_eq!(at(&job(Some(1), &[]), 9_999, true), TtlPlan::Leave);
        for interim in ["SuccessCriteriaMet", "FailureTarget", "Suspended"] {
            assert_eq!(at(&job(Some(1), &[(interim, "True", 1_000)]), 9_999, true), TtlPlan::Leave);
        }
        assert_eq!(at(&job(Some(1), &[("Failed", "False", 1_000)]), 9_999, true), TtlPlan::Leave);
        let mut deleting = job(Some(1), &[("Failed", "True", 1_000)]);
        deleting.deletion = Some(FINISHED);
        assert_eq!(at(&deleting, 9_999, true), TtlPlan::Leave);
    }

    /// TT-03, TT-04, TT-05.
    #[test]
    fn an_expired_job_is_read_from_the_api_server_first() {
        let done = job(Some(10), &[("Complete", "True", 1_000)]);
        assert_eq!(at(&done, 1_009, false), TtlPlan::WaitFor(Duration::from_secs(1)));
        assert_eq!(at(&done, 1_009, true), TtlPlan::WaitFor(Duration::from_secs(1)));
        assert_eq!(at(&done, 1_010, false), TtlPlan::FetchFresh);
        let deletion = TtlDelete {
            uid: Uid::new("u"),
            resource_version: ResourceVersion::new("7"),
            expired_at: Time::from_seconds(1_010),
        };
        assert_eq!(at(&done, 1_010, true), TtlPlan::Delete(deletion));
        assert_eq!(at(&job(Some(0), &[("Failed", "True", 1_000)]), 1_000, false), TtlPlan::FetchFresh);
    }

    /// TT-10: the controller waits for a finish time in the future.
    #[test]
    fn a_clock_that_is_behind_deletes_later() {
        let done = job(Some(10), &[("Complete", "True", 1_000)]);
        assert_eq!(at(&done, 900, true), TtlPlan::WaitFor(Duration::from_secs(110)));
    }

    /// TT-02.
    #[test]
    fn the_first_terminal_condition_has_the_finish_time_and_one_without_it_is_an_error() {
        let twice = job(
            Some(10),
            &[("Complete", "False", 1), ("Failed", "True", 1_000), ("Complete", "True", 2_000)],
        );
        assert_eq!(at(&twice, 1_010, false), TtlPlan::FetchFresh);
        let mut timeless = job(Some(10), &[("Failed", "True", 1_000)]);
        timeless.conditions[0].last_transition = None;
        assert!(matches!(at(&timeless, 9_999, true), TtlPlan::Retry { .. }));
    }
}

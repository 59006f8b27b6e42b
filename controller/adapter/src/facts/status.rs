//! Conversions of the status of a Job, in both directions.

use jobcheck_controller::job::observed::{Condition, StatusFacts, Uncounted};
use jobcheck_controller::values::{self, Text};
use jobcheck_spec::job;
use jobcheck_spec::uid::Uid;

use super::{constant, seconds, time};
use crate::names::Names;

/// The status that a plan reads.
#[must_use]
pub fn facts(status: &job::JobStatus, names: &Names) -> StatusFacts {
    let texts = |uids: &[Uid]| uids.iter().map(|uid| names.text(*uid)).collect();
    StatusFacts {
        start_time: status.start_time.map(time),
        completion_time: status.completion_time.map(time),
        active: status.active,
        ready: status.ready,
        terminating: status.terminating,
        succeeded: status.succeeded,
        failed: status.failed,
        completed_indexes: Some(status.completed_indexes.clone()).filter(|text| !text.is_empty()),
        failed_indexes: status.failed_indexes.clone(),
        uncounted: status
            .uncounted
            .as_ref()
            .map(|lists| Uncounted { succeeded: texts(&lists.succeeded), failed: texts(&lists.failed) }),
        conditions: conditions(status),
    }
}

/// The conditions of a status.
#[must_use]
pub fn conditions(status: &job::JobStatus) -> Vec<Condition> {
    status.conditions.iter().map(condition).collect()
}

fn condition(condition: &job::Condition) -> Condition {
    let status = match condition.status {
        job::ConditionStatus::True => "True",
        job::ConditionStatus::False => "False",
        job::ConditionStatus::Unknown => "Unknown",
        job::ConditionStatus::Undefined => "",
    };
    Condition {
        kind: Text::from(condition.kind.as_str()),
        status: constant(status),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_probe: None,
        last_transition: condition.last_transition_time.map(time),
    }
}

/// The status that a plan writes. The order of recorded UIDs has no meaning, so they are sorted as everywhere
/// in the model.
#[must_use]
pub fn stored(status: &StatusFacts, names: &Names) -> job::JobStatus {
    job::JobStatus {
        active: status.active,
        ready: status.ready,
        terminating: status.terminating,
        succeeded: status.succeeded,
        failed: status.failed,
        start_time: status.start_time.map(seconds),
        completion_time: status.completion_time.map(seconds),
        completed_indexes: status.completed_indexes.clone().unwrap_or_default(),
        failed_indexes: status.failed_indexes.clone(),
        uncounted: status.uncounted.as_ref().map(|lists| job::Uncounted {
            succeeded: listed(&lists.succeeded, names),
            failed: listed(&lists.failed, names),
        }),
        conditions: status.conditions.iter().map(stored_condition).collect(),
    }
}

/// A text that names no pod becomes a UID that no pod has. The guards detect it.
fn listed(texts: &[values::Uid], names: &Names) -> Vec<Uid> {
    let mut uids: Vec<Uid> = texts.iter().map(|text| names.uid(text).unwrap_or(Uid::EMPTY)).collect();
    uids.sort_unstable();
    uids
}

fn stored_condition(condition: &Condition) -> job::Condition {
    let status = match &*condition.status {
        "True" => job::ConditionStatus::True,
        "False" => job::ConditionStatus::False,
        "Unknown" => job::ConditionStatus::Unknown,
        _ => job::ConditionStatus::Undefined,
    };
    job::Condition {
        kind: job::ConditionKind::parse(&condition.kind),
        status,
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_transition_time: condition.last_transition.map(seconds),
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, JobStatus, Uncounted};
    use jobcheck_spec::time::Time;

    use super::*;

    fn full() -> JobStatus {
        let condition = |kind, status| Condition {
            kind,
            status,
            reason: "Reason".into(),
            message: "message".into(),
            last_transition_time: Some(Time(7)),
        };
        JobStatus {
            active: 1,
            ready: Some(2),
            terminating: Some(3),
            succeeded: 4,
            failed: 5,
            start_time: Some(Time(6)),
            completion_time: Some(Time(8)),
            completed_indexes: "0,2-3".into(),
            failed_indexes: Some("".into()),
            uncounted: Some(Uncounted { succeeded: vec![Uid(1), Uid(3)], failed: vec![Uid(2)] }),
            conditions: vec![
                condition(ConditionKind::Suspended, ConditionStatus::False),
                condition(ConditionKind::Other("Custom".into()), ConditionStatus::Unknown),
                condition(ConditionKind::FailureTarget, ConditionStatus::True),
            ],
        }
    }

    #[test]
    fn a_status_comes_back_as_it_was_whatever_the_order_of_the_uids() {
        for order in [[1, 2, 3], [3, 1, 2]] {
            let names = Names::in_order(order.map(Uid).to_vec());
            for status in [full(), JobStatus::default()] {
                assert_eq!(stored(&facts(&status, &names), &names), status);
            }
        }
    }

    #[test]
    fn a_uid_that_nobody_has_is_no_pod_of_the_model() {
        let names = Names::in_order(vec![Uid(1)]);
        let failed = vec![values::Uid::new("somebody")];
        let uncounted = Some(jobcheck_controller::job::observed::Uncounted { succeeded: Vec::new(), failed });
        let status = stored(&StatusFacts { uncounted, ..StatusFacts::default() }, &names);
        assert_eq!(status.uncounted_failed(), [Uid::EMPTY]);
    }
}

//! The time that a run waits for a step or an expectation, from the scenario itself.
//!
//! A run waits as long as a controller may need. That is the time to react, the longest delay of the scenario, and
//! the time after which the judge treats a missing write as overdue. So a run that ends without result has proved
//! what is missing.

use std::time::Duration;

use jobcheck_scenario::Scenario;

use crate::play::{MAX_BACKOFF, OVERDUE};
use crate::unsupported::MAX_ADVANCE_MS;

/// The time that watches, syncs, and retries of a busy control plane may take.
const REACTION: Duration = Duration::from_secs(60);

/// Returns the time to wait for one step or expectation of a scenario, between three and four minutes.
///
/// It is the sum of the reaction time, the longest delay (backoff, `activeDeadlineSeconds`, or
/// `ttlSecondsAfterFinished`), and the time after which an obligation is overdue. `backoff` is the first backoff delay
/// of the controller.
#[must_use]
pub fn needed(scenario: &Scenario, backoff: Duration) -> Duration {
    let delays = [longest_backoff(scenario, backoff), longest_timer(scenario)];
    REACTION + OVERDUE + delays.into_iter().max().unwrap_or_default()
}

/// The backoff delay after all failures of the scenario, up to the longest one that a run waits for.
fn longest_backoff(scenario: &Scenario, first: Duration) -> Duration {
    let failures = scenario.steps.iter().filter(|step| {
        let step = &step.value;
        step.fail.is_some() || step.evict.is_some() || step.lose_node.is_some() || step.delete_pod.is_some()
    });
    let doublings = u32::try_from(failures.count().saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_BACKOFF)
}

/// The longest deadline or TTL of a Job that passes without `advance`.
fn longest_timer(scenario: &Scenario) -> Duration {
    let specs = scenario.jobs.iter().map(|job| &job.spec.value);
    let of_specs = specs.flat_map(|spec| {
        [spec.active_deadline_seconds, spec.ttl_seconds_after_finished.map(i64::from)].into_iter().flatten()
    });
    let edits = scenario.steps.iter().filter_map(|step| step.value.edit.as_ref());
    let of_edits = edits.flat_map(|edit| {
        let ttl = edit.ttl_seconds_after_finished.flatten().map(i64::from);
        [edit.active_deadline_seconds.flatten(), ttl].into_iter().flatten()
    });
    let seconds = of_specs.chain(of_edits).filter(|seconds| (0..=MAX_ADVANCE_MS / 1000).contains(seconds));
    Duration::from_secs(seconds.max().unwrap_or(0).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use jobcheck_scenario::read;

    use super::*;

    fn seconds(spec: &str, steps: &str) -> u64 {
        let text = format!(
            "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
             jobs:\n- name: job\n  spec: {{completions: 1{spec}}}\n{steps}"
        );
        let needed = needed(&read(&text).unwrap(), Duration::from_secs(10));
        needed.saturating_sub(REACTION + OVERDUE).as_secs()
    }

    #[test]
    fn a_run_waits_for_the_longest_delay_of_its_scenario() {
        assert_eq!(seconds("", ""), 10);
        assert_eq!(seconds(", activeDeadlineSeconds: 20", ""), 20);
        assert_eq!(
            seconds(", ttlSecondsAfterFinished: 25", "steps:\n- edit: {activeDeadlineSeconds: 28}\n"),
            28
        );
        let fails = |times| format!("steps:\n{}", "- fail: {}\n".repeat(times));
        assert_eq!([1, 2, 3, 9].map(|times| seconds("", &fails(times))), [10, 20, 40, 40]);
    }

    /// A deadline of an hour is there to be removed, or not to pass.
    #[test]
    fn a_run_waits_for_no_timer_that_a_real_clock_does_not_reach() {
        assert_eq!(seconds(", activeDeadlineSeconds: 3600", ""), 10);
    }
}

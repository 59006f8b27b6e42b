//! The ends of a Job's pods, for comparing them with the counts in its status.

use jobcheck_spec::Uid;
use jobcheck_spec::job::{ConditionKind, Job};
use jobcheck_spec::pod::{Phase, Pod};
use serde::{Deserialize, Serialize};

use super::pod_records::Fact;
use super::track::Track;

/// Numbers of pods by their end, and the counts of the last status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fates {
    succeeded: i64,
    /// Pods that failed, or were deleted before they terminated. Both count as failures.
    failed: i64,
    last: Option<Counts>,
}

/// The end of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    None,
    Succeeded,
    Failed,
}

/// The counts in a status, with the pods in its lists.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Counts {
    succeeded: i64,
    failed: i64,
    completions: Option<i64>,
    complete: bool,
    indexed: bool,
}

impl Fate {
    fn of(pod: Option<&Pod>) -> Fate {
        match pod {
            Some(pod) if pod.phase == Phase::Succeeded => Fate::Succeeded,
            Some(pod) if pod.phase == Phase::Failed || pod.deleting => Fate::Failed,
            _ => Fate::None,
        }
    }
}

impl Counts {
    fn of(job: &Job) -> Counts {
        let status = &job.status;
        let with_list = |count: i32, list: &[Uid]| {
            i64::from(count).saturating_add(i64::try_from(list.len()).unwrap_or(i64::MAX))
        };
        Counts {
            succeeded: with_list(status.succeeded, status.uncounted_succeeded()),
            failed: with_list(status.failed, status.uncounted_failed()),
            completions: job.spec.completions.map(i64::from),
            complete: status.is_true(&ConditionKind::Complete) && job.spec.success_policy.is_none(),
            indexed: job.spec.is_indexed(),
        }
    }
}

impl Fates {
    fn add(&mut self, fate: Fate, change: i64) {
        match fate {
            Fate::None => {}
            Fate::Succeeded => self.succeeded += change,
            Fate::Failed => self.failed += change,
        }
    }

    /// Sentences about counts that the pods do not justify.
    fn contradictions(&self, counts: &Counts) -> Vec<String> {
        let mut lines = Vec::new();
        // An index can succeed several times, and counts once.
        let too_few = counts.complete && !counts.indexed && counts.succeeded < self.succeeded;
        if counts.succeeded > self.succeeded || too_few {
            lines.push(format!(
                "the status counts succeeded {}; {} succeeded",
                counts.succeeded,
                pods(self.succeeded)
            ));
        }
        if counts.failed > self.failed {
            let found = pods(self.failed);
            lines.push(format!("the status counts failed {}; {found} failed or were deleted", counts.failed));
        }
        if let Some(wanted) =
            counts.completions.filter(|wanted| counts.complete && counts.succeeded < *wanted)
        {
            lines.push(format!(
                "the Job is Complete with succeeded {} of {wanted} completions",
                counts.succeeded
            ));
        }
        lines
    }
}

fn pods(count: i64) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

impl Track {
    /// Notes the end of a pod, before its new state is stored.
    pub fn note_fate(&mut self, uid: Uid, after: Option<&Pod>) {
        self.live_pod(uid, after);
        if self.stored.as_ref().is_none_or(|job| job.status.is_finished()) {
            return;
        }
        let before = self.history.known(uid);
        let (old, new) = (Fate::of(before), Fate::of(after));
        if before.is_some() && after.is_none_or(|pod| !pod.controlled) && old != Fate::None {
            self.pods.note(uid, Fact::Left);
        } else if before.is_some() {
            self.account.fates.add(old, -1);
            self.account.fates.add(new, 1);
        } else if !self.pods.forget(uid, Fact::Left) && !self.pods.has(uid, Fact::Counted) {
            self.account.fates.add(new, 1);
        }
    }

    /// Keeps the last counts of a Job that is gone.
    pub fn note_last_counts(&mut self) {
        self.account.fates.last = self.stored.as_deref().map(Counts::of).or(self.account.fates.last);
    }

    /// The counts at the end that the pods do not justify, as far as the trace shows all pods.
    #[must_use]
    pub fn contradicted_counts(&mut self) -> Vec<String> {
        self.note_last_counts();
        match self.account.fates.last.filter(|_| self.coverage.complete && self.manager.executor) {
            Some(counts) => self.account.fates.contradictions(&counts),
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: Counts =
        Counts { succeeded: 2, failed: 1, completions: Some(3), complete: true, indexed: false };

    #[test]
    fn counts_without_pods_are_named() {
        let fates = Fates { succeeded: 1, failed: 1, ..Fates::default() };
        assert_eq!(
            fates.contradictions(&COUNTS),
            [
                "the status counts succeeded 2; 1 pod succeeded",
                "the Job is Complete with succeeded 2 of 3 completions"
            ]
        );
    }

    #[test]
    fn counts_that_the_pods_justify_are_no_contradiction() {
        let fates = Fates { succeeded: 3, failed: 4, ..Fates::default() };
        let running = Counts { complete: false, ..COUNTS };
        assert!(fates.contradictions(&running).is_empty());
        // Two pods of one index count once.
        let indexed = Counts { indexed: true, completions: Some(2), ..COUNTS };
        assert!(fates.contradictions(&indexed).is_empty());
    }
}

//! The age of an obligation, in time in which its controller has worked (`docs/reference/judging.md`, *Pending*).
//!
//! An obligation is as old as the last change of the Job or its pods. Pods that come and go would therefore excuse
//! everything for ever. So obligations are also checked at status writes of the manager. An obligation that is open
//! each time, while the manager does nothing about any obligation, is as old as the work in between.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_spec::Uid;
use jobcheck_spec::job::{Condition, ConditionKind, Job, JobStatus};

use super::event::Event;
use super::owed::{PATIENCE, owed};
use super::pod_records::Fact;
use super::settings::Settings;
use super::track::Track;
use super::verdict::Owed;
use jobcheck_spec::obligations::Obligation;
use serde::{Deserialize, Serialize};

/// Minimum time between two checks, in microseconds, since a check visits all pods.
const BETWEEN: i64 = 10_000_000;
/// Maximum time that counts as work between two checks, in microseconds. An absent manager does not work.
const AT_WORK: i64 = 60_000_000;

/// Obligations that were open at every check.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// The time of the last check, in microseconds.
    seen: Option<i64>,
    /// The obligations, with the time that the manager has worked since, in microseconds.
    debts: Vec<(i64, Obligation)>,
    /// The pods in the lists of the status.
    listed: BTreeMap<Uid, Listed>,
}

/// A pod in a list of the status.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Listed {
    /// The status write that added it, in microseconds.
    since: i64,
    /// Number of status writes since then that have counted other pods.
    passed: u32,
}

/// A sync removes the finalizers of all pods in the lists, and counts them. One status write of the sync that added a pod may count
/// others.
const PASSED: u32 = 2;

impl Standing {
    /// Forgets all ages: the manager did something about an obligation, or the obligations changed.
    pub fn forget(&mut self) {
        self.seen = None;
        self.debts.clear();
    }

    /// Notes the lists of a status write at this time, in microseconds.
    pub fn lists(&mut self, before: &JobStatus, after: &JobStatus, now: i64) {
        let recorded = |status: &JobStatus| -> BTreeSet<Uid> {
            status.uncounted_succeeded().iter().chain(status.uncounted_failed()).copied().collect()
        };
        let (before, after) = (recorded(before), recorded(after));
        let counts = u32::from(!before.is_subset(&after));
        let known = std::mem::take(&mut self.listed);
        let listed = |uid: &Uid| match known.get(uid) {
            Some(it) => Listed { passed: it.passed.saturating_add(counts), ..*it },
            None => Listed { since: now, passed: 0 },
        };
        self.listed = after.iter().map(|uid| (*uid, listed(uid))).collect();
    }

    /// The pods that others have passed, and that were added long before this time, with the time of the addition.
    fn passed(&self, last: i64) -> impl Iterator<Item = (Uid, i64)> {
        let is_old = move |it: &Listed| last - it.since >= PATIENCE && it.passed >= PASSED;
        self.listed.iter().filter(move |(_, it)| is_old(it)).map(|(uid, it)| (*uid, it.since))
    }

    /// Notes a change of the status. Reporting living pods, and conditions of unknown types, meet no obligation.
    pub fn status_changed(&mut self, before: &JobStatus, after: &JobStatus) {
        let work = |status: &JobStatus| {
            let is_known = |it: &&Condition| !matches!(it.kind, ConditionKind::Other(_));
            let conditions = status.conditions.iter().filter(is_known).cloned().collect();
            JobStatus { active: 0, ready: None, terminating: None, conditions, ..status.clone() }
        };
        if work(before) != work(after) {
            self.forget();
        }
    }

    /// Notes a change of the Job. Returns `true` if only its metadata changed.
    pub fn job_changed(&mut self, before: &Job, after: &Job) -> bool {
        let is_wanted_still = before.spec == after.spec && before.deleting == after.deleting;
        if !is_wanted_still {
            self.forget();
        }
        is_wanted_still && before.status == after.status
    }

    fn look(&mut self, now: i64, owed: Vec<Obligation>) {
        let worked = self.seen.map_or(0, |seen| (now - seen).min(AT_WORK));
        let known = std::mem::take(&mut self.debts);
        let age = |obligation: Obligation| {
            known.iter().find(|(_, other)| *other == obligation).map_or(0, |it| it.0 + worked)
        };
        self.debts = owed.into_iter().map(|obligation| (age(obligation), obligation)).collect();
        self.seen = Some(now);
    }

    /// Returns `true` if this obligation is overdue.
    #[must_use]
    pub fn is_overdue(&self, obligation: Obligation) -> bool {
        self.debts.iter().any(|(age, other)| *other == obligation && *age >= PATIENCE)
    }
}

impl Track {
    /// Returns `true` if the manager has neglected this obligation while it worked.
    #[must_use]
    pub fn has_neglected(&self, obligation: Obligation, last: Option<i64>) -> bool {
        let leaves_a_pod = || obligation == Obligation::Count && self.leaves_a_pod_behind(last);
        self.standing.is_overdue(obligation) || leaves_a_pod()
    }

    /// FT-02: returns `true` if a recorded pod keeps its finalizer and is not counted, while others are, and no request for it
    /// has failed.
    fn leaves_a_pod_behind(&self, last: Option<i64>) -> bool {
        let is_left = |(uid, since): (Uid, i64)| {
            let has_failed = self.process.setbacks.pod_write > Some(since)
                || self.process.uncertain.contains_key(&uid)
                || self.pods.has(uid, Fact::CleanUpRefused);
            !has_failed && self.history.stored.get(uid).is_some_and(|pod| pod.finalizer)
        };
        last.is_some_and(|last| self.standing.passed(last).any(is_left))
    }

    /// Notes a request of the manager. With `observed` lines in the trace, idle syncs are judged in another way.
    pub fn note_work(&mut self, event: &Event, settings: &Settings) {
        let Some(now) = event.when.map(|when| when.done) else { return };
        if !event.is_status || !event.is_accepted() {
            self.standing.forget();
        } else if settings.observations.is_empty()
            && self.standing.seen.is_none_or(|seen| now - seen >= BETWEEN)
        {
            // The delay of a creation has passed. The status write itself will report the living pods.
            let is_due =
                |it: &Owed| it.since.is_none_or(|since| since <= now) && it.obligation != Obligation::Report;
            let due = owed(self, settings).into_iter().filter(is_due).map(|it| it.obligation).collect();
            self.standing.look(now, due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn looked(at: &[i64]) -> Standing {
        let mut standing = Standing::default();
        at.iter().for_each(|second| standing.look(second * SECOND, vec![Obligation::Count]));
        standing
    }

    #[test]
    fn what_is_owed_each_time_is_overdue_after_the_work_of_two_minutes() {
        assert!(!looked(&[0, 60, 119]).is_overdue(Obligation::Count));
        assert!(looked(&[0, 60, 120]).is_overdue(Obligation::Count));
        assert!(!looked(&[0, 60, 120]).is_overdue(Obligation::Create));
        // An absent manager does not work.
        assert!(!looked(&[0, 600, 601]).is_overdue(Obligation::Count));
        let mut standing = looked(&[0, 60, 120]);
        standing.look(130 * SECOND, Vec::new());
        standing.look(140 * SECOND, vec![Obligation::Count]);
        assert!(!standing.is_overdue(Obligation::Count));
    }

    #[test]
    fn a_listed_pod_that_others_pass_is_left_behind() {
        let (mut standing, uids) = (Standing::default(), [1, 2, 3].map(Uid));
        let listed = |uids: &[Uid]| {
            let lists = jobcheck_spec::job::Uncounted { succeeded: uids.to_vec(), ..Default::default() };
            JobStatus { uncounted: Some(lists), ..JobStatus::default() }
        };
        let steps = [&uids[..2], &uids[..1], &[uids[0], uids[2]], &uids[..1]];
        let mut before = listed(&[]);
        for (now, uids) in (0..).zip(steps) {
            let after = listed(uids);
            standing.lists(&before, &after, now);
            before = after;
        }
        let passed = |last| standing.passed(last).map(|(uid, _)| uid).collect::<Vec<_>>();
        assert_eq!(passed(PATIENCE), [uids[0]]);
        assert_eq!(passed(PATIENCE - 1), []);
    }

    #[test]
    fn a_count_is_work_and_a_report_is_none() {
        let before = JobStatus::default();
        for (after, is_work) in [
            (JobStatus { active: 3, ready: Some(1), terminating: Some(2), ..before.clone() }, false),
            (JobStatus { failed: 1, ..before.clone() }, true),
        ] {
            let mut standing = looked(&[0, 60, 120]);
            standing.status_changed(&before, &after);
            assert_eq!(standing.is_overdue(Obligation::Count), !is_work);
        }
    }
}

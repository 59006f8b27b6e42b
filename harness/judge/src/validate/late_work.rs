//! Obligations that were met late (`docs/reference/judging.md`, *Pending*).
//!
//! An obligation that is open at the end of a trace may be a violation. One that was open for two minutes, and was met
//! later, gets a warning. The trace does not show if the controller was there meanwhile.
//!
//! A sync creates all pods that are missing, at most 500, before it writes the status. If it creates fewer than there were at the
//! status write before it, and none is refused, the time between both counts.
//!
//! A controller may also do a small part of the work from time to time. Idle times between such steps add up, if the same
//! obligation is open in each of them. Shorter ones than a retry takes do not count: a client may have many pods to write.

use std::sync::Arc;

use jobcheck_spec::Req;
use jobcheck_spec::job::Job;
use jobcheck_spec::obligations::Obligation;
use jobcheck_traces::Place;
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::owed::{End, PATIENCE, owed, true_view};
use super::owed_work::missing_pods;
use super::router::Judge;
use super::settings::Settings;
use super::track::Track;
use super::verdict::{Note, Owed};

/// Minimum time between two looks at all Jobs, in microseconds.
const BETWEEN: i64 = PATIENCE / 4;
/// The longest wait before a retry, in microseconds. Shorter idle times of a Job do not count.
const RETRY: i64 = PATIENCE / 2;
/// Maximum number of pods that one sync creates (PC-19).
const BATCH: i64 = 500;
/// Maximum number of late obligations of a Job that are kept.
const KEPT: usize = 16;

/// Obligations that were open for too long.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LateWork {
    /// The last event of the Job before the last look, and the time of the next look that can find more.
    looked: Option<(i64, i64)>,
    /// The obligations that were open in the last idle time of the Job.
    open: Vec<Open>,
    /// The last status write, if pods were missing then.
    synced: Option<Synced>,
    /// The pods that the manager has created since, and has tried to.
    pub(super) created: i64,
    /// The last event of the Job before each obligation was found to be late, with the requirement.
    found: Vec<(i64, Req, Obligation)>,
}

/// An obligation that is open while the Job is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    obligation: Obligation,
    /// The last event of the Job before the idle time.
    at: i64,
    /// The idle time so far, in microseconds.
    idle: i64,
    /// The sum of the idle times before it.
    before: i64,
}

/// A status write that ends a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Synced {
    /// Its time in microseconds.
    at: i64,
    /// The pods that are missing.
    missing: i64,
    /// The time for which syncs have created fewer than they might.
    open: i64,
}

impl LateWork {
    /// Notes the end of a sync. Returns `true` if pods have been missing for two minutes of syncs.
    fn ends_sync(&mut self, at: i64, missing: i64) -> bool {
        let created = std::mem::take(&mut self.created);
        let before = self.synced.filter(|it| created < it.missing.min(BATCH));
        let open = before.map_or(0, |it| it.open + (at - it.at).max(0));
        self.synced = (missing > 0).then_some(Synced { at, missing, open });
        open >= PATIENCE && missing > 0
    }

    /// Keeps a late obligation, unless it is known.
    fn find(&mut self, last: i64, req: Req, obligation: Obligation) {
        let is_known = self.found.iter().any(|(.., it)| *it == obligation);
        if !is_known && self.found.len() < KEPT {
            self.found.push((last, req, obligation));
        }
    }

    /// A pod could not be created, so that the sync has ended.
    pub(super) fn creation_fails(&mut self) {
        self.synced = None;
    }

    /// Notes the obligations that have been open for this time since the last event of the Job.
    fn note(&mut self, last: i64, open: &[(Obligation, i64)]) {
        let entry = |(obligation, idle): &(Obligation, i64)| {
            let before = self.before(*obligation, last);
            Open { obligation: *obligation, at: last, idle: *idle, before }
        };
        self.open = open.iter().map(entry).collect();
    }

    /// The idle time in which the obligation was open before the last event.
    fn before(&self, obligation: Obligation, last: i64) -> i64 {
        let known = self.open.iter().find(|it| it.obligation == obligation);
        known.map_or(0, |it| if it.at == last { it.before } else { it.before + it.idle })
    }

    /// Drops what is reported as a violation.
    pub(super) fn judged(&mut self, overdue: &[Owed]) {
        self.found.retain(|(.., obligation)| overdue.iter().all(|it| it.obligation != *obligation));
    }
}

impl End {
    /// Returns `true` if the trace has advanced enough for another look at all Jobs.
    pub(super) fn is_time_to_look(&mut self) -> bool {
        let is_time = self.last.is_some_and(|last| last >= self.next_look);
        if is_time {
            self.next_look = self.last.unwrap_or(0).saturating_add(BETWEEN);
        }
        is_time
    }
}

impl Judge {
    /// Looks for obligations that have been open for too long. The next event of the Job may meet them.
    pub(super) fn look_for_late_work(&mut self) {
        let Some(now) = self.end.last else { return };
        for track in self.tracks.awake_mut() {
            track.look_for_late_work(now, &self.settings);
        }
    }
}

impl Track {
    fn look_for_late_work(&mut self, now: i64, settings: &Settings) {
        let Some(last) = self.times.last_event().filter(|last| now.saturating_sub(*last) >= RETRY) else {
            return;
        };
        if self.late_work.looked.is_some_and(|(at, next)| at == last && now < next) {
            return;
        }
        let owed = owed(self, settings);
        let ages = owed.iter().filter_map(|it| Some((it, now.saturating_sub(it.since?))));
        let open: Vec<(&Owed, i64)> = ages.filter(|(it, _)| !self.trouble.refusal.excuses(it)).collect();
        // An obligation may be older than the idle time.
        let idle = |age: i64| age.min(now.saturating_sub(last));
        let noted: Vec<(Obligation, i64)> = open
            .iter()
            .map(|(it, age)| (it.obligation, idle(*age)))
            .filter(|(_, idle)| *idle >= RETRY)
            .collect();
        self.late_work.note(last, &noted);
        let mut next = i64::MAX;
        for (it, age) in open {
            let sum = age.max(self.late_work.before(it.obligation, last) + idle(age));
            let (least, so_far) = if age < RETRY { (RETRY, age) } else { (PATIENCE, sum) };
            if so_far < least {
                next = next.min(now + least - so_far);
                continue;
            }
            self.late_work.find(last, it.req, it.obligation);
        }
        self.late_work.looked = Some((last, next));
    }

    /// Notes a status write of the manager, which ends a sync.
    pub(super) fn ends_sync_with(&mut self, event: &Event, job: &Arc<Job>, settings: &Settings) {
        let Some(when) = event.when else { return };
        if !self.coverage.complete || job.status.is_finished() {
            self.late_work.creation_fails();
            return;
        }
        let job = settings.gates.read(job);
        let wants_more =
            i64::from(self.history.stored.sums().active) < i64::from(job.spec.parallelism_count());
        let missing =
            if wants_more { missing_pods(&true_view(self, &job, settings), when.received) } else { 0 };
        if self.late_work.ends_sync(when.done, missing) {
            self.late_work.find(when.done, Req::PC04, Obligation::Create);
        }
    }

    /// Warns of obligations that were met late. One that is still open is judged by the rules for the end of a trace.
    pub(super) fn warn_of_late_work(&mut self) {
        let place = self.account.story.back().map_or(Place { file: 0, line: 0 }, |note| note.place);
        let goes_on = |at: i64| self.times.last_event().is_some_and(|last| last > at);
        let found = std::mem::take(&mut self.late_work.found).into_iter().filter(|(at, ..)| goes_on(*at));
        let text = |(_, req, obligation): (i64, Req, Obligation)| {
            format!("late, after 120 s or more: {obligation} ({req})")
        };
        let notes: Vec<Note> = found.map(text).map(|text| Note { place, time: None, text }).collect();
        self.results.warnings.extend(notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000;

    /// Syncs that end every ten seconds, each with so many created pods, and so many missing ones at its end.
    fn is_late(syncs: impl IntoIterator<Item = (i64, i64)>) -> bool {
        let mut late = LateWork::default();
        (0..).zip(syncs).any(|(number, (created, missing))| {
            late.created = created;
            late.ends_sync(number * 10 * S, missing)
        })
    }

    #[test]
    fn syncs_that_leave_out_pods_add_up() {
        assert!(is_late([(1, 9); 13]));
        assert!(!is_late([(1, 9); 12]));
        // Each sync creates what was missing, and as many pods end meanwhile.
        assert!(!is_late([(9, 9); 100]));
        assert!(!is_late([(500, 5_000); 100]));
        assert!(!is_late((0..100).map(|number| (0, i64::from(number % 12 != 0)))));
    }

    #[test]
    fn idle_times_with_the_same_obligation_add_up() {
        let mut late = LateWork::default();
        let create = Obligation::Create;
        late.note(0, &[(create, 60 * S)]);
        late.note(0, &[(create, 90 * S), (Obligation::Report, 60 * S)]);
        assert_eq!(late.before(create, 0), 0);
        assert_eq!(late.before(create, 100 * S), 90 * S);
        late.note(100 * S, &[(create, 70 * S)]);
        assert_eq!([late.before(create, 100 * S), late.before(create, 200 * S)], [90 * S, 160 * S]);
        // It was met meanwhile.
        assert_eq!(late.before(Obligation::Report, 200 * S), 0);
    }
}

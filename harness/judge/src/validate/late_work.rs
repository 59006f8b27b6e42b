//! Obligations that were met late (`docs/reference/judging.md`, *Pending*).
//!
//! An obligation that is open at the end of a trace may be a violation. One that was open for two minutes, and was met
//! later, gets a warning. The trace does not show if the controller was there meanwhile.

use jobcheck_spec::Req;
use jobcheck_spec::obligations::Obligation;
use jobcheck_traces::Place;
use serde::{Deserialize, Serialize};

use super::owed::{End, PATIENCE, owed};
use super::router::Judge;
use super::settings::Settings;
use super::track::Track;
use super::verdict::{Note, Owed};

/// Minimum time between two looks at all Jobs, in microseconds.
const BETWEEN: i64 = PATIENCE / 4;
/// Maximum number of late obligations of a Job that are kept.
const KEPT: usize = 16;

/// Obligations that were open for too long.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LateWork {
    /// The last event of the Job before the last look, and the time of the next look that can find more.
    looked: Option<(i64, i64)>,
    /// The last event of the Job before each obligation was found to be late, with the requirement.
    found: Vec<(i64, Req, Obligation)>,
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
        let Some(last) = self.times.last_event().filter(|last| now.saturating_sub(*last) >= PATIENCE) else {
            return;
        };
        if self.late_work.looked.is_some_and(|(at, next)| at == last && now < next) {
            return;
        }
        let due = |it: &Owed| it.since.map_or(i64::MAX, |since| since.saturating_add(PATIENCE));
        let (late, open): (Vec<Owed>, Vec<Owed>) =
            owed(self, settings).into_iter().partition(|it| due(it) <= now);
        self.late_work.looked = Some((last, open.iter().map(due).min().unwrap_or(i64::MAX)));
        for it in late.into_iter().filter(|it| !self.trouble.refusal.excuses(it)) {
            let found = &mut self.late_work.found;
            let is_known =
                found.iter().any(|(_, req, obligation)| (*req, *obligation) == (it.req, it.obligation));
            if !is_known && found.len() < KEPT {
                found.push((last, it.req, it.obligation));
            }
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

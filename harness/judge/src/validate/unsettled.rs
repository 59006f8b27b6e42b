//! Status writes that a server error answered. They may have been stored all the same (`docs/reference/judging.md`, *Audit logs*).

use std::sync::Arc;

use jobcheck_spec::Findings;
use jobcheck_spec::job::Job;

use super::clock::Written;
use super::event::{Event, JobEvent};
use super::mirror::written;
use super::owed::owed;
use super::settings::Settings;
use super::track::Track;
use super::verdict::Owed;

/// Notes a status write that a server error answered. Its content may have been stored all the same.
pub fn note(track: &mut Track, event: &Event, it: &JobEvent) {
    let Some(stored) = track.shown().filter(|_| event.may_be_stored()) else { return };
    let patched = it.patch.as_ref().map(|patch| patch.applied(&stored).status);
    let status = it.attempted.as_ref().map(|job| job.status.clone()).or(patched);
    let may_be_stored = it.base.is_none() || it.base == track.coverage.version;
    track.manager.mirror.unsettled =
        status.filter(|_| may_be_stored).map(|status| Arc::new(Job { status, ..(*stored).clone() }));
}

/// Decides about a status write that a server error answered. It was stored if a request was made on a version that no
/// response has shown, and is judged like any other write then.
pub fn settle(track: &mut Track, event: &Event, it: &JobEvent, settings: &Settings) {
    let (Some(base), Some(before)) = (it.base, track.shown()) else { return };
    let is_newer = track.coverage.version.is_some_and(|stored| base > stored);
    let Some(stored) = track.manager.mirror.unsettled.clone().filter(|_| is_newer) else { return };
    let shows_it = event.answered == Some(base);
    let is_other = it.after.as_ref().is_some_and(|after| shows_it && after.status != stored.status);
    if is_other || !track.is_mirrored() {
        return;
    }
    let mut findings = Findings::new();
    written(track, event, (&before, &stored), settings, &mut findings);
    track.take(event, &"status write that a server error answered, and that was stored", findings);
    track.manager.mirror.job_changed(&before, &stored, event.actor);
    track.manager.mirror.unheard = true;
    track.coverage.has_version(base, event.order);
    track.process.frontier.push(stored.clone(), (Some(base), Written::default()), false, false);
    track.stored = Some(stored);
}

impl Track {
    /// The overdue obligations that are open whether or not the last status write was stored, if a server error answered it. The
    /// others are pending.
    pub fn owed_in_each_case(
        &mut self,
        overdue: Vec<Owed>,
        pending: &mut Vec<Owed>,
        settings: &Settings,
    ) -> Vec<Owed> {
        let is_open = !overdue.is_empty() && self.stored.is_some();
        let Some(stored) = self.manager.mirror.unsettled.clone().filter(|_| is_open) else {
            return overdue;
        };
        let shown = self.stored.replace(stored);
        let if_stored = owed(self, settings);
        self.stored = shown;
        let is_open = |it: &Owed| if_stored.iter().any(|other| other.obligation == it.obligation);
        let (certain, doubtful): (Vec<_>, Vec<_>) = overdue.into_iter().partition(is_open);
        if !doubtful.is_empty() {
            self.doubt(
                "a status write had a server error, and may have been stored. Nothing would be overdue then"
                    .to_owned(),
            );
        }
        pending.extend(doubtful);
        certain
    }
}

//! The labels, annotations and finalizers of a Job, with their last writers, for a manager that writes status alone (MR-15).

use std::collections::BTreeMap;

use jobcheck_spec::Findings;
use jobcheck_spec::guards::mirror_metadata::{Part, changed, is_in_domain_of, judge_mirrored_metadata};
use jobcheck_spec::job::{Job, Text};
use jobcheck_traces::Verb;
use serde::{Deserialize, Serialize};

use super::actor::ActorId;
use super::event::{Event, JobEvent};
use super::job_writes::By;
use super::settings::Settings;
use super::track::Track;

/// The entries of the metadata whose last writers the trace has shown.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Entries {
    /// The last writers by the keys, for each of [`Part::ALL`].
    writers: [BTreeMap<Text, ActorId>; Part::ALL.len()],
}

impl Entries {
    /// The entries of a Job that this actor has just created.
    #[must_use]
    pub fn of_new(job: &Job, by: Option<ActorId>) -> Entries {
        let Some(by) = by else { return Entries::default() };
        let of = |part: Part| part.entries(job).map(|(key, _)| (key.clone(), by)).collect();
        Entries { writers: Part::ALL.map(of) }
    }

    /// Notes a new version of the Job. The writer of a change after a gap is not known.
    pub fn note(&mut self, before: &Job, after: &Job, by: Option<ActorId>) {
        for change in changed(before, after) {
            let writers = &mut self.writers[change.part as usize];
            match by.filter(|_| change.is_there) {
                Some(by) => writers.insert(change.key.clone(), by),
                None => writers.remove(change.key),
            };
        }
    }

    /// The last writer of an entry.
    fn writer(&self, part: Part, key: &Text) -> Option<ActorId> {
        self.writers[part as usize].get(key).copied()
    }
}

/// Judges the metadata after a write of a manager that writes status alone. A PUT, or a PATCH that mentions metadata, can
/// have changed it. If it was made on another version than the stored one, another write may have come between.
pub fn judge_metadata(
    track: &mut Track,
    event: &Event,
    it: &JobEvent,
    (before, after): (&Job, &Job),
    by: By,
    settings: &Settings,
) {
    let Some(actor) = event.actor.filter(|_| by == By::Manager && track.is_mirrored()) else { return };
    let is_same = before.metadata == after.metadata && before.finalizers == after.finalizers;
    let is_asked = it.writes_metadata && matches!(event.verb, Some(Verb::Update | Verb::Patch));
    let is_newest = it.base.is_none() || it.base == track.coverage.version;
    if is_same || !is_asked || !is_newest {
        return;
    }
    let entries = &track.manager.mirror.entries;
    let value = track.id.managed_by.as_deref().unwrap_or_default();
    let is_of_others = |part: Part, key: &Text| {
        let writer = entries.writer(part, key);
        !is_in_domain_of(value, key) && writer.is_some_and(|writer| !settings.is_one_actor(writer, actor))
    };
    let mut findings = Findings::new();
    judge_mirrored_metadata(before, after, &is_of_others, &mut findings);
    track.take(event, &"write of the Job's metadata", findings);
}

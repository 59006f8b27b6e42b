//! Writes of a Job whose response has its metadata alone.

use std::sync::Arc;

use jobcheck_spec::job::Job;

use super::clock::Written;
use super::event::{Event, JobEvent};
use super::job_writes::By;
use super::mirror_metadata;
use super::settings::Settings;
use super::track::Track;

/// Judges a write of a Job whose response has its metadata alone.
pub fn written(track: &mut Track, event: &Event, it: &JobEvent, by: By, settings: &Settings) {
    let (Some(metadata), Some(stored)) = (&it.metadata, track.stored.clone()) else { return };
    let is_newer = metadata.generation.is_some_and(|now| stored.generation > 0 && now > stored.generation);
    // A deletion raises the generation, too.
    if is_newer && metadata.deletion_timestamp.is_none() {
        track.doubt("the response to a write of the Job's spec has its metadata alone".to_owned());
        track.coverage.lacks_write(event.order);
    }
    let job = Job {
        finalizers: metadata.finalizers.clone(),
        metadata: Arc::new(metadata.of_job()),
        deleting: metadata.deletion_timestamp.is_some(),
        ..(*stored).clone()
    };
    mirror_metadata::judge_metadata(track, event, it, (&stored, &job), by, settings);
    track.manager.mirror.entries.note(&stored, &job, event.actor);
    if let Some(version) = metadata.resource_version {
        track.coverage.has_version(version, event.order);
    }
    track.stored = Some(Arc::new(job.clone()));
    track.process.frontier.push(Arc::new(job), (metadata.resource_version, Written::default()), false, false);
}

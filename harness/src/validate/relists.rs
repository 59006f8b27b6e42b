//! What the manager does not see, because it lists anew: occasions of J-08 and J-09 (see [`super::known`]).

use jobcheck_model::job::JobStatus;
use jobcheck_traces::Resource;

use super::router::Judge;
use super::track::Track;

impl Judge {
    /// A watch of the Job controller has ended with 410.
    pub(super) fn relist(&mut self, resource: Resource) {
        match resource {
            Resource::Jobs => self.lists_jobs(),
            Resource::Pods => self.tracks.values_mut().for_each(lists_pods),
        }
    }

    /// J-08: of a Job that is gone, and in whose place the list shows another, the manager does not hear.
    fn lists_jobs(&mut self) {
        for (key, departed) in &self.departed_jobs {
            let heir = self.names.get(key).and_then(|heir| self.tracks.get_mut(heir));
            let Some(heir) = heir.filter(|heir| is_unmanaged(heir)) else { continue };
            heir.occasions.listed_in_place = true;
            if let Some(track) = self.tracks.get_mut(departed) {
                track.occasions.replaced_unseen = Some(track.history.end());
            }
        }
    }
}

/// J-09: the list shows a pod that the manager created for the first time when it is being deleted, so that no creation is
/// observed. Had its deletion been shown before, the status would count it.
fn lists_pods(track: &mut Track) {
    let Some(job) = &track.stored else { return };
    let made = &track.counted.made;
    let deleted = track.history.stored.iter().filter(|pod| pod.deleting && made.contains(&pod.uid)).count();
    let reported = usize::try_from(job.status.terminating.unwrap_or(0)).unwrap_or(0);
    track.occasions.creation_unobserved |= deleted > reported;
}

/// Whether no manager has looked at a Job yet, as far as the trace tells.
fn is_unmanaged(track: &Track) -> bool {
    let untouched = track.stored.as_ref().is_some_and(|job| job.status == JobStatus::default());
    untouched && track.counted.made.is_empty()
}

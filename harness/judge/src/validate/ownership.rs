//! Pods whose owner must change: ownerless ones that the manager must adopt (FT-24), and own ones that it must release (FT-26).
//!
//! Only pods that the Job has controlled are watched over. Others with such labels may come from anywhere.

use std::collections::BTreeMap;

use jobcheck_spec::job::{Job, Text};
use jobcheck_spec::obligations::{Obligation, must_adopt, must_release};
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Req, Uid};
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::owed::PATIENCE;
use super::owed_work::Debt;
use super::router::Judge;
use super::track::Track;
use super::verdict::Owed;

/// Maximum number of such pods of a Job that are kept.
const KEPT: usize = 1024;

/// Pods whose owner must change, with the time since which it must, in microseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ownership {
    adopt: BTreeMap<Uid, i64>,
    release: BTreeMap<Uid, i64>,
    /// Pods that need not be released any more, with the time since which they need not.
    restored: BTreeMap<Uid, i64>,
}

impl Ownership {
    /// Notes a state of a pod that the Job controls, or did.
    fn note(&mut self, job: &Job, (pod, controlled): (&Pod, bool), labels: &[(Text, Text)], now: i64) {
        let is_orphan = || must_adopt(job, &Pod { controlled: false, ..pod.clone() }, labels);
        set(&mut self.adopt, pod.uid, !controlled && is_orphan(), now);
        let had_to = self.release.contains_key(&pod.uid);
        let must = controlled && must_release(job, labels);
        set(&mut self.release, pod.uid, must, now);
        let is_restored = controlled && !must && (had_to || self.restored.contains_key(&pod.uid));
        set(&mut self.restored, pod.uid, is_restored, now);
    }

    /// Returns `true` if a cache may still show that the pod must be released. A user has just put its labels back.
    pub fn was_just_restored(&self, uid: Uid, received: i64) -> bool {
        self.restored.get(&uid).is_some_and(|since| received - since < PATIENCE)
    }

    /// Forgets a pod that is gone, or that another object controls.
    pub fn forget(&mut self, uid: Uid) {
        self.adopt.remove(&uid);
        self.release.remove(&uid);
        self.restored.remove(&uid);
    }
}

fn set(pods: &mut BTreeMap<Uid, i64>, uid: Uid, must: bool, now: i64) {
    if !must {
        pods.remove(&uid);
    } else if pods.len() < KEPT {
        pods.entry(uid).or_insert(now);
    }
}

impl Judge {
    /// Notes the owner and the labels of a pod after an event, for a Job that controls it, or did.
    pub(super) fn note_ownership(
        &mut self,
        event: &Event,
        pod: &Pod,
        labels: &[(Text, Text)],
        job: Uid,
        gone: bool,
    ) {
        let is_of_nobody = self.pods.former.get(&pod.uid) == Some(&job);
        let controlled = self.pods.owners.get(&pod.uid) == Some(&job);
        let (Some(track), Some(when)) = (self.tracks.get_mut(&job), event.when) else { return };
        let stored = track.stored.clone().filter(|_| !gone && (controlled || is_of_nobody));
        match stored {
            Some(job) => track.pods.ownership.note(&job, (pod, controlled), labels, when.done),
            None => track.pods.ownership.forget(pod.uid),
        }
    }
}

impl Track {
    /// Judges a write that finishes the Job: nobody adopts or releases its pods any more.
    pub(super) fn judge_ownership_at_end(&mut self, event: &Event, after: &Job) {
        let Some(when) = event.when.filter(|_| after.status.is_finished() && self.coverage.complete) else {
            return;
        };
        let is_overdue = |since: i64| when.received - since >= PATIENCE;
        let debts = self.owed_ownership().filter(|(_, _, since)| since.is_some_and(is_overdue));
        for (req, obligation, since) in debts.collect::<Vec<_>>() {
            let owed = Owed { req, obligation, since };
            self.report(event, &"end of the Job", owed.broken(), Vec::new());
        }
    }

    /// The obligations to adopt and to release. A failed attempt begins anew.
    pub(super) fn owed_ownership(&self) -> impl Iterator<Item = Debt> {
        let debts = [
            (Req::FT24, Obligation::Adopt, &self.pods.ownership.adopt),
            (Req::FT26, Obligation::Release, &self.pods.ownership.release),
        ];
        let tried = self.process.setbacks.pod_write.max(self.process.setbacks.server_error);
        debts.into_iter().filter_map(move |(req, obligation, pods)| {
            let since = pods.values().min().copied()?;
            Some((req, obligation, tried.max(Some(since))))
        })
    }
}

//! Requests of those who evict pods, and of pod GC.

use std::io;

use jobcheck_explorer::env::disruption::DisruptionStep;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::Uid;
use jobcheck_traces::Verb;
use serde_json::json;

use super::super::asked::{about_pod, pod_not_found};
use super::super::scribe::{Asked, Told, Who};
use super::{STRATEGIC, Walker};

impl Walker<'_> {
    pub(super) fn disrupt(
        &mut self,
        id: JobId,
        uid: Uid,
        what: DisruptionStep,
        after: &World,
    ) -> io::Result<()> {
        match what {
            DisruptionStep::Evict => self.pod_status(id, uid, after, Who::Scheduler),
            DisruptionStep::LoseNode | DisruptionStep::FailByPodGc => {
                self.known(id).pods.entry(uid).or_default().lost = true;
                self.pod_status(id, uid, after, Who::PodGc)
            }
            DisruptionStep::Delete => self.delete_pod(id, uid, after, Who::Scheduler),
            DisruptionStep::ForceDelete => self.delete_by_force(id, uid, after),
        }
    }

    /// A PATCH of the pod's status.
    pub(super) fn pod_status(&mut self, id: JobId, uid: Uid, after: &World, who: Who) -> io::Result<()> {
        let answer = self.pod_stored(id, uid, after);
        let status = match &answer {
            Told::Done(pod) => json!({ "status": pod["status"] }),
            Told::Created(_) | Told::Gone | Told::Refused(..) => json!({}),
        };
        let known = &self.known[usize::from(id.0)];
        let asked = about_pod(known, who, Verb::Patch, uid, Some(status), answer);
        self.scribe.request(&Asked { is_status: true, patch_type: STRATEGIC, ..asked })
    }

    /// A DELETE without grace, which may find the pod deleted already. The answer shows a pod that goes.
    fn delete_by_force(&mut self, id: JobId, uid: Uid, after: &World) -> io::Result<()> {
        let before = self.job_state(id).pods.get(uid).cloned();
        let now = after.now;
        let facts = self.known(id).pods.entry(uid).or_default();
        facts.deleted.get_or_insert(now);
        facts.grace = 0;
        let answer = match (after.job_state(id).pods.get(uid), before) {
            (None, Some(pod)) => {
                let version = self.scribe.next_version();
                let known = self.known(id);
                known.changes.push(version);
                let facts = known.pods.entry(uid).or_default();
                (facts.version, facts.gone) = (version, true);
                let gone = jobcheck_spec::pod::Pod { deleting: true, forced: true, ..pod };
                Told::Done(known.render_pod(&gone))
            }
            (None, None) => pod_not_found(&self.known[usize::from(id.0)], uid),
            (Some(_), _) => self.pod_stored(id, uid, after),
        };
        let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0 });
        let known = &self.known[usize::from(id.0)];
        self.scribe.request(&about_pod(known, Who::User, Verb::Delete, uid, Some(options), answer))
    }
}

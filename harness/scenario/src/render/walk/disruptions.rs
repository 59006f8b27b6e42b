//! Requests of the scheduler and of pod GC that disrupt pods.

use std::io;

use jobcheck_explorer::env::disruption::DisruptionStep;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::Uid;
use jobcheck_traces::Verb;
use serde_json::json;

use super::super::requests::{about_pod, pod_not_found};
use super::super::trace_writer::{Exchange, Response, Sender};
use super::{Renderer, STRATEGIC};

impl Renderer<'_> {
    pub(super) fn disrupt(
        &mut self,
        id: JobId,
        uid: Uid,
        what: DisruptionStep,
        after: &World,
    ) -> io::Result<()> {
        match what {
            DisruptionStep::Evict => self.pod_status(id, uid, after, Sender::Scheduler),
            DisruptionStep::LoseNode | DisruptionStep::FailByPodGc => {
                self.record(id).pods.entry(uid).or_default().lost = true;
                self.pod_status(id, uid, after, Sender::PodGc)
            }
            DisruptionStep::Delete => self.delete_pod(id, uid, after, Sender::Scheduler),
            DisruptionStep::ForceDelete => self.delete_by_force(id, uid, after),
        }
    }

    /// Writes a PATCH of the status of a pod.
    pub(super) fn pod_status(
        &mut self,
        id: JobId,
        uid: Uid,
        after: &World,
        sender: Sender,
    ) -> io::Result<()> {
        let response = self.pod_stored(id, uid, after);
        let status = match &response {
            Response::Done(pod) => json!({ "status": pod["status"] }),
            Response::Created(_) | Response::Gone | Response::Refused(..) => json!({}),
        };
        let record = &self.records[usize::from(id.0)];
        let exchange = about_pod(record, sender, Verb::Patch, uid, response);
        self.writer.request(&Exchange {
            is_status: true,
            patch_type: STRATEGIC,
            body: Some(status),
            ..exchange
        })
    }

    /// Writes a DELETE without a grace period, also for a pod that is being deleted. The response shows the
    /// removed pod.
    fn delete_by_force(&mut self, id: JobId, uid: Uid, after: &World) -> io::Result<()> {
        let before = self.job_state(id).pods.get(uid).cloned();
        let now = after.now;
        let facts = self.record(id).pods.entry(uid).or_default();
        facts.deleted.get_or_insert(now);
        facts.grace = 0;
        let response = match (after.job_state(id).pods.get(uid), before) {
            (None, Some(pod)) => {
                let version = self.writer.next_version();
                let record = self.record(id);
                record.changes.push(version);
                let facts = record.pods.entry(uid).or_default();
                (facts.version, facts.gone) = (version, true);
                let gone = jobcheck_spec::pod::Pod { deleting: true, forced: true, ..pod };
                Response::Done(record.render_pod(&gone))
            }
            (None, None) => pod_not_found(&self.records[usize::from(id.0)], uid),
            (Some(_), _) => self.pod_stored(id, uid, after),
        };
        let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0 });
        let record = &self.records[usize::from(id.0)];
        let exchange = about_pod(record, Sender::User, Verb::Delete, uid, response);
        self.writer.request(&Exchange { body: Some(options), ..exchange })
    }
}

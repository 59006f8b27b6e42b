//! Requests that change the owner of a pod, and pods that exist before the trace.

use std::io;

use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::Uid;
use jobcheck_spec::pod::TRACKING_FINALIZER;
use jobcheck_traces::Verb;
use serde_json::{Value, json};

use super::super::requests::{about_pod, conflict, too_many_requests};
use super::super::trace_writer::{Exchange, Response, Sender};
use super::{Attempt, Renderer, STRATEGIC};

impl Renderer<'_> {
    /// Writes a PATCH that removes the Job from the owners of a pod.
    pub(super) fn owner_removed(
        &mut self,
        id: JobId,
        uid: Uid,
        after: &World,
        sender: Sender,
    ) -> io::Result<()> {
        let body = self.without_owner(id, uid);
        self.patch_pod(id, uid, after, sender, body)
    }

    /// Writes a PATCH that removes all labels.
    pub(super) fn relabelled(&mut self, id: JobId, uid: Uid, after: &World) -> io::Result<()> {
        let body = json!({ "metadata": { "labels": null } });
        self.patch_pod(id, uid, after, Sender::User, body)
    }

    fn patch_pod(
        &mut self,
        id: JobId,
        uid: Uid,
        after: &World,
        sender: Sender,
        body: Value,
    ) -> io::Result<()> {
        let response = self.pod_stored(id, uid, after);
        let record = &self.records[usize::from(id.0)];
        let exchange = about_pod(record, sender, Verb::Patch, uid, response);
        self.writer.request(&Exchange { patch_type: STRATEGIC, body: Some(body), ..exchange })
    }

    /// Writes the adoption or the release of a pod. An adoption contains the UID of the pod that the controller
    /// has read.
    pub(super) fn claim(
        &mut self,
        id: JobId,
        uid: Uid,
        adopts: bool,
        attempt: &Attempt<'_>,
        after: &World,
    ) -> io::Result<()> {
        let fails = attempt.outcome == RequestOutcome::Fails;
        let job = after.job_state(id).job.as_ref();
        if adopts && !fails && job.is_none_or(|job| job.deleting) {
            // The GET before the adoption shows that, and no PATCH follows.
            return Ok(());
        }
        let before = self.job_state(id).pods.get(uid).cloned();
        let refused = adopts && before.is_some() && before.as_ref() == after.job_state(id).pods.get(uid);
        let body = if adopts { self.with_owner(id, uid) } else { self.without_owner(id, uid) };
        let response = match () {
            () if fails => too_many_requests(),
            () if refused => conflict(&self.record(id).names.pod(uid)),
            () => self.pod_stored(id, uid, after),
        };
        let record = &self.records[usize::from(id.0)];
        let exchange = about_pod(record, Sender::JobController, Verb::Patch, uid, response);
        self.writer.request(&Exchange {
            patch_type: STRATEGIC,
            body: Some(body),
            received: attempt.received,
            ..exchange
        })
    }

    fn with_owner(&self, id: JobId, uid: Uid) -> Value {
        let record = &self.records[usize::from(id.0)];
        json!({ "metadata": {
            "uid": record.names.uid(uid).to_string(),
            "ownerReferences": [super::pod::owner(&record.job, &record.names)],
            "finalizers": [TRACKING_FINALIZER],
        } })
    }

    fn without_owner(&self, id: JobId, uid: Uid) -> Value {
        let record = &self.records[usize::from(id.0)];
        json!({ "metadata": {
            "uid": record.names.uid(uid).to_string(),
            "ownerReferences": [{ "$patch": "delete", "uid": record.job.uid.to_string() }],
            "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER],
        } })
    }

    /// Writes the pods that exist from the start, as creations by a user.
    pub(super) fn create_initial_pods(&mut self, number: usize) -> io::Result<()> {
        let pods = self.world.job_states[number].pods.clone();
        for pod in pods.iter() {
            let version = self.writer.next_version();
            let record = &mut self.records[number];
            record.changes.push(version);
            record.names.name_pod(pod);
            record.pods.entry(pod.uid).or_default().version = version;
            let response = Response::Created(record.render_pod(pod));
            let exchange = about_pod(record, Sender::User, Verb::Create, pod.uid, response);
            self.writer.request(&exchange)?;
            self.writer.next_moment();
        }
        Ok(())
    }
}

//! Requests that change whose a pod is, and pods that nobody of this trace made.

use std::io;

use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::Uid;
use jobcheck_spec::pod::TRACKING_FINALIZER;
use jobcheck_traces::Verb;
use serde_json::{Value, json};

use super::super::asked::{about_pod, conflict, too_many_requests};
use super::super::scribe::{Asked, Told, Who};
use super::{Attempt, STRATEGIC, Walker};

impl Walker<'_> {
    /// A PATCH that takes the Job out of the pod's owners.
    pub(super) fn owner_taken(&mut self, id: JobId, uid: Uid, after: &World, who: Who) -> io::Result<()> {
        let body = self.without_owner(id, uid);
        self.patch_pod(id, uid, after, who, body)
    }

    /// A PATCH that takes all labels away.
    pub(super) fn relabelled(&mut self, id: JobId, uid: Uid, after: &World) -> io::Result<()> {
        let body = json!({ "metadata": { "labels": null } });
        self.patch_pod(id, uid, after, Who::User, body)
    }

    fn patch_pod(&mut self, id: JobId, uid: Uid, after: &World, who: Who, body: Value) -> io::Result<()> {
        let answer = self.pod_stored(id, uid, after);
        let known = &self.known[usize::from(id.0)];
        let asked = about_pod(known, who, Verb::Patch, uid, Some(body), answer);
        self.scribe.request(&Asked { patch_type: STRATEGIC, ..asked })
    }

    /// The controller adopts a pod, or gives it up. An adoption names the version that it has seen.
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
            // The GET before shows that, and no PATCH follows.
            return Ok(());
        }
        let before = self.job_state(id).pods.get(uid).cloned();
        let refused = adopts && before.is_some() && before.as_ref() == after.job_state(id).pods.get(uid);
        let body = if adopts { self.with_owner(id, uid) } else { self.without_owner(id, uid) };
        let answer = match () {
            () if fails => too_many_requests(),
            () if refused => conflict(&self.known(id).names.pod(uid)),
            () => self.pod_stored(id, uid, after),
        };
        let known = &self.known[usize::from(id.0)];
        let asked = about_pod(known, Who::JobController, Verb::Patch, uid, Some(body), answer);
        self.scribe.request(&Asked { patch_type: STRATEGIC, received: attempt.received, ..asked })
    }

    fn with_owner(&self, id: JobId, uid: Uid) -> Value {
        let known = &self.known[usize::from(id.0)];
        json!({ "metadata": {
            "uid": known.names.uid(uid).to_string(),
            "ownerReferences": [super::pod::owner(&known.job, &known.names)],
            "finalizers": [TRACKING_FINALIZER],
        } })
    }

    fn without_owner(&self, id: JobId, uid: Uid) -> Value {
        let known = &self.known[usize::from(id.0)];
        json!({ "metadata": {
            "uid": known.names.uid(uid).to_string(),
            "ownerReferences": [{ "$patch": "delete", "uid": known.job.uid.to_string() }],
            "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER],
        } })
    }

    /// Pods that are there from the start, as a user made them.
    pub(super) fn show_found(&mut self, number: usize) -> io::Result<()> {
        let pods = self.world.job_states[number].pods.clone();
        for pod in pods.iter() {
            let version = self.scribe.next_version();
            let known = &mut self.known[number];
            known.changes.push(version);
            known.names.born(pod);
            known.pods.entry(pod.uid).or_default().version = version;
            let answer = Told::Created(known.render_pod(pod));
            let asked = about_pod(known, Who::User, Verb::Create, pod.uid, None, answer);
            self.scribe.request(&asked)?;
            self.scribe.next_moment();
        }
        Ok(())
    }
}

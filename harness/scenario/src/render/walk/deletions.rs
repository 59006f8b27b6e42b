//! Deletions of Jobs, and Jobs that are created again.

use std::io;

use jobcheck_explorer::env::user;
use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::process::ttl::TtlStep;
use jobcheck_explorer::ttl::Request;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::job::Job;
use jobcheck_traces::{FaultKind, Verb};
use serde_json::{Value, json};

use super::super::asked::{about_job, not_found, too_many_requests};
use super::super::scribe::{Asked, Told, Who};
use super::Walker;

impl Walker<'_> {
    /// Who deletes the pods of a Job.
    pub(super) fn collector(&self, id: JobId) -> Who {
        let goes = user::namespace_goes(self.job_state(id), self.scope);
        if goes { Who::NamespaceController } else { Who::GarbageCollector }
    }

    /// The last pod is gone, and the garbage collector takes the Job's finalizer away.
    pub(super) fn remove_job(&mut self, id: JobId) -> io::Result<()> {
        let known = &self.known[usize::from(id.0)];
        let gone = Job { finalizers: Vec::new(), ..Job::clone(&known.job) };
        let version = known.version();
        let answer = Told::Done(known.render(&gone, version));
        let body = json!({ "metadata": {
            "uid": known.job.uid.to_string(), "resourceVersion": version.to_string(), "finalizers": null,
        } });
        let asked = about_job(known, Who::GarbageCollector, Verb::Patch, Some(body), answer);
        let asked = Asked { patch_type: Some("application/merge-patch+json"), ..asked };
        self.scribe.request(&asked)
    }

    /// A DELETE that the server carries out.
    pub(super) fn delete_job(
        &mut self,
        id: JobId,
        after: &World,
        who: Who,
        propagation: &'static str,
    ) -> io::Result<()> {
        let known = self.known(id);
        let preconditions = match who {
            Who::GarbageCollector => Some(json!({
                "uid": known.job.uid.to_string(), "resourceVersion": known.version().to_string(),
            })),
            Who::TtlController
            | Who::JobController
            | Who::NamespaceController
            | Who::PodGc
            | Who::Scheduler
            | Who::Kubelet
            | Who::User => None,
        };
        let answer = self.job_stored(id, after);
        self.ask_to_delete(id, who, propagation, preconditions, answer)
    }

    /// The TTL controller of the specification.
    pub(super) fn expire(&mut self, id: JobId, after: &World) -> io::Result<()> {
        let request = Request { uid: Some(self.known(id).job.uid), if_unchanged: false, foreground: true };
        let answer = self.job_stored(id, after);
        self.expire_by(id, request, answer)
    }

    /// The TTL controller as an algorithm. Its reads are in no trace.
    pub(super) fn ttl(&mut self, id: JobId, what: TtlStep, after: &World) -> io::Result<()> {
        let outcome = match what {
            TtlStep::Sync | TtlStep::Get(_) | TtlStep::Show => return Ok(()),
            TtlStep::Crash => return self.scribe.restart(),
            TtlStep::Delete(outcome) => outcome,
        };
        let job_state = self.job_state(id);
        let Some((ttl, request)) = job_state.ttl.controller().and_then(|ttl| Some((ttl, ttl.request()?)))
        else {
            return Ok(());
        };
        let (stored, fits) = (job_state.job.clone(), job_state.job.as_ref().is_some_and(|job| ttl.fits(job)));
        match outcome {
            RequestOutcome::Handled => {}
            RequestOutcome::Fails => {
                self.scribe.fault(Who::TtlController, FaultKind::Rejected, "the request fails")?
            }
            RequestOutcome::ResponseLost => {
                let detail = "the answer to the next request is lost";
                self.scribe.fault(Who::TtlController, FaultKind::LostResponse, detail)?;
            }
        }
        let answer = match &stored {
            _ if outcome == RequestOutcome::Fails => too_many_requests(),
            None => not_found("jobs.batch", &self.known(id).names.job),
            Some(job) if request.uid.is_some_and(|uid| uid != job.uid) => other_uid(job, request),
            Some(job) if !fits => changed(job),
            Some(job) if job.deleting => {
                let known = self.known(id);
                Told::Done(known.render(job, known.version()))
            }
            Some(_) => self.job_stored(id, after),
        };
        self.expire_by(id, request, answer)
    }

    fn expire_by(&mut self, id: JobId, request: Request, answer: Told) -> io::Result<()> {
        let preconditions = request.uid.map(|uid| json!({ "uid": uid.to_string() }));
        self.ask_to_delete(id, Who::TtlController, request.propagation(), preconditions, answer)
    }

    fn ask_to_delete(
        &mut self,
        id: JobId,
        who: Who,
        propagation: &'static str,
        preconditions: Option<Value>,
        answer: Told,
    ) -> io::Result<()> {
        let mut options =
            json!({ "kind": "DeleteOptions", "apiVersion": "batch/v1", "propagationPolicy": propagation });
        if let Some(preconditions) = preconditions {
            options["preconditions"] = preconditions;
        }
        let asked = about_job(&self.known[usize::from(id.0)], who, Verb::Delete, Some(options), answer);
        self.scribe.request(&Asked { propagation: Some(propagation), ..asked })
    }

    /// Another Job under the name of one that is gone.
    pub(super) fn recreate(&mut self, id: JobId, after: &World) -> io::Result<()> {
        let number = usize::from(id.0);
        let (Some(job), Some(spec)) = (&after.job_state(id).job, self.scope.jobs.get(number)) else {
            return Ok(());
        };
        self.known[number] = self.known[number].again(number, job);
        self.create_job(number, spec)
    }
}

/// The resourceVersion in the precondition is not the stored one.
fn changed(job: &Job) -> Told {
    let message = format!(
        "Operation cannot be fulfilled on jobs.batch \"{}\": the ResourceVersion in the precondition does not match \
         the ResourceVersion in record. The object might have been modified",
        job.name
    );
    Told::Refused(409, "Conflict", message)
}

fn other_uid(job: &Job, request: Request) -> Told {
    let asked = request.uid.unwrap_or_default();
    let message = format!(
        "Operation cannot be fulfilled on jobs.batch \"{}\": the UID in the precondition ({asked}) does not match the \
         UID in record ({}). The object might have been deleted and then recreated",
        job.name, job.uid
    );
    Told::Refused(409, "Conflict", message)
}

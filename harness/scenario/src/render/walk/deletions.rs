//! Deletions of Jobs, and recreated Jobs.

use std::io;

use jobcheck_explorer::env::user;
use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::process::ttl::TtlStep;
use jobcheck_explorer::ttl::Request;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::job::Job;
use jobcheck_traces::{FaultKind, Verb};
use serde_json::{Value, json};

use super::super::requests::{about_job, not_found, too_many_requests};
use super::super::trace_writer::{Exchange, Response, Sender};
use super::Renderer;

impl Renderer<'_> {
    /// The controller that deletes the pods of a Job.
    pub(super) fn collector(&self, id: JobId) -> Sender {
        let goes = user::namespace_goes(self.job_state(id), self.scope);
        if goes { Sender::NamespaceController } else { Sender::GarbageCollector }
    }

    /// The garbage collector removes the finalizer of a Job after its last pod was removed.
    pub(super) fn remove_job(&mut self, id: JobId) -> io::Result<()> {
        let record = &self.records[usize::from(id.0)];
        let gone = Job { finalizers: Vec::new(), ..Job::clone(&record.job) };
        let version = record.version();
        let response = Response::Done(record.render(&gone, version));
        let body = json!({ "metadata": {
            "uid": record.job.uid.to_string(), "resourceVersion": version.to_string(), "finalizers": null,
        } });
        let exchange = about_job(record, Sender::GarbageCollector, Verb::Patch, response);
        let patch_type = Some("application/merge-patch+json");
        let exchange = Exchange { patch_type, body: Some(body), ..exchange };
        self.writer.request(&exchange)
    }

    /// Writes a DELETE that the server carries out.
    pub(super) fn delete_job(
        &mut self,
        id: JobId,
        after: &World,
        sender: Sender,
        propagation: &'static str,
    ) -> io::Result<()> {
        let record = self.record(id);
        let preconditions = match sender {
            Sender::GarbageCollector => Some(json!({
                "uid": record.job.uid.to_string(), "resourceVersion": record.version().to_string(),
            })),
            Sender::TtlController
            | Sender::JobController
            | Sender::NamespaceController
            | Sender::PodGc
            | Sender::Scheduler
            | Sender::Kubelet
            | Sender::User
            | Sender::Mirror
            | Sender::MirrorOfWorker
            | Sender::Checker
            | Sender::UserOfWorker => None,
        };
        let response = self.job_stored(id, after);
        self.delete_request(id, sender, propagation, preconditions, response)
    }

    /// Writes the DELETE of the specification's TTL controller.
    pub(super) fn expire(&mut self, id: JobId, after: &World) -> io::Result<()> {
        let request = Request { uid: Some(self.record(id).job.uid), if_unchanged: false, foreground: true };
        let response = self.job_stored(id, after);
        self.expire_by(id, request, response)
    }

    /// Writes a request of the TTL controller as an algorithm. Traces contain no reads.
    pub(super) fn ttl(&mut self, id: JobId, what: TtlStep, after: &World) -> io::Result<()> {
        let outcome = match what {
            TtlStep::Sync | TtlStep::Get(_) | TtlStep::Show => return Ok(()),
            TtlStep::Crash => return self.writer.restart(),
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
                self.writer.fault(Sender::TtlController, FaultKind::Rejected, "the request fails")?
            }
            RequestOutcome::ResponseLost => {
                let detail = "the response to the next request is lost";
                self.writer.fault(Sender::TtlController, FaultKind::LostResponse, detail)?;
            }
        }
        let response = match &stored {
            _ if outcome == RequestOutcome::Fails => too_many_requests(),
            None => not_found("jobs.batch", &self.record(id).names.job),
            Some(job) if request.uid.is_some_and(|uid| uid != job.uid) => other_uid(job, request),
            Some(job) if !fits => changed(job),
            Some(job) if job.deleting => {
                let record = self.record(id);
                Response::Done(record.render(job, record.version()))
            }
            Some(_) => self.job_stored(id, after),
        };
        self.expire_by(id, request, response)
    }

    fn expire_by(&mut self, id: JobId, request: Request, response: Response) -> io::Result<()> {
        let preconditions = request.uid.map(|uid| json!({ "uid": uid.to_string() }));
        self.delete_request(id, Sender::TtlController, request.propagation(), preconditions, response)
    }

    fn delete_request(
        &mut self,
        id: JobId,
        sender: Sender,
        propagation: &'static str,
        preconditions: Option<Value>,
        response: Response,
    ) -> io::Result<()> {
        let mut options =
            json!({ "kind": "DeleteOptions", "apiVersion": "batch/v1", "propagationPolicy": propagation });
        if let Some(preconditions) = preconditions {
            options["preconditions"] = preconditions;
        }
        let exchange = about_job(&self.records[usize::from(id.0)], sender, Verb::Delete, response);
        self.writer.request(&Exchange { propagation: Some(propagation), body: Some(options), ..exchange })
    }

    /// Writes the creation of a recreated Job.
    pub(super) fn recreate(&mut self, id: JobId, after: &World) -> io::Result<()> {
        let number = usize::from(id.0);
        let (Some(job), Some(spec)) = (&after.job_state(id).job, self.scope.jobs.get(number)) else {
            return Ok(());
        };
        self.records[number] = self.records[number].again(number, job);
        self.create_job(number, spec)
    }
}

/// The refusal because of another resource version in the precondition.
fn changed(job: &Job) -> Response {
    let message = format!(
        "Operation cannot be fulfilled on jobs.batch \"{}\": the ResourceVersion in the precondition does not match \
         the ResourceVersion in record. The object might have been modified",
        job.name
    );
    Response::Refused(409, "Conflict", message)
}

fn other_uid(job: &Job, request: Request) -> Response {
    let wanted = request.uid.unwrap_or_default();
    let message = format!(
        "Operation cannot be fulfilled on jobs.batch \"{}\": the UID in the precondition ({wanted}) does not match the \
         UID in record ({}). The object might have been deleted and then recreated",
        job.name, job.uid
    );
    Response::Refused(409, "Conflict", message)
}

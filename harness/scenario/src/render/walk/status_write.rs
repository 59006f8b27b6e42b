//! Status writes of the Job controller.

use std::io;

use jobcheck_explorer::alphabet::refusal;
use jobcheck_explorer::mutations::Mutation;
use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_traces::Verb;

use super::super::requests::{about_job, conflict, invalid, not_found, too_many_requests};
use super::super::trace_writer::{Exchange, Sender};
use super::{Attempt, Renderer};

impl Renderer<'_> {
    /// Writes a PUT of the status.
    pub(super) fn write_status(
        &mut self,
        id: JobId,
        status: &JobStatus,
        attempt: &Attempt<'_>,
        after: &World,
    ) -> io::Result<()> {
        let overwrites = self.scope.mutations().on(Mutation::OverwritesOnConflict);
        let stored = self.job_state(id).job.clone();
        let record = self.record(id);
        let base = if attempt.conflicts && overwrites { record.version() } else { attempt.base };
        let sent = Job { status: status.clone(), ..Job::clone(stored.as_ref().unwrap_or(&record.job)) };
        let body = record.render(&sent, base);
        let response = match &stored {
            _ if attempt.outcome == RequestOutcome::Fails => too_many_requests(),
            None => not_found("jobs.batch", &record.names.job),
            Some(_) if attempt.conflicts && !overwrites => conflict(&record.names.job),
            Some(job) => match refusal(job, &sent, self.scope) {
                Some(broken) => invalid(&self.record(id).names.job, &broken),
                None => self.job_stored(id, after),
            },
        };
        let record = &self.records[usize::from(id.0)];
        let exchange = about_job(record, Sender::JobController, Verb::Update, response);
        let (body, received) = (Some(body), attempt.received);
        self.writer.request(&Exchange { is_status: true, body, received, ..exchange })
    }
}

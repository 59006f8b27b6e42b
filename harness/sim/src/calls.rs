//! A sync of the shipped controller: the calls of its plan as requests to the embedded API server, one at a time.

use std::sync::Arc;

use jobcheck_apiserver::request::{DeleteOptions, PatchKind, Request, Response, Subresource, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_controller::answer::{Answer, Failure, Shown};
use jobcheck_controller::job::call::{Call, Written};
use jobcheck_controller::job::command::Plan;
use jobcheck_controller::job::enactment::Enactment;
use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observed::JobFacts;
use jobcheck_controller::job::requests::{self, Object, PodTemplate};
use jobcheck_controller::values::{ResourceVersion, Text, Time, Uid};
use k8s_openapi::serde::Deserialize;

use crate::cluster::NAMESPACE;

/// A call of a plan, with its request.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The call.
    pub call: Call,
    /// The request.
    pub request: Request,
}

/// A plan in progress.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The Job of the plan.
    pub job: JobFacts,
    template: Arc<PodTemplate>,
    enactment: Enactment<Arc<Plan>>,
}

impl Sync {
    /// Returns the sync of a plan for a Job with this template.
    #[must_use]
    pub fn new(job: JobFacts, template: Arc<PodTemplate>, plan: Plan) -> Sync {
        let version = job.resource_version.clone();
        let enactment = Enactment::new(Arc::new(plan), job.uid.clone(), version);
        Sync { job, template, enactment }
    }

    /// Returns true if a call has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        !self.enactment.failures().is_empty()
    }

    /// The memory that the sync has written so far.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        self.enactment.memory()
    }

    /// The calls of which any can be sent next. Empty at the end of the sync.
    #[must_use]
    pub fn open(&self) -> &[Call] {
        self.enactment.open()
    }

    /// Starts the call with this number among the open ones.
    pub fn take(&mut self, number: usize) -> Option<CallRequest> {
        let call = self.enactment.take(number)?;
        let request = requests::request(&call, &self.job, |pod| self.template.pod(pod));
        Some(CallRequest { request: to_server(request), call })
    }

    /// Ends a call with its response, or without one. Returns the versions that the caches must show after it.
    pub fn answered(
        &mut self,
        sent: &CallRequest,
        response: Option<&Response>,
        now: Time,
    ) -> Option<Written> {
        let answer = answer(response);
        self.enactment.answered(&sent.call, &answer, now);
        sent.call.written(&answer)
    }
}

/// Converts a request of the controllers to one of the embedded API server.
#[must_use]
pub fn to_server(request: requests::Request) -> Request {
    let (resource, name, subresource) = match request.object {
        Object::Job(name) => (Resource::Jobs, Some(name), None),
        Object::JobStatus(name) => (Resource::Jobs, Some(name), Some(Subresource::Status)),
        Object::Pod(name) => (Resource::Pods, Some(name), None),
        Object::Pods => (Resource::Pods, None, None),
    };
    let body = request.body;
    let verb = match request.verb {
        requests::Verb::Get => Verb::Get { resource_version: None },
        requests::Verb::Create => Verb::Create(body),
        requests::Verb::Patch => Verb::Patch { kind: PatchKind::Strategic, body },
        requests::Verb::Delete => {
            Verb::Delete(DeleteOptions::deserialize(body).expect("options that the shipped code makes"))
        }
    };
    Request { subresource, ..Request::new(resource, Some(NAMESPACE), name.as_deref(), verb) }
}

/// The result of a response, as the shipped runtime derives it.
///
/// # Errors
///
/// The call has failed, or there is no response.
pub fn answer(response: Option<&Response>) -> Answer {
    let Some(response) = response else { return Err(Failure::Ambiguous("no answer".to_owned())) };
    let object = response.clone().object().map_err(|error| {
        let status = serde_json::from_value(error.status());
        status.map_or_else(|why| Failure::Ambiguous(why.to_string()), |status| Failure::from_status(&status))
    })?;
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    Ok(Shown {
        name: Text::from(text("name")),
        uid: Uid::new(text("uid")),
        resource_version: ResourceVersion::new(text("resourceVersion")),
        deleting: !metadata["deletionTimestamp"].is_null(),
    })
}

/// A version as a number. 0, which every cache has reached, if it is not a number.
#[must_use]
pub fn number(version: &ResourceVersion) -> u64 {
    version.as_str().parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use jobcheck_controller::job::command::PodRef;
    use jobcheck_controller::job::orphan::OrphanPlan;

    use super::*;

    #[test]
    fn a_deletion_keeps_its_preconditions() {
        let pod =
            PodRef { name: "p".into(), uid: Uid::new("u"), resource_version: ResourceVersion::new("7") };
        let request = requests::of_orphan(&OrphanPlan::Delete(pod)).map(to_server);
        let Some(Request { verb: Verb::Delete(options), .. }) = request else { panic!("{request:?}") };
        let preconditions = options.preconditions.unwrap();
        assert_eq!(preconditions.uid.as_deref(), Some("u"));
        assert_eq!(preconditions.resource_version.as_deref(), Some("7"));
    }

    #[test]
    fn without_an_answer_nobody_knows_what_was_written() {
        let read = answer(None);
        assert!(read.as_ref().is_err_and(Failure::is_ambiguous));
    }
}

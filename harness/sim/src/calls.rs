//! A sync of the shipped controller: the calls of its plan as requests to the embedded API server, one after the other.

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

/// A call that was made, and its request.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The call.
    pub call: Call,
    /// The request.
    pub request: Request,
}

/// A plan that is being carried out.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The Job that it was made for.
    pub job: JobFacts,
    template: Arc<PodTemplate>,
    enactment: Enactment<Arc<Plan>>,
}

impl Sync {
    /// Of a plan for this Job, which has this template.
    #[must_use]
    pub fn new(job: JobFacts, template: Arc<PodTemplate>, plan: Plan) -> Sync {
        let version = job.resource_version.clone();
        let enactment = Enactment::new(Arc::new(plan), job.uid.clone(), version);
        Sync { job, template, enactment }
    }

    /// Whether a call has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        !self.enactment.failures().is_empty()
    }

    /// What is to be remembered so far.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        self.enactment.memory()
    }

    /// The calls of which any may be made next; none once all is done.
    #[must_use]
    pub fn open(&self) -> &[Call] {
        self.enactment.open()
    }

    /// Makes the call of this number.
    pub fn take(&mut self, number: usize) -> Option<Sent> {
        let call = self.enactment.take(number)?;
        let request = requests::request(&call, &self.job, |pod| self.template.pod(pod));
        Some(Sent { request: to_server(request), call })
    }

    /// What came of a call, if the answer came; and what the caches must show after it.
    pub fn answered(&mut self, sent: &Sent, response: Option<&Response>, now: Time) -> Option<Written> {
        let answer = answer(response);
        self.enactment.answered(&sent.call, &answer, now);
        sent.call.written(&answer)
    }
}

/// The same request, in the words of the embedded API server.
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

/// What a response says, as the shipped runtime reads it.
///
/// # Errors
///
/// It says that the call did not succeed, or there is none.
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

/// A version as a number; 0, which every cache has reached, where it is none.
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

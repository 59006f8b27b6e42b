//! Comparison of a request of a controller with the request for which a step waits.

use crate::{Request, Resource, Verb};
use serde_json::Value;

use crate::runtime::cluster::Cluster;
use crate::runtime::pods::completion_index;

/// The attributes of a request, with the names of audit logs.
#[derive(Clone, Copy, Debug)]
pub struct SentRequest<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The plural name of the resource.
    pub resource: &'a str,
    /// The subresource, if there is one.
    pub subresource: Option<&'a str>,
    /// The name of the object. A creation may have none.
    pub name: Option<&'a str>,
    /// The body of a creation.
    pub body: Option<&'a Value>,
}

impl SentRequest<'_> {
    /// Returns true if this is the awaited request about this Job.
    #[must_use]
    pub fn matches(&self, awaited: &Request, cluster: &impl Cluster, job: &str) -> bool {
        let is_such = self.verb() == Some(awaited.verb) && self.resource() == awaited.resource;
        is_such && self.is_about(awaited, cluster, job)
    }

    /// A status is written by PUT or by PATCH: that is the controller's own business.
    fn verb(&self) -> Option<Verb> {
        Some(match self.verb {
            "create" => Verb::Create,
            "get" => Verb::Get,
            "patch" if self.resource == "jobs" => Verb::Update,
            "update" => Verb::Update,
            "patch" => Verb::Patch,
            "delete" => Verb::Delete,
            _ => return None,
        })
    }

    fn resource(&self) -> Resource {
        match (self.resource, self.subresource) {
            ("jobs", Some("status")) => Resource::JobStatus,
            ("jobs", _) => Resource::Jobs,
            _ => Resource::Pods,
        }
    }

    fn is_about(&self, awaited: &Request, cluster: &impl Cluster, job: &str) -> bool {
        if self.resource == "jobs" {
            return self.name == Some(job);
        }
        let created = cluster.created(job);
        let (own, index) = match self.body {
            Some(pod) => (pod["metadata"]["labels"]["job-name"] == job, completion_index(pod)),
            None => {
                let pod = self.name.and_then(|name| cluster.pod(name));
                (created.iter().any(|it| Some(&*it.name) == self.name), pod.and_then(completion_index))
            }
        };
        let numbered = awaited.pod.is_none_or(|number| {
            let meant = usize::from(number).checked_sub(1).and_then(|it| created.get(it));
            meant.is_some_and(|it| Some(&*it.name) == self.name)
        });
        own && numbered && awaited.index.is_none_or(|wanted| index == Some(wanted))
    }
}

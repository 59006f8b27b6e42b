//! Whether what a controller asks for is what a step waits for.

use crate::{Request, Resource, Verb};
use serde_json::Value;

use crate::runtime::cluster::Cluster;
use crate::runtime::pods::completion_index;

/// A request of a controller, in the words of an audit log.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The verb.
    pub verb: &'a str,
    /// The resource, in the plural.
    pub resource: &'a str,
    /// The subresource, if there is one.
    pub subresource: Option<&'a str>,
    /// The name of the object; of one that is created there may be none.
    pub name: Option<&'a str>,
    /// What is to be created, if that is it.
    pub body: Option<&'a Value>,
}

impl Asked<'_> {
    /// Whether this is the request that is awaited, about this Job.
    #[must_use]
    pub fn fits(&self, awaited: &Request, cluster: &impl Cluster, job: &str) -> bool {
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

//! The resources that the server serves.

/// A resource, as it is named in paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// `batch/v1` jobs.
    Jobs,
    /// `v1` pods.
    Pods,
    /// `v1` events.
    Events,
    /// `events.k8s.io/v1` events: the same objects as [`Resource::Events`] in another form.
    NewEvents,
    /// `coordination.k8s.io/v1` leases.
    Leases,
    /// `v1` namespaces.
    Namespaces,
    /// `v1` nodes.
    Nodes,
    /// `v1` serviceaccounts.
    ServiceAccounts,
}

/// The fixed properties of a resource.
pub struct Facts {
    /// The API group. Empty for the core group.
    pub group: &'static str,
    /// The plural name, as in paths.
    pub plural: &'static str,
    /// The singular name.
    pub singular: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// If true, its objects are in namespaces.
    pub namespaced: bool,
    /// The short names, for discovery.
    pub short: &'static [&'static str],
    /// The subresources, for discovery and routing.
    pub subresources: &'static [&'static str],
    /// If true, a PUT without `resourceVersion` overwrites the object.
    pub unconditional_update: bool,
    /// If true, a PUT of an object that does not exist creates it.
    pub create_on_update: bool,
    /// If true, the response of a DELETE is the object and not a Status.
    pub returns_deleted: bool,
}

impl Resource {
    /// All resources, in the order of discovery.
    pub const ALL: [Resource; 8] = [
        Resource::Events,
        Resource::Namespaces,
        Resource::Nodes,
        Resource::Pods,
        Resource::ServiceAccounts,
        Resource::Jobs,
        Resource::Leases,
        Resource::NewEvents,
    ];

    /// The fixed properties of the resource (`pkg/registry/*/strategy.go`, and the storage of each).
    #[must_use]
    pub fn facts(self) -> &'static Facts {
        match self {
            Resource::Jobs => &JOBS,
            Resource::Pods => &PODS,
            Resource::Events => &EVENTS,
            Resource::NewEvents => &NEW_EVENTS,
            Resource::Leases => &LEASES,
            Resource::Namespaces => &NAMESPACES,
            Resource::Nodes => &NODES,
            Resource::ServiceAccounts => &SERVICE_ACCOUNTS,
        }
    }

    /// The resource with this group and this plural name.
    #[must_use]
    pub fn find(group: &str, plural: &str) -> Option<Resource> {
        Resource::ALL.into_iter().find(|it| it.facts().group == group && it.facts().plural == plural)
    }

    /// The resource whose form the stored objects have.
    #[must_use]
    pub fn stored(self) -> Resource {
        if self == Resource::NewEvents { Resource::Events } else { self }
    }

    /// The `apiVersion` of its objects.
    #[must_use]
    pub fn api_version(self) -> String {
        api_version(self.facts().group)
    }

    /// The name in messages: `jobs.batch`, `pods`.
    #[must_use]
    pub fn qualified(self) -> String {
        qualified(self.facts().plural, self.facts().group)
    }
}

/// `v1`, or `GROUP/v1`.
#[must_use]
pub fn api_version(group: &str) -> String {
    if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") }
}

/// A name, followed by its group, as in messages.
#[must_use]
pub fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

const PLAIN: Facts = Facts {
    group: "",
    plural: "",
    singular: "",
    kind: "",
    namespaced: true,
    short: &[],
    subresources: &[],
    unconditional_update: true,
    create_on_update: false,
    returns_deleted: false,
};

static JOBS: Facts = Facts {
    group: "batch",
    plural: "jobs",
    singular: "job",
    kind: "Job",
    subresources: &["status"],
    ..PLAIN
};

static PODS: Facts = Facts {
    plural: "pods",
    singular: "pod",
    kind: "Pod",
    short: &["po"],
    subresources: &["status", "binding", "eviction"],
    returns_deleted: true,
    ..PLAIN
};

static EVENTS: Facts = Facts {
    plural: "events",
    singular: "event",
    kind: "Event",
    short: &["ev"],
    create_on_update: true,
    ..PLAIN
};

static NEW_EVENTS: Facts = Facts {
    group: "events.k8s.io",
    plural: "events",
    singular: "event",
    kind: "Event",
    short: &["ev"],
    create_on_update: true,
    ..PLAIN
};

static LEASES: Facts = Facts {
    group: "coordination.k8s.io",
    plural: "leases",
    singular: "lease",
    kind: "Lease",
    unconditional_update: false,
    create_on_update: true,
    ..PLAIN
};

static NAMESPACES: Facts = Facts {
    plural: "namespaces",
    singular: "namespace",
    kind: "Namespace",
    namespaced: false,
    short: &["ns"],
    subresources: &["status", "finalize"],
    returns_deleted: true,
    ..PLAIN
};

static NODES: Facts = Facts {
    plural: "nodes",
    singular: "node",
    kind: "Node",
    namespaced: false,
    short: &["no"],
    subresources: &["status"],
    ..PLAIN
};

static SERVICE_ACCOUNTS: Facts = Facts {
    plural: "serviceaccounts",
    singular: "serviceaccount",
    kind: "ServiceAccount",
    short: &["sa"],
    returns_deleted: true,
    ..PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_one_resource() {
        assert_eq!(Resource::find("batch", "jobs"), Some(Resource::Jobs));
        assert_eq!(Resource::find("", "jobs"), None);
        assert_eq!(Resource::find("events.k8s.io", "events").map(Resource::stored), Some(Resource::Events));
        assert_eq!(
            (Resource::Jobs.qualified(), Resource::Pods.qualified()),
            ("jobs.batch".into(), "pods".into())
        );
        assert_eq!(Resource::Leases.api_version(), "coordination.k8s.io/v1");
    }
}

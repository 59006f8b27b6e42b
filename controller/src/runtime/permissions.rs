//! The permissions of the controllers. They are checked at the start, and a test compares them with the roles in
//! `deploy/`.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};

use crate::answer::Failure;

/// One permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource, with its subresource after a slash.
    pub resource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// The part of the program that needs the permission.
    pub needed_by: Need,
}

impl Permission {
    /// Returns the resource in the form of kubectl, for example `jobs.batch/status`.
    fn name(&self) -> String {
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, format!("/{subresource}")),
            None => (self.resource, String::new()),
        };
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{resource}{dot}{}{subresource}", self.group)
    }
}

/// A part of the program that needs a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The Job controller or the TTL controller.
    Either,
    /// The Job controller.
    Job,
    /// The TTL controller.
    Ttl,
    /// `--leader-elect`.
    Election,
}

/// All permissions that the program uses.
pub const PERMISSIONS: [Permission; 7] = [
    Permission {
        group: "batch",
        resource: "jobs",
        verbs: &["get", "list", "watch"],
        needed_by: Need::Either,
    },
    Permission { group: "batch", resource: "jobs/status", verbs: &["patch"], needed_by: Need::Job },
    // The admission plugin OwnerReferencesPermissionEnforcement requires this for `blockOwnerDeletion` (PC-14).
    Permission { group: "batch", resource: "jobs/finalizers", verbs: &["update"], needed_by: Need::Job },
    Permission {
        group: "",
        resource: "pods",
        verbs: &["list", "watch", "create", "patch", "delete"],
        needed_by: Need::Job,
    },
    Permission {
        group: "events.k8s.io",
        resource: "events",
        verbs: &["create", "patch"],
        needed_by: Need::Job,
    },
    Permission { group: "batch", resource: "jobs", verbs: &["delete"], needed_by: Need::Ttl },
    Permission {
        group: "coordination.k8s.io",
        resource: "leases",
        verbs: &["get", "create", "update"],
        needed_by: Need::Election,
    },
];

/// The parts of the program that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The Job controller.
    pub job: bool,
    /// The TTL controller.
    pub ttl: bool,
    /// Leader election.
    pub election: bool,
}

impl Need {
    /// Returns how to run without the permission, if that is possible.
    fn hint(self) -> &'static str {
        match self {
            Need::Election => " (or pass --leader-elect=false if no other process runs)",
            Need::Either | Need::Job | Need::Ttl => "",
        }
    }
}

impl Parts {
    fn need(self, permission: &Permission) -> bool {
        match permission.needed_by {
            Need::Either => self.job || self.ttl,
            Need::Job => self.job,
            Need::Ttl => self.ttl,
            Need::Election => self.election,
        }
    }
}

/// Returns the missing permissions, each as `VERB RESOURCE in NAMESPACE`.
///
/// `namespace` is the watched namespace, or none for all namespaces. `lease_namespace` is the namespace of the lease.
///
/// # Errors
///
/// The API server did not respond, or refused the question.
pub async fn missing(
    client: &Client,
    parts: Parts,
    namespace: Option<&str>,
    lease_namespace: &str,
) -> Result<Vec<String>, Failure> {
    let mut missing = Vec::new();
    for permission in PERMISSIONS.iter().filter(|permission| parts.need(permission)) {
        let namespace = match permission.needed_by {
            Need::Election => Some(lease_namespace),
            Need::Either | Need::Job | Need::Ttl => namespace,
        };
        for verb in permission.verbs {
            if !is_allowed(client, permission, verb, namespace).await? {
                let place = namespace.map_or("all namespaces".to_owned(), |it| format!("namespace {it}"));
                let hint = permission.needed_by.hint();
                missing.push(format!("{verb} {} in {place}{hint}", permission.name()));
            }
        }
    }
    Ok(missing)
}

async fn is_allowed(
    client: &Client,
    permission: &Permission,
    verb: &str,
    namespace: Option<&str>,
) -> Result<bool, Failure> {
    let (resource, subresource) = match permission.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (permission.resource, None),
    };
    let attributes = ResourceAttributes {
        group: Some(permission.group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(verb.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() },
        ..Default::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let response = api.create(&PostParams::default(), &review).await;
    let response = response.map_err(|error| Failure::from_kube(&error))?;
    Ok(response.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// Returns `GROUP RESOURCE VERB` for each rule of a manifest.
    fn granted(manifest: &str) -> BTreeSet<String> {
        let role: Value = serde_saphyr::from_str(manifest).unwrap();
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
        };
        let mut granted = BTreeSet::new();
        for rule in role["rules"].as_array().unwrap() {
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    granted.extend(
                        texts(&rule["verbs"]).iter().map(|verb| format!("{group} {resource} {verb}")),
                    );
                }
            }
        }
        granted
    }

    fn needed(wanted: fn(Need) -> bool) -> BTreeSet<String> {
        let permissions = PERMISSIONS.iter().filter(|permission| wanted(permission.needed_by));
        let lines = permissions
            .flat_map(|it| it.verbs.iter().map(|verb| format!("{} {} {verb}", it.group, it.resource)));
        lines.collect()
    }

    #[test]
    fn the_manifests_grant_exactly_the_required_permissions() {
        let roles = granted(include_str!("../../../deploy/base/clusterrole.yaml"));
        assert_eq!(roles, needed(|need| need != Need::Election));
        let lease = granted(include_str!("../../../deploy/base/lease-role.yaml"));
        assert_eq!(lease, needed(|need| need == Need::Election));
    }

    #[test]
    fn missing_optional_permissions_are_reported() {
        assert!(Need::Election.hint().contains("--leader-elect=false"));
        assert_eq!([Need::Either, Need::Job, Need::Ttl].map(Need::hint), [""; 3]);
    }

    #[test]
    fn resources_are_named_as_kubectl_does() {
        let names: BTreeSet<String> = PERMISSIONS.iter().map(Permission::name).collect();
        assert!(names.contains("pods") && names.contains("jobs.batch/status"), "{names:?}");
    }

    #[test]
    fn a_part_that_does_not_run_needs_nothing() {
        let needed = |parts: Parts| PERMISSIONS.iter().filter(|it| parts.need(it)).count();
        assert_eq!(needed(Parts { job: false, ttl: true, election: false }), 2);
        assert_eq!(needed(Parts { job: true, ttl: false, election: false }), 5);
        assert_eq!(needed(Parts { job: true, ttl: true, election: true }), PERMISSIONS.len());
    }
}

//! The permissions of the controllers. They are checked at the start, and a test compares them with the roles in
//! `deploy/`.

use jobcheck_access::{Unanswered, patiently};
use jobcheck_controller::answer::{Failure, excerpt};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use tracing::warn;

use crate::failure::of_kube;

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

    /// Returns the question whether a verb is allowed.
    fn attributes(&self, verb: &str, objects: Objects<'_>) -> ResourceAttributes {
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (self.resource, None),
        };
        let is_lease = self.needed_by == Need::Election;
        let namespace = if is_lease { Some(objects.lease_namespace) } else { objects.namespace };
        // A Role can name the Lease, but not for its creation, which has no name.
        let name = (is_lease && verb != "create").then(|| objects.lease.to_owned());
        ResourceAttributes {
            group: Some(self.group.to_owned()),
            resource: Some(resource.to_owned()),
            subresource,
            verb: Some(verb.to_owned()),
            namespace: namespace.map(str::to_owned),
            name,
            ..ResourceAttributes::default()
        }
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

/// The objects of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Objects<'a> {
    /// The watched namespace, or none for all namespaces.
    pub namespace: Option<&'a str>,
    /// The namespace of the Lease.
    pub lease_namespace: &'a str,
    /// The name of the Lease.
    pub lease: &'a str,
}

/// Returns the missing permissions, each as `VERB RESOURCE in NAMESPACE`. While the API server is overloaded, it is asked
/// again for a minute.
///
/// # Errors
///
/// The API server did not respond, or refused the question.
pub async fn missing(client: &Client, parts: Parts, objects: Objects<'_>) -> Result<Vec<String>, Failure> {
    let mut missing = Vec::new();
    for permission in PERMISSIONS.iter().filter(|permission| parts.need(permission)) {
        for verb in permission.verbs {
            let attributes = permission.attributes(verb, objects);
            let namespace = attributes.namespace.clone();
            let name = attributes.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            if !is_allowed(client, attributes).await? {
                let place = namespace.map_or("all namespaces".to_owned(), |it| format!("namespace {it}"));
                let hint = permission.needed_by.hint();
                missing.push(format!("{verb} {}{name} in {place}{hint}", permission.name()));
            }
        }
    }
    Ok(missing)
}

async fn is_allowed(client: &Client, attributes: ResourceAttributes) -> Result<bool, Failure> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() },
        ..Default::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let params = PostParams::default();
    let waiting = |why: &str| warn!(why = excerpt(why), "the API server is overloaded, and is asked again");
    match patiently(|| api.create(&params, &review), waiting).await {
        Ok(answer) => Ok(answer.status.is_some_and(|status| status.allowed)),
        Err(Unanswered::Failed(error)) => Err(of_kube(&error)),
        Err(error @ Unanswered::Silent) => Err(Failure::Ambiguous(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::config::Election;
    use crate::testing::{failure, server};

    const CLUSTER_ROLE: &str = include_str!("../../../deploy/base/clusterrole.yaml");
    const LEASE_ROLE: &str = include_str!("../../../deploy/base/lease-role.yaml");

    fn parsed(manifest: &str) -> Value {
        serde_saphyr::from_str(manifest).unwrap()
    }

    /// The container of the Deployment.
    fn container() -> Value {
        let deployment = parsed(include_str!("../../../deploy/base/deployment.yaml"));
        deployment["spec"]["template"]["spec"]["containers"][0].clone()
    }

    /// Returns `GROUP RESOURCE VERB` for each rule of a role.
    fn granted(role: &Value) -> BTreeSet<String> {
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

    /// The Deployment runs the Job controller only. The component `deploy/ttl` adds the TTL controller.
    #[test]
    fn the_manifests_grant_exactly_the_required_permissions() {
        let roles = granted(&parsed(CLUSTER_ROLE));
        assert_eq!(roles, needed(|need| matches!(need, Need::Either | Need::Job)));
        let lease = granted(&parsed(LEASE_ROLE));
        assert_eq!(lease, needed(|need| need == Need::Election));
    }

    #[test]
    fn the_component_adds_the_ttl_controller_and_its_permission() {
        let component = parsed(include_str!("../../../deploy/ttl/kustomization.yaml"));
        let patches = component["patches"].as_array().unwrap().iter();
        let edits = patches.flat_map(|it| parsed(it["patch"].as_str().unwrap()).as_array().unwrap().clone());
        let (rules, arguments): (Vec<Value>, Vec<Value>) = edits.partition(|edit| edit["path"] == "/rules/-");
        let rules: Vec<Value> = rules.iter().map(|edit| edit["value"].clone()).collect();
        assert_eq!(granted(&json!({ "rules": rules })), needed(|need| need == Need::Ttl));
        // It replaces the argument that it expects.
        let index = arguments[0]["path"].as_str().unwrap().rsplit('/').next().unwrap();
        let given = &container()["args"][index.parse::<usize>().unwrap()];
        assert_eq!((&arguments[0]["op"], &arguments[0]["value"]), (&"test".into(), given));
        assert_eq!(
            (given, &arguments[1]["value"]),
            (&"--controllers=job".into(), &"--controllers=job,ttl".into())
        );
    }

    #[test]
    fn the_role_names_the_lease_of_the_deployment() {
        let arguments = container()["args"].clone();
        let mut managers =
            arguments.as_array().unwrap().iter().filter_map(|it| it.as_str()?.strip_prefix("--managed-by="));
        let lease = Election::of_manager(managers.next()).name;
        for rule in parsed(LEASE_ROLE)["rules"].as_array().unwrap() {
            let is_creation = rule["verbs"] == json!(["create"]);
            let names = if is_creation { Value::Null } else { json!([lease]) };
            assert_eq!(rule["resourceNames"], names);
        }
    }

    /// A neighbour must not reach the probes, because the kubelet restarts a process whose probes fail.
    #[test]
    fn the_probes_have_a_port_that_the_network_policy_closes() {
        let container = container();
        let port = |name: &str| {
            let ports = container["ports"].as_array().unwrap();
            ports.iter().find(|it| it["name"] == name).unwrap()["containerPort"].to_string()
        };
        for (flag, name) in [("health-probe", "probes"), ("metrics", "metrics")] {
            let argument = format!("--{flag}-bind-address=:{}", port(name));
            assert!(container["args"].as_array().unwrap().contains(&argument.into()), "{name}");
        }
        for probe in ["livenessProbe", "readinessProbe"] {
            assert_eq!(container[probe]["httpGet"]["port"], "probes");
        }
        let policy = parsed(include_str!("../../../deploy/base/networkpolicy.yaml"));
        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]));
        for rule in policy["spec"]["ingress"].as_array().unwrap() {
            assert_eq!(rule["ports"], json!([{"protocol": "TCP", "port": "metrics"}]));
            assert!(rule["from"].as_array().is_some_and(|from| !from.is_empty()), "{rule}");
        }
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

    const ALL: Parts = Parts { job: true, ttl: true, election: true };

    fn objects() -> Objects<'static> {
        Objects { namespace: None, lease_namespace: "leases", lease: "mine" }
    }

    /// A Role can restrict `get` and `update` to one Lease, so that the question must name it.
    #[tokio::test]
    async fn the_lease_is_named_where_a_role_can_name_it() {
        let (client, requests) = server(|_, _| (201, review(false)));
        let missing = missing(&client, ALL, objects()).await.unwrap();
        for line in [
            "get leases.coordination.k8s.io mine in namespace leases",
            "create leases.coordination.k8s.io in namespace leases",
            "update leases.coordination.k8s.io mine in namespace leases",
            "delete jobs.batch in all namespaces",
        ] {
            assert!(missing.iter().any(|it| it.starts_with(line)), "{line}: {missing:#?}");
        }
        let requests = requests.lock().unwrap();
        let named = requests.iter().filter(|(_, it)| it["spec"]["resourceAttributes"]["name"] == "mine");
        assert_eq!(named.count(), 2);
    }

    fn review(allowed: bool) -> Value {
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}, "spec": {},
            "status": {"allowed": allowed}})
    }

    #[tokio::test(start_paused = true)]
    async fn an_overloaded_server_is_asked_again() {
        for code in [429, 503] {
            let (client, requests) = server(move |_, number| match number {
                1..=3 => failure(code),
                _ => (201, review(true)),
            });
            assert_eq!(missing(&client, ALL, objects()).await, Ok(Vec::new()));
            let verbs: usize = PERMISSIONS.iter().map(|it| it.verbs.len()).sum();
            assert_eq!(requests.lock().unwrap().len(), verbs + 3, "{code}");
        }
        let (client, requests) = server(|_, _| failure(401));
        assert!(missing(&client, ALL, objects()).await.is_err());
        assert_eq!(requests.lock().unwrap().len(), 1);
    }
}

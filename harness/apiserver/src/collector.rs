//! The garbage collector, the pod garbage collector, and the namespace controller. They run when they are called.
//!
//! Each call reads the stored state, as a controller with up-to-date caches does. A caller that delays a call models
//! a lagging controller.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{finalizers, is_deleting, meta, owners, text};
use crate::request::{DeleteOptions, ListOptions, PatchKind, Preconditions, Request, Subresource, Verb};
use crate::resource::Resource;
use crate::server::Server;
use crate::store::Place;

const COLLECTOR: (&str, &str) =
    ("system:serviceaccount:kube-system:generic-garbage-collector", "kube-controller-manager");
const POD_COLLECTOR: (&str, &str) =
    ("system:serviceaccount:kube-system:pod-garbage-collector", "kube-controller-manager");
const NAMESPACES: (&str, &str) =
    ("system:serviceaccount:kube-system:namespace-controller", "kube-controller-manager");

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

impl Server {
    /// Does one round of the garbage collector. Returns the number of accepted writes. A round can make another
    /// one necessary: call it until it returns 0.
    ///
    /// - Dependents of a removed owner are deleted in the background. If another owner exists, they only lose
    ///   the reference.
    /// - For an owner with `foregroundDeletion`, dependents are deleted. The finalizer is removed when no
    ///   dependent blocks it any longer (`blockOwnerDeletion`).
    /// - For an owner with `orphan`, dependents lose the reference. Then the finalizer is removed.
    pub fn collect_garbage(&mut self, now: Timestamp) -> usize {
        let mut writes = 0;
        for (resource, key) in self.store().collecting() {
            let Some(owner) = self.store().get(resource, &key).cloned() else { continue };
            let names = finalizers(&owner);
            if names.contains(&ORPHAN) {
                writes += self.orphan_dependents(now, resource, &owner);
            } else if names.contains(&FOREGROUND) {
                writes += self.delete_dependents_first(now, resource, &owner);
            }
        }
        for uid in self.store().missing_owners() {
            let dependents: Vec<Place> = self.store().dependents(&uid).cloned().collect();
            for (resource, key) in dependents {
                writes += usize::from(self.collect(now, resource, &key));
            }
        }
        writes
    }

    /// Collects one object that references owners: deletes it, or removes references to removed owners. Returns
    /// true if a write was accepted.
    pub fn collect_object(&mut self, now: Timestamp, resource: Resource, key: &str) -> bool {
        let Some(object) = self.store().get(resource, key).cloned() else { return false };
        let orphaned = owners(&object).find(|owner| {
            let found = self.store().find_uid(owner.uid).and_then(|(kind, key)| self.store().get(*kind, key));
            found.is_some_and(|found| is_deleting(found) && finalizers(found).contains(&ORPHAN))
        });
        match orphaned {
            Some(owner) => self.drop_owners(now, resource, key, &[owner.uid]),
            None => self.collect(now, resource, key),
        }
    }

    /// Removes the garbage collector's finalizer from an owner that has no dependents left to wait for. Returns
    /// true if a write was accepted.
    pub fn release_owner(&mut self, now: Timestamp, resource: Resource, key: &str) -> bool {
        let Some(owner) = self.store().get(resource, key).cloned() else { return false };
        let uid = meta(&owner, "uid");
        let names = finalizers(&owner);
        if names.contains(&ORPHAN) {
            return self.store().dependents(uid).next().is_none()
                && self.drop_finalizer(now, resource, &owner, ORPHAN);
        }
        names.contains(&FOREGROUND)
            && !self.is_blocked(uid)
            && self.drop_finalizer(now, resource, &owner, FOREGROUND)
    }

    /// Returns true if an owner has to wait for a dependent.
    fn is_blocked(&self, uid: &str) -> bool {
        self.store().dependents(uid).any(|(dependent, key)| {
            let object = self.store().get(*dependent, key);
            object.is_some_and(|object| owners(object).any(|owner| owner.uid == uid && owner.blocks))
        })
    }

    fn orphan_dependents(&mut self, now: Timestamp, resource: Resource, owner: &Value) -> usize {
        let uid = meta(owner, "uid").to_owned();
        let dependents: Vec<Place> = self.store().dependents(&uid).cloned().collect();
        let mut writes = 0;
        for (dependent, key) in &dependents {
            writes += usize::from(self.drop_owners(now, *dependent, key, &[uid.as_str()]));
        }
        // The finalizer stays while a dependent still names the owner.
        if self.store().dependents(&uid).next().is_none() {
            writes += usize::from(self.drop_finalizer(now, resource, owner, ORPHAN));
        }
        writes
    }

    fn delete_dependents_first(&mut self, now: Timestamp, resource: Resource, owner: &Value) -> usize {
        let uid = meta(owner, "uid").to_owned();
        let dependents: Vec<Place> = self.store().dependents(&uid).cloned().collect();
        let mut writes = 0;
        for (dependent, key) in &dependents {
            let Some(object) = self.store().get(*dependent, key).cloned() else { continue };
            if !is_deleting(&object) {
                writes += usize::from(self.collect(now, *dependent, key));
            }
        }
        if !self.is_blocked(&uid) {
            writes += usize::from(self.drop_finalizer(now, resource, owner, FOREGROUND));
        }
        writes
    }

    /// Deletes an object without an owner that keeps it. If one keeps it, the references to the others are
    /// removed. An owner that waits for its dependents keeps none.
    fn collect(&mut self, now: Timestamp, resource: Resource, key: &str) -> bool {
        let Some(object) = self.store().get(resource, key).cloned() else { return false };
        let (mut kept, mut dropped, mut waits) = (false, Vec::new(), false);
        for owner in owners(&object) {
            let found = self.store().find_uid(owner.uid).and_then(|(kind, key)| self.store().get(*kind, key));
            match found {
                None => dropped.push(owner.uid),
                Some(found) if is_deleting(found) && finalizers(found).contains(&FOREGROUND) => {
                    waits = true;
                    dropped.push(owner.uid);
                }
                Some(_) => kept = true,
            }
        }
        if kept {
            return self.drop_owners(now, resource, key, &dropped);
        }
        if is_deleting(&object) {
            return false;
        }
        // A dependent for which its owner waits is deleted in the foreground too, if it has dependents.
        let has_dependents = self.store().dependents(meta(&object, "uid")).next().is_some();
        let policy = match (waits && has_dependents, policy_of(&object)) {
            (true, _) => "Foreground",
            (false, policy) => policy,
        };
        let options = DeleteOptions {
            propagation_policy: Some(policy.to_owned()),
            preconditions: Some(Preconditions {
                uid: Some(meta(&object, "uid").to_owned()),
                resource_version: Some(meta(&object, "resourceVersion").to_owned()),
            }),
            ..DeleteOptions::default()
        };
        self.act(now, COLLECTOR, resource, &object, None, Verb::Delete(options))
    }

    fn drop_owners(&mut self, now: Timestamp, resource: Resource, key: &str, uids: &[&str]) -> bool {
        let Some(object) = self.store().get(resource, key).cloned() else { return false };
        let gone: Vec<Value> = uids.iter().map(|uid| json!({"$patch": "delete", "uid": uid})).collect();
        let body = json!({"metadata": {"uid": meta(&object, "uid"), "ownerReferences": gone}});
        self.act(now, COLLECTOR, resource, &object, None, Verb::Patch { kind: PatchKind::Strategic, body })
    }

    fn drop_finalizer(&mut self, now: Timestamp, resource: Resource, object: &Value, name: &str) -> bool {
        let key = place_key(resource, object);
        let Some(object) = self.store().get(resource, &key).cloned() else { return false };
        let kept: Vec<&str> = finalizers(&object).into_iter().filter(|it| *it != name).collect();
        let version = meta(&object, "resourceVersion");
        let body = json!({"metadata": {"resourceVersion": version, "finalizers": kept}});
        self.act(now, COLLECTOR, resource, &object, None, Verb::Patch { kind: PatchKind::Merge, body })
    }

    /// Does one round of the pod garbage collector, which upstream does every 20 s. It concerns pods whose Node
    /// was removed, and unbound pods that are being deleted. Their phase becomes Failed, and they are deleted
    /// without a grace period. Returns the number of accepted writes.
    pub fn collect_pods(&mut self, now: Timestamp) -> usize {
        let pods: Vec<_> = self.store().scan(Resource::Pods, "").map(|(_, pod)| pod.clone()).collect();
        let mut writes = 0;
        for pod in pods {
            let node = text(&pod, &["spec", "nodeName"]);
            let lost = !node.is_empty() && self.store().get(Resource::Nodes, node).is_none();
            let unscheduled = node.is_empty() && is_deleting(&pod);
            if !lost && !unscheduled {
                continue;
            }
            let ended = matches!(text(&pod, &["status", "phase"]), "Succeeded" | "Failed");
            if !ended {
                let mut status = json!({"phase": "Failed"});
                if lost {
                    status["conditions"] = json!([{
                        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
                        "message": "PodGC: node no longer exists", "lastTransitionTime": crate::object::time(now),
                    }]);
                }
                let body = json!({"status": status});
                let verb = Verb::Patch { kind: PatchKind::Strategic, body };
                writes += usize::from(self.act(
                    now,
                    POD_COLLECTOR,
                    Resource::Pods,
                    &pod,
                    Some(Subresource::Status),
                    verb,
                ));
            }
            let grace = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
            // A pod with a finalizer stays: another DELETE changes nothing.
            if !(is_deleting(&pod)
                && pod["metadata"]["deletionGracePeriodSeconds"] == 0
                && !finalizers(&pod).is_empty())
            {
                writes += usize::from(self.act(
                    now,
                    POD_COLLECTOR,
                    Resource::Pods,
                    &pod,
                    None,
                    Verb::Delete(grace),
                ));
            }
        }
        writes
    }

    /// Empties namespaces that are being deleted, pods first (OrderedNamespaceDeletion, always on since 1.34),
    /// and removes empty ones. Returns the number of accepted writes.
    pub fn finish_namespaces(&mut self, now: Timestamp) -> usize {
        let ending: Vec<_> = self
            .store()
            .scan(Resource::Namespaces, "")
            .filter(|(_, namespace)| is_deleting(namespace))
            .map(|(_, namespace)| namespace.clone())
            .collect();
        let mut writes = 0;
        for namespace in ending {
            let name = meta(&namespace, "name");
            let mut empty = true;
            let stored = |it: &Resource| it.facts().namespaced && it.stored() == *it;
            let rest = Resource::ALL.into_iter().filter(|it| stored(it) && *it != Resource::Pods);
            for resource in std::iter::once(Resource::Pods).chain(rest) {
                writes += self.delete_all(now, resource, name);
                empty &= self.store().scan(resource, &format!("{name}/")).next().is_none();
                if resource == Resource::Pods && !empty {
                    break;
                }
            }
            if empty {
                let mut emptied = Value::clone(&namespace);
                emptied["spec"] = json!({});
                let verb = Verb::Update(emptied);
                let finalize = Some(Subresource::Finalize);
                writes +=
                    usize::from(self.act(now, NAMESPACES, Resource::Namespaces, &namespace, finalize, verb));
            }
        }
        writes
    }

    /// Deletes all objects of a resource in a namespace that are not being deleted yet. Returns the number of
    /// writes.
    fn delete_all(&mut self, now: Timestamp, resource: Resource, namespace: &str) -> usize {
        let prefix = format!("{namespace}/");
        if self.store().scan(resource, &prefix).all(|(_, object)| is_deleting(object)) {
            return 0;
        }
        let propagation_policy = Some("Background".to_owned());
        let verb = Verb::DeleteCollection(
            ListOptions::default(),
            DeleteOptions { propagation_policy, ..DeleteOptions::default() },
        );
        let request = Request::new(resource, Some(namespace), None, verb).of(NAMESPACES.0, NAMESPACES.1);
        usize::from(self.handle(now, &request).outcome.is_ok())
    }

    /// Sends a request about an object. Returns true if it was accepted.
    pub(crate) fn act(
        &mut self,
        now: Timestamp,
        (user, agent): (&str, &str),
        resource: Resource,
        object: &Value,
        subresource: Option<Subresource>,
        verb: Verb,
    ) -> bool {
        let namespace = Some(meta(object, "namespace")).filter(|namespace| !namespace.is_empty());
        let request = Request::new(resource, namespace, Some(meta(object, "name")), verb).of(user, agent);
        let request = Request { subresource, ..request };
        self.handle(now, &request).outcome.is_ok()
    }
}

/// The propagation policy with which the collector deletes an object, from the object's finalizers.
fn policy_of(object: &Value) -> &'static str {
    match finalizers(object) {
        names if names.contains(&ORPHAN) => "Orphan",
        names if names.contains(&FOREGROUND) => "Foreground",
        _ => "Background",
    }
}

fn place_key(resource: Resource, object: &Value) -> String {
    let namespace = resource.facts().namespaced.then(|| meta(object, "namespace"));
    crate::object::key(namespace, meta(object, "name"))
}

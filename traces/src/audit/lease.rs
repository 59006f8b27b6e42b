//! Leases, which show the process that leads.
//!
//! A process that becomes the leader writes one time as `acquireTime` and as `renewTime`. Its later writes renew alone
//! ("leaderelection", client-go). One that gives the leadership back writes no holder.

use serde::Deserialize;

use super::{Event, interval, plain};
use crate::error::Problem;
use crate::native::{Mark, MarkKind};
use crate::request::is_success;
use crate::text::Text;

/// The API group and the resource of Leases.
pub(crate) const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");
/// The process in which the controllers of Kubernetes run, and its Lease.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

#[derive(Deserialize)]
struct Lease<'a> {
    #[serde(borrow)]
    spec: Spec<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    holder_identity: Option<Text<'a>>,
    #[serde(borrow)]
    acquire_time: Option<Text<'a>>,
    #[serde(borrow)]
    renew_time: Option<Text<'a>>,
}

impl Spec<'_> {
    fn begins(&self) -> bool {
        let renewed = plain(self.renew_time.as_ref());
        let is_held = !plain(self.holder_identity.as_ref()).is_empty();
        is_held && !renewed.is_empty() && plain(self.acquire_time.as_ref()) == renewed
    }
}

/// The mark of a new leader, if the event is the write with which it becomes one.
pub(super) fn new_leader(event: &Event<'_>) -> Result<Option<Mark>, Problem> {
    let is_lease = event
        .object_ref
        .as_ref()
        .is_some_and(|target| (plain(target.api_group.as_ref()), plain(target.resource.as_ref())) == LEASES);
    let body = event.request_object.filter(|_| is_lease);
    let lease: Option<Lease<'_>> = body.and_then(|object| serde_json::from_str(object.text()).ok());
    if !lease.is_some_and(|lease| lease.spec.begins()) {
        return Ok(None);
    }
    if !is_success(event.code()?) {
        return Ok(None);
    }
    let Some(actor) = leader(event) else { return Ok(None) };
    Ok(Some(Mark { at: Some(interval(event)?.done), kind: MarkKind::Leader { actor } }))
}

/// The controller, by its user. The controllers of Kubernetes have a Lease together, and a user each.
fn leader(event: &Event<'_>) -> Option<String> {
    let target = event.object_ref.as_ref()?;
    let is_system = plain(target.namespace.as_ref()) == "kube-system";
    if is_system && plain(target.name.as_ref()) == CONTROLLER_MANAGER {
        return Some(CONTROLLER_MANAGER.to_owned());
    }
    let user = plain(event.sender());
    // Its other Leases are about other work.
    let is_other_work = user.rsplit(':').next() == Some(CONTROLLER_MANAGER);
    (!user.is_empty() && !is_other_work).then(|| user.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lease(namespace: &str, name: &str, user: &str) -> Value {
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": "update",
            "user": {"username": user}, "responseStatus": {"code": 200},
            "objectRef": {"resource": LEASES.1, "apiGroup": LEASES.0, "namespace": namespace, "name": name},
            "requestReceivedTimestamp": "1970-01-01T00:00:01.000000Z", "stageTimestamp": "1970-01-01T00:00:02.000000Z",
            "requestObject": {"spec": {"holderIdentity": "b", "acquireTime": "2026-01-01T00:00:00.000001Z",
                "renewTime": "2026-01-01T00:00:00.000001Z"}}
        })
    }

    fn leader_of(event: &Value) -> Option<String> {
        let text = event.to_string();
        let mark = new_leader(&Event::read(&text).unwrap()).unwrap()?;
        assert_eq!(mark.at, Some(2_000_000));
        match mark.kind {
            MarkKind::Leader { actor } => Some(actor),
            kind => panic!("{kind:?}"),
        }
    }

    #[test]
    fn the_controller_manager_leads_by_its_lease_and_others_by_their_user() {
        let manager = "system:kube-controller-manager";
        for (namespace, name, user, expected) in [
            ("kube-system", CONTROLLER_MANAGER, manager, Some(CONTROLLER_MANAGER)),
            ("kube-system", CONTROLLER_MANAGER, "system:apiserver", Some(CONTROLLER_MANAGER)),
            ("kube-system", "other", manager, None),
            ("tenant", CONTROLLER_MANAGER, "mallory", Some("mallory")),
            ("jobs", "controller", "system:serviceaccount:jobs:c", Some("system:serviceaccount:jobs:c")),
        ] {
            assert_eq!(leader_of(&lease(namespace, name, user)).as_deref(), expected, "{namespace}/{name}");
        }
    }

    #[test]
    fn renewals_releases_refusals_and_other_objects_are_no_change() {
        let usual = || lease("kube-system", CONTROLLER_MANAGER, "u");
        assert!(leader_of(&usual()).is_some());
        for (path, value) in [
            ("/requestObject/spec/renewTime", json!("2026-01-01T00:00:02.000001Z")),
            ("/requestObject/spec/holderIdentity", json!("")),
            ("/requestObject/spec/acquireTime", json!(null)),
            ("/requestObject/spec", json!([])),
            ("/requestObject", json!(null)),
            ("/responseStatus/code", json!(409)),
            ("/objectRef/resource", json!("configmaps")),
        ] {
            let mut event = usual();
            *event.pointer_mut(path).unwrap() = value;
            assert_eq!(leader_of(&event), None, "{path}");
        }
    }
}

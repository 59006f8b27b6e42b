//! Creations of pods whose response is a server error although the pod was stored.
//!
//! Such a response names no pod. The first record that shows a pod which nobody is known to have created, and which fits the
//! request, shows that the pod was stored. The creation then counts as accepted, with a response that its sender has not
//! heard.

use jobcheck_projection::{Metadata, PodObject};
use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use jobcheck_spec::pod::Pod;
use jobcheck_traces::Verb;
use rustc_hash::FxHashSet;

use super::Lane;
use crate::validate::delivery::Response;
use crate::validate::event::{Body, Event, PodEvent};

/// The response to a request that was handled without an error.
const CREATED: u16 = 201;
/// The first response that is an error of the server.
const SERVER_ERROR: u16 = 500;
/// Maximum difference between a time in a pod, in whole seconds, and that of the request.
const ROUNDED: i64 = 1;

/// Returns `true` for the creation of a pod whose response leaves open whether the pod was stored.
pub(super) fn is_lost_creation(event: &Event) -> bool {
    let is_open = event.verb == Some(Verb::Create) && event.code >= SERVER_ERROR && !event.delivery.injected;
    is_open && matches!(&event.body, Body::Pod(pod) if pod.attempted.is_some() && pod.metadata.is_some())
}

impl Lane {
    /// Completes a creation with the pod that it has stored, if a later record shows the pod.
    pub(super) fn complete(&mut self, creation: &mut Event) {
        if !is_lost_creation(creation) {
            return;
        }
        let Body::Pod(asked) = &creation.body else { return };
        let Some((name, stored)) = self.first_fitting(creation, asked) else { return };
        self.claims.meet(stored.pod.uid);
        (creation.name, creation.code) = (name, CREATED);
        creation.delivery.response = Response::Lost;
        if let Body::Pod(asked) = &mut creation.body {
            (asked.uid, asked.after, asked.metadata, asked.message) =
                (Some(stored.pod.uid), Some(stored), None, None);
        }
    }

    /// The name and the first state of the pod that a creation has stored.
    fn first_fitting(&self, creation: &Event, asked: &PodEvent) -> Option<(Text, PodObject)> {
        let (pod, metadata) = (asked.attempted.as_deref()?, asked.metadata.as_ref()?);
        let creations = self.held().filter(|it| it.verb == Some(Verb::Create));
        let created: FxHashSet<Uid> = creations.filter_map(shown).map(|object| object.pod.uid).collect();
        let is_new = |uid: Uid| !self.claims.has_met(uid) && !created.contains(&uid);
        let fits = |it: &&Event| {
            shown(it).is_some_and(|object| {
                is_new(object.pod.uid) && is_stored_by(creation, pod, metadata, it, object)
            })
        };
        let first = self.held().filter(fits).min_by_key(|it| it.version)?;
        let object = shown(first)?;
        let metadata =
            Metadata { uid: object.metadata.uid, name: object.metadata.name.clone(), ..metadata.clone() };
        let pod = Pod { uid: object.pod.uid, created: object.pod.created, ..pod.clone() };
        Some((first.name.clone(), PodObject { pod, metadata, evidence: None }))
    }
}

/// The pod that a record shows with a version of its own.
fn shown(event: &Event) -> Option<&PodObject> {
    match &event.body {
        Body::Pod(pod) if event.version.is_some() => pod.after.as_ref(),
        _ => None,
    }
}

/// Returns `true` if this creation may have stored the pod in the record.
fn is_stored_by(
    creation: &Event,
    asked: &Pod,
    metadata: &Metadata,
    record: &Event,
    object: &PodObject,
) -> bool {
    let owner = |metadata: &Metadata| metadata.controller.as_ref().map(|owner| owner.uid);
    let is_named = match &metadata.generate_name {
        Some(prefix) if metadata.name.is_empty() => record.name.starts_with(&**prefix),
        _ => record.name == metadata.name,
    };
    let is_in_time = creation.when.is_some_and(|when| {
        let second = |micros: i64| micros.div_euclid(1_000_000);
        (second(when.received) - ROUNDED..=second(when.done) + ROUNDED).contains(&object.pod.created.0)
    });
    is_named
        && is_in_time
        && owner(metadata).is_some()
        && owner(metadata) == owner(&object.metadata)
        && asked.index == object.pod.index
}

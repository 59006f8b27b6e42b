//! Creations of pods whose response is a server error although the pod was stored.
//!
//! Such a response names no pod. A later record may show a pod that fits the request, and that nobody else is known to have
//! created. The pod was then stored some time before.

use jobcheck_projection::{Metadata, PodObject};
use jobcheck_spec::Uid;
use jobcheck_spec::pod::Pod;
use jobcheck_traces::Verb;
use rustc_hash::FxHashSet;

use super::Lane;
use crate::validate::event::{Body, Event, PodEvent};

/// Maximum difference between a time in a pod, in whole seconds, and that of the request.
const ROUNDED: i64 = 1;

impl Lane {
    /// Adds the pod that a creation with a server error has stored, if a later record shows it. Returns the version in this record,
    /// which the creation precedes.
    pub(super) fn find_stored(&mut self, creation: &mut Event) -> Option<u64> {
        let is_open = creation.verb == Some(Verb::Create) && creation.may_be_stored();
        let Body::Pod(asked) = &creation.body else { return None };
        let (stored, version) = is_open.then(|| self.first_fitting(creation, asked)).flatten()?;
        self.claims.meet(stored.uid);
        if let Body::Pod(asked) = &mut creation.body {
            asked.stored = Some(Box::new(stored));
        }
        version
    }

    /// The first state of the pod that a creation has stored, and the version of its first record.
    fn first_fitting(&self, creation: &Event, asked: &PodEvent) -> Option<(Pod, Option<u64>)> {
        let (pod, metadata) = (asked.attempted.as_deref()?, asked.metadata.as_ref()?);
        let creations = self.held().filter(|it| it.verb == Some(Verb::Create));
        let created: FxHashSet<Uid> = creations.filter_map(shown).map(|object| object.pod.uid).collect();
        let is_new = |uid: Uid| !self.claims.has_met(uid) && !created.contains(&uid);
        let fits = |it: &&Event| {
            shown(it).is_some_and(|object| {
                is_new(object.pod.uid) && is_stored_by(creation, pod, metadata, it, object)
            })
        };
        let record = self.held().filter(fits).min_by_key(|it| it.version)?;
        let object = shown(record)?;
        Some((Pod { uid: object.pod.uid, created: object.pod.created, ..pod.clone() }, record.version))
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

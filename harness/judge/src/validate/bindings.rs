//! Bindings that precede the creation of their pod in a log.
//!
//! A scheduler may see a pod before its creator gets the response. The response to a binding is a `Status` without a
//! version, so overlapping requests can be ordered by time with the binding first. The creation always precedes it.

use jobcheck_spec::job::Text;
use jobcheck_traces::Verb;
use rustc_hash::FxHashMap;

use super::event::{Body, Event};
use super::sequence::WINDOW_MICROS;

/// From this number on, outdated bindings are dropped.
const MANY: usize = 1_024;

/// Bindings of pods that are not known yet, by namespace and name.
#[derive(Debug, Default)]
pub struct Early(FxHashMap<(Text, Text), Event>);

impl Early {
    /// Keeps a binding of an unknown pod. The pod may belong to no Job.
    pub fn hold(&mut self, binding: Event) {
        if let Some(now) = binding.when.filter(|_| self.0.len() >= MANY) {
            let waits = |it: &Event| it.when.is_some_and(|when| when.done >= now.received - WINDOW_MICROS);
            self.0.retain(|_, it| waits(it));
        }
        self.0.insert((binding.namespace.clone(), binding.name.clone()), binding);
    }

    /// The binding of the pod that this event creates, with the place of the event.
    pub fn of(&mut self, event: &Event) -> Option<Event> {
        let creates = matches!(event.body, Body::Pod(_)) && event.verb == Some(Verb::Create);
        if !creates || !event.is_accepted() || self.0.is_empty() {
            return None;
        }
        let binding = self.0.remove(&(event.namespace.clone(), event.name.clone()))?;
        let (creation, when) = (event.when?, binding.when?);
        // An earlier binding concerned another pod of this name.
        (when.done >= creation.received).then_some(Event { order: event.order, ..binding })
    }
}

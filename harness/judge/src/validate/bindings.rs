//! Bindings that a log tells before the creation of their pod.
//!
//! A scheduler sees a pod before its creator has heard the answer, and a binding is answered with a Status, which names no
//! version: where both requests overlap, time may put the binding first. It cannot have been first.

use jobcheck_spec::job::Text;
use jobcheck_traces::Verb;
use rustc_hash::FxHashMap;

use super::event::{Body, Event};
use super::sequence::WINDOW_MICROS;

/// So many are held before it is looked which of them wait in vain.
const MANY: usize = 1_024;

/// Bindings of pods that are not known yet, by namespace and name.
#[derive(Debug, Default)]
pub struct Early(FxHashMap<(Text, Text), Event>);

impl Early {
    /// Holds a binding of a pod that is not known; it may be no Job's.
    pub fn hold(&mut self, binding: Event) {
        if let Some(now) = binding.when.filter(|_| self.0.len() >= MANY) {
            let waits = |it: &Event| it.when.is_some_and(|when| when.done >= now.received - WINDOW_MICROS);
            self.0.retain(|_, it| waits(it));
        }
        self.0.insert((binding.namespace.clone(), binding.name.clone()), binding);
    }

    /// The binding of the pod that this event creates, behind it now.
    pub fn of(&mut self, event: &Event) -> Option<Event> {
        let creates = matches!(event.body, Body::Pod(_)) && event.verb == Some(Verb::Create);
        if !creates || !event.is_accepted() || self.0.is_empty() {
            return None;
        }
        let binding = self.0.remove(&(event.namespace.clone(), event.name.clone()))?;
        let (creation, when) = (event.when?, binding.when?);
        // Else it was that of another pod of this name.
        (when.done >= creation.received).then_some(Event { order: event.order, ..binding })
    }
}

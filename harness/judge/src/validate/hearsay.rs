//! The facts in a record that hold whatever its place in the order of judgement.

use jobcheck_traces::{Body, Form, MarkKind, Record};

use super::actor::Role;
use super::router::Judge;

impl Judge {
    /// Notes the facts in a record. Returns `false` if it contains nothing else.
    pub(super) fn hears(&mut self, record: &Record<'_>) -> bool {
        match &record.body {
            Body::Observed(observed) => {
                self.settings.named_controller |= Role::named(&observed.actor) == Some(Role::JobController);
                self.settings.observations.take(observed);
            }
            Body::Request(request) => self.end.unlogged.requested(request, record.form),
            // The lines of an audit log need not be in order, so that a change of the leader does not divide them.
            Body::Mark(mark) if record.form == Form::Audit && !matches!(mark.kind, MarkKind::Gap { .. }) => {
                self.settings.hears_of_leader(mark);
                return false;
            }
            Body::Mark(_) | Body::Header(_) | Body::Watched(_) | Body::Fault(_) | Body::Expected(_) => {}
        }
        true
    }
}

//! Orders that are not certain, because the clocks of two API servers may differ (`docs/reference/judging.md`, *Order*).
//!
//! A removal without a version of its own is placed by its times alone. If it would allow a write that was answered a moment
//! before it, either the clocks differ, or the write is wrong.

use super::event::Event;
use super::track::Track;
use super::verdict::{Note, Violation};

/// Maximum difference between the clocks of two API servers, or of one and a controller, in microseconds.
pub const CLOCKS_DIFFER: i64 = 100_000;

impl Track {
    /// Withdraws violations that the removal by this event allows, if they were answered just before it. `what` names it.
    pub(super) fn may_have_come_earlier(
        &mut self,
        removal: &Event,
        what: &str,
        allows: &dyn Fn(&Violation) -> bool,
    ) {
        let Some(when) = removal.when.filter(|_| removal.version.is_none()) else { return };
        let near = when.received.saturating_sub(CLOCKS_DIFFER)..=when.received;
        let is_near = |it: &Violation| {
            it.actor != removal.actor && it.done.is_some_and(|done| near.contains(&done)) && allows(it)
        };
        let all = self.results.violations.len();
        self.results.violations.retain(|it| !is_near(it));
        if self.results.violations.len() < all {
            let reason = format!(
                "a write comes a moment before the {what}, which would allow it: either the clocks of two API servers differ, or \
                 the write is wrong"
            );
            self.reserve(Note::on(removal, reason));
        }
    }
}

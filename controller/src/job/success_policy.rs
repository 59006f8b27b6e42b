//! `spec.successPolicy`: the rules that declare a Job successful before all indexes have succeeded (family SX).

use super::indexes::IndexSet;
use super::observed::SuccessRule;

/// Returns the position of the first rule that is met; none while no index is completed (SX-01).
#[must_use]
pub fn met(rules: &[SuccessRule], completed: &IndexSet, completions: u32) -> Option<usize> {
    if completed.is_empty() {
        return None;
    }
    rules.iter().position(|rule| holds(rule, completed, completions))
}

/// SX-02: the completed indexes satisfy the rule.
fn holds(rule: &SuccessRule, completed: &IndexSet, completions: u32) -> bool {
    let count = rule.succeeded_count.map(|count| usize::try_from(count).unwrap_or(0));
    match (&rule.succeeded_indexes, count) {
        (Some(text), count) => {
            let listed = IndexSet::parse(text, completions);
            let done = listed.common(completed);
            // A list without an index below `completions` is never met.
            !listed.is_empty() && (done == listed.len() || count.is_some_and(|count| done >= count))
        }
        (None, Some(count)) => completed.len() >= count,
        (None, None) => false,
    }
}

//! The UIDs of Jobs that were judged for the last time, of which late records may come.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

/// The number of UIDs that are remembered.
pub(crate) const REMEMBERED: usize = 200_000;

/// The latest UIDs, in their order.
#[derive(Debug, Default)]
pub(crate) struct Concluded {
    all: FxHashSet<u128>,
    order: VecDeque<u128>,
}

impl Concluded {
    pub(crate) fn add(&mut self, uid: &str) {
        let Some(number) = number(uid).filter(|number| self.all.insert(*number)) else { return };
        self.order.push_back(number);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.all.remove(&oldest);
        }
    }

    pub(crate) fn has(&self, uid: &str) -> bool {
        number(uid).is_some_and(|number| self.all.contains(&number))
    }

    /// Forgets a Job whose verdict may not have been reported.
    pub(crate) fn remove(&mut self, uid: &str) {
        let Some(number) = number(uid).filter(|number| self.all.remove(number)) else { return };
        self.order.retain(|known| *known != number);
    }
}

fn number(uid: &str) -> Option<u128> {
    u128::from_str_radix(&uid.replace('-', ""), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_jobs_are_remembered() {
        let mut concluded = Concluded::default();
        for number in 0..=REMEMBERED {
            concluded.add(&format!("{number:x}"));
        }
        assert!(!concluded.has("0") && concluded.has("1"));
        concluded.remove("1");
        concluded.add("0");
        assert!(!concluded.has("1") && concluded.has("0") && concluded.has("2"));
        assert_eq!((concluded.all.len(), concluded.order.len()), (REMEMBERED, REMEMBERED));
    }
}

//! The progress of one watch of a recording.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::watch::WatchTarget;
use crate::watches::{WAIT, place_name};

/// The progress of one watch.
pub(crate) struct FollowedWatch {
    pub target: WatchTarget,
    /// The version that it has reached.
    pub version: u64,
    /// The versions of the existing objects, by UID.
    pub known: BTreeMap<String, u64>,
    pub is_lost: bool,
    pub state: WatchState,
}

/// The state of the connection of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchState {
    /// It was opened at a time, after an interruption since an earlier one.
    Open(Instant, Option<Instant>),
    /// It is interrupted since then.
    Interrupted(Instant),
    /// It is interrupted for so long that a gap is marked.
    GivenUp,
}

impl FollowedWatch {
    /// The name of the watch in messages.
    pub(crate) fn name(&self) -> String {
        format!(
            "the watch of {} in {}",
            self.target.resource.name(),
            place_name(self.target.namespace.as_deref())
        )
    }

    pub(crate) fn opened(&mut self) {
        let before = match self.state {
            WatchState::Interrupted(since) => Some(since),
            WatchState::Open(..) | WatchState::GivenUp => None,
        };
        (self.state, self.is_lost) = (WatchState::Open(Instant::now(), before), false);
    }

    /// A watch that ends as soon as it was opened has been interrupted all the time.
    pub(crate) fn ended(&mut self) {
        if let WatchState::Open(at, before) = self.state {
            let since = before.filter(|_| at.elapsed() < WAIT).unwrap_or_else(Instant::now);
            self.state = WatchState::Interrupted(since);
        }
    }

    /// Returns true if the watch has shown all objects of a list.
    pub(crate) fn has_reached(&self, listed: &BTreeMap<String, u64>, version: u64) -> bool {
        let shown = |(uid, version)| self.known.get(uid).is_some_and(|known| known >= version);
        let is_there = |(uid, known): (&String, &u64)| *known > version || listed.contains_key(uid);
        self.version > version || (listed.iter().all(shown) && self.known.iter().all(is_there))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobcheck_traces::Resource;

    use super::*;

    #[test]
    fn a_watch_is_complete_when_it_has_shown_all_listed_and_all_removed_objects() {
        let target = WatchTarget { namespace: None, resource: Resource::Pods };
        let versions = |all: &[(&str, u64)]| all.iter().map(|(uid, it)| ((*uid).to_owned(), *it)).collect();
        let followed = |known| FollowedWatch {
            target: target.clone(),
            version: 0,
            known,
            is_lost: false,
            state: WatchState::GivenUp,
        };
        let listed = versions(&[("a", 5), ("b", 7)]);
        assert!(!followed(versions(&[("a", 5), ("b", 6)])).has_reached(&listed, 9));
        assert!(!followed(versions(&[("a", 5), ("b", 7), ("gone", 3)])).has_reached(&listed, 9));
        assert!(followed(versions(&[("a", 5), ("b", 8), ("later", 10)])).has_reached(&listed, 9));
        let beyond = FollowedWatch { version: 10, ..followed(versions(&[("a", 5)])) };
        assert!(beyond.has_reached(&listed, 9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_cut_whenever_it_opens_is_interrupted_all_the_time() {
        let target = WatchTarget { namespace: None, resource: Resource::Pods };
        let (known, state) = (BTreeMap::new(), WatchState::Interrupted(Instant::now()));
        let mut followed = FollowedWatch { target, version: 0, known, is_lost: true, state };
        let begun = Instant::now();
        for _ in 0..5 {
            tokio::time::advance(Duration::from_secs(3)).await;
            followed.opened();
            tokio::time::advance(Duration::from_secs(1)).await;
            followed.ended();
        }
        assert_eq!(followed.state, WatchState::Interrupted(begun));
        followed.opened();
        tokio::time::advance(WAIT).await;
        followed.ended();
        assert!(
            matches!(followed.state, WatchState::Interrupted(since) if since > begun) && !followed.is_lost
        );
    }
}

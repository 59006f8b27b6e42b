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
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobcheck_traces::Resource;

    use super::*;

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

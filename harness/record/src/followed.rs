//! The progress of one watch of a recording.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::change::number_of;
use crate::watch::{WatchTarget, WholeList, text};
use crate::watches::{WAIT, place_name};

/// The progress of one watch.
pub(crate) struct FollowedWatch {
    pub target: WatchTarget,
    /// The version that it has reached.
    pub version: u64,
    /// The versions of the existing objects, by UID.
    pub known: BTreeMap<String, u64>,
    /// The UIDs of the objects that were deleted since the end of the recording began; none before.
    pub deleted: Option<BTreeSet<String>>,
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

    /// Notes the version of an object that exists.
    pub(crate) fn saw(&mut self, uid: &str, version: u64) {
        let known = self.known.entry(uid.to_owned()).or_insert(version);
        *known = version.max(*known);
    }

    /// Notes that an object was deleted.
    pub(crate) fn saw_end(&mut self, uid: &str) {
        self.known.remove(uid);
        if let Some(deleted) = &mut self.deleted {
            deleted.insert(uid.to_owned());
        }
    }

    /// Compares the objects with a list whose version the watch has reached. Returns the reason if it has lost changes.
    ///
    /// The watch may have shown later changes than the list.
    pub(crate) fn lost_changes(&self, list: &WholeList) -> Option<String> {
        let WholeList { listed, unread } = list;
        let mut lost = 0;
        let mut there: BTreeSet<&str> = unread.iter().map(|it| it.uid.as_str()).collect();
        for object in &listed.objects {
            let (uid, version) = (text(object, "uid"), number_of(text(object, "resourceVersion")));
            there.insert(uid);
            let is_shown = match self.known.get(uid) {
                Some(known) => *known >= version,
                None => self.deleted.as_ref().is_some_and(|deleted| deleted.contains(uid)),
            };
            lost += usize::from(!is_shown);
        }
        let until = number_of(&listed.version);
        let is_lost = |(uid, version): &(&String, &u64)| **version <= until && !there.contains(uid.as_str());
        lost += self.known.iter().filter(is_lost).count();
        let objects = if lost == 1 { "1 object".to_owned() } else { format!("{lost} objects") };
        (lost > 0).then(|| format!("at the end {} has not shown the last change of {objects}", self.name()))
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
        let mut followed = FollowedWatch { target, version: 0, known, deleted: None, is_lost: true, state };
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

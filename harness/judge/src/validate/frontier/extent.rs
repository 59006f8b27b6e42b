//! The extent of the Job cache: what a decision shows of it, and what it says about the views of another Job.

use std::sync::Arc;

use jobcheck_spec::job::Job;

use super::{Frontier, Version};
use crate::validate::caches::{Extent, Shown};
use crate::validate::clock::Written;
use crate::validate::history::Position;
use crate::validate::observed::Reach;

impl Frontier {
    /// The extent of the cache by all explanations of the last write; `None` if it may have been anything.
    #[must_use]
    pub fn extent(&self) -> Option<Extent> {
        let first = self.minimal.iter().map(|point| point.version).min()?;
        let version = self.versions.get((first - self.start) as usize)?;
        version.extent.filter(|_| !self.writes_blindly)
    }

    /// The extent of a cache without the Job, if the Job is gone.
    #[must_use]
    pub fn extent_at_end(&self) -> Option<Extent> {
        self.versions.back().filter(|_| self.is_over).and_then(Version::extent_at_end)
    }

    /// Returns `true` once, if the Job is gone.
    pub fn has_unknown_end(&mut self) -> bool {
        self.is_over && !std::mem::replace(&mut self.end_is_known, true)
    }

    /// The versions that a view may contain if the cache was shown this way.
    #[must_use]
    pub fn versions_shown(&self, shown: Shown) -> Reach {
        let last = self.versions.iter().rposition(|version| version.is_in(shown)).unwrap_or(0);
        Reach { from: self.start + last as u64, to: None }
    }

    /// Notes the creation of the Job by somebody else.
    pub fn is_created(&mut self, number: Option<u64>, when: Written) {
        if let Some(first) = self.versions.pop_front() {
            self.versions.push_front(Version::behind(None, first.job, (number, when), false));
        }
    }

    /// Returns `true` if a view that explains all writes so far need not contain the entry at this position.
    #[must_use]
    pub fn may_lack(&self, at: Position) -> bool {
        self.minimal.iter().any(|point| point.position <= at && !point.ahead.contains(&at))
    }

    /// Adds the end of the Job. To a sync that has seen nothing of it, the Job is still there.
    pub fn ends(&mut self, job: &Job, when: Written) {
        let job = Arc::new(Job { deleting: true, ..job.clone() });
        self.versions.push_back(Version::behind(self.versions.back(), job, (None, when), false));
        self.is_over = true;
    }
}

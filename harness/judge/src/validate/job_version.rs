//! A version of a Job in the views of its manager.

use std::sync::Arc;

use jobcheck_spec::job::Job;
use serde::{Deserialize, Serialize};

use super::caches::{Extent, Shown};
use super::clock::Written;

/// A version of the Job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Version {
    /// The Job.
    pub job: Arc<Job>,
    /// Its `resourceVersion`.
    pub number: Option<u64>,
    /// Lower bound for the clock of a sync that knows the version, in microseconds. A process knows its own write without
    /// reading it, so for such a version it is the bound of the version before.
    pub read: Option<i64>,
    /// The extent of a cache that a decision on this version shows. A process knows its own write without its cache.
    pub extent: Option<Extent>,
    /// Lower bound for the time of the write, in microseconds.
    written: Option<i64>,
    /// The time of the write.
    when: Written,
}

impl Version {
    /// The only version that a view may contain. It may be newer than the cache.
    #[must_use]
    pub fn first(job: Arc<Job>, number: Option<u64>) -> Version {
        Version { job, number, written: None, read: None, extent: None, when: Written::default() }
    }

    /// The version behind `before`.
    #[must_use]
    pub fn behind(
        before: Option<&Version>,
        job: Arc<Job>,
        (number, when): (Option<u64>, Written),
        own: bool,
    ) -> Version {
        let earlier = before.and_then(|version| version.written);
        let written = when.behind(earlier);
        let read = if own { earlier } else { written };
        let of_before = before.and_then(|version| version.extent);
        let shown = number.zip(when.from()).filter(|_| !own).map(|(number, from)| Extent::with(number, from));
        let extent = of_before.into_iter().chain(shown).reduce(Extent::and);
        Version { job, number, written, read, extent, when }
    }

    /// Returns `true` if a cache that was shown this way contains the version.
    #[must_use]
    pub fn is_in(&self, shown: Shown) -> bool {
        match self.number {
            Some(number) => shown.contains(number, self.when.from()),
            None => self.when.until().is_some_and(|until| until <= shown.extent.answered),
        }
    }

    /// The extent of a cache that shows the end of the Job by this version, which has no number.
    #[must_use]
    pub fn extent_at_end(&self) -> Option<Extent> {
        let shown = Extent { version: 0, answered: self.when.until()? };
        Some(self.extent.map_or(shown, |before| before.and(shown)))
    }
}

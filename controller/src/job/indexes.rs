//! Sets of completion indexes, kept and written as intervals: 50,000 indexes are one interval most of the time.

use std::fmt;

/// A set of indexes: intervals in ascending order, none empty, none touching the next. All are below `completions`, which
/// is an int32, so that there is always a next index.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct IndexSet {
    intervals: Vec<Interval>,
}

/// From the first to the last index, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    first: u32,
    last: u32,
}

impl Interval {
    fn len(self) -> usize {
        (self.last - self.first) as usize + 1
    }
}

impl IndexSet {
    /// The set of some indexes, in any order and with repetitions.
    #[must_use]
    pub fn of(mut indexes: Vec<u32>) -> Self {
        indexes.sort_unstable();
        IndexSet::join(indexes.into_iter().map(|index| Interval { first: index, last: index }))
    }

    /// Reads the text of a status or of a success policy; only indexes below `completions` are kept (PC-20).
    ///
    /// What cannot be read is skipped. An interval that begins at `completions` or above ends the text.
    #[must_use]
    pub fn parse(text: &str, completions: u32) -> Self {
        let mut found: Vec<Interval> = text
            .split(',')
            .filter_map(interval)
            .take_while(|it| it.first < completions)
            .map(|it| Interval { first: it.first, last: it.last.min(completions - 1) })
            .collect();
        found.sort_unstable();
        IndexSet::join(found.into_iter())
    }

    /// Joins intervals that come in ascending order of their first index.
    fn join(intervals: impl Iterator<Item = Interval>) -> Self {
        let mut joined: Vec<Interval> = Vec::new();
        for next in intervals {
            steps::count();
            match joined.last_mut() {
                Some(last) if next.first <= last.last + 1 => last.last = last.last.max(next.last),
                _ => joined.push(next),
            }
        }
        IndexSet { intervals: joined }
    }

    /// Indexes of either set.
    #[must_use]
    pub fn union(&self, other: &IndexSet) -> IndexSet {
        if other.intervals.is_empty() {
            return self.clone();
        }
        let (mut left, mut right) = (self.intervals.iter().peekable(), other.intervals.iter().peekable());
        IndexSet::join(std::iter::from_fn(|| {
            let from_left = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.first <= b.first,
                (Some(_), None) => true,
                (None, _) => false,
            };
            if from_left { left.next() } else { right.next() }.copied()
        }))
    }

    /// Indexes of this set that the other one does not have.
    #[must_use]
    pub fn without(&self, other: &IndexSet) -> IndexSet {
        let mut rest = Vec::new();
        let mut holes = other.intervals.iter().peekable();
        for interval in &self.intervals {
            steps::count();
            let mut from = interval.first;
            while let Some(hole) = holes.peek().filter(|hole| hole.first <= interval.last) {
                steps::count();
                if hole.first > from {
                    rest.push(Interval { first: from, last: hole.first - 1 });
                }
                from = from.max(hole.last + 1);
                if hole.last > interval.last {
                    break;
                }
                holes.next();
            }
            if from <= interval.last {
                rest.push(Interval { first: from, last: interval.last });
            }
        }
        IndexSet { intervals: rest }
    }

    /// How many indexes both sets have.
    #[must_use]
    pub fn common(&self, other: &IndexSet) -> usize {
        self.len() - self.without(other).len()
    }

    /// Whether an index is in the set.
    #[must_use]
    pub fn contains(&self, index: u32) -> bool {
        let at = self.intervals.partition_point(|it| it.last < index);
        self.intervals.get(at).is_some_and(|it| it.first <= index)
    }

    /// How many indexes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.intervals.iter().map(|it| it.len()).sum()
    }

    /// Whether there is no index.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The lowest `count` indexes below `limit` that are not in the set.
    #[must_use]
    pub fn missing(&self, limit: u32, count: usize) -> Vec<u32> {
        let mut gaps = Vec::with_capacity(self.intervals.len() + 1);
        let mut from = 0;
        for interval in &self.intervals {
            steps::count();
            gaps.push(from..interval.first.min(limit));
            from = interval.last + 1;
        }
        gaps.push(from..limit);
        gaps.into_iter().flatten().take(count).collect()
    }
}

/// `7` or `3-5`; nothing for anything else.
fn interval(text: &str) -> Option<Interval> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let interval = Interval { first: first.parse().ok()?, last: last.parse().ok()? };
    (interval.first <= interval.last).then_some(interval)
}

impl fmt::Display for IndexSet {
    /// Ascending; runs of three or more as `a-b`, of two as `a,b` (PC-19).
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, interval) in self.intervals.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match interval.len() {
                1 => write!(formatter, "{comma}{}", interval.first)?,
                2 => write!(formatter, "{comma}{},{}", interval.first, interval.last)?,
                _ => write!(formatter, "{comma}{}-{}", interval.first, interval.last)?,
            }
        }
        Ok(())
    }
}

/// Counts the steps of a plan in tests: growth is tested by counting, not by a clock.
pub(super) mod steps {
    #[cfg(test)]
    thread_local!(static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });

    /// One more step.
    #[inline]
    pub fn count() {
        #[cfg(test)]
        STEPS.with(|steps| steps.set(steps.get() + 1));
    }

    /// The steps of this thread since it was last asked.
    #[cfg(test)]
    pub fn taken() -> u64 {
        STEPS.with(std::cell::Cell::take)
    }
}

//! Sets of completion indexes as intervals. The indexes of a large Job usually form a few intervals.

use std::fmt;

/// A set of indexes.
///
/// Its intervals are in ascending order. None is empty, and no two of them touch. All indexes are below `completions`,
/// an int32, so that `last + 1` never overflows.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct IndexSet {
    intervals: Vec<Interval>,
}

/// The indexes from the first to the last one, both inclusive.
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
    /// Returns the set of these indexes, which may be in any order and repeat.
    #[must_use]
    pub fn of(mut indexes: Vec<u32>) -> Self {
        indexes.sort_unstable();
        IndexSet::join(indexes.into_iter().map(|index| Interval { first: index, last: index }))
    }

    /// Parses the text of a status or of a success policy, and keeps the indexes below `completions` (PC-20).
    ///
    /// Malformed intervals are skipped. An interval that begins at or above `completions` ends the text.
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

    /// Joins intervals that are in ascending order of their first index.
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

    /// The indexes of either set.
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

    /// The indexes of this set that are not in the other set.
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

    /// The number of indexes in both sets.
    #[must_use]
    pub fn common(&self, other: &IndexSet) -> usize {
        self.len() - self.without(other).len()
    }

    /// Returns true if the index is in the set.
    #[must_use]
    pub fn contains(&self, index: u32) -> bool {
        let at = self.intervals.partition_point(|it| it.last < index);
        self.intervals.get(at).is_some_and(|it| it.first <= index)
    }

    /// The number of indexes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.intervals.iter().map(|it| it.len()).sum()
    }

    /// Returns true if the set has no index.
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

/// Parses `7` or `3-5`; none for any other text.
fn interval(text: &str) -> Option<Interval> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let interval = Interval { first: first.parse().ok()?, last: last.parse().ok()? };
    (interval.first <= interval.last).then_some(interval)
}

impl fmt::Display for IndexSet {
    /// Writes the intervals in ascending order: three or more indexes as `a-b`, two as `a,b` (PC-19).
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

/// Counts the steps of a plan. Tests of its complexity compare these counts, not times.
pub(super) mod steps {
    #[cfg(test)]
    thread_local!(static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });

    /// Counts one step.
    #[inline]
    pub fn count() {
        #[cfg(test)]
        STEPS.with(|steps| steps.set(steps.get() + 1));
    }

    /// Returns the steps of this thread since the last call, and resets them.
    #[cfg(test)]
    pub fn taken() -> u64 {
        STEPS.with(std::cell::Cell::take)
    }
}

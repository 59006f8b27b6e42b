//! Sets of completion indexes, and their text in `status.completedIndexes` and `status.failedIndexes`.
//!
//! Three rules apply to one text:
//!
//! | rule | function | requirement |
//! | --- | --- | --- |
//! | the texts that the API server accepts | [`check_grammar`] | SS-14, SS-15 |
//! | the set that a controller reads from any text | [`IndexSet::read`] | PC-20 |
//! | the one text that a controller writes for a set | `Display` of [`IndexSet`] | PC-19 |

use std::fmt;
/// A completion index.
pub type Index = u32;

/// A set of indexes, as ascending, disjoint, non-adjacent closed intervals.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IndexSet {
    intervals: Vec<(Index, Index)>,
}

impl IndexSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> IndexSet {
        IndexSet { intervals: Vec::new() }
    }

    /// Reads a text as a controller does (PC-20).
    ///
    /// Reading ends at the first interval that begins at or above `completions`. An interval that reaches beyond
    /// `completions` is cut, and a malformed one is skipped.
    #[must_use]
    pub fn read(text: &str, completions: Option<u32>) -> IndexSet {
        let limit = completions.unwrap_or(u32::MAX);
        let mut set = IndexSet::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let Some((first, last)) = read_interval(part) else { continue };
            if first >= limit {
                break;
            }
            set.insert_interval(first, last.min(limit - 1));
        }
        set
    }

    /// The number of indexes, at most `u32::MAX`.
    #[must_use]
    pub fn len(&self) -> u32 {
        let lengths = self.intervals.iter().map(|(first, last)| (last - first).saturating_add(1));
        lengths.fold(0, u32::saturating_add)
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Returns whether `index` is in the set.
    #[must_use]
    pub fn contains(&self, index: Index) -> bool {
        let after = self.intervals.partition_point(|(first, _)| *first <= index);
        after > 0 && self.intervals[after - 1].1 >= index
    }

    /// Adds an index.
    pub fn insert(&mut self, index: Index) {
        self.insert_interval(index, index);
    }

    /// Returns whether `text` is the canonical text of this set (PC-19).
    #[must_use]
    pub fn is_written_as(&self, text: &str) -> bool {
        let mut rest = Rest(text);
        fmt::write(&mut rest, format_args!("{self}")).is_ok() && rest.0.is_empty()
    }

    /// The indexes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Index> + '_ {
        self.intervals.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// The lowest index that is in both sets.
    #[must_use]
    pub fn first_common(&self, other: &IndexSet) -> Option<Index> {
        let (mut mine, mut theirs) = (self.intervals.iter().peekable(), other.intervals.iter().peekable());
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            if a.1 < b.0 {
                mine.next();
            } else if b.1 < a.0 {
                theirs.next();
            } else {
                return Some(a.0.max(b.0));
            }
        }
        None
    }

    /// The indexes of this set that are not in `other`.
    #[must_use]
    pub fn minus(&self, other: &IndexSet) -> IndexSet {
        let mut intervals = Vec::new();
        let mut theirs = other.intervals.iter().peekable();
        for (first, last) in &self.intervals {
            while theirs.next_if(|(_, end)| end < first).is_some() {}
            // The lowest index that may be left of this interval; none behind the greatest index.
            let mut from = Some(*first);
            while let Some((begin, end)) = theirs.peek().filter(|(begin, _)| begin <= last) {
                if let Some(left) = from.filter(|left| left < begin) {
                    intervals.push((left, begin - 1));
                }
                from = end.checked_add(1);
                // An interval that reaches further also covers the beginning of the next one.
                if end > last {
                    break;
                }
                theirs.next();
            }
            if let Some(left) = from.filter(|left| left <= last) {
                intervals.push((left, *last));
            }
        }
        IndexSet { intervals }
    }

    /// The indexes that are in both sets.
    #[must_use]
    pub fn common(&self, other: &IndexSet) -> IndexSet {
        self.minus(&self.minus(other))
    }

    /// The highest index.
    #[must_use]
    pub fn last(&self) -> Option<Index> {
        self.intervals.last().map(|(_, last)| *last)
    }

    fn insert_interval(&mut self, first: Index, last: Index) {
        let from = self.intervals.partition_point(|(_, l)| l.saturating_add(1) < first);
        let to = self.intervals.partition_point(|(f, _)| *f <= last.saturating_add(1));
        let merged = match self.intervals.get(from..to) {
            Some([]) | None => (first, last),
            Some(touching) => (first.min(touching[0].0), last.max(touching[touching.len() - 1].1)),
        };
        self.intervals.splice(from..to, [merged]);
    }
}

/// The part of an expected text that has not been written yet.
struct Rest<'a>(&'a str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, written: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(written).ok_or(fmt::Error)?;
        Ok(())
    }
}

impl Extend<Index> for IndexSet {
    fn extend<I: IntoIterator<Item = Index>>(&mut self, indexes: I) {
        for index in indexes {
            self.insert(index);
        }
    }
}

impl FromIterator<Index> for IndexSet {
    fn from_iter<I: IntoIterator<Item = Index>>(indexes: I) -> IndexSet {
        let mut set = IndexSet::new();
        set.extend(indexes);
        set
    }
}

impl fmt::Display for IndexSet {
    /// The canonical text (PC-19): runs of three and more as `a-b`, a run of two as `a,b`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (first, last)) in self.intervals.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for IndexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

fn read_interval(part: &str) -> Option<(Index, Index)> {
    match part.split_once('-') {
        None => part.parse().ok().map(|index| (index, index)),
        Some((first, last)) => {
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some((first, last))
        }
    }
}

/// Checks a text against the grammar of the API server (SS-14, SS-15).
///
/// The text is a strictly increasing list of indexes `x` and intervals `x-y` with x < y, all below `completions`.
///
/// # Errors
///
/// The first part that breaks the grammar, and the reason, as a phrase for a message.
pub fn check_grammar(text: &str, completions: i64) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let mut previous: Option<i64> = None;
    for part in text.split(',') {
        let mut ends = part.split('-');
        let first = parse_index(ends.next().unwrap_or_default(), completions, part)?;
        if previous.is_some_and(|previous| previous >= first) {
            return Err(format!("`{part}` does not increase"));
        }
        previous = Some(first);
        if let Some(text) = ends.next() {
            let last = parse_index(text, completions, part)?;
            if first >= last {
                return Err(format!("`{part}` does not increase"));
            }
            previous = Some(last);
        }
        if ends.next().is_some() {
            return Err(format!("`{part}` has more than one dash"));
        }
    }
    Ok(())
}

/// Reads one index. A sign is allowed, because the API server uses Go's `strconv.Atoi` (SS-30).
fn parse_index(text: &str, completions: i64, part: &str) -> Result<i64, String> {
    let value: i64 = text.parse().map_err(|_| format!("`{part}` is not made of integers"))?;
    if value >= completions {
        Err(format!("index {value} is not below completions {completions}"))
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SC-08, first range: each of 100,000 indexes is in at most one text, and costs its digits and a comma.
    #[test]
    fn both_texts_of_100_000_completions_take_at_most_600_000_bytes() {
        let every_other = |from: u32| (from..100_000).step_by(2).collect::<IndexSet>().to_string();
        let bytes = every_other(0).len() + every_other(1).len();
        let digits: usize = (0..100_000_u32).map(|index| index.to_string().len() + 1).sum();
        // No text is longer: three in a row are shorter as an interval.
        assert_eq!(bytes, digits - 2);
        assert!(bytes <= 600_000, "{bytes}");
        // The text of failed indexes is what KEP-3850 adds.
        assert!(every_other(1).len() <= 300_000);
    }

    /// SC-08, second range: at most 10,000 indexes fail and 10,000 run, so that at most 20,000 gaps separate intervals
    /// of completed indexes. Each number has at most ten digits.
    #[test]
    fn both_texts_of_more_completions_take_at_most_550_000_bytes() {
        // The gap at 4k ends an interval of three, which is the shortest one with a dash.
        let gaps = |step: usize| (0..20_000_u32).map(|gap| u32::MAX - 1 - 4 * gap).step_by(step);
        let failed: IndexSet = gaps(2).collect();
        let all = IndexSet { intervals: vec![(u32::MAX - 1 - 80_000, u32::MAX - 1)] };
        let completed = all.minus(&gaps(1).collect());
        let (completed, failed) = (completed.to_string(), failed.to_string());
        assert_eq!(failed.split(',').count(), 10_000);
        assert_eq!(completed.split(',').count(), 20_000);
        assert!(completed.len() <= 440_000 && failed.len() <= 110_000);
        assert!(completed.len() + failed.len() <= 550_000, "{} {}", completed.len(), failed.len());
    }

    #[test]
    fn canonical_text_uses_a_dash_from_three_on() {
        let set: IndexSet = [0, 1, 3, 5, 6, 7].into_iter().collect();
        assert_eq!(set.to_string(), "0,1,3,5-7");
    }

    #[test]
    fn reading_stops_at_completions_cuts_and_skips_corrupt_parts() {
        assert_eq!(IndexSet::read("0-4,x,7-9", Some(8)).to_string(), "0-4,7");
        assert_eq!(IndexSet::read("0,9,1", Some(5)).to_string(), "0");
    }

    #[test]
    fn the_work_on_a_set_grows_with_its_intervals() {
        let all = IndexSet::read("0-4294967294", None);
        let two = IndexSet::read("7,9-4294967290", None);
        assert_eq!(all.minus(&two).to_string(), "0-6,8,4294967291-4294967294");
        assert_eq!(all.common(&two), two);
        assert!(two.minus(&all).is_empty());
        assert_eq!(IndexSet { intervals: vec![(0, u32::MAX)] }.len(), u32::MAX);
        assert!(two.minus(&IndexSet { intervals: vec![(5, u32::MAX)] }).is_empty());
    }

    #[test]
    fn grammar_accepts_what_the_api_accepts() {
        for good in ["", "0", "0-1", "0,1,2", "+1", "0,2-4"] {
            assert!(check_grammar(good, 5).is_ok(), "{good}");
        }
        for bad in ["5", "1-1", "2-1", "0-1-2", "1,0", "1,1", "a", "0,", ",", "0,-1"] {
            assert!(check_grammar(bad, 5).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_set_is_the_sorted_list_of_its_members(mut members in prop::collection::vec(0u32..40, 0..30), other in prop::collection::vec(0u32..40, 0..30)) {
            let set: IndexSet = members.iter().copied().collect();
            let against: IndexSet = other.iter().copied().collect();
            members.sort_unstable();
            members.dedup();
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), members.clone());
            prop_assert_eq!(set.len() as usize, members.len());
            prop_assert_eq!(IndexSet::read(&set.to_string(), None), set.clone());
            let text = set.to_string();
            prop_assert!(set.is_written_as(&text) && !set.is_written_as(&(text + "-")));
            prop_assert_eq!(set.is_written_as(&against.to_string()), set == against);
            let only = members.iter().copied().filter(|index| !other.contains(index)).collect::<IndexSet>();
            prop_assert_eq!(set.minus(&against), only);
            let both = members.iter().copied().filter(|index| other.contains(index)).collect::<IndexSet>();
            prop_assert_eq!(set.common(&against), both);
            prop_assert_eq!(set.last(), members.last().copied());
            prop_assert_eq!(set.first_common(&against), members.iter().copied().find(|i| other.contains(i)));
            for index in 0..40 {
                prop_assert_eq!(set.contains(index), members.contains(&index));
            }
        }
    }
}

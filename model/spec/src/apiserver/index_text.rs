//! The comparison of `completedIndexes` with `failedIndexes` in the API server (SS-17).
//!
//! It reads index lists in another way than [`crate::indexes`]. Malformed intervals are skipped, because SS-14 and
//! SS-15 cover them. Lists that are not sorted are read in the order of their text.

/// The first index that the API server finds in both texts.
///
/// # Caveats
///
/// Like the API server, the search assumes that both texts are sorted. It may miss a common index of texts that are
/// not.
pub(super) fn first_overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let mut completed = readable_intervals(completed, completions);
    let mut failed = readable_intervals(failed, completions);
    let (mut ours, mut theirs) = (completed.next()?, failed.next()?);
    loop {
        if ours.0 <= theirs.1 && theirs.0 <= ours.1 {
            return Some(ours.0.max(theirs.0));
        }
        if ours.0 <= theirs.0 {
            ours = completed.next()?;
        } else {
            theirs = failed.next()?;
        }
    }
}

/// The number of indexes in a text that satisfies [`crate::indexes::check_grammar`].
pub(super) fn count(text: &str, completions: i64) -> i64 {
    readable_intervals(text, completions).map(|(first, last)| last - first + 1).sum()
}

fn readable_intervals(text: &str, completions: i64) -> impl Iterator<Item = (i64, i64)> {
    text.split(',').filter_map(move |part| interval(part, completions))
}

/// An interval: one index, or two ascending indexes with a dash between them, all below `completions`.
fn interval(part: &str, completions: i64) -> Option<(i64, i64)> {
    let index = |text: &str| text.parse::<i64>().ok().filter(|index| *index < completions);
    match part.split_once('-') {
        None => index(part).map(|single| (single, single)),
        Some((first, last)) => {
            let (first, last) = (index(first)?, index(last)?);
            (first < last).then_some((first, last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_the_first_common_index_of_sorted_texts() {
        assert_eq!(first_overlap("0,2-4", "4-6", 9), Some(4));
        assert_eq!(first_overlap("0,2-4", "1,5", 9), None);
        assert_eq!(first_overlap("", "0", 9), None);
    }

    #[test]
    fn overlap_skips_intervals_that_do_not_parse() {
        assert_eq!(first_overlap("x,2", "9,0-0,2", 9), Some(2));
        assert_eq!(first_overlap("0-1-2", "1", 9), None);
    }

    #[test]
    fn overlap_of_unsorted_texts_may_be_missed() {
        assert_eq!(first_overlap("5,1", "1,7", 9), None);
        assert_eq!(first_overlap("1,7", "5,1", 9), None);
    }

    #[test]
    fn counting_adds_up_the_intervals() {
        assert_eq!(count("0,2-4", 9), 4);
        assert_eq!(count("", 9), 0);
    }
}

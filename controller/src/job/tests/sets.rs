//! Index sets, compared with sets of single indexes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::job::indexes::IndexSet;

fn set(indexes: &[u32]) -> IndexSet {
    IndexSet::of(indexes.to_vec())
}

fn plain(set: &IndexSet) -> BTreeSet<u32> {
    (0..64).filter(|index| set.contains(*index)).collect()
}

/// PC-19.
#[test]
fn runs_of_three_are_written_with_a_dash_and_runs_of_two_with_a_comma() {
    for (indexes, text) in [
        (&[][..], ""),
        (&[7], "7"),
        (&[3, 4], "3,4"),
        (&[3, 4, 5], "3-5"),
        (&[0, 1, 2, 4, 6, 7, 9, 10, 11, 12], "0-2,4,6,7,9-12"),
    ] {
        assert_eq!(set(indexes).to_string(), text);
    }
}

/// PC-20.
#[test]
fn text_is_cut_at_completions_and_malformed_intervals_are_skipped() {
    for (text, completions, expected) in [
        ("", 5, ""),
        ("0-9", 5, "0-4"),
        ("0-9", 10, "0-9"),
        ("4", 5, "4"),
        ("5", 5, ""),
        ("0,5,1", 5, "0"),
        ("0,x,2", 5, "0,2"),
        ("0,3-1,4", 5, "0,4"),
        ("0,1-2-3,4", 5, "0,4"),
        ("-1,2", 5, "2"),
        ("2,0,1", 5, "0-2"),
        ("0-1,1-2", 5, "0-2"),
        ("0", 0, ""),
    ] {
        assert_eq!(IndexSet::parse(text, completions).to_string(), expected, "{text}");
    }
}

#[test]
fn the_highest_int32_index_does_not_overflow() {
    let top = u32::try_from(i32::MAX).expect("positive");
    let all = IndexSet::parse("0,2147483646-4294967295", top);
    assert_eq!(all.to_string(), "0,2147483646");
    assert!(all.contains(top - 1) && !all.contains(top));
    assert_eq!(all.missing(top, 2), [1, 2]);
    assert_eq!(all.without(&IndexSet::of(vec![top - 1])).to_string(), "0");
}

fn some_indexes() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0_u32..20, 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_round_trips(indexes in some_indexes()) {
        let written = IndexSet::of(indexes);
        prop_assert_eq!(IndexSet::parse(&written.to_string(), 64), written);
    }

    #[test]
    fn set_operations_agree_with_a_set_of_single_indexes(one in some_indexes(), two in some_indexes()) {
        let (a, b) = (IndexSet::of(one.clone()), IndexSet::of(two.clone()));
        let (x, y): (BTreeSet<u32>, BTreeSet<u32>) = (one.into_iter().collect(), two.into_iter().collect());
        prop_assert_eq!(&plain(&a), &x);
        prop_assert_eq!(a.len(), x.len());
        prop_assert_eq!(a.is_empty(), x.is_empty());
        prop_assert_eq!(plain(&a.union(&b)), x.union(&y).copied().collect::<BTreeSet<_>>());
        prop_assert_eq!(plain(&a.without(&b)), x.difference(&y).copied().collect::<BTreeSet<_>>());
        prop_assert_eq!(a.common(&b), x.intersection(&y).count());
        // Results are canonical: equal sets are equal values.
        prop_assert_eq!(a.union(&b), IndexSet::of(x.union(&y).copied().collect()));
        prop_assert_eq!(a.without(&b), IndexSet::of(x.difference(&y).copied().collect()));
    }

    #[test]
    fn missing_indexes_are_the_lowest_that_the_set_lacks(taken in some_indexes(), limit in 0_u32..25, count in 0_usize..25) {
        let lacking = (0..limit).filter(|index| !taken.contains(index)).take(count);
        prop_assert_eq!(IndexSet::of(taken.clone()).missing(limit, count), lacking.collect::<Vec<_>>());
    }
}

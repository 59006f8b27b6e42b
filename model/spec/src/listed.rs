//! Lists of UIDs that are asked for many pods.

use crate::uid::Uid;

/// Shorter lists are searched as they are, which allocates nothing.
const SHORT: usize = 16;

/// The UIDs of two lists. A status lists up to 500 pods, and guards ask for each pod of a Job.
#[derive(Clone, Debug)]
pub(crate) enum Listed<'a> {
    Short([&'a [Uid]; 2]),
    Sorted(Vec<Uid>),
}

impl<'a> Listed<'a> {
    pub(crate) fn of(first: &'a [Uid], second: &'a [Uid]) -> Listed<'a> {
        if first.len() + second.len() <= SHORT {
            return Listed::Short([first, second]);
        }
        let mut all: Vec<Uid> = first.iter().chain(second).copied().collect();
        all.sort_unstable();
        Listed::Sorted(all)
    }

    pub(crate) fn has(&self, uid: Uid) -> bool {
        match self {
            Listed::Short(lists) => lists.iter().any(|list| list.contains(&uid)),
            Listed::Sorted(all) => all.binary_search(&uid).is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_have_their_uids_and_no_others() {
        for count in [0, 1, 16, 17, 500] {
            let uids: Vec<Uid> = (1..=count).rev().map(|number| Uid(number * 2)).collect();
            let (first, second) = uids.split_at(uids.len() / 3);
            let listed = Listed::of(first, second);
            assert!((0..=count * 2 + 3).all(|number| listed.has(Uid(number)) == uids.contains(&Uid(number))));
        }
    }
}

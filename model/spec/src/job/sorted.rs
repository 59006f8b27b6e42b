//! Many conditions, found quickly.

use std::borrow::Cow;

use super::{Condition, ConditionKind, ConditionStatus};

/// The number of conditions up to which a search from the first to the last is as quick as any.
const FEW: usize = 16;

/// The conditions of a status, for guards that ask about each of many. Types are free for whoever writes a status, so that
/// an object of etcd's size has thousands.
#[derive(Debug)]
pub struct Conditions<'a> {
    all: Cow<'a, [Condition]>,
    is_sorted: bool,
}

impl<'a> Conditions<'a> {
    /// The conditions of a status.
    #[must_use]
    pub fn of(conditions: &'a [Condition]) -> Conditions<'a> {
        if conditions.len() <= FEW {
            return Conditions { all: Cow::Borrowed(conditions), is_sorted: false };
        }
        let mut sorted = conditions.to_vec();
        sorted.sort_unstable();
        Conditions { all: Cow::Owned(sorted), is_sorted: true }
    }

    /// The number of conditions of this type.
    #[must_use]
    pub fn count(&self, kind: &ConditionKind) -> usize {
        if self.is_sorted {
            let before = self.all.partition_point(|it| it.kind < *kind);
            return self.all.partition_point(|it| it.kind <= *kind) - before;
        }
        self.all.iter().filter(|it| it.kind == *kind).count()
    }

    /// The condition of this type, if it is the only one.
    #[must_use]
    pub fn only(&self, kind: &ConditionKind) -> Option<&Condition> {
        let first = if self.is_sorted {
            self.all.get(self.all.partition_point(|it| it.kind < *kind)).filter(|it| it.kind == *kind)
        } else {
            self.all.iter().find(|it| it.kind == *kind)
        };
        first.filter(|_| self.count(kind) == 1)
    }

    /// Returns whether a condition of this type has this status.
    #[must_use]
    pub fn has(&self, kind: &ConditionKind, status: ConditionStatus) -> bool {
        if self.is_sorted {
            return self.all.binary_search_by(|it| (&it.kind, it.status).cmp(&(kind, status))).is_ok();
        }
        self.all.iter().any(|it| it.kind == *kind && it.status == status)
    }

    /// Returns whether this condition is there as it is.
    #[must_use]
    pub fn contains(&self, condition: &Condition) -> bool {
        if self.is_sorted { self.all.binary_search(condition).is_ok() } else { self.all.contains(condition) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn condition(number: i64) -> Condition {
        Condition {
            kind: ConditionKind::parse(["Complete", "a", "b"][number as usize % 3]),
            status: [ConditionStatus::True, ConditionStatus::False][number as usize / 3 % 2],
            reason: "R".into(),
            message: "M".into(),
            last_transition_time: Some(Time(number)),
        }
    }

    /// A status with many conditions and one with few answer alike.
    #[test]
    fn many_conditions_are_found_as_few_are() {
        let all: Vec<Condition> = (0..60).map(|number| condition(number % 9)).collect();
        let found = Conditions::of(&all);
        assert!(found.is_sorted && !Conditions::of(&all[..9]).is_sorted);
        for number in 0..12 {
            let asked = condition(number);
            let plain = Conditions { all: Cow::Borrowed(&all), is_sorted: false };
            assert_eq!(found.count(&asked.kind), plain.count(&asked.kind));
            assert_eq!(found.contains(&asked), plain.contains(&asked));
            assert_eq!(found.only(&asked.kind), plain.only(&asked.kind));
            for status in [ConditionStatus::True, ConditionStatus::Unknown] {
                assert_eq!(found.has(&asked.kind, status), plain.has(&asked.kind, status));
            }
        }
        let absent = ConditionKind::parse("c");
        assert_eq!((found.count(&absent), found.only(&absent)), (0, None));
        let different: Vec<Condition> = (0..20)
            .map(|number| Condition { kind: ConditionKind::parse(&number.to_string()), ..condition(0) })
            .collect();
        assert_eq!(Conditions::of(&different).only(&different[7].kind), Some(&different[7]));
    }
}

//! The users who create copies, and the way in which a manager finds them: by a stored UID, or by their names.

use std::collections::BTreeMap;

use jobcheck_spec::Uid;

use super::lives::{Life, Lives};

/// The Jobs of workers that seem to be copies. Somebody else may copy the labels of a copy, so that the first one of each Job on
/// a worker decides who creates copies there.
#[derive(Default)]
pub(super) struct Claims<'a> {
    /// By a stored UID.
    by_uid: BTreeMap<(usize, Uid), &'a Life>,
    /// By a stored UID, or by name.
    by_any: BTreeMap<(usize, Uid), &'a Life>,
    /// One has both the UID of a Job and its name.
    has_both: bool,
}

impl<'a> Claims<'a> {
    pub(super) fn of(locals: &[&'a Life], workers: &'a [Lives]) -> Claims<'a> {
        let mut claims = Claims::default();
        for (at, worker) in workers.iter().enumerate() {
            for other in &worker.jobs {
                let stores = |local: &&&Life| other.stores.contains(&local.uid);
                let stores_any = locals.iter().any(|local| stores(&local));
                let is_claimed =
                    |local: &&&Life| if stores_any { stores(local) } else { has_name_of(local, other) };
                for local in locals.iter().filter(is_claimed) {
                    if stores_any {
                        claims.has_both |= has_name_of(local, other);
                        add_first(&mut claims.by_uid, (at, local.uid), other);
                    }
                    add_first(&mut claims.by_any, (at, local.uid), other);
                }
            }
        }
        claims
    }

    /// The users who create copies with a UID on this worker.
    pub(super) fn creators_on(&self, worker: usize) -> Vec<&'a str> {
        most(self.by_uid.iter().filter(|((at, _), _)| *at == worker).map(|(_, other)| *other))
    }

    /// Returns `true` if the manager stores UIDs in copies. A Job with another name may be of somebody else.
    pub(super) fn store_uids(&self) -> bool {
        if self.has_both {
            return true;
        }
        let creators = most(self.by_any.values().copied());
        let is_managers = |other: &Life| other.creator.as_deref().is_none_or(|user| creators.contains(&user));
        self.by_uid.iter().any(|(key, other)| {
            let is_first = self.by_any.get(key).is_some_and(|first| first.uid == other.uid);
            is_first && is_managers(other)
        })
    }
}

fn add_first<'a>(first: &mut BTreeMap<(usize, Uid), &'a Life>, key: (usize, Uid), other: &'a Life) {
    let known = first.entry(key).or_insert(other);
    if other.created < known.created {
        *known = other;
    }
}

/// The users who have created most of these Jobs.
pub(super) fn most<'a>(all: impl Iterator<Item = &'a Life>) -> Vec<&'a str> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for creator in all.filter_map(|other| other.creator.as_deref()) {
        *numbers.entry(creator).or_default() += 1;
    }
    let most = numbers.values().max().copied().unwrap_or(0);
    numbers.into_iter().filter(|(_, number)| *number == most).map(|(user, _)| user).collect()
}

/// Returns `true` if two Jobs have one namespace and name.
pub(super) fn has_name_of(local: &Life, other: &Life) -> bool {
    local.namespace == other.namespace && local.name == other.name
}

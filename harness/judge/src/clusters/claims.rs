//! The users who create copies, and the way in which a manager finds them: by a stored UID, or by their names.

use std::collections::BTreeMap;

use jobcheck_spec::Uid;
use jobcheck_spec::guards::copies::Micros;

use super::lives::{Life, Lives};

/// The Jobs of workers that seem to be copies. Somebody else may copy the labels of a copy, so that the first one of each Job
/// decides who creates copies.
#[derive(Default)]
pub(super) struct Claims<'a> {
    /// The first one with the UID of each Job.
    by_uid: BTreeMap<Uid, &'a Life>,
    /// The same on each worker.
    by_uid_on: BTreeMap<(usize, Uid), &'a Life>,
    /// The first one with its UID or name.
    by_any: BTreeMap<Uid, &'a Life>,
    /// One has both.
    has_both: bool,
}

impl<'a> Claims<'a> {
    /// `skew`: the time by which clocks may differ.
    pub(super) fn of(locals: &[&'a Life], workers: &'a [Lives], skew: Micros) -> Claims<'a> {
        let mut claims = Claims::default();
        for (at, worker) in workers.iter().enumerate() {
            for other in &worker.jobs {
                let stores = |local: &Life| other.stores.contains(&local.uid);
                let stores_any = locals.iter().any(|local| stores(local));
                for local in locals {
                    if stores(local) {
                        claims.has_both |= has_name_of(local, other);
                        add_first(&mut claims.by_uid, local.uid, other);
                        add_first(&mut claims.by_uid_on, (at, local.uid), other);
                    }
                    if stores(local) || !stores_any && may_be_copy(local, other, skew) {
                        add_first(&mut claims.by_any, local.uid, other);
                    }
                }
            }
        }
        claims
    }

    /// The users who create copies with a UID on this worker. A manager that sums up may have an account for each.
    pub(super) fn creators_on(&self, worker: usize, is_aggregate: bool) -> Vec<&'a str> {
        let on_it = self.by_uid_on.iter().filter(|((at, _), _)| *at == worker).map(|(_, other)| *other);
        let first: Vec<&Life> =
            if is_aggregate { on_it.collect() } else { self.by_uid.values().copied().collect() };
        let mut users: Vec<&str> = first.into_iter().filter_map(|other| other.creator.as_deref()).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    /// Returns `true` if the manager stores UIDs in copies. A Job with another name may be of somebody else.
    pub(super) fn store_uids(&self) -> bool {
        if self.has_both {
            return true;
        }
        let creators = most(self.by_any.values().copied());
        let is_managers = |other: &Life| other.creator.as_deref().is_none_or(|user| creators.contains(&user));
        self.by_uid.iter().any(|(uid, other)| {
            let is_first = self.by_any.get(uid).is_some_and(|first| first.uid == other.uid);
            is_first && is_managers(other)
        })
    }
}

fn add_first<'a, K: Ord>(first: &mut BTreeMap<K, &'a Life>, local: K, other: &'a Life) {
    let known = first.entry(local).or_insert(other);
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

/// Returns `true` if a Job of a worker may be a copy by its name. `behind`: the time by which its clock may be behind.
pub(super) fn may_be_copy(local: &Life, other: &Life, behind: Micros) -> bool {
    has_name_of(local, other)
        && local.created <= other.created.saturating_add(behind)
        // A user may create Jobs of its own on the worker.
        && (other.creator.is_none() || other.creator != local.creator)
}

/// Returns `true` if two Jobs have one namespace and name.
pub(super) fn has_name_of(local: &Life, other: &Life) -> bool {
    local.namespace == other.namespace && local.name == other.name
}

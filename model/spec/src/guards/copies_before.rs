//! The same comparison as in [`copies`](super::copies), for the time before the end of the traces.
//!
//! A difference that was gone by the end counts if it lasted for longer than the manager may take. Both clusters must show
//! that the manager worked during that time. A manager that is absent, or that does not reach the worker, has no duty. The
//! time up to the first request after an absence does not count.

use super::copies::{Copy, Grants, Local, Micros, at};
use super::copies_equal::{Others, difference};
use crate::catalogue::Req;
use crate::requirement::Findings;
use crate::time::Time;

/// Returns `true` if the manager had time to react here and on the worker, since its last refusal by the environment.
fn had_time(local: &Local<'_>, copy: &Copy<'_>, (since, until): (Micros, Micros), grants: Grants) -> bool {
    let since = local.work.refused_by(until).map_or(since, |refusal| since.max(refusal));
    let (since, until) = (since.saturating_add(grants.skew), until.saturating_sub(grants.skew));
    let both = [&local.work, &copy.work];
    both.iter().all(|work| work.worked(since, until) >= grants.patience)
}

/// MR-20: the first span in which the status differed from that of the copy.
pub(super) fn judge_earlier_equality(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let bounds =
        |(since, until): &(Micros, Micros)| [*since, *until].into_iter().filter(|at| *at < Micros::MAX);
    let mut changes: Vec<Micros> = local.versions.iter().map(|version| version.at).collect();
    changes.extend(local.gone);
    changes.extend(local.unknown.iter().flat_map(bounds));
    for copy in &local.copies {
        changes.extend(copy.versions.iter().map(|version| version.at).chain([copy.created]).chain(copy.gone));
        changes.extend(copy.unknown.iter().flat_map(bounds));
    }
    changes.sort_unstable();
    changes.dedup();
    for span in changes.windows(2) {
        let (since, until) = (span[0], span[1]);
        let here = local.at(since).filter(|_| local.gone.is_none_or(|gone| gone > since));
        let is_there = |copy: &Copy<'_>| copy.created <= since && copy.gone.is_none_or(|gone| gone > since);
        let copy = local.copies.iter().enumerate().rev().find(|(_, copy)| is_there(copy));
        let (Some(here), Some((position, copy))) = (here, copy) else { continue };
        let Some(there) = at(&copy.versions, since) else { continue };
        let is_in = |(from, until): &(Micros, Micros)| (*from..*until).contains(&since);
        if local.unknown.iter().chain(&copy.unknown).any(is_in) {
            continue;
        }
        let is_suspended = here.spec.is_suspended();
        if is_suspended != there.spec.is_suspended() || !had_time(local, copy, (since, until), grants) {
            continue;
        }
        let others = Others::of(local, position, since, grants);
        if let Some(it) = difference(here.status, there.status, &others, is_suspended) {
            findings.require(it.req, false, it.what, it.expected, during(&it.found, since, until));
            return;
        }
    }
}

/// MR-21: the end of a copy arrives in time.
pub(super) fn judge_late_end(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let Some(ended) = local.ended else { return };
    // One of these writes may have stored the end.
    if local.unknown.iter().any(|(since, _)| *since < ended) {
        return;
    }
    let late = local.copies.iter().find_map(|copy| {
        let first = copy.ended.filter(|first| had_time(local, copy, (*first, ended), grants));
        first.map(|first| during("none", first, ended))
    });
    if let Some(found) = late {
        findings.require(Req::MR21, false, "terminal condition of the Job", "that of its copy", found);
    }
}

/// MR-25: the removal of a Job removes its copies in time.
pub(super) fn judge_late_removal(local: &Local<'_>, grants: Grants, findings: &mut Findings) {
    let Some(gone) = local.removed else { return };
    let late = local.copies.iter().filter_map(|copy| Some((copy, copy.gone?)));
    let late = late.filter(|(copy, removed)| had_time(local, copy, (gone, *removed), grants));
    if let Some((_, removed)) = late.min_by_key(|(_, removed)| *removed) {
        let found = during("one", gone, removed);
        findings.require(Req::MR25, false, "copies of the removed Job", "none", found);
    }
}

fn during(found: &str, since: Micros, until: Micros) -> String {
    let seconds = (until - since) / 1_000_000;
    let since = Time(since.div_euclid(1_000_000));
    format!("{found} for {seconds} s from {since} on, while the manager was active on both clusters")
}

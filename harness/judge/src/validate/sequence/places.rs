//! The places of events without a version of their own, between those that have one.

use jobcheck_traces::{Form, Verb};

use super::{Lane, WINDOW_MICROS};
use crate::validate::clocks::CLOCKS_DIFFER;
use crate::validate::event::{Body, CONFLICT, Event, NOT_FOUND};

impl Lane {
    /// The next version of the object of a request without effect. The request was handled before it, even if its
    /// response came later.
    pub(super) fn superseded(&self, idle: &Event) -> Option<u64> {
        let version = idle.answered.filter(|_| !idle.body.is_gone())?;
        let of_it = self.held().filter(|it| it.is_of_the_object_of(idle));
        of_it.filter_map(|it| it.version).filter(|later| *later > version).min()
    }

    /// The place of a removal without a version of its own. Everything precedes it that was answered before its request was
    /// received, and the versions of the object, such as the one that its response repeats. So do the answered requests of
    /// its sender, and concurrent writes that others have begun before: its sender may have seen those. Watchers may act on the
    /// removal before its sender gets the response. A view may still lack it, so that the earliest place admits every later one.
    pub(super) fn may_have_gone(&self, removal: &Event) -> Option<u64> {
        let is_pod = matches!(removal.body, Body::Pod(_));
        let is_one = is_pod || matches!(removal.body, Body::Job(_));
        let when = removal.when.filter(|_| is_one && removal.body.is_gone())?;
        let precedes = |it: &&Event| {
            it.when.is_some_and(|other| {
                let is_its_sender = is_pod && it.actor.is_some() && it.actor == removal.actor;
                match it.is_of_the_object_of(removal) {
                    true => other.received <= when.done,
                    false if is_its_sender => other.done <= when.done,
                    false => other.done <= when.received,
                }
            })
        };
        let versions = self.versions_of(precedes);
        // Later requests of the sender come behind it, whatever other clocks say. Some logs have whole seconds.
        let follows = |it: &Event| {
            it.actor.is_some()
                && it.actor == removal.actor
                && it.when.is_some_and(|it| it.received >= when.done)
        };
        let later = self.by_time.iter().map(|keyed| &keyed.event).filter(|it| follows(it));
        let next = later.filter_map(|it| self.claims.own(it)).min().unwrap_or(u64::MAX);
        let seen = match is_pod {
            true => self.concurrent(when.received, when.received, |it| it.actor != removal.actor),
            false => 0,
        };
        let before = versions.max().unwrap_or(0).max(seen).min(next.saturating_sub(1));
        Some(before.max(self.passed.version).max(removal.answered.unwrap_or(0)))
    }

    /// The earliest place of an eviction. Its response is a `Status` without a version, and its API server may have a clock of
    /// its own. The states of the pod show whether it is being deleted. A view may still lack the eviction, so that the
    /// earliest place admits every later one.
    pub(super) fn may_have_evicted(&self, eviction: &Event) -> Option<u64> {
        let is_it = matches!(eviction.body, Body::Evicted) && eviction.is_accepted();
        let certain = eviction.when.filter(|_| is_it)?.received.saturating_sub(CLOCKS_DIFFER);
        let is_deleted = |it: &Event| match &it.body {
            Body::Pod(pod) if it.name == eviction.name && it.version.is_some() => {
                pod.after.as_ref().map(|after| after.pod.deleting)
            }
            _ => None,
        };
        let precedes = |it: &&Event| {
            is_deleted(it).map_or_else(|| it.when.is_some_and(|it| it.done <= certain), |deleted| !deleted)
        };
        let before = self.versions_of(precedes).max().unwrap_or(0);
        let shown = self.held().filter(|it| is_deleted(it) == Some(true)).filter_map(|it| it.version).min();
        Some(before.min(shown.unwrap_or(u64::MAX).saturating_sub(1)).max(self.passed.version))
    }

    /// The version that a refused write lost against: the latest one that a concurrent request gave to the object. Its
    /// response may come later.
    pub(super) fn may_have_won(&self, lost: &Event) -> u64 {
        let Some(when) = lost.when.filter(|_| lost.code == CONFLICT && !lost.delivery.injected) else {
            return 0;
        };
        if let Some(shown) = self.shown_winner(lost, when.done) {
            return shown;
        }
        let later = self.by_time.iter().map(|keyed| &keyed.event);
        let others = later.filter(|it| it.name == lost.name && it.verb != Some(Verb::Create));
        let of_the_same_time = others.filter(|it| it.when.is_some_and(|it| it.received <= when.done));
        of_the_same_time.filter_map(|it| it.version).max().unwrap_or(0)
    }

    /// The next version of a Job behind the one on which a refused write was made, if a watch shows it. The watcher may have received
    /// it after the refusal. A watch stream has no times.
    fn shown_winner(&self, lost: &Event, done: i64) -> Option<u64> {
        let Body::Job(it) = &lost.body else { return None };
        let base = it.base?;
        let is_near = |at: i64| at <= done.saturating_add(WINDOW_MICROS);
        let shown = self.held().filter(|it| it.when.is_none() && it.arrival.shown_at.is_none_or(is_near));
        let later = shown.filter(|it| it.is_of_the_object_of(lost));
        later.filter_map(|it| it.version).filter(|version| *version > base).min()
    }

    /// Returns `true` if a request that lost may have lost against a write that was answered behind it. For a conflict that is one which
    /// came behind it by the clocks, and for a 404 a concurrent removal. A native trace has one clock.
    pub(super) fn may_have_lost(&self, lost: &Event) -> bool {
        if lost.code == NOT_FOUND {
            let Some(when) = lost.when else { return false };
            let is_concurrent =
                |it: &Event| it.when.is_some_and(|it| it.received <= when.done && it.done >= when.received);
            let of_it = self.held().filter(|it| it.is_accepted() && it.is_of_the_object_of(lost));
            return of_it.filter(|it| it.body.is_gone()).any(is_concurrent);
        }
        let is_lost = lost.code == CONFLICT && lost.form == Form::Audit;
        let Some(when) = lost.when.filter(|_| is_lost) else { return false };
        let near = when.done + 1..=when.done.saturating_add(CLOCKS_DIFFER);
        let is_near = |it: &Event| it.when.is_some_and(|it| near.contains(&it.received));
        self.held().any(|it| {
            it.actor != lost.actor && it.version.is_some() && it.is_of_the_object_of(lost) && is_near(it)
        })
    }

    /// The latest write of somebody else that the sender of a refused request may have seen. A write of the same object also
    /// decides about the request, unless that never reached etcd.
    pub(super) fn may_have_been_seen(&self, refused: &Event) -> u64 {
        let is_refused = !refused.is_accepted() && refused.code != CONFLICT;
        let Some(when) = refused.when.filter(|_| is_refused) else { return 0 };
        let may_decide = |it: &Event| !refused.may_be_sent_again() && it.is_of_the_object_of(refused);
        // Some logs have whole seconds. Their lines are in order.
        let has_later_line = |it: &Event| {
            it.when.is_some_and(|it| it.received == when.received)
                && it.place.file == refused.place.file
                && it.place.line > refused.place.line
        };
        self.concurrent(when.received, when.done, |it| {
            it.actor != refused.actor && !may_decide(it) && !has_later_line(it)
        })
    }

    /// The latest version of a write that was received by a time. A watch can show a write before its response.
    /// A slow write that is stored behind what was received after `until` comes too late.
    fn concurrent(&self, received: i64, until: i64, counts: impl Fn(&Event) -> bool) -> u64 {
        let later = self.versions_of(|it| it.when.is_some_and(|when| when.received > until));
        let next = later.min().unwrap_or(u64::MAX);
        let earlier =
            self.versions_of(|it| it.when.is_some_and(|when| when.received <= received) && counts(it));
        earlier.filter(|version| *version < next).max().unwrap_or(0)
    }

    /// The latest version that the watches of a controller had shown before its own request.
    pub(super) fn had_been_shown(&self, request: &Event) -> u64 {
        let Some(when) = request.when.filter(|_| request.delivery.observer.is_some()) else { return 0 };
        let earlier = self.held().filter(|it| it.arrival.shown_at.is_some_and(|at| at <= when.received));
        earlier.filter_map(|it| it.version).max().unwrap_or(0)
    }
}

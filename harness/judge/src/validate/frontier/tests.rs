//! The search for explaining views, on small histories.

use std::sync::atomic::AtomicBool;

use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Findings, Req, Time, Uid};

use super::super::fixtures::{job, job_with_active, pod};
use super::*;

/// A history in which another actor created these pods, in this order.
fn history(pods: std::ops::RangeInclusive<u128>) -> History {
    let mut history = History::default();
    for uid in pods {
        history.push(Uid(uid), Some(pod(uid)), None, history.end());
    }
    history
}

/// A frontier with only the stored version of [`job`], at position 0.
fn frontier() -> Frontier {
    let mut frontier = Frontier::default();
    frontier.restart(Arc::new(job()), Some(1), 0);
    frontier
}

fn search(
    frontier: &mut Frontier,
    history: &mut History,
    versions: Versions,
    judge: &dyn Fn(&View<'_>, &mut Findings),
) -> Explained {
    search_in(frontier, history, versions, Bounds::default(), judge)
}

fn search_in(
    frontier: &mut Frontier,
    history: &mut History,
    versions: Versions,
    bounds: Bounds,
    judge: &dyn Fn(&View<'_>, &mut Findings),
) -> Explained {
    search_until(&AtomicBool::new(false), frontier, history, (versions, bounds), judge)
}

fn search_until(
    stop: &AtomicBool,
    frontier: &mut Frontier,
    history: &mut History,
    (versions, bounds): (Versions, Bounds),
    judge: &dyn Fn(&View<'_>, &mut Findings),
) -> Explained {
    let setting = Setting {
        latest: None,
        deletes_failed: DeletesFailed::No,
        namespace_goes: false,
        finalizers_removed: 0,
        backoff: &BackoffRecord::default(),
        let_go: &[],
        constants: &Constants::V1_36,
        reading: Interpretation::Ideal,
        gates: Gates::ON,
        bounds,
        stop,
    };
    frontier.explain(history, versions, setting, judge)
}

/// Accepts views with exactly so many pods in the cache.
fn pods_seen(count: usize) -> impl Fn(&View<'_>, &mut Findings) {
    move |view, findings| {
        findings.equal(Req::PC01, "pods", count as i64, view.cache.len() as i64);
    }
}

/// Accepts views of a Job version with this `active`.
fn active(count: i32) -> impl Fn(&View<'_>, &mut Findings) {
    move |view, findings| {
        findings.equal(Req::PC02, "active", i64::from(count), i64::from(view.job.status.active));
    }
}

fn is_explained(explained: &Explained) -> bool {
    matches!(explained, Explained::Yes(_))
}

#[test]
fn a_write_may_rest_on_any_earlier_position_and_views_only_advance() {
    let (mut frontier, mut history) = (frontier(), history(1..=3));
    for (seen, expected) in [(1, true), (3, true), (2, false), (3, true), (0, false)] {
        let explained = search(&mut frontier, &mut history, Versions::Any, &pods_seen(seen));
        assert_eq!(is_explained(&explained), expected, "{seen}");
    }
    assert_eq!(frontier.earliest(), 3);
}

#[test]
fn the_earliest_explaining_position_is_kept() {
    let (mut frontier, mut history) = (frontier(), history(1..=3));
    let at_least_two = |view: &View<'_>, findings: &mut Findings| {
        findings.require(Req::PC01, view.cache.len() >= 2, "pods", "two", "fewer");
    };
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Any, &at_least_two)));
    assert_eq!(frontier.earliest(), 2);
}

#[test]
fn a_status_write_rests_on_the_stored_version_and_other_writes_on_any() {
    let (mut frontier, mut history) = (frontier(), history(1..=1));
    frontier.push(job_with_active(1), (Some(2), Written::default()), false, false);
    assert!(!is_explained(&search(&mut frontier, &mut history, Versions::Stored, &active(0))));
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Any, &active(0))));
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Stored, &active(1))));
    // The last write rests on the new version, so no later view has the old one.
    assert!(!is_explained(&search(&mut frontier, &mut history, Versions::Any, &active(0))));
}

#[test]
fn a_process_knows_its_own_write_unless_the_trace_shows_what_its_sync_has_read() {
    for (is_read, expected) in [(false, false), (true, true)] {
        let (mut frontier, mut history) = (frontier(), history(1..=1));
        frontier.push(job_with_active(1), (Some(2), Written::default()), true, is_read);
        let read = Reach { from: 0, to: Some(0) };
        let bounds =
            if is_read { Bounds { versions: Some(read), ..Bounds::default() } } else { Bounds::default() };
        let explained = search_in(&mut frontier, &mut history, Versions::Any, bounds, &active(0));
        assert_eq!(is_explained(&explained), expected);
        if is_read {
            // The next sync knows the write.
            frontier.sync_begins();
            let explained = search(&mut frontier, &mut history, Versions::Any, &active(0));
            assert!(!is_explained(&explained));
        }
    }
}

#[test]
fn minimal_pairs_trade_an_older_version_for_a_later_position() {
    let (mut frontier, mut history) = (frontier(), history(1..=3));
    frontier.push(job_with_active(1), (Some(2), Written::default()), false, false);
    // The old version explains the write with three pods, the new one with one.
    let either = |view: &View<'_>, findings: &mut Findings| {
        let wanted = if view.job.status.active == 0 { 3 } else { 1 };
        findings.require(Req::PC01, view.cache.len() >= wanted, "pods", "enough", "too few");
    };
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Any, &either)));
    assert_eq!(frontier.minimal, [Point::new(0, 3), Point::new(1, 1)]);
    let old_with_two = |view: &View<'_>, findings: &mut Findings| {
        active(0)(view, findings);
        pods_seen(2)(view, findings);
    };
    assert!(!is_explained(&search(&mut frontier, &mut history, Versions::Any, &old_with_two)));
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Any, &pods_seen(2))));
    assert_eq!(frontier.minimal, [Point::new(1, 2)]);
}

#[test]
fn bounds_of_the_trace_exclude_views_from_both_sides() {
    let (mut frontier, mut history) = (frontier(), history(1..=3));
    let positions = |from, to| Bounds { positions: Some(Reach { from, to }), ..Bounds::default() };
    for (bounds, seen, expected) in [
        (positions(2, None), 1, false),
        (positions(2, None), 3, true),
        (positions(0, Some(2)), 3, false),
        (positions(0, Some(2)), 1, true),
    ] {
        let mut frontier = frontier.clone();
        let explained = search_in(&mut frontier, &mut history, Versions::Any, bounds, &pods_seen(seen));
        assert_eq!(is_explained(&explained), expected, "{bounds:?} {seen}");
    }
    // A write beside the sync gives no bound for later ones.
    let beside = Bounds { beside: true, ..Bounds::default() };
    assert!(is_explained(&search_in(&mut frontier, &mut history, Versions::Any, beside, &pods_seen(3))));
    assert_eq!(frontier.earliest(), 0);
}

#[test]
fn overlapping_entries_are_tried_in_both_orders() {
    let mut history = history(1..=2);
    // The removal of the second pod may precede the creation of a third one.
    history.push(Uid(3), Some(pod(3)), None, 2);
    history.push(Uid(2), None, None, 2);
    let without_second = |view: &View<'_>, findings: &mut Findings| {
        let fits = view.cache.len() == 1 && view.cache.get(Uid(1)).is_some();
        findings.require(Req::PC01, fits, "pods", "the first", "others");
    };
    let mut at_two = frontier();
    at_two.restart(Arc::new(job()), Some(1), 2);
    assert!(is_explained(&search(&mut at_two, &mut history, Versions::Any, &without_second)));
    assert_eq!(at_two.earliest(), 2);
}

#[test]
fn what_a_view_has_seen_ahead_of_its_position_it_does_not_forget() {
    let mut history = History::default();
    history.push(Uid(1), Some(pod(1)), None, 0);
    history.push(Uid(2), Some(pod(2)), None, 1);
    // The removal of the first pod may precede the creation of the second.
    history.push(Uid(1), None, None, 1);
    let sees = |uids: &'static [u128]| {
        move |view: &View<'_>, findings: &mut Findings| {
            let fits =
                view.cache.len() == uids.len() && uids.iter().all(|uid| view.cache.get(Uid(*uid)).is_some());
            findings.require(Req::PC01, fits, "pods", "these", "others");
        }
    };
    let mut frontier = frontier();
    frontier.restart(Arc::new(job()), Some(1), 1);
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Any, &sees(&[]))));
    assert_eq!(frontier.minimal, [Point { version: 1, position: 1, ahead: vec![2] }]);
    assert!(!is_explained(&search(&mut frontier, &mut history, Versions::Any, &sees(&[1]))));
    assert!(!is_explained(&search(&mut frontier, &mut history, Versions::Any, &sees(&[1, 2]))));
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Any, &sees(&[2]))));
}

#[test]
fn subsets_of_few_reorderable_entries_and_prefixes_of_many_are_tried() {
    assert_eq!(combinations(&[]), [Vec::<Position>::new()]);
    assert_eq!(combinations(&[5, 7]), [vec![], vec![5], vec![7], vec![5, 7]]);
    assert_eq!(combinations(&[1, 2, 3, 4]).len(), 16);
    let many = combinations(&[1, 2, 3, 4, 5]);
    assert_eq!(many[5], [1, 2, 3, 4, 5]);
    assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn the_closest_refusals_have_the_fewest_objections_and_the_least_lag() {
    let (mut frontier, mut history) = (frontier(), history(1..=3));
    let judge = |view: &View<'_>, findings: &mut Findings| {
        pods_seen(9)(view, findings);
        if view.cache.len() != 1 {
            active(9)(view, findings);
        }
    };
    let Explained::No(closest) = search(&mut frontier, &mut history, Versions::Any, &judge) else {
        panic!("no view explains it")
    };
    let lags: Vec<(u64, usize)> = closest.iter().map(|it| (it.pod_lag, it.broken.len())).collect();
    assert_eq!(lags, [(2, 1), (0, 2), (1, 2)]);
    assert_eq!(frontier.earliest(), 0, "a refused write gives no bound");
}

#[test]
fn a_search_without_an_end_is_capped() {
    let (mut frontier, mut history) = (frontier(), history(1..=400));
    for version in 2..=300 {
        frontier.push(job_with_active(1), (Some(version), Written::default()), false, false);
    }
    let explained = search(&mut frontier, &mut history, Versions::Any, &active(9));
    assert!(matches!(explained, Explained::Capped));
    assert!(is_explained(&search(&mut frontier, &mut history, Versions::Any, &active(1))));
}

#[test]
fn a_deadline_is_unseen_until_a_clock_has_shown_it_or_versions_differ() {
    let with_deadline = |seconds: i64| {
        let mut it = job();
        it.spec = Arc::new(JobSpec { active_deadline_seconds: Some(seconds), ..JobSpec::clone(&it.spec) });
        it.status.start_time = Some(Time(100));
        Arc::new(it)
    };
    let mut frontier = Frontier::default();
    frontier.restart(with_deadline(5), Some(1), 0);
    assert_eq!(frontier.unseen_deadline(), Some(Time(105)));
    frontier.clock_shows(Time(105));
    assert_eq!(frontier.unseen_deadline(), None);
    frontier.forget_clock();
    frontier.push(with_deadline(9), (Some(2), Written::default()), false, false);
    assert_eq!(frontier.unseen_deadline(), None);
}

/// A search that must end decides nothing, and costs nothing more.
#[test]
fn a_search_that_is_stopped_is_at_its_limit() {
    let (mut frontier, mut history) = (frontier(), history(1..=9));
    let stop = AtomicBool::new(false);
    let tried = std::cell::Cell::new(0);
    let judge = |view: &View<'_>, findings: &mut Findings| {
        tried.set(tried.get() + 1);
        stop.store(tried.get() == 3, std::sync::atomic::Ordering::Relaxed);
        pods_seen(100)(view, findings);
    };
    let choice = (Versions::Stored, Bounds::default());
    assert!(matches!(search_until(&stop, &mut frontier, &mut history, choice, &judge), Explained::Capped));
    assert_eq!(tried.get(), 3);
}

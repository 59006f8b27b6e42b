//! Watches: state, changes, bookmarks, expiry, and gates.

use jiff::Timestamp;
use jobcheck_apiserver::Config;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::faults::{Fault, Faults};
use jobcheck_apiserver::request::{PatchKind, Reply, Request, Verb, VersionMatch, WatchOptions};
use jobcheck_apiserver::resource::Resource::{Events, NewEvents, Pods};
use jobcheck_apiserver::watch::{Gate, Most, WatchInfo};
use serde_json::json;

use crate::cluster::{Cluster, pod, with};

fn label(cluster: &mut Cluster, name: &str, value: &str) {
    let body = json!({"metadata": {"labels": {"l": value}}});
    cluster.patch(Pods, name, PatchKind::Merge, body).unwrap();
}

fn seen(kinds: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    kinds.iter().map(|(kind, name)| (*kind, (*name).to_owned())).collect()
}

#[test]
fn a_watch_shows_the_state_and_then_the_changes() {
    let mut cluster = Cluster::new();
    cluster.create(Pods, pod("a")).unwrap();
    let from_now =
        WatchOptions { resource_version: Some(cluster.server.revision()), ..WatchOptions::default() };
    let (all, later) =
        (cluster.watch(Pods, WatchOptions::default()).unwrap(), cluster.watch(Pods, from_now).unwrap());
    assert_eq!(cluster.seen(all), seen(&[("ADDED", "a")]));
    cluster.create(Pods, pod("b")).unwrap();
    label(&mut cluster, "a", "1");
    cluster.delete(Pods, "a", json!({})).unwrap();
    let changes = seen(&[("ADDED", "b"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]);
    assert_eq!(cluster.seen(all), changes);
    assert_eq!(cluster.seen(later), changes);
    assert!(cluster.seen(all).is_empty());
}

#[test]
fn objects_enter_and_leave_a_selection() {
    let mut cluster = Cluster::new();
    let chosen = WatchOptions { labels: "l=1".into(), ..WatchOptions::default() };
    let watch = cluster.watch(Pods, chosen).unwrap();
    cluster.create(Pods, pod("a")).unwrap();
    label(&mut cluster, "a", "1");
    label(&mut cluster, "a", "2");
    let events = cluster.events(watch);
    assert_eq!(events.iter().map(|event| event.kind).collect::<Vec<_>>(), ["ADDED", "DELETED"]);
    let last = &events[1].object["metadata"];
    assert_eq!(last["labels"]["l"], "1");
    assert_eq!(last["resourceVersion"], cluster.server.revision().to_string());
}

#[test]
fn bookmarks_come_every_minute_and_the_watch_ends_in_time() {
    let mut cluster = Cluster::new();
    let options = WatchOptions { bookmarks: true, timeout_seconds: Some(90), ..WatchOptions::default() };
    let watch = cluster.watch(Pods, options).unwrap();
    assert!(cluster.events(watch).is_empty());
    assert_eq!(
        cluster.server.watches().next_wake(watch),
        Some(cluster.now + jiff::SignedDuration::from_secs(60))
    );
    cluster
        .create(jobcheck_apiserver::resource::Resource::Nodes, json!({"metadata": {"name": "n"}}))
        .unwrap();
    cluster.wait(60);
    let events = cluster.events(watch);
    assert_eq!((events.len(), events[0].kind), (1, "BOOKMARK"));
    assert_eq!(events[0].object["metadata"]["resourceVersion"], cluster.server.revision().to_string());
    cluster.wait(30);
    let now = cluster.now;
    assert!(cluster.server.take_events(now, watch, 10).closed);
    assert_eq!(cluster.server.watches().next_wake(watch), None);
}

#[test]
fn initial_events_end_with_a_marked_bookmark() {
    let mut cluster = Cluster::new();
    cluster.create(Pods, pod("a")).unwrap();
    let options = WatchOptions {
        bookmarks: true,
        initial_events: Some(true),
        version_match: Some(VersionMatch::NotOlderThan),
        ..WatchOptions::default()
    };
    let watch = cluster.watch(Pods, options.clone()).unwrap();
    let events = cluster.events(watch);
    assert_eq!(events.iter().map(|event| event.kind).collect::<Vec<_>>(), ["ADDED", "BOOKMARK"]);
    assert_eq!(events[1].object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let without = WatchOptions { version_match: None, ..options };
    assert_eq!(cluster.watch(Pods, without).unwrap_err().code, 422);
}

#[test]
fn a_compacted_version_is_expired() {
    let mut cluster = Cluster::with(Config { history: 2, ..Config::default() });
    let old = cluster.server.revision();
    let slow = cluster.watch(Pods, WatchOptions::default()).unwrap();
    for name in ["a", "b", "c"] {
        cluster.create(Pods, pod(name)).unwrap();
    }
    let asked =
        cluster.watch(Pods, WatchOptions { resource_version: Some(old), ..WatchOptions::default() }).unwrap();
    for watch in [slow, asked] {
        let now = cluster.now;
        let taken = cluster.server.take_events(now, watch, 10);
        assert!(taken.closed || taken.events[0].kind == "ERROR");
        assert_eq!((taken.events[0].kind, &taken.events[0].object["code"]), ("ERROR", &json!(410)));
        assert_eq!(taken.events[0].object["reason"], "Expired");
    }
}

#[test]
fn a_watch_is_held_released_and_coalesced() {
    let mut cluster = Cluster::new();
    let watch = cluster.watch(Pods, WatchOptions::default()).unwrap();
    let start = cluster.server.revision();
    assert!(cluster.server.watches().set_gate(watch, Gate::UpTo(start)));
    cluster.create(Pods, pod("a")).unwrap();
    cluster.create(Pods, pod("b")).unwrap();
    assert!(cluster.seen(watch).is_empty());
    cluster.server.watches().set_gate(watch, Gate::UpTo(start + 1));
    assert_eq!(cluster.seen(watch), seen(&[("ADDED", "a")]));
    label(&mut cluster, "b", "1");
    cluster.create(Pods, pod("c")).unwrap();
    cluster.delete(Pods, "c", json!({})).unwrap();
    cluster.delete(Pods, "a", json!({})).unwrap();
    cluster.create(Pods, pod("a")).unwrap();
    cluster.server.watches().set_coalescing(watch, true);
    cluster.server.watches().set_gate(watch, Gate::Open);
    let events = cluster.events(watch);
    let kinds: Vec<_> =
        events.iter().map(|event| (event.kind, event.object["metadata"]["name"].as_str().unwrap())).collect();
    assert_eq!(kinds, [("ADDED", "b"), ("MODIFIED", "a")]);
    assert_eq!(events[0].object["metadata"]["labels"]["l"], "1");
}

/// Objects change while watches wait that nobody reads. Without a bound they hold all versions.
#[test]
fn unread_watches_that_hold_much_are_ended() {
    let grow = |cluster: &mut Cluster, size: usize| {
        let body = json!({"metadata": {"annotations": {"a": "x".repeat(size)}}});
        cluster.patch(Pods, "a", PatchKind::Merge, body).unwrap();
    };
    for reads in [false, true] {
        let mut cluster = Cluster::with(Config { history: 1, unread_bytes: 50_000, ..Config::default() });
        cluster.create(Pods, pod("a")).unwrap();
        let mut watches = Vec::new();
        for number in 0..10 {
            grow(&mut cluster, 10_000 + number);
            watches.push(cluster.watch(Pods, WatchOptions::default()).unwrap());
            if reads {
                assert_eq!(cluster.seen(watches[number]), seen(&[("ADDED", "a")]));
            }
            cluster.wait(1);
        }
        let open = cluster.server.watches().infos().count();
        assert!(if reads { open == 10 } else { (5..9).contains(&open) }, "{open} watches are open");
        if !reads {
            let now = cluster.now;
            assert!(cluster.server.take_events(now, watches[0], 10).closed);
            assert_eq!(cluster.seen(watches[9]), seen(&[("ADDED", "a")]));
        }
    }
}

#[test]
fn a_reader_takes_events_up_to_a_weight() {
    let mut cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        cluster.create(Pods, pod(name)).unwrap();
    }
    let watch = cluster.watch(Pods, WatchOptions::default()).unwrap();
    cluster.create(Pods, pod("d")).unwrap();
    let now = cluster.now;
    let mut take =
        |events, bytes| cluster.server.take_some_events(now, watch, Most { events, bytes }).events.len();
    assert_eq!([take(10, 1), take(1, usize::MAX), take(10, 1_000_000), take(10, 10)], [1, 1, 2, 0]);
}

struct Scripted(Vec<(&'static str, bool, Fault)>);

impl Scripted {
    fn take(&mut self, request: &Request, after: bool) -> Option<Fault> {
        let place =
            self.0.iter().position(|(verb, late, _)| *verb == request.verb.name() && *late == after)?;
        Some(self.0.remove(place).2)
    }
}

impl Faults for Scripted {
    fn before(&mut self, _: Timestamp, request: &Request) -> Option<Fault> {
        self.take(request, false)
    }

    fn after(&mut self, _: Timestamp, request: &Request, _: &Result<Reply, ApiError>) -> Option<Fault> {
        self.take(request, true)
    }

    fn watch_gate(&mut self, watch: &WatchInfo) -> Gate {
        Gate::UpTo(watch.cursor)
    }
}

#[test]
fn faults_strike_before_or_after_the_commit() {
    let mut cluster = Cluster::new();
    cluster.server.set_faults(Some(Box::new(Scripted(vec![
        ("create", false, Fault::Answer(ApiError::too_many_requests(1))),
        ("create", true, Fault::Answer(ApiError::timeout("request did not complete"))),
        ("get", true, Fault::Drop),
    ]))));
    assert_eq!(cluster.create(Pods, pod("a")).unwrap_err().code, 429);
    assert_eq!(cluster.create(Pods, pod("a")).unwrap_err().code, 504);
    let get = crate::cluster::on(Pods, "a", Verb::Get { resource_version: None });
    assert_eq!(cluster.ask(&get).code(), 0);
    // The response of the second create was lost after the commit.
    assert_eq!(cluster.create(Pods, pod("a")).unwrap_err().code, 409);
    let watch = cluster
        .watch(
            Pods,
            WatchOptions { resource_version: Some(cluster.server.revision()), ..WatchOptions::default() },
        )
        .unwrap();
    cluster.create(Pods, pod("b")).unwrap();
    assert!(cluster.seen(watch).is_empty());
    cluster.server.watches().set_gate(watch, Gate::Open);
    assert_eq!(cluster.seen(watch), seen(&[("ADDED", "b")]));
}

#[test]
fn events_are_one_object_in_two_forms() {
    let mut cluster = Cluster::new();
    let watch = cluster.watch(NewEvents, WatchOptions::default()).unwrap();
    let event = json!({"metadata": {"name": "e.1"}, "involvedObject": {"kind": "Job", "name": "j", "namespace": "default"},
        "reason": "R", "message": "m", "type": "Normal", "count": 2});
    cluster.create(Events, event.clone()).unwrap();
    let new = cluster.get(NewEvents, "e.1").unwrap();
    assert_eq!(
        (&new["apiVersion"], &new["note"], &new["regarding"]["name"]),
        (&json!("events.k8s.io/v1"), &json!("m"), &json!("j"))
    );
    assert_eq!(cluster.events(watch)[0].object, new);
    let elsewhere = with(&event, "/involvedObject/namespace", json!("other"));
    assert_eq!(
        cluster.create(Events, with(&elsewhere, "/metadata/name", json!("e.2"))).unwrap_err().code,
        422
    );
}

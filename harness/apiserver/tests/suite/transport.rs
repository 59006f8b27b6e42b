//! The server as the transport of a kube client, under paused time.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, pin_mut};
use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::faults::{Fault, Faults};
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, TokioClock};
use jobcheck_apiserver::request::{Reply, Request};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::watch::Gate;
use jobcheck_apiserver::{Config, Server};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy, WatchEvent, WatchParams,
};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::cluster::{START, job, pod};

fn cluster() -> (SharedServer, Client) {
    cluster_with(Config::default())
}

fn cluster_with(config: Config) -> (SharedServer, Client) {
    let start: Timestamp = START.parse().unwrap();
    let server = Server::new(config, start);
    let shared = SharedServer::new(server, TokioClock::starting_at(start));
    let service = ApiService::new(shared.clone(), Auth::Everyone("me".into()));
    (shared, Client::new(service, "default"))
}

fn typed<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_typed_client_writes_and_reads() {
    let (_, client) = cluster();
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let created = jobs.create(&PostParams::default(), &typed(job("j"))).await.unwrap();
    assert_eq!(created.spec.unwrap().completions, Some(1));
    let taken = jobs.create(&PostParams::default(), &typed(job("j"))).await.unwrap_err();
    let kube::Error::Api(status) = taken else { panic!("{taken}") };
    assert_eq!((status.code, status.reason.as_str()), (409, "AlreadyExists"));
    let patch = Patch::Merge(json!({"status": {"active": 1, "startTime": START}}));
    let patched = jobs.patch_status("j", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.status.unwrap().active, Some(1));
    let listed = jobs.list(&ListParams::default().fields("metadata.name=j")).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    let metadata = jobs.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(metadata.items[0].name_any(), "j");
    let background =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Background), ..DeleteParams::default() };
    assert!(jobs.delete("j", &background).await.unwrap().right().unwrap().is_success());
    assert!(jobs.get_opt("j").await.unwrap().is_none());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 4);
    assert_eq!(client.apiserver_version().await.unwrap().minor, "36");
}

#[tokio::test(start_paused = true)]
async fn a_reflector_follows_and_can_be_held_back() {
    let (shared, client) = cluster();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let (store, writer) = reflector::store();
    let events = reflector(writer, watcher(pods.clone(), watcher::Config::default()));
    let following = tokio::spawn(events.for_each(|_| async {}));
    store.wait_until_ready().await.unwrap();
    let settle = || tokio::time::sleep(Duration::from_millis(10));
    pods.create(&PostParams::default(), &typed(pod("a"))).await.unwrap();
    settle().await;
    assert_eq!(store.len(), 1);
    let held = shared.with(|server, _| {
        let watches = server.watches();
        let watch = watches.infos().find(|info| info.resource == Resource::Pods).unwrap().clone();
        watches.set_gate(watch.id, Gate::UpTo(watch.cursor));
        watch.id
    });
    pods.create(&PostParams::default(), &typed(pod("b"))).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(store.len(), 1);
    shared.with(|server, _| server.watches().set_gate(held, Gate::Open));
    settle().await;
    assert_eq!(store.len(), 2);
    // The watch expires, and the reflector lists again.
    shared.with(|server, _| {
        let revision = server.revision();
        server.watches().close(held);
        server.compact(revision);
    });
    pods.create(&PostParams::default(), &typed(pod("c"))).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(store.len(), 3);
    following.abort();
}

#[tokio::test(start_paused = true)]
async fn a_raw_watch_has_bookmarks_and_an_end() {
    let (shared, client) = cluster();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let started = tokio::time::Instant::now();
    let parameters = WatchParams::default().timeout(100);
    let events: Vec<WatchEvent<Pod>> =
        pods.watch(&parameters, "0").await.unwrap().try_collect().await.unwrap();
    assert!(matches!(&events[..], [WatchEvent::Bookmark(_), ..]), "{events:?}");
    assert_eq!(started.elapsed().as_secs(), 100);
    assert_eq!(shared.with(|server, _| server.watches().infos().count()), 0);
    // A dropped reader closes its watch.
    let watch = pods.watch(&WatchParams::default(), "0").await.unwrap();
    {
        pin_mut!(watch);
        assert!(futures_util::poll!(watch.next()).is_pending());
        assert_eq!(shared.with(|server, _| server.watches().infos().count()), 1);
    }
    assert_eq!(shared.with(|server, _| server.watches().infos().count()), 0);
}

struct Dropping;

impl Faults for Dropping {
    fn after(&mut self, _: Timestamp, request: &Request, _: &Result<Reply, ApiError>) -> Option<Fault> {
        (request.verb.name() == "create").then_some(Fault::Drop)
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_answer_is_an_error_of_the_transport() {
    let (shared, client) = cluster();
    shared.with(|server, _| server.set_faults(Some(Box::new(Dropping))));
    let pods: Api<Pod> = Api::default_namespaced(client);
    let error = pods.create(&PostParams::default(), &typed(pod("a"))).await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error}");
    assert!(pods.get_opt("a").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn restarted_watcher_sees_everything_with_streaming_lists() {
    let (_, client) = cluster();
    let pods: Api<Pod> = Api::default_namespaced(client);
    pods.create(&PostParams::default(), &typed(pod("a"))).await.unwrap();
    let config = watcher::Config::default().streaming_lists();
    let stream = watcher(pods.clone(), config).applied_objects();
    pin_mut!(stream);
    assert_eq!(stream.next().await.unwrap().unwrap().name_any(), "a");
    pods.create(&PostParams::default(), &typed(pod("b"))).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().name_any(), "b");
}

/// The list of the deleted pods would hold more than clients may leave unread, and would be cut.
#[tokio::test(start_paused = true)]
async fn a_large_collection_is_deleted_without_a_list() {
    let (_, client) = cluster_with(Config { unread_bytes: 100_000, history: 1, ..Config::default() });
    let pods: Api<Pod> = Api::default_namespaced(client);
    let delete = async || pods.delete_collection(&DeleteParams::default(), &ListParams::default()).await;
    for name in ["a", "b", "c"] {
        let mut large = pod(name);
        large["metadata"]["annotations"] = json!({"a": "x".repeat(40_000)});
        pods.create(&PostParams::default(), &typed(large)).await.unwrap();
    }
    let answer = delete().await.unwrap().right().unwrap();
    assert!(answer.is_success() && answer.message.contains("too large to be listed"), "{answer:?}");
    assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty());
    pods.create(&PostParams::default(), &typed(pod("a"))).await.unwrap();
    assert_eq!(delete().await.unwrap().left().unwrap().items.len(), 1);
}

//! Watches through the proxy.

use std::convert::Infallible;
use std::task::Poll;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use jobcheck_apiserver::request::{DeleteOptions, PatchKind, Verb};
use jobcheck_faultproxy::{Cut, Delivery, FaultProxy, Watched};
use jobcheck_serve::HttpServer;
use kube::Config;
use serde_json::{Value, json};

use crate::support::{PODS, Upstream, Watch, client, proxied, send, until};

const WATCH: &str = "/api/v1/namespaces/default/pods?watch=1&resourceVersion=0";

fn label(value: &str) -> Verb {
    Verb::Patch { kind: PatchKind::Merge, body: json!({"metadata": {"labels": {"l": value}}}) }
}

fn deletion() -> Verb {
    Verb::Delete(DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() })
}

#[tokio::test]
async fn a_watch_that_is_held_shows_nothing_until_it_is_released() {
    let upstream = Upstream::new().await;
    let (proxy, _, client) = proxied(&upstream).await;
    let mut watch = Watch::of(&client, WATCH).await;
    upstream.create("a");
    assert_eq!(watch.next_event().await, "ADDED a");
    proxy.hold(Watched::Pods);
    upstream.create("b");
    upstream.does(Some("a"), label("1"));
    until(|| proxy.undelivered(Watched::Pods) == 2).await;
    // A LIST is not held, but a watch that begins now is.
    let (_, list) = send(&client, "GET", PODS, &Value::Null).await.unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("/api/v1/namespaces/default/pods?watch=1&resourceVersion={version}");
    let mut second = Watch::of(&client, &path).await;
    upstream.create("c");
    until(|| proxy.undelivered(Watched::Pods) == 4).await;
    assert_eq!(proxy.open(Watched::Pods), 2);
    proxy.release(Watched::Pods, Delivery::Each);
    let mut events = Vec::new();
    for _ in 0..3 {
        events.push(watch.next_event().await);
    }
    assert_eq!(events, ["ADDED b", "MODIFIED a", "ADDED c"]);
    assert_eq!(second.next_event().await, "ADDED c");
    until(|| proxy.undelivered(Watched::Pods) == 0).await;
    drop((watch, second));
    until(|| proxy.open(Watched::Pods) == 0).await;
}

#[tokio::test]
async fn only_the_latest_of_the_held_states_can_be_delivered() {
    let upstream = Upstream::new().await;
    let (proxy, _, client) = proxied(&upstream).await;
    let mut watch = Watch::of(&client, WATCH).await;
    upstream.create("a");
    assert_eq!(watch.next_event().await, "ADDED a");
    proxy.hold(Watched::Pods);
    upstream.does(Some("a"), label("1"));
    upstream.create("b");
    upstream.does(Some("b"), deletion());
    upstream.create("c");
    upstream.does(Some("a"), label("2"));
    upstream.does(Some("c"), label("3"));
    until(|| proxy.undelivered(Watched::Pods) >= 6).await;
    proxy.release(Watched::Pods, Delivery::Latest);
    let (a, c) = (watch.next().await.unwrap().unwrap(), watch.next().await.unwrap().unwrap());
    assert_eq!((&a["type"], &a["object"]["metadata"]["labels"]["l"]), (&json!("MODIFIED"), &json!("2")));
    assert_eq!((&c["type"], &c["object"]["metadata"]["labels"]["l"]), (&json!("ADDED"), &json!("3")));
}

#[tokio::test]
async fn a_watch_ends_breaks_or_expires() {
    let upstream = Upstream::new().await;
    let (proxy, _, client) = proxied(&upstream).await;
    upstream.create("a");
    let mut watch = Watch::of(&client, WATCH).await;
    assert_eq!(watch.next_event().await, "ADDED a");
    proxy.cut(Watched::Pods, Cut::End);
    assert_eq!(watch.next().await, Ok(None));
    let mut watch = Watch::of(&client, WATCH).await;
    assert_eq!(watch.next_event().await, "ADDED a");
    proxy.cut(Watched::Pods, Cut::Break);
    assert!(watch.next().await.is_err());
    let mut watch = Watch::of(&client, WATCH).await;
    assert_eq!(watch.next_event().await, "ADDED a");
    proxy.hold(Watched::Pods);
    upstream.create("b");
    until(|| proxy.undelivered(Watched::Pods) == 1).await;
    proxy.cut(Watched::Pods, Cut::Expire);
    let last = watch.next().await.unwrap().unwrap();
    assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(watch.next().await, Ok(None));
}

#[tokio::test]
async fn watches_of_other_resources_and_of_metadata_are_not_held() {
    let upstream = Upstream::new().await;
    let (proxy, _, client) = proxied(&upstream).await;
    proxy.hold(Watched::Jobs);
    let mut watch = Watch::of(&client, WATCH).await;
    upstream.create("a");
    assert_eq!(watch.next_event().await, "ADDED a");
    proxy.hold(Watched::Pods);
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let request = Request::get(WATCH).header("accept", metadata);
    let answer = client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
    let mut of_metadata = Watch::reading(answer.into_body());
    assert_eq!(of_metadata.next_event().await, "ADDED a");
}

#[tokio::test]
async fn a_client_that_accepts_protobuf_gets_events_in_json() {
    let upstream = Upstream::new().await;
    let (_proxy, _, client) = proxied(&upstream).await;
    upstream.create("a");
    let request = Request::get(WATCH).header("accept", "application/vnd.kubernetes.protobuf");
    let answer = client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(Watch::reading(answer.into_body()).next_event().await, "ADDED a");
}

#[tokio::test]
async fn a_narrowed_client_sees_one_namespace() {
    let upstream = Upstream::new().await;
    upstream.create("a");
    let empty = FaultProxy::of(upstream.config.clone()).narrowed_to("kube-system").start().await.unwrap();
    let full = FaultProxy::of(upstream.config.clone()).narrowed_to("default").start().await.unwrap();
    let count = async |proxy| {
        let client = client(proxy).await;
        let (code, list) = send(&client, "GET", "/api/v1/pods?limit=500", &Value::Null).await.unwrap();
        assert_eq!(code, 200);
        list["items"].as_array().unwrap().len()
    };
    assert_eq!((count(&empty).await, count(&full).await), (0, 1));
    let mut watch = Watch::of(&client(&full).await, "/api/v1/pods?watch=true&resourceVersion=0").await;
    assert_eq!(watch.next_event().await, "ADDED a");
}

/// An API server that responds to each watch with these events, and keeps it open.
async fn scripted(events: &'static str) -> Config {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", server.address());
    let answer = move |request: Request<Incoming>| async move {
        let version = r#"{"major":"1","minor":"36","gitVersion":"v1.36.3","gitCommit":"","gitTreeState":"",
            "buildDate":"","goVersion":"","compiler":"","platform":""}"#;
        let is_watch = request.uri().path() != "/version";
        let first = Bytes::from(if is_watch { events } else { version });
        let first = stream::once(async { Ok::<_, Infallible>(Frame::data(first)) });
        // A watch stays open.
        let rest = stream::poll_fn(move |_| if is_watch { Poll::Pending } else { Poll::Ready(None) });
        Ok::<_, Infallible>(Response::new(StreamBody::new(first.chain(rest))))
    };
    tokio::spawn(server.serve(answer, std::future::pending()));
    Config::new(url.parse().unwrap())
}

#[tokio::test]
async fn initial_events_pass_although_the_watch_is_held() {
    let events = concat!(
        r#"{"type":"ADDED","object":{"metadata":{"name":"a","uid":"1"}}}"#,
        "\n",
        r#"{"type":"BOOKMARK","object":{"metadata":{"name":"","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
        "\n",
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","uid":"1"}}}"#,
        "\n"
    );
    let proxy = FaultProxy::of(scripted(events).await).start().await.unwrap();
    proxy.hold(Watched::Pods);
    let path = "/api/v1/pods?watch=true&sendInitialEvents=true";
    let mut watch = Watch::of(&client(&proxy).await, path).await;
    assert_eq!(watch.next_event().await, "ADDED a");
    assert_eq!(watch.next_event().await, "BOOKMARK ");
    until(|| proxy.undelivered(Watched::Pods) == 1).await;
    // Without initial events all events wait.
    let mut later = Watch::of(&client(&proxy).await, "/api/v1/pods?watch=true").await;
    until(|| proxy.undelivered(Watched::Pods) == 4).await;
    proxy.release(Watched::Pods, Delivery::Each);
    assert_eq!(
        (watch.next_event().await, later.next_event().await),
        ("MODIFIED a".to_owned(), "ADDED a".to_owned())
    );
}

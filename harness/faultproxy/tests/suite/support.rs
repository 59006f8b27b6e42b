//! An API server, a proxy before it, and a client of the proxy.

use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::request::{self, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::{Config as ServerConfig, Server};
use jobcheck_faultproxy::{FaultProxy, Handle, Rules};
use jobcheck_serve::HttpServer;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

/// An embedded API server over HTTP.
pub struct Upstream {
    pub server: SharedServer,
    pub config: Config,
}

impl Upstream {
    pub async fn new() -> Upstream {
        let server =
            SharedServer::new(Server::new(ServerConfig::default(), jiff::Timestamp::now()), SystemClock);
        let service = ApiService::new(server.clone(), Auth::Everyone("admin".to_owned()));
        let socket = HttpServer::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", socket.address());
        tokio::spawn(service.serve(socket, std::future::pending()));
        Upstream { server, config: Config::new(url.parse().unwrap()) }
    }

    /// The names of the stored pods.
    pub fn pods(&self) -> Vec<String> {
        self.server.with(|server, _| {
            let pods = server.store().scan(Resource::Pods, "");
            pods.map(|(_, pod)| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
        })
    }

    /// Sends a request that does not pass through the proxy.
    pub fn does(&self, name: Option<&str>, verb: Verb) {
        let request = request::Request::new(Resource::Pods, Some("default"), name, verb);
        let response = self.server.with(|server, now| server.handle(now, &request));
        assert!(response.outcome.is_ok(), "{response:?}");
    }

    /// Creates a pod without the proxy.
    pub fn create(&self, name: &str) {
        self.does(None, Verb::Create(pod(name)));
    }
}

/// Starts a proxy with rules, and a client of it.
pub async fn proxied(upstream: &Upstream) -> (Handle, Rules, Client) {
    let rules = Rules::default();
    let proxy = FaultProxy::of(upstream.config.clone()).decided_by(rules.clone()).start().await.unwrap();
    let client = client(&proxy).await;
    (proxy, rules, client)
}

/// The configuration of the proxy for its clients.
pub async fn config(proxy: &Handle) -> Config {
    let file = Kubeconfig::from_yaml(&proxy.kubeconfig().unwrap()).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    config
}

pub async fn client(proxy: &Handle) -> Client {
    Client::try_from(config(proxy).await).unwrap()
}

pub fn pod(name: &str) -> Value {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
}

pub const PODS: &str = "/api/v1/namespaces/default/pods";

/// The code and the body of a response. `None` if the connection ended without one.
pub async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let answer = client.send(request.body(Body::from(text)).unwrap()).await.ok()?;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.ok()?.to_bytes();
    Some((code, serde_json::from_slice(&bytes).unwrap_or_default()))
}

pub async fn create(client: &Client, name: &str) -> Option<u16> {
    send(client, "POST", PODS, &pod(name)).await.map(|(code, _)| code)
}

/// A watch that is read event by event.
pub struct Watch {
    body: Body,
    rest: String,
}

impl Watch {
    pub async fn of(client: &Client, path: &str) -> Watch {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = client.send(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        Watch::reading(answer.into_body())
    }

    /// A watch with this response.
    pub fn reading(body: Body) -> Watch {
        Watch { body, rest: String::new() }
    }

    /// The next event. `None` if the watch has ended, an error if it broke.
    pub async fn next(&mut self) -> Result<Option<Value>, String> {
        loop {
            if let Some((event, rest)) = self.rest.split_once('\n') {
                let event = serde_json::from_str(event).map_err(|error| error.to_string())?;
                self.rest = rest.to_owned();
                return Ok(Some(event));
            }
            let frame = tokio::time::timeout(Duration::from_secs(60), self.body.frame()).await;
            match frame.expect("an event or an end within a minute") {
                Some(Ok(frame)) => {
                    let data = frame.into_data().unwrap();
                    self.rest.push_str(std::str::from_utf8(&data).unwrap());
                }
                Some(Err(error)) => return Err(error.to_string()),
                None => return Ok(None),
            }
        }
    }

    /// The type and the name of the object of the next event.
    pub async fn next_event(&mut self) -> String {
        let event = self.next().await.unwrap().expect("the watch is open");
        format!(
            "{} {}",
            event["type"].as_str().unwrap(),
            event["object"]["metadata"]["name"].as_str().unwrap()
        )
    }
}

/// Waits until a condition holds.
pub async fn until(what: impl Fn() -> bool) {
    for _ in 0..6000 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the condition did not hold within a minute");
}

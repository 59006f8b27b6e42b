//! The embedded API server: its routes, patches, and selectors.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use http::Method;
use http_body_util::{BodyExt, Full};
use jiff::{SignedDuration, Timestamp};
use jobcheck_apiserver::http::{ApiService, Auth, Clock, SharedServer};
use jobcheck_apiserver::resource::Resource;
use jobcheck_apiserver::selector::Selector;
use jobcheck_apiserver::{Config, Server};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::{Signs, Target, sign};

/// The most requests of an input.
const MOST_REQUESTS: usize = 60;
/// The time for the first events of a watch.
const WATCHED: Duration = Duration::from_millis(2);

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

pub(super) fn requests() -> Target {
    Target {
        name: "server",
        about: "a request of the embedded API server a line; no code 500, each error is a Status, what was written can be \
                read and be written back without a change",
        seeds: scripts,
        run: run_requests,
        share: 4_000,
    }
}

pub(super) fn selectors() -> Target {
    Target {
        name: "selectors",
        about: "{labels, fields, object}; an error is one line, and the selection of nothing selects everything",
        seeds: all_selectors,
        run: select,
        share: 40_000,
    }
}

/// A clock that goes one second forward with each look.
#[derive(Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        let start = Timestamp::new(1_795_219_200, 0).unwrap_or_default();
        start + SignedDuration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn request(method: &str, path: &str, media: &str, body: Value) -> Value {
    json!({"method": method, "path": path, "type": media, "body": body})
}

fn job(name: &str) -> Value {
    let container = json!({"name": "main", "image": "busybox", "env": [{"name": "A", "value": "1"}]});
    let template = json!({"metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [container]}});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "finalizers": ["example.com/keep"]},
        "spec": {"completions": 3, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
            "ttlSecondsAfterFinished": 5, "template": template}})
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}})
}

/// Every kind of patch.
fn changes() -> Vec<Value> {
    let one = format!("{JOBS}/a");
    let status = json!({"status": {"active": 1, "startTime": "2026-11-21T00:00:00Z", "ready": 0,
        "conditions": [{"type": "Suspended", "status": "False"}]}});
    vec![
        request(
            "PATCH",
            &one,
            "application/json-patch+json",
            json!([
            {"op": "test", "path": "/metadata/name", "value": "a"},
            {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
            {"op": "replace", "path": "/spec/parallelism", "value": 1},
            {"op": "copy", "from": "/metadata/labels/x", "path": "/metadata/labels/z"},
            {"op": "move", "from": "/metadata/labels/z", "path": "/metadata/labels/w"},
            {"op": "remove", "path": "/metadata/finalizers/0"}]),
        ),
        request("PATCH", &one, "application/merge-patch+json", json!({"spec": {"suspend": true}})),
        request(
            "PATCH",
            &one,
            "application/strategic-merge-patch+json",
            json!({"metadata":
            {"$setElementOrder/finalizers": ["b"], "finalizers": ["b"], "$deleteFromPrimitiveList/finalizers": ["a"]}}),
        ),
        request(
            "PATCH",
            &format!("{PODS}/p"),
            "application/strategic-merge-patch+json",
            json!({"metadata":
            {"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "u", "controller": true}]}}),
        ),
        request(
            "PATCH",
            &format!("{JOBS}/n?fieldManager=me&force=true"),
            "application/apply-patch+yaml",
            job("n"),
        ),
        request("PATCH", &format!("{one}/status"), "application/merge-patch+json", status),
    ]
}

/// Reads of every kind, and paths beside the resources.
fn reads() -> Vec<Value> {
    let get = |path: &str| request("GET", path, "", Value::Null);
    vec![
        get(&format!("{JOBS}?labelSelector=a%20in%20(b,c),!d&limit=1")),
        get("/apis/batch/v1/jobs?fieldSelector=metadata.name%3Da"),
        get(&format!(
            "{PODS}?fieldSelector=status.phase%21%3DFailed&resourceVersion=0&resourceVersionMatch=NotOlderThan"
        )),
        get(&format!(
            "{JOBS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        )),
        get("/api"),
        get("/apis"),
        get("/apis/batch/v1"),
        get("/version"),
        get("/openapi/v3"),
        get("/readyz"),
        json!({"method": "GET", "path": JOBS, "accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}),
        json!({"method": "GET", "path": JOBS, "accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}),
    ]
}

/// Updates, subresources, deletions, and other resources.
fn ends() -> Vec<Value> {
    let plain = "application/json";
    let one = format!("{JOBS}/a");
    let mut update = job("a");
    update["spec"]["parallelism"] = json!(5);
    vec![
        request("PUT", &one, plain, update),
        request(
            "POST",
            &format!("{PODS}/p/binding"),
            plain,
            json!({"target": {"kind": "Node", "name": "node"}}),
        ),
        request(
            "POST",
            &format!("{PODS}/p/eviction"),
            plain,
            json!({"metadata": {"name": "p"}, "kind": "Eviction"}),
        ),
        request("DELETE", &format!("{PODS}/p?gracePeriodSeconds=0"), "", Value::Null),
        request(
            "DELETE",
            &one,
            plain,
            json!({"propagationPolicy": "Foreground", "preconditions": {"uid": "u"}}),
        ),
        request("DELETE", &format!("{JOBS}?labelSelector=x"), "", Value::Null),
        request("POST", "/api/v1/namespaces", plain, json!({"metadata": {"generateName": "n-"}})),
        request("PUT", "/api/v1/namespaces/n/finalize", plain, json!({"metadata": {"name": "n"}})),
        request(
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All",
            plain,
            json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "renewTime": "2026-11-21T00:00:00.000000Z"}}),
        ),
        request("POST", "/api/v1/nodes", plain, json!({"metadata": {"name": "node"}})),
    ]
}

/// Requests of every route.
fn scripts() -> Vec<Vec<u8>> {
    let plain = "application/json";
    let one = format!("{JOBS}/a");
    let create = vec![request("POST", JOBS, plain, job("a")), request("POST", PODS, plain, pod("p"))];
    let (changes, reads, ends) = (changes(), reads(), ends());
    let copies: Vec<Value> = (0..12)
        .map(|it| json!({"op": "copy", "from": "/metadata", "path": format!("/metadata/{it}")}))
        .collect();
    let write = |parts: &[&[Value]]| {
        let lines: Vec<String> = parts.iter().flat_map(|it| it.iter()).map(Value::to_string).collect();
        lines.join("\n").into_bytes()
    };
    let mut found = vec![
        write(&[&create, &changes, &reads, &ends]),
        write(&[&create, &changes]),
        write(&[&create, &reads]),
        write(&[&create, &[request("PATCH", &one, "application/json-patch+json", copies.into())]]),
        write(&[&create, &ends, &reads]),
    ];
    found.extend(changes.iter().chain(&ends).map(|one| write(&[&create, std::slice::from_ref(one)])));
    found
}

fn run_requests(bytes: &[u8]) -> Result<Signs, String> {
    let text = String::from_utf8_lossy(bytes);
    let runtime = Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
    let config =
        Config { implicit_namespaces: bytes.len().is_multiple_of(2), history: 50, ..Config::default() };
    let clock = Ticks::default();
    let server = SharedServer::new(Server::new(config, clock.now()), clock);
    let client = Client { service: ApiService::new(server, Auth::Everyone("someone".to_owned())), runtime };
    let mut signs = Signs::new();
    for line in text.lines().take(MOST_REQUESTS) {
        let Ok(asked) = serde_json::from_str::<Value>(line) else { continue };
        if let Some((code, body)) = client.ask(&asked)? {
            signs.insert(sign(&format!("{} {code} {} {}", asked["method"], body["kind"], body["message"])));
            client.check(&asked, code, &body)?;
        }
    }
    Ok(signs)
}

struct Client {
    service: ApiService,
    runtime: Runtime,
}

impl Client {
    /// The code and the body of the response. `None` if HTTP has no such request.
    fn ask(&self, asked: &Value) -> Result<Option<(u16, Value)>, String> {
        let text = |name: &str| asked[name].as_str().unwrap_or_default();
        let body = match &asked["body"] {
            Value::Null => Vec::new(),
            Value::String(raw) => raw.clone().into_bytes(),
            other => other.to_string().into_bytes(),
        };
        let request = http::Request::builder()
            .method(Method::from_bytes(text("method").as_bytes()).unwrap_or_default())
            .uri(text("path"))
            .header("content-type", text("type"))
            .header("accept", text("accept"))
            .body(Full::<bytes::Bytes>::from(body));
        let Ok(request) = request else { return Ok(None) };
        self.runtime.block_on(async {
            let response = self.service.answer(request).await.map_err(|error| error.to_string())?;
            let code = response.status().as_u16();
            let mut body = response.into_body();
            let mut bytes = Vec::new();
            // A watch does not end.
            while let Ok(Some(Ok(frame))) = tokio::time::timeout(WATCHED, body.frame()).await {
                bytes.extend(frame.data_ref().map(|data| data.to_vec()).unwrap_or_default());
            }
            Ok(Some((code, parsed(code, &bytes)?)))
        })
    }

    /// The oracle of a response.
    fn check(&self, asked: &Value, code: u16, body: &Value) -> Result<(), String> {
        // The API server fails for a strategic patch without the key of a list, and so does this one.
        let is_upstream = body["message"].as_str().is_some_and(|it| it.contains("declared merge key"));
        if code >= 500 && code != 504 && !is_upstream {
            return Err(format!("the code {code}: {}", body["message"]));
        }
        if code >= 400 && (body["kind"] != "Status" || body["code"] != code) {
            return Err(format!("the code {code} comes with {}", body["kind"]));
        }
        let path = asked["path"].as_str().unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let method = asked["method"].as_str().unwrap_or_default();
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        let is_whole = body["metadata"]["uid"].is_string() && body["apiVersion"] != "meta.k8s.io/v1";
        let is_write = matches!(method, "POST" | "PUT" | "PATCH") && matches!(code, 200 | 201);
        let is_stored =
            !query.contains("dryRun") && !path.ends_with("/binding") && !path.ends_with("/eviction");
        if !(is_write && is_whole && is_stored) || body["metadata"]["deletionTimestamp"].is_string() {
            return Ok(());
        }
        let path = path.trim_end_matches("/status").trim_end_matches("/finalize");
        let one =
            if method == "POST" { format!("{}/{name}", path.trim_end_matches('/')) } else { path.to_owned() };
        self.check_stored(&one, body)
    }

    /// A read shows the answer to a write, which can be written back without a change.
    fn check_stored(&self, path: &str, body: &Value) -> Result<(), String> {
        let read = self.ask(&request("GET", path, "", Value::Null))?;
        let Some((200, stored)) = read else {
            return Err(format!(
                "what was written is not there: {}",
                read.map(|it| it.1["message"].clone()).unwrap_or_default()
            ));
        };
        if stored != *body {
            return Err("what was written is read otherwise".to_owned());
        }
        match self.ask(&request("PUT", path, "application/json", stored))? {
            Some((200, again)) if again == *body => Ok(()),
            Some((200, _)) => Err("an object that is written back changes".to_owned()),
            other => {
                let message = other.map(|it| it.1["message"].clone()).unwrap_or_default();
                Err(format!("what is stored cannot be written back: {message}"))
            }
        }
    }
}

/// The body of a response. That of a watch is its first event.
fn parsed(code: u16, bytes: &[u8]) -> Result<Value, String> {
    let line = bytes.split(|byte| *byte == b'\n').find(|line| !line.is_empty());
    match serde_json::from_slice(bytes).or_else(|_| serde_json::from_slice(line.unwrap_or_default())) {
        Ok(value) => Ok(value),
        // Health checks answer with text.
        Err(_) if code == 200 => Ok(Value::Null),
        Err(error) => Err(format!("the body of a response with the code {code} is not JSON: {error}")),
    }
}

fn all_selectors() -> Vec<Vec<u8>> {
    let labels = ["a=b,c!=d", "a in (b,c),d notin (e)", "a,!b", "a>1,b<2", "x.y/z==1", "a in ()", " a , b "];
    let fields =
        ["", "metadata.name=a", "status.phase!=Failed,spec.nodeName=", "status.successful=1", "a\\=b=c"];
    let object =
        json!({"metadata": {"name": "a", "labels": {"a": "b", "b": "3"}}, "status": {"phase": "Failed"}});
    let one = |labels: &&str, fields: &&str| json!({"labels": labels, "fields": fields, "object": object});
    labels
        .iter()
        .flat_map(|it| fields.iter().map(move |other| one(it, other).to_string().into_bytes()))
        .collect()
}

fn select(bytes: &[u8]) -> Result<Signs, String> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Ok(Signs::new()) };
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let mut signs = Signs::new();
    for resource in [Resource::Jobs, Resource::Pods] {
        match Selector::parse(resource, text("labels"), text("fields")) {
            Err(error) => drop(signs.insert(sign(&error))),
            Ok(selector) => {
                let object = Arc::new(value["object"].clone());
                let matches = selector.matches(&object);
                if selector.is_everything() && !matches {
                    return Err("a selector of everything does not select an object".to_owned());
                }
                signs.insert(
                    format!("{resource:?} {matches} {selector:?}")
                        .chars()
                        .filter(|it| !it.is_ascii_digit())
                        .take(40)
                        .collect(),
                );
            }
        }
    }
    Ok(signs)
}

//! Recordings by watches.

use std::net::SocketAddr;
use std::path::Path;

use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::{Config, Server};
use jobcheck_serve::HttpServer;
use kube::Client;
use kube::api::{Api, DeleteParams};
use rustix::process::Signal;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Recording, assert_conforms, run_a_job, verdict};
use crate::cluster::Clusters;
use crate::support::{Controller, Folder, controller, replay};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_runs_on_the_embedded_api_server_is_recorded_and_conforms() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let cluster = clusters.one("default");
    let (client, file) = (clusters.client("default").await, cluster["kubeconfig"].as_str().unwrap());
    let _controller = controller(file);
    run_a_job(client.clone(), "before").await;

    let folder = Folder::new();
    let begin = |name: &str, arguments: &[&str]| {
        Recording::begin(folder.path(name), &[&["--kubeconfig", file], arguments].concat())
    };
    let mine = begin("mine.jsonl", &[]);
    let labelled = begin("labelled.jsonl", &["-A", "-l", "!nobody-has-it"]);
    let others = begin("others.jsonl", &["-n", "elsewhere", "-n", "kube-system"]);
    let none = begin("none.jsonl", &["-A", "-l", "team=a"]);
    run_a_job(client.clone(), "one").await;

    // A Job that finished before the recording and does not change is not recorded.
    for recording in [mine, labelled] {
        let trace = recording.trace.clone();
        let run = recording.end(Signal::INT);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.out.starts_with("recorded 1 Job and 2 pods in ") && run.err.is_empty(), "{run:?}");
        assert!(run.out.contains(&format!("; judge it: jobcheck replay {}", trace.display())), "{run:?}");
        assert_conforms(&trace, "one");
    }
    let run = others.end(Signal::TERM);
    assert!(run.code == 0 && run.out.starts_with("recorded 0 Jobs and 0 pods in 0 records"), "{run:?}");
    assert!(run.err.contains("there is no namespace elsewhere yet"), "{run:?}");
    assert!(none.end(Signal::INT).out.starts_with("recorded 0 Jobs"));

    // A change of it is recorded.
    let deleted = begin("deleted.jsonl", &[]);
    let jobs: Api<k8s_openapi::api::batch::v1::Job> = Api::default_namespaced(client);
    jobs.delete("before", &DeleteParams::background()).await.unwrap();
    let mut deleted = deleted;
    deleted.until("\"type\":\"DELETED\"");
    assert!(deleted.text().contains("\"name\":\"before\"") && !deleted.text().contains("\"name\":\"one\""));
    assert_eq!(deleted.end(Signal::INT).code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_interrupted_in_the_middle_can_be_read_and_ends_by_itself_after_its_time() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let cluster = clusters.one("default");
    let (client, file) = (clusters.client("default").await, cluster["kubeconfig"].as_str().unwrap());
    let _controller = controller(file);
    let folder = Folder::new();
    let timed = Recording::begin(folder.path("timed.jsonl"), &["--kubeconfig", file, "--for", "1s"]);
    let mut recording = Recording::begin(folder.path("half.jsonl"), &["--kubeconfig", file, "-A"]);
    let running = tokio::spawn(async move { run_a_job(client, "half").await });
    recording.until("\"kind\":\"Pod\"");
    let trace = recording.trace.clone();
    let run = recording.end(Signal::INT);
    assert_eq!(run.code, 0, "{run:?}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let last = text.lines().last().unwrap();
    assert!(text.ends_with('\n') && last.contains("\"kind\":\"end\""), "{text}");
    assert_ne!(verdict(&trace).0, "violates", "{text}");
    assert_eq!(timed.wait().code, 0);
    running.await.unwrap();
}

/// An embedded API server in this process, which can be offline for a while.
struct Embedded {
    server: SharedServer,
    address: SocketAddr,
    stop: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Embedded {
    async fn new() -> Embedded {
        let server = Server::new(Config::default(), jiff::Timestamp::now());
        let server = SharedServer::new(server, SystemClock);
        let mut embedded = Embedded { server, address: SocketAddr::from(([127, 0, 0, 1], 0)), stop: None };
        embedded.begin().await;
        embedded
    }

    /// Listens at the same address as before.
    async fn begin(&mut self) {
        let socket = HttpServer::bind(self.address).await.unwrap();
        self.address = socket.address();
        let service = ApiService::new(self.server.clone(), Auth::Everyone("admin".to_owned()));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            service.serve(socket, async { drop(stopped.await) }).await.unwrap();
        });
        self.stop = Some((stop, serving));
    }

    /// Closes all connections, and stops listening.
    async fn end(&mut self) {
        let (stop, serving) = self.stop.take().unwrap();
        drop(stop);
        serving.await.unwrap();
    }

    /// Compacts the history.
    fn compact(&self) {
        self.server.with(|server, _| {
            let revision = server.revision();
            server.compact(revision);
        });
    }

    fn kubeconfig(&self, path: &Path) {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster:\n    server: http://{}\n\
             contexts:\n- name: c\n  context: {{cluster: c, user: u}}\nusers:\n- name: u\n  user: {{}}\n",
            self.address
        );
        std::fs::write(path, text).unwrap();
    }

    /// A client without a connection.
    fn client(&self) -> Client {
        let service = ApiService::new(self.server.clone(), Auth::Everyone("admin".to_owned()));
        Client::new(service, "default")
    }
}

/// A controller without a connection.
async fn away(embedded: &mut Embedded, is_compacted: bool, folder: &Folder) -> (Recording, Controller) {
    let file = folder.path("kubeconfig");
    embedded.kubeconfig(&file);
    let file = file.to_str().unwrap().to_owned();
    let controller = controller(&file);
    run_a_job(embedded.client(), "before").await;
    let mut recording =
        Recording::begin(folder.path("away.jsonl"), &["--kubeconfig", &file, "-n", "default"]);
    run_a_job(embedded.client(), "first").await;
    recording.until("\"type\":\"Complete\"");
    embedded.end().await;
    // The watches miss a change of each resource, which compaction makes unrecoverable.
    touch(&embedded.client()).await;
    if is_compacted {
        embedded.compact();
    }
    embedded.begin().await;
    run_a_job(embedded.client(), "second").await;
    (recording, controller)
}

async fn touch(client: &Client) {
    use k8s_openapi::api::batch::v1::Job;
    use k8s_openapi::api::core::v1::Pod;
    use kube::api::{ListParams, Patch, PatchParams};
    use serde_json::json;
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"touched": "yes"}}}));
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    for job in ["before", "first"] {
        jobs.patch(job, &PatchParams::default(), &labelled).await.unwrap();
    }
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        pods.patch(&pod.metadata.name.unwrap(), &PatchParams::default(), &labelled).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_broke_off_goes_on_where_it_was() {
    let (folder, mut embedded) = (Folder::new(), Embedded::new().await);
    let (recording, _controller) = away(&mut embedded, false, &folder).await;
    let trace = recording.trace.clone();
    let run = recording.end(Signal::INT);
    assert!(run.code == 0 && run.out.starts_with("recorded 3 Jobs and 6 pods"), "{run:?}");
    assert_eq!(std::fs::read_to_string(&trace).unwrap().matches("\"touched\":\"yes\"").count(), 6);
    // The Job that had ended before is judged in part.
    assert_eq!(verdict(&trace), ("inconclusive".to_owned(), 3));
    for job in ["default/first", "default/second"] {
        let run = replay(["--job".as_ref(), job.as_ref(), trace.as_path()]);
        assert_eq!(run.code, 0, "{run:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_has_expired_is_a_gap_and_the_verdict_inconclusive() {
    let (folder, mut embedded) = (Folder::new(), Embedded::new().await);
    let (recording, _controller) = away(&mut embedded, true, &folder).await;
    let trace = recording.trace.clone();
    let run = recording.end(Signal::INT);
    assert!(run.code == 3 && run.out.contains(", 2 gaps"), "{run:?}");
    let text = std::fs::read_to_string(&trace).unwrap();
    for resource in ["jobs", "pods"] {
        let marked = |line: &str| {
            line.contains("\"kind\":\"gap\"") && line.contains(&format!("\"resource\":\"{resource}\""))
        };
        assert!(text.lines().any(marked), "{text}");
    }
    // The lines before the gap precede it.
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is not in {text}"));
    assert!(at("\"name\":\"before\"") < at("\"kind\":\"gap\""), "{text}");
    assert_eq!(verdict(&trace), ("inconclusive".to_owned(), 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_gone_at_the_end_is_a_gap() {
    let (folder, mut embedded) = (Folder::new(), Embedded::new().await);
    let file = folder.path("kubeconfig");
    embedded.kubeconfig(&file);
    let recording = Recording::begin(folder.path("gone.jsonl"), &["--kubeconfig", file.to_str().unwrap()]);
    embedded.end().await;
    let run = recording.end(Signal::INT);
    assert!(run.code == 3 && run.err.contains("at the end the API server could not be asked"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_has_lost_what_it_held_is_a_gap() {
    let (folder, mut embedded) = (Folder::new(), Embedded::new().await);
    let file = folder.path("kubeconfig");
    embedded.kubeconfig(&file);
    let _controller = controller(file.to_str().unwrap());
    let mut recording =
        Recording::begin(folder.path("lost.jsonl"), &["--kubeconfig", file.to_str().unwrap()]);
    run_a_job(embedded.client(), "one").await;
    recording.until("\"type\":\"Complete\"");
    embedded.end().await;
    let server = Server::new(Config::default(), jiff::Timestamp::now());
    embedded.server = SharedServer::new(server, SystemClock);
    embedded.begin().await;
    let trace = recording.trace.clone();
    let run = recording.end(Signal::INT);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(verdict(&trace), ("inconclusive".to_owned(), 3));
}

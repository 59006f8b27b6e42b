//! `jobcheck cluster` with the embedded API server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::TryStreamExt;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::schema;
use crate::support::{Folder, Run, binary, finish, jobcheck};

/// The clusters of one test, which are stopped at its end.
pub struct Clusters(Folder);

impl Drop for Clusters {
    fn drop(&mut self) {
        self.run(&["down", "--all"]);
    }
}

impl Clusters {
    pub fn new() -> Clusters {
        Clusters(Folder::new())
    }

    /// The folder of the clusters.
    pub fn home(&self) -> PathBuf {
        self.0.path("")
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        finish(binary().env("JOBCHECK_HOME", self.0.path("")).arg("cluster").args(arguments), b"")
    }

    /// Runs a command that must succeed.
    pub fn ok(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {run:?}");
        run
    }

    /// Starts a command without waiting for its end.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = binary();
        command.env("JOBCHECK_HOME", self.0.path("")).arg("cluster").args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// All clusters, from a report that fits its schema.
    pub fn status(&self) -> Vec<Value> {
        let report = self.run(&["status", "-o", "json"]).json();
        schema::check(&report);
        report["clusters"].as_array().unwrap().clone()
    }

    /// The cluster of this name.
    pub fn one(&self, name: &str) -> Value {
        self.status().into_iter().find(|it| it["name"] == name).unwrap_or_default()
    }

    /// Waits until a cluster satisfies a predicate.
    pub fn until(&self, name: &str, what: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..600 {
            let cluster = self.one(name);
            if what(&cluster) {
                return cluster;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("still not after a minute: {:?}", self.one(name));
    }

    /// A client for the file that `env` names.
    pub async fn client(&self, name: &str) -> Client {
        let printed = self.ok(&["env", "--name", name]).out;
        let file = printed.trim().strip_prefix("export KUBECONFIG=").unwrap_or_else(|| panic!("{printed}"));
        let file = Kubeconfig::read_from(file.trim_matches('\'')).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.path("clusters")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Asserts that no file is left, and that none of these processes runs.
    pub fn assert_gone(&self, processes: &[u32]) {
        assert_eq!(self.files(), Vec::<PathBuf>::new());
        for pid in processes {
            assert!(!is_running(*pid), "{pid} still runs");
        }
    }
}

/// The processes of a cluster.
pub fn processes(cluster: &Value) -> Vec<u32> {
    let components = cluster["components"].as_array().into_iter().flatten();
    components.map(|it| u32::try_from(it["pid"].as_u64().unwrap()).unwrap()).collect()
}

/// Returns whether a process runs. A zombie does not.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

pub fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

pub fn job(name: &str) -> Job {
    let container = json!({"name": "c", "image": "busybox"});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let job = json!({"metadata": {"name": name}, "spec": {"completions": 2, "parallelism": 2, "template": template}});
    serde_json::from_value(job).unwrap()
}

#[tokio::test]
async fn an_embedded_cluster_serves_jobs_until_it_is_stopped() {
    let clusters = Clusters::new();
    let up = clusters.ok(&["up", "--embedded"]);
    for line in [
        "cluster default is ready: embedded",
        "server      http://127.0.0.1:",
        "kubeconfig  ",
        "stop it     ",
    ] {
        assert!(up.out.contains(line), "{line:?} is not in {}", up.out);
    }
    let cluster = clusters.one("default");
    assert_eq!((&cluster["health"], &cluster["kind"]), (&json!("ready"), &json!("embedded")), "{cluster}");

    let jobs: Api<Job> = Api::default_namespaced(clusters.client("default").await);
    jobs.create(&PostParams::default(), &job("first")).await.unwrap();
    let list = jobs.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    assert_eq!(list.items.len(), 1);
    jobs.create(&PostParams::default(), &job("second")).await.unwrap();
    let watch = jobs.watch(&WatchParams::default(), &version).await.unwrap();
    let event = Box::pin(watch).try_next().await.unwrap();
    assert!(matches!(&event, Some(WatchEvent::Added(job)) if job.metadata.name.as_deref() == Some("second")));
    let audit = fs::read_to_string(cluster["auditLog"].as_str().unwrap()).unwrap();
    assert_eq!(audit.lines().filter(|line| line.contains("\"verb\":\"create\"")).count(), 2, "{audit}");

    let down = clusters.ok(&["down"]);
    assert_eq!(down.out, "cluster default is stopped\n");
    clusters.assert_gone(&processes(&cluster));
    assert_eq!(clusters.run(&["env"]).code, 4);
    assert!(clusters.ok(&["down"]).err.contains("there is no cluster default"));
}

#[tokio::test]
async fn an_embedded_cluster_with_a_token_refuses_clients_without_it() {
    let clusters = Clusters::new();
    let up = clusters.ok(&["up", "--embedded", "--token"]);
    assert!(up.out.contains("embedded with a token") && up.out.contains("https://127.0.0.1:"), "{}", up.out);
    let cluster = clusters.one("default");
    let state = (&cluster["health"], &cluster["kind"]);
    assert_eq!(state, (&json!("ready"), &json!("embedded-with-token")), "{cluster}");
    let client = clusters.client("default").await;
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    jobs.create(&PostParams::default(), &job("first")).await.unwrap();

    let kubeconfig = PathBuf::from(cluster["kubeconfig"].as_str().unwrap());
    let mode = fs::metadata(&kubeconfig).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let file = Kubeconfig::read_from(&kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.token = Some("0123456789abcdef0123456789abcdef".to_owned().into());
    let stranger: Api<Job> = Api::default_namespaced(Client::try_from(config).unwrap());
    let refused = stranger.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401), "{refused}");
    clusters.ok(&["down"]);
}

/// The status code when the template of a Job that had started is changed after its suspension.
async fn template_of_a_started_job(client: kube::Client) -> u16 {
    let jobs: Api<Job> = Api::default_namespaced(client);
    jobs.create(&PostParams::default(), &job("pi")).await.unwrap();
    let merge = |patch: Value| Patch::Merge(patch);
    let params = PatchParams::default();
    jobs.patch("pi", &params, &merge(json!({"spec": {"suspend": true}}))).await.unwrap();
    let condition = json!({"type": "Suspended", "status": "True"});
    let status = json!({"startTime": "2026-01-01T00:00:00Z", "conditions": [condition]});
    jobs.patch_status("pi", &params, &merge(json!({"status": status}))).await.unwrap();
    let pod = json!({"nodeSelector": {"zone": "b"}});
    match jobs.patch("pi", &params, &merge(json!({"spec": {"template": {"spec": pod}}}))).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn an_embedded_cluster_is_like_the_version_that_is_asked_for() {
    let clusters = Clusters::new();
    for (version, release, code) in [("1.35", "1.35.4", 422), ("v1.36.3", "1.36.3", 200)] {
        let up = clusters.ok(&["up", "--embedded", "--kubernetes", version]);
        assert!(up.out.contains(&format!("is ready: embedded, like Kubernetes {release}\n")), "{}", up.out);
        let cluster = clusters.one("default");
        assert_eq!(cluster["kubernetes"], release);
        let kubeconfig = fs::read_to_string(cluster["kubeconfig"].as_str().unwrap()).unwrap();
        assert!(kubeconfig.starts_with(&format!("# Kubernetes {release}\n")), "{kubeconfig}");
        assert!(
            clusters.ok(&["status"]).out.contains(&format!("embedded, like Kubernetes {release}, http:"))
        );
        let client = clusters.client("default").await;
        assert_eq!(client.apiserver_version().await.unwrap().git_version, format!("v{release}"));
        assert_eq!(template_of_a_started_job(client).await, code, "{release}");
        clusters.ok(&["down"]);
    }
}

#[test]
fn an_unknown_version_is_wrong_usage_and_the_known_ones_are_listed() {
    let clusters = Clusters::new();
    for embedded in [&["--embedded"][..], &[]] {
        let run = clusters.run(&[&["up", "--kubernetes", "1.34"], embedded].concat());
        assert!(
            run.code == 2 && run.err.contains("expected one of 1.36 (1.36.3), 1.35 (1.35.4), 1.37 (1.37.2)"),
            "{run:?}"
        );
    }
}

#[test]
fn a_cluster_that_runs_is_left_as_it_is_and_not_mistaken_for_another() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let before = processes(&clusters.one("default"));
    let again = clusters.ok(&["up", "--embedded"]);
    assert!(again.err.contains("already runs") && again.out.contains("is ready"), "{again:?}");
    for other in [
        &["up", "--embedded", "--port", "1"][..],
        &["up", "--embedded", "--foreground"],
        &["up", "--embedded", "--kubernetes", "1.35"],
    ] {
        let run = clusters.run(other);
        assert!(run.code == 2 && run.err.contains("with other settings"), "{run:?}");
    }
    assert_eq!(processes(&clusters.one("default")), before);
}

#[test]
fn clusters_of_different_names_run_side_by_side() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded", "--name", "one"]);
    clusters.ok(&["up", "--embedded", "--name", "two"]);
    let (one, two) = (clusters.one("one"), clusters.one("two"));
    assert!(one["server"] != two["server"] && one["health"] == two["health"], "{one} {two}");
    let table = clusters.ok(&["status"]).out;
    assert!(table.contains("one ") && table.contains("two "), "{table}");
    clusters.ok(&["down", "--name", "one"]);
    assert_eq!((clusters.one("one"), &clusters.one("two")["health"]), (Value::Null, &json!("ready")));
    clusters.ok(&["down", "--all"]);
    clusters.assert_gone(&[processes(&one), processes(&two)].concat());
    assert_eq!(clusters.ok(&["status"]).out, "no cluster runs\n");
}

#[test]
fn of_two_processes_that_start_the_same_cluster_one_starts_it() {
    let clusters = Clusters::new();
    let mut both = [(); 2].map(|()| clusters.spawn(&["up", "--embedded"]));
    for child in &mut both {
        assert!(child.wait().unwrap().success());
    }
    let cluster = clusters.one("default");
    assert_eq!((&cluster["health"], processes(&cluster).len()), (&json!("ready"), 1), "{cluster}");
    clusters.ok(&["down"]);
    clusters.assert_gone(&processes(&cluster));
}

#[test]
fn a_killed_server_is_reported_and_started_again() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let before = processes(&clusters.one("default"));
    kill(before[0], Signal::KILL);
    let gone = clusters.until("default", |it| it["health"] == "gone");
    assert_eq!(gone["components"][0]["health"], "gone");
    assert_eq!(clusters.run(&["status"]).code, 4);
    let env = clusters.run(&["env"]);
    assert!(env.code == 4 && env.out.is_empty() && env.err.contains("is gone"), "{env:?}");
    assert!(clusters.ok(&["up", "--embedded"]).err.contains("was removed"));
    assert_ne!(processes(&clusters.one("default")), before);
}

#[test]
fn the_cluster_of_a_killed_owner_is_removed_by_the_next_start_of_any_cluster() {
    let clusters = Clusters::new();
    let mut held = clusters.spawn(&["up", "--embedded", "--foreground", "--name", "held"]);
    let before = clusters.until("held", |it| it["health"] == "ready");
    assert_eq!(before["owner"], held.id());
    held.kill().unwrap();
    held.wait().unwrap();
    assert!(is_running(processes(&before)[0]));
    assert_eq!(clusters.one("held")["health"], "gone");
    clusters.ok(&["up", "--embedded", "--name", "next"]);
    assert!(!is_running(processes(&before)[0]));
    assert_eq!(clusters.one("held"), Value::Null);
}

#[test]
fn a_cluster_in_the_foreground_ends_by_a_signal_or_with_its_server() {
    let clusters = Clusters::new();
    for end in ["signal", "down", "crash"] {
        let mut held = clusters.spawn(&["up", "--embedded", "--foreground"]);
        let cluster = clusters.until("default", |it| it["health"] == "ready");
        match end {
            "signal" => kill(held.id(), Signal::TERM),
            "down" => drop(clusters.ok(&["down"])),
            _ => kill(processes(&cluster)[0], Signal::KILL),
        }
        let code = held.wait().unwrap().code();
        assert_eq!(code, Some(if end == "crash" { 4 } else { 0 }), "{end}");
        clusters.assert_gone(&processes(&cluster));
    }
}

#[test]
fn a_failed_start_leaves_nothing_behind() {
    let clusters = Clusters::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = clusters.run(&["up", "--embedded", "--port", &port]);
    assert!(run.code == 4 && run.err.contains("embedded-apiserver ended"), "{run:?}");
    assert!(run.err.contains("cannot listen on"), "{run:?}");
    clusters.assert_gone(&[]);

    // Five folders deeper, the program does not find the builds in the target folder.
    let deep = clusters.0.path("a/b/c/d/e");
    fs::create_dir_all(&deep).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_jobcheck"), deep.join("jobcheck")).unwrap();
    let mut installed = Command::new(deep.join("jobcheck"));
    installed.env("JOBCHECK_HOME", clusters.0.path("")).env("PATH", &deep);
    let run = finish(installed.args(["cluster", "up"]), b"");
    assert!(run.code == 4 && run.err.contains("install Go 1.26 or newer"), "{run:?}");
    clusters.assert_gone(&[]);
}

/// A slow server keeps its data.
#[test]
fn a_server_that_does_not_answer_is_not_replaced_but_ended_by_down() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let still = processes(&clusters.one("default"));
    kill(still[0], Signal::STOP);
    let up = clusters.run(&["up", "--embedded", "--timeout", "1s"]);
    assert!(up.code == 4 && up.err.contains("jobcheck cluster down --name default ends it"), "{up:?}");
    assert_eq!(clusters.one("default")["health"], "not ready");
    clusters.ok(&["down"]);
    clusters.assert_gone(&still);
}

#[test]
fn help_of_clusters_teaches_by_examples_and_exit_codes() {
    for (command, part) in
        [("up", "--with built-in"), ("env", "eval"), ("status", "Exit codes:"), ("down", "Exit codes:")]
    {
        let help = jobcheck(["cluster", command, "--help"]);
        assert!(help.code == 0 && help.out.contains(part), "{help:?}");
    }
}

#[test]
fn wrong_usage_of_clusters_exits_with_2() {
    for wrong in [
        &["cluster"][..],
        &["cluster", "up", "--embedded", "--name", "../up"],
        &["cluster", "up", "--embedded", "--name", "Upper"],
        &["cluster", "up", "--embedded", "--with", "built-in"],
        &["cluster", "up", "--with", "everything"],
        &["cluster", "up", "--embedded", "--port", "0"],
        &["cluster", "up", "--embedded", "--timeout", "10"],
        &["cluster", "down", "--all", "--name", "one"],
    ] {
        let run = jobcheck(wrong);
        assert_eq!(run.code, 2, "{wrong:?}: {run:?}");
    }
}

#[test]
fn a_paused_component_answers_again_once_it_is_resumed() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let component = clusters.one("default")["components"][0]["name"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let run = clusters.ok(&["pause", &component]);
        assert!(
            run.out.starts_with(&format!("{component} of cluster default is paused (process ")),
            "{run:?}"
        );
    }
    assert_eq!(clusters.one("default")["health"], "not ready");
    clusters.ok(&["resume", &component]);
    clusters.until("default", |it| it["health"] == "ready");
    let run = clusters.run(&["pause", "etcd"]);
    let known = format!("cluster default has no component etcd; it has {component}");
    assert!(run.code == 2 && run.err.contains(&known), "{run:?}");
    let run = clusters.run(&["pause", "etcd", "--name", "other"]);
    assert!(run.code == 4 && run.err.contains("there is no cluster other"), "{run:?}");
    clusters.ok(&["pause", &component]);
    let all = processes(&clusters.one("default"));
    clusters.ok(&["down"]);
    clusters.assert_gone(&all);
}

#[test]
fn each_shell_gets_its_own_words() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let kubeconfig = clusters.one("default")["kubeconfig"].as_str().unwrap().to_owned();
    for (shell, expected) in [
        ("bash", format!("export KUBECONFIG={kubeconfig}\n")),
        ("fish", format!("set -gx KUBECONFIG '{kubeconfig}'\n")),
        ("powershell", format!("$env:KUBECONFIG = '{kubeconfig}'\n")),
    ] {
        assert_eq!(clusters.ok(&["env", "--shell", shell]).out, expected);
    }
}

/// A program is looked at before anything is started or built.
#[test]
fn a_program_that_is_none_is_wrong_usage_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let clusters = Clusters::new();
    let program = |text: &str, mode| {
        let path = clusters.home().join("mine");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = program("echo Kubernetes v1.36.3-mine", 0o755);
    let without_with = clusters.run(&["up", "--kube-controller-manager", &good]);
    assert!(without_with.code == 2 && without_with.err.contains("--with"), "{without_with:?}");
    let embedded = clusters.run(&["up", "--embedded", "--kube-apiserver", &good]);
    assert_eq!(embedded.code, 2, "{embedded:?}");
    let no_cluster = jobcheck(["run", "--target", "sim", "--kube-controller-manager", &good]);
    assert!(no_cluster.code == 2 && no_cluster.err.contains("live and builtin start"), "{no_cluster:?}");
    let no_cluster = jobcheck(["fuzz", "--kube-controller-manager", &good]);
    assert!(no_cluster.code == 2 && no_cluster.err.contains("live and builtin only"), "{no_cluster:?}");
    for (text, mode, why) in [
        ("echo Kubernetes v1.36.3", 0o644, "chmod +x"),
        ("echo hello", 0o755, "prints no version"),
        ("exit 1", 0o755, "it fails"),
    ] {
        let path = program(text, mode);
        for words in [
            &["cluster", "up", "--with", "built-in"][..],
            &["run", "--target", "builtin"],
            &["fuzz", "--target", "builtin"],
        ] {
            let run = jobcheck(words.iter().copied().chain(["--kube-controller-manager", &path]));
            assert!(run.code == 2 && run.err.contains(why), "{words:?}: {run:?}");
        }
    }
    let missing = clusters.run(&["up", "--kube-apiserver", "/nowhere/mine"]);
    assert!(missing.code == 2 && missing.err.contains("No such file"), "{missing:?}");
}

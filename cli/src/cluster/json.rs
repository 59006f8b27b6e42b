//! The report of `jobcheck cluster status` for programs: docs/reference/schemas/cluster.schema.json.

use std::path::Path;

use jobcheck_cluster::audit_log;
use jobcheck_cluster::status::{Health, Status};
use jobcheck_judge::report::{API_VERSION, Exit};
use serde::Serialize;

/// The clusters and their components.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report<'a> {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    clusters: Vec<Cluster<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cluster<'a> {
    name: &'a str,
    health: &'static str,
    why: Option<&'a str>,
    kind: Option<jobcheck_cluster::Kind>,
    kubernetes: Option<&'a str>,
    server: Option<&'a str>,
    age_seconds: Option<f64>,
    owner: Option<u32>,
    folder: &'a Path,
    kubeconfig: &'a Path,
    audit_log: std::path::PathBuf,
    components: Vec<Component<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Component<'a> {
    name: &'a str,
    health: &'static str,
    why: Option<&'a str>,
    pid: u32,
    address: Option<&'a str>,
    log: std::path::PathBuf,
}

/// The report for programs.
pub fn report(found: &[Status], exit: Exit) -> Report<'_> {
    Report {
        api_version: API_VERSION,
        kind: "ClusterStatus",
        exit_code: exit.code(),
        clusters: found.iter().map(cluster).collect(),
    }
}

fn cluster(status: &Status) -> Cluster<'_> {
    let state = status.state.as_ref();
    Cluster {
        name: status.name.as_str(),
        health: status.health.word(),
        why: why(&status.health),
        kind: state.map(|it| it.kind),
        kubernetes: state.map(|it| it.kubernetes.as_str()),
        server: state.and_then(|it| it.server.as_deref()),
        age_seconds: state.map(|it| it.age().as_secs_f64()),
        owner: state.and_then(|it| it.owner).map(|it| it.pid),
        folder: &status.folder,
        kubeconfig: &status.kubeconfig,
        audit_log: audit_log(&status.folder),
        components: components(status),
    }
}

fn components(status: &Status) -> Vec<Component<'_>> {
    let all = status.state.iter().flat_map(|state| &state.components).zip(&status.components);
    let shown = all.map(|(component, health)| Component {
        name: &component.name,
        health: health.word(),
        why: why(health),
        pid: component.process.pid,
        address: component.health.as_ref().map(|it| it.server.as_str()),
        log: jobcheck_cluster::log_file(&status.folder, &component.name),
    });
    shown.collect()
}

fn why(health: &Health) -> Option<&str> {
    match health {
        Health::NotReady(why) => Some(why),
        Health::Ready | Health::Starting | Health::Gone => None,
    }
}

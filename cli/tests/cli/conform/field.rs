//! The profile field: the embedded API server with the shipped Job controller, and wrong ones.

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;

use jiff::Timestamp;
use jobcheck_apiserver::audit::AuditSink;
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::{Config, Server};
use jobcheck_report::types::Outcome;
use jobcheck_serve::HttpServer;
use jobcheck_spec::apiserver::RuleSet;

use super::{Site, assert_found};
use crate::support::{Controller, Folder, Run, binary, controller, jobcheck};

const PROFILE: [&str; 4] = ["--profile", "field", "--cluster", "hub"];
/// The scenarios about custom resources, which the embedded API server does not serve.
const CUSTOM: [&str; 4] =
    ["field/custom-format", "field/custom-length", "field/custom-immutable", "field/custom-not-added"];

#[test]
fn the_field_is_right_with_the_shipped_controller_and_wrong_with_one_that_takes_every_job() {
    let site = Site::new(&["hub"]);
    // Without a Job controller, nothing is known of what it would leave alone.
    let run = site.conform("none", &[&PROFILE[..], &["keeps-away", "--patience", "2s"]].concat());
    assert_eq!(run.code, 3, "{run:?}");
    assert!(site.report("none").scenarios[0].reason.contains("does not work on this cluster"), "{run:?}");
    let right = controller(&site.kubeconfigs[0]);
    let run = site.conform("out", &PROFILE);
    assert_eq!(run.code, 0, "{run:?}");
    site.assert_passes("out", &CUSTOM.map(|id| (id, Outcome::Skip)));
    drop(right);
    let mut greedy = binary();
    greedy.args(["controller", "--kubeconfig", &site.kubeconfigs[0], "--feature-gates=JobManagedBy=false"]);
    // The Lease is still that of the other one.
    greedy.arg("--leader-elect=false").stderr(Stdio::null());
    let _greedy = Controller(greedy.spawn().unwrap());
    for scenario in ["keeps-away", "keeps-away-suspended", "recreated"] {
        let run = site.conform(scenario, &[&PROFILE[..], &["--patience", "4s", scenario]].concat());
        assert_found(&run, &site.report(scenario), "MB-03");
    }
}

#[test]
fn a_resource_is_held_to_the_same_rules_as_a_job() {
    let site = Site::new(&["hub"]);
    let with = |out: &str, text: &str| {
        let file = site.folder.write(&format!("{out}.yaml"), text);
        let resource = ["--resource", file.to_str().unwrap()];
        site.conform(out, &[&PROFILE[..], &resource, &CUSTOM].concat())
    };
    // No cluster serves it.
    let absent = with("absent", "{apiVersion: example.com/v1, kind: Widget, spec: {}}");
    assert_eq!(absent.code, 3, "{absent:?}");
    let report = site.report("absent");
    assert!(report.scenarios.iter().all(|it| it.outcome == Outcome::Inconclusive), "{report:?}");
    assert!(report.scenarios[0].reason.contains("does not serve this resource"), "{absent:?}");
    // A Job is a resource with such a field.
    let job = "{apiVersion: batch/v1, kind: Job, spec: {suspend: true, template: {spec: \
               {restartPolicy: Never, containers: [{name: main, image: none}]}}}}";
    let run = with("job", job);
    site.assert_passes("job", &[]);
    // The stages decide: nothing of core was run.
    assert_eq!(run.code, 3, "{run:?}");
    // A pod has no such field, and its API server drops or refuses it.
    let pod = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: main, image: none}]}}";
    let run = with("pod", pod);
    assert_found(&run, &site.report("pod"), "MB-18");
}

/// Serves an API server without the gate `JobManagedBy` while the suite runs.
fn without_the_gate(folder: &Folder) -> Run {
    let log = folder.write("audit.log", "");
    let rules = RuleSet { job_managed_by: false, ..RuleSet::default() };
    let mut server = Server::new(Config { rules, ..Config::default() }, Timestamp::now());
    let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    server.set_audit(Some(AuditSink::new(false, move |event| {
        file.write_all(format!("{event}\n").as_bytes()).unwrap();
    })));
    let server = SharedServer::new(server, SystemClock);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let http = runtime.block_on(HttpServer::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))).unwrap();
    let address = http.address();
    let collected = server.clone();
    runtime.spawn(async move {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            collected.with(|server, now| {
                server.collect_garbage(now);
                server.finish_namespaces(now);
            });
        }
    });
    let service = ApiService::new(server, Auth::Everyone("admin".to_owned()));
    runtime.spawn(async move { service.serve(http, std::future::pending()).await });
    let kubeconfig = folder.write(
        "kubeconfig",
        format!(
            "{{apiVersion: v1, kind: Config, clusters: [{{name: wrong, cluster: {{server: 'http://{address}'}}}}], \
             users: [{{name: wrong, user: {{}}}}], \
             contexts: [{{name: wrong, context: {{cluster: wrong, user: wrong}}}}]}}"
        ),
    );
    let out = folder.path("out");
    let mut command: Vec<&std::ffi::OsStr> =
        ["conform", "--profile", "field", "--cluster", "wrong"].map(AsRef::as_ref).to_vec();
    command.extend([
        "--kubeconfig".as_ref(),
        kubeconfig.as_os_str(),
        "--audit-log".as_ref(),
        log.as_os_str(),
        "--patience".as_ref(),
        "2s".as_ref(),
        "--out".as_ref(),
        out.as_os_str(),
    ]);
    jobcheck(command)
}

#[test]
fn an_api_server_without_the_gate_fails() {
    let folder = Folder::new();
    let run = without_the_gate(&folder);
    let report = jobcheck_report::read(&folder.path("out")).unwrap();
    for id in ["field/format", "field/length", "field/immutable", "field/keeps-away"] {
        let scenario = report.scenarios.iter().find(|it| it.id == id).unwrap();
        let found: Vec<&str> = scenario.evidence.iter().map(|it| &*it.requirement).collect();
        assert!(scenario.outcome == Outcome::Fail && found.contains(&"MB-01"), "{id}: {scenario:?}");
    }
    assert_found(&run, &report, "MB-01");
}

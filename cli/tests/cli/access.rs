//! Kubeconfigs with faults, and proxies: what `record` and `controller` report, and what they do not.

use std::path::Path;

use crate::cluster::Clusters;
use crate::support::{Folder, Run, binary, finish};

const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"];

/// Runs both commands that load a kubeconfig.
fn both(folder: &Folder, kubeconfig: &Path, variables: &[(&str, &str)]) -> [Run; 2] {
    let trace = folder.path("trace.jsonl");
    [&["record", "--for", "1s", "--force", "-o", trace.to_str().unwrap()][..], &["controller"]].map(|words| {
        let mut command = binary();
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.args(words).arg("--kubeconfig").arg(kubeconfig).envs(variables.iter().copied());
        finish(&mut command, b"")
    })
}

fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

#[test]
fn a_malformed_kubeconfig_is_located_and_not_quoted() {
    let folder = Folder::new();
    let file = folder.write("config", "apiVersion: v1\nusers: [{name: u, user: {token: SECRETTOK\n");
    for run in both(&folder, &file, &[]) {
        assert_eq!(run.code, 4, "{run:?}");
        assert!(
            run.err.contains("the kubeconfig is not valid YAML") && run.err.contains(" at line "),
            "{run:?}"
        );
        assert!(!run.err.contains("SECRET"), "{run:?}");
    }
}

#[test]
fn the_output_of_a_credential_plugin_is_not_quoted() {
    let folder = Folder::new();
    let plugin = |script: &str| {
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: [-c, '{script}']}}"
        )
    };
    for (script, reason) in [
        ("echo SECRETTOK; echo SECRETPASS >&2; exit 3", "plugin of the kubeconfig failed (exit status: 3)"),
        ("echo SECRETTOK", "printed no valid ExecCredential"),
    ] {
        let text = kubeconfig("server: \"http://127.0.0.1:1\"", &plugin(script));
        let file = folder.write("config", text);
        for run in both(&folder, &file, &[]) {
            assert!(run.code == 4 && run.err.contains(reason), "{script}: {run:?}");
            assert!(!run.err.contains("SECRET"), "{run:?}");
        }
    }
}

#[test]
fn a_cluster_on_this_machine_is_reached_without_the_proxy_of_the_environment() {
    let clusters = Clusters::new();
    clusters.ok(&["up", "--embedded"]);
    let folder = Folder::new();
    let file = clusters.one("default")["kubeconfig"].as_str().unwrap().to_owned();
    let mut command = binary();
    command
        .args(["record", "--for", "1s", "-o"])
        .arg(folder.path("trace.jsonl"))
        .args(["--kubeconfig", &file]);
    let run = finish(command.env("HTTPS_PROXY", "http://127.0.0.1:1").env_remove("NO_PROXY"), b"");
    assert!(run.code == 0 && run.out.starts_with("recorded 0 Jobs"), "{run:?}");
}

#[test]
fn a_cluster_behind_a_proxy_is_an_error_with_advice_and_no_proxy_is_followed() {
    let folder = Folder::new();
    // Port 1 of this address refuses connections, as that of 127.0.0.1 does; no name has to be resolved.
    let file = folder.write("config", kubeconfig("server: \"https://0.0.0.0:1\"", ""));
    let proxy = ("HTTPS_PROXY", "http://me:SECRET@proxy.example:3128");
    for run in both(&folder, &file, &[proxy]) {
        assert_eq!(run.code, 4, "{run:?}");
        for part in ["the proxy proxy.example:3128 of $HTTPS_PROXY", "add 0.0.0.0 to $NO_PROXY"] {
            assert!(run.err.contains(part), "{part}: {run:?}");
        }
        assert!(!run.err.contains("SECRET"), "{run:?}");
    }
    for no_proxy in ["*", "0.0.0.0/8", "example.com, 0.0.0.0"] {
        for run in both(&folder, &file, &[proxy, ("NO_PROXY", no_proxy)]) {
            assert!(run.code == 4 && !run.err.contains("proxy"), "{no_proxy}: {run:?}");
        }
    }
}

//! The usage of `jobcheck record`, and clusters that cannot be recorded.

use crate::support::{Folder, binary, finish, jobcheck};

#[test]
fn help_teaches_by_examples_and_exit_codes() {
    let help = jobcheck(["record", "--help"]);
    assert_eq!(help.code, 0);
    for part in ["Examples:", "Exit codes:", "kubectl create role", "jobcheck replay shop.jsonl"] {
        assert!(help.out.contains(part), "{part:?} is missing in {}", help.out);
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    for wrong in [
        &["record"][..],
        &["record", "-o", "-", "-A", "-n", "a"],
        &["record", "-o", "-", "-n", "../secrets"],
        &["record", "-o", "-", "-l", "a in (b"],
        &["record", "-o", "-", "--for", "10"],
        &["record", "-o", "-", "--audit", "log", "-l", "a=b"],
        &["record", "-o", "-", "--audit", "log", "--audit-webhook", "127.0.0.1:0"],
        &["record", "-o", "-", "--audit", "/no/such/file"],
        &["record", "-o", "-", "--audit-token-file", "/dev/null"],
        &["record", "-o", "-", "--audit-webhook", "127.0.0.1:0", "--audit-token-file", "/no/such/file"],
        &["record", "-o", "-", "--audit-webhook", "127.0.0.1:0", "--audit-token-file", "/dev/null"],
        &["record", "-o", "-", "--audit", "/"],
    ] {
        let run = jobcheck(wrong);
        assert!(run.code == 2 && run.out.is_empty(), "{wrong:?}: {run:?}");
    }
}

#[test]
fn without_a_cluster_no_file_is_written() {
    let folder = Folder::new();
    let trace = folder.path("trace.jsonl");
    let record = |kubeconfig: &str| {
        let mut command = binary();
        command.args(["record", "--kubeconfig", kubeconfig, "-o"]).arg(&trace);
        finish(&mut command, b"")
    };
    let run = record("/no/such/file");
    assert!(run.code == 4 && run.err.contains("error: no cluster: "), "{run:?}");
    let nobody = folder.write(
        "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster:\n    server: http://127.0.0.1:1\n\
         contexts:\n- name: c\n  context: {cluster: c, user: u}\nusers:\n- name: u\n  user: {}\n",
    );
    let run = record(nobody.to_str().unwrap());
    assert!(run.code == 4 && run.err.contains("error: no cluster: "), "{run:?}");
    assert!(!trace.exists());
}

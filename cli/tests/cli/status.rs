//! `jobcheck status`: would API servers accept this status?

use serde_json::{Value, json};

use crate::schema;
use crate::support::{Folder, Run, binary, finish, jobcheck};

fn job(status: Value) -> String {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "ns"},
        "spec": {"completions": 1, "template": {"spec": {}}}, "status": status})
    .to_string()
}

fn running() -> Value {
    json!({"startTime": "2026-11-21T00:00:00Z", "active": 1})
}

fn complete(with_interim: bool) -> Value {
    let mut conditions = vec![json!({"type": "Complete", "status": "True"})];
    if with_interim {
        conditions.push(json!({"type": "SuccessCriteriaMet", "status": "True"}));
    }
    json!({"startTime": "2026-11-21T00:00:00Z", "completionTime": "2026-11-21T00:00:09Z", "succeeded": 1,
        "conditions": conditions})
}

fn asked(new: Value, flags: &[&str]) -> Run {
    let folder = Folder::new();
    let old = folder.write("old.json", job(running()));
    let new = folder.write("new.json", job(new));
    let flags = flags.iter().map(std::ffi::OsString::from);
    jobcheck([std::ffi::OsString::from("status"), old.into(), new.into()].into_iter().chain(flags))
}

#[test]
fn a_legal_status_is_accepted_by_every_known_version() {
    let run = asked(complete(true), &[]);
    assert_eq!(run.code, 0, "{run:?}");
    let first: Vec<&str> = run.out.lines().filter_map(|line| line.get(..16)).take(5).collect();
    assert_eq!(
        first,
        ["accepts     1.34", "accepts     1.35", "accepts     1.36", "accepts     1.37", "accepts     1.38"]
    );
    assert!(run.out.contains("advice") && run.out.contains("SS-34"), "{}", run.out);
    assert!(run.out.contains("built-in    write 1: SuccessCriteriaMet=True"), "{}", run.out);
    assert!(run.out.contains("write 2: Complete=True"), "{}", run.out);
}

#[test]
fn an_illegal_status_is_refused_with_the_reason() {
    let run = asked(complete(false), &["--kubernetes", "1.36"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.starts_with("refuses     1.36"), "{}", run.out);
    assert!(run.out.contains("\n  SS-21"), "{}", run.out);
    let json = asked(complete(false), &["-o", "json"]).json();
    schema::check(&json);
    assert_eq!(json["versions"][0]["refusals"][0]["requirement"], "SS-21");
}

#[test]
fn a_version_without_rules_is_inconclusive_unless_another_one_refuses() {
    let run = asked(complete(true), &["--kubernetes", "1.33..1.34"]);
    assert!(run.code == 3 && run.out.starts_with("unknown     1.33  no rules"), "{run:?}");
    assert_eq!(asked(complete(false), &["--kubernetes", "1.33..1.34"]).code, 1);
    schema::check(&asked(complete(true), &["--kubernetes", "1.33", "-o", "json"]).json());
}

#[test]
fn yaml_and_standard_input_are_read() {
    let folder = Folder::new();
    let yaml = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sum, namespace: ns}\nspec: {template: {}}\nstatus:\n  active: 1\n";
    let old = folder.write("old.yaml", yaml);
    let run = finish(binary().arg("status").arg(old).arg("-"), job(json!({"active": 0})).as_bytes());
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn bad_input_is_named() {
    let folder = Folder::new();
    let good = folder.write("good.json", job(running()));
    for (name, text, expected) in [
        ("empty.json", "", "expected a batch/v1 Job, found no apiVersion and no kind"),
        ("cut.json", "{\"kind\":", "cut.json: no JSON"),
        ("two.yaml", "a: 1\n---\nb: 2\n", "two.yaml: multiple YAML documents detected; expected one Job"),
        ("wrong.yaml", "a: [", "wrong.yaml: neither JSON nor YAML"),
        ("kind.json", r#"{"kind":"Pod"}"#, "expected a batch/v1 Job, found Pod without an apiVersion"),
        ("pod.json", r#"{"apiVersion":"v1","kind":"Pod"}"#, "expected a batch/v1 Job, found v1 Pod"),
        ("typed.json", r#"{"apiVersion":"batch/v1","kind":"Job","status":{"active":"x"}}"#, "status.active"),
        ("escape.json", "{\"apiVersion\":\"\\u001b[2J\",\"kind\":\"Job\"}", "expected a batch/v1 Job"),
    ] {
        let bad = folder.write(name, text);
        let run = finish(binary().arg("status").arg(&good).arg(&bad), b"");
        assert_eq!(run.code, 2, "{name}: {run:?}");
        assert!(run.err.contains(expected) && !run.err.contains('\u{1b}'), "{name}: {}", run.err);
    }
    assert!(jobcheck(["status", "-", "-"]).err.contains("named twice"));
    assert!(jobcheck(["status", "/no/such/file", "-"]).err.contains("/no/such/file"));
    assert_eq!(jobcheck(["status", "a", "b", "--kubernetes", "1.36..1.34"]).code, 2);
}

//! `jobcheck check` on the command line.

use serde_json::Value;

use crate::schema;
use crate::support::jobcheck;

#[test]
fn the_report_fits_its_schema_as_json_and_as_yaml() {
    for arguments in [
        &["check", "two-jobs", "-ojson"][..],
        &["check", "non-indexed", "--without=FT-02", "-ojson"],
        &["check", "two-jobs", "--max-states=5", "-ojson"],
    ] {
        schema::check(&jobcheck(arguments).json());
    }
    let yaml: Value = serde_saphyr::from_str(&jobcheck(["check", "two-jobs", "-oyaml"]).out).unwrap();
    assert_eq!((&yaml["kind"], &yaml["apiVersion"]), (&"CheckReport".into(), &"jobcheck.dev/v1".into()));
    let wrong = serde_json::json!({"kind": "CheckReport"});
    assert!(!schema::problems(&wrong).is_empty());
}

#[test]
fn help_lists_every_flag_and_every_exit_code() {
    for command in ["check", "replay"] {
        let help = jobcheck([command, "--help"]).out;
        for code in 0..=5 {
            assert!(help.contains(&format!("\n  {code}  ")), "{command}: {code} is missing in {help}");
        }
    }
    assert!(jobcheck(["check", "--help"]).out.contains("--without <ID>"));
}

#[test]
fn a_search_that_is_cut_proves_nothing() {
    let run = jobcheck(["check", "non-indexed", "--max-states=100"]);
    assert!(run.code == 3 && run.out.contains("not finished"), "{run:?}");
}

#[test]
fn one_pod_is_no_plural() {
    let run = jobcheck(["check", "--list"]);
    assert!(run.code == 0 && run.out.contains("at most 1 pod") && !run.out.contains("1 pods"), "{}", run.out);
}

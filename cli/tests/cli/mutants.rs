//! `jobcheck mutants`.

use serde_json::Value;

use crate::schema;
use crate::support::jobcheck;

#[test]
fn a_defect_is_printed_with_its_requirement_and_its_path() {
    let run = jobcheck(["mutants", "b18"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("B18"), "{}", run.out);
    assert!(run.out.contains("TC-04"), "{}", run.out);
    assert!(run.out.contains("1 of 1 defects are caught"), "{}", run.out);
}

#[test]
fn a_job_that_never_finishes_is_printed_with_its_cycle() {
    let run = jobcheck(["mutants", "L1"]);
    assert!(run.code == 0 && run.out.contains(" 16+2 "), "{run:?}");
    assert!(run.out.contains("the following steps repeat forever:"), "{}", run.out);
    let quiescent = jobcheck(["mutants", "B04"]);
    assert!(
        quiescent.code == 0 && quiescent.out.contains("no event or timer triggers another sync\n"),
        "{quiescent:?}"
    );
    let report: Value = serde_json::from_str(&jobcheck(["mutants", "L1", "-o", "json"]).out).unwrap();
    assert_eq!((&report["mutants"][0]["turn"], &report["mutants"][0]["steps"]), (&16.into(), &18.into()));
}

/// Some defects do not apply to the shipped controllers.
#[test]
fn defects_of_the_shipped_controllers_are_caught_too() {
    let run = jobcheck(["mutants", "--subject", "controller", "B18", "B14"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("do not apply to the shipped controllers: B14"), "{}", run.out);
    assert!(run.out.contains("1 of 1 defects are caught"), "{}", run.out);
    let none = jobcheck(["mutants", "--subject", "controller", "B14"]);
    assert!(none.code == 2 && none.err.contains("does not apply to the shipped controllers"), "{none:?}");
    let scenario = jobcheck(["mutants", "--subject", "controller", "B18", "--scenario", "x.yaml"]);
    assert!(scenario.code == 2 && scenario.err.contains("reference algorithm"), "{scenario:?}");
}

#[test]
fn the_defects_of_kueue_are_found_between_two_clusters() {
    let run = jobcheck(["mutants", "k1", "K3"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("2 of 2 defects are caught"), "{}", run.out);
    assert!(
        run.out.contains("the manager writes the status, and the API server refuses it (422)"),
        "{}",
        run.out
    );
    let json = jobcheck(["mutants", "K4", "-o", "json"]).json();
    schema::check(&json);
    assert_eq!((&json["subject"], &json["mutants"][0]["requirement"]), (&"mirror".into(), &"MR-04".into()));
    let mixed = jobcheck(["mutants", "K1", "B18"]);
    assert!(mixed.code == 2 && mixed.err.contains("B18 is no defect of a manager"), "{mixed:?}");
}

#[test]
fn an_unknown_defect_is_an_error_that_lists_the_known_ones() {
    let run = jobcheck(["mutants", "B99"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("B18"), "{}", run.err);
}

#[test]
fn the_report_for_programs_has_the_counterexample() {
    let run = jobcheck(["mutants", "B39", "-o", "json"]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["kind"], "MutantsReport");
    assert_eq!(report["mutants"][0]["caught"], true);
    let found = &report["mutants"][0]["counterexample"];
    let story = found["story"].as_array().unwrap();
    assert_eq!(report["mutants"][0]["steps"].as_u64().unwrap() as usize, story.len());
    assert!(found["world"][0].as_str().unwrap().starts_with("Job: completions 1"), "{found:#}");
    assert!(found["end"].as_str().unwrap().starts_with("broken, TC-01: "), "{found:#}");
    // The write that is not admitted, with both sides, and the whole status after each write.
    let with = |key: &str| story.iter().filter(|line| line[key] != Value::Null).count();
    assert!(with("objections") > 0 && with("status") > 0, "{found:#}");
}

/// The defects: one breaks a write, one has a cycle, and one ends at quiescence. The shipped controllers can have B18 but
/// not B14.
#[test]
fn the_report_fits_its_schema() {
    for arguments in [&["B39", "L1", "B04"][..], &["B18", "B14", "--subject", "controller"]] {
        let arguments = [&["mutants", "-o", "json"][..], arguments].concat();
        schema::check(&jobcheck(arguments).json());
    }
    let mut wrong = jobcheck(["mutants", "B39", "-o", "json"]).json();
    wrong["mutants"][0]["steps"] = "nine".into();
    assert_eq!(
        schema::problems(&wrong),
        ["/mutants/0/steps: \"nine\" is not of types \"null\", \"integer\""]
    );
}

#[test]
fn a_counterexample_is_saved_as_a_trace_that_replay_judges_the_same() {
    let directory = std::env::temp_dir().join(format!("jobcheck-save-{}", std::process::id()));
    let run = jobcheck(["mutants", "B39", "B03", "--html", "--save", directory.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("replay: violates TC-01"), "{}", run.err);
    for (defect, requirement) in [("B39", "TC-01"), ("B03", "FT-02")] {
        let file = directory.join(format!("{defect}.jsonl"));
        let judged = jobcheck(["replay", "-o", "json", file.to_str().unwrap()]);
        assert_eq!(judged.code, 1, "{judged:?}");
        let report: Value = serde_json::from_str(&judged.out).unwrap();
        assert_eq!(report["jobs"][0]["violations"][0]["requirement"], requirement, "{report:#}");
        let page = std::fs::read_to_string(file.with_extension("html")).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.contains(requirement), "{defect}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_of_the_environment() {
    let run = jobcheck(["mutants", "B39", "--save", "/dev/null/traces"]);
    assert_eq!((run.code, &*run.out), (4, ""), "reported before the search: {run:?}");
    assert!(
        run.err.contains("cannot make the directory /dev/null/traces: /dev/null is not a directory"),
        "{}",
        run.err
    );
}

#[test]
fn a_defect_or_a_scope_that_is_named_twice_is_looked_at_once() {
    let mutants = jobcheck(["mutants", "B18", "b18"]);
    assert!(mutants.out.contains("1 of 1 defects"), "{}", mutants.out);
    let check = jobcheck(["check", "non-indexed", "non-indexed"]);
    assert!(check.out.contains("1 scope, 572 states"), "{}", check.out);
}

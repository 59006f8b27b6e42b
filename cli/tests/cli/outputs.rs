//! The forms of the report.

use std::process::Stdio;

use serde_json::Value;

use crate::schema;
use crate::support::{
    Folder, active_miscounted, binary, counted_too_much, finish, jobcheck, known_deviation, lines, recording,
    replay,
};

#[test]
fn a_report_in_json_exists_in_yaml_too() {
    for command in [
        &["mutants", "B18"][..],
        &["fuzz", "--seed=1", "--runs=2"],
        &["fuzz", "--generated", "stale-caches/adoption", "--steps=50"],
    ] {
        let run = |form: &str| jobcheck(command.iter().copied().chain(["-o", form]));
        let (json, yaml) = (run("json"), run("yaml"));
        assert_eq!((json.code, yaml.code), (0, 0), "{command:?}: {yaml:?}");
        let read: Value = serde_saphyr::from_str(&yaml.out).unwrap();
        for field in ["apiVersion", "kind", "exitCode"] {
            assert_eq!(read[field], json.json()[field], "{command:?}");
        }
    }
}

#[test]
fn json_fits_the_schema_and_holds_the_evidence() {
    let folder = Folder::new();
    let mut unfinished = lines("nonindexed-success.watch");
    unfinished.truncate(9);
    unfinished.push("{".to_owned());
    let files = [
        folder.write_lines("bad.jsonl", &counted_too_much()),
        folder.write_lines("views.jsonl", &active_miscounted()),
        folder.write_lines("known.jsonl", &known_deviation()),
        folder.write_lines("cut.jsonl", &unfinished),
        folder.path("missing"),
        recording("ttl-zero.watch"),
    ];
    let run = replay(files.iter().map(|file| file.as_os_str()).chain(["-o".as_ref(), "json".as_ref()]));
    assert_eq!(run.code, 2, "{run:?}");
    let report = run.json();
    schema::check(&report);
    assert_eq!((&report["kind"], &report["verdict"]), (&"ReplayReport".into(), &"violates".into()));
    let finding = |job: usize| &report["jobs"][job]["violations"][0];
    assert_eq!(finding(0)["requirement"], "FT-02");
    assert_eq!((&finding(0)["line"], &finding(0)["expected"]), (&18.into(), &"3".into()));
    assert!(!finding(0)["story"].as_array().unwrap().is_empty());
    assert!(!finding(1)["views"].as_array().unwrap().is_empty());
    assert_eq!((&finding(2)["requirement"], &finding(2)["known"]), (&"S-09".into(), &"S-09".into()));
    assert_eq!(report["requirements"]["judged"]["FT-02"].as_u64(), Some(5));
}

#[test]
fn the_schema_is_strict() {
    let mut report = replay([recording("completions-zero.audit").as_os_str(), "-ojson".as_ref()]).json();
    schema::check(&report);
    report["jobs"][0]["extra"] = 1.into();
    assert_eq!(
        schema::problems(&report),
        ["/jobs/0: Additional properties are not allowed ('extra' was unexpected)"]
    );
    report["jobs"] = Value::Null;
    assert_eq!(schema::problems(&report), ["/jobs: null is not of type \"array\""]);
}

#[test]
fn a_watch_names_the_requirements_that_it_cannot_decide() {
    let report = replay([recording("ttl-zero.watch").as_os_str(), "-ojson".as_ref()]).json();
    let hidden = report["requirements"]["notDecidable"].as_array().unwrap();
    assert!(hidden.contains(&"TT-01".into()), "{hidden:?}");
    assert!(report["requirements"]["premiseNeverMet"].as_array().unwrap().contains(&"BI-01".into()));
    let run = replay([recording("ttl-zero.watch")]);
    assert!(run.out.contains(" need a fuller log; -v lists them"), "{}", run.out);
}

#[test]
fn yaml_is_the_same_report() {
    let run = replay([recording("completions-zero.audit").as_os_str(), "--output=yaml".as_ref()]);
    assert_eq!(run.code, 0, "{run:?}");
    let yaml: Value = serde_saphyr::from_str(&run.out).unwrap();
    let json = replay([recording("completions-zero.audit").as_os_str(), "--output=json".as_ref()]).json();
    assert_eq!(yaml, json);
}

#[test]
fn junit_has_a_suite_for_each_trace_and_a_case_for_each_job() {
    let folder = Folder::new();
    let bad = folder.write_lines("bad.jsonl", &counted_too_much());
    let known = folder.write_lines("known.jsonl", &known_deviation());
    let good = recording("recreate-same-name.audit");
    let run = replay([good.as_os_str(), bad.as_os_str(), known.as_os_str(), "-ojunit".as_ref()]);
    assert_eq!(run.code, 1, "{run:?}");
    for expected in [
        "<testsuites name=\"jobcheck replay\" tests=\"4\" skipped=\"0\" failures=\"2\" errors=\"0\"",
        "<failure message=\"FT-02: succeeded: expected 3, found 4\" type=\"FT-02\">",
        "<property name=\"requirement\" value=\"FT-02\"/>",
    ] {
        assert!(run.out.contains(expected), "{expected:?} is missing in {}", run.out);
    }
    let run = replay([known.as_os_str(), "-ojunit".as_ref(), "--allow-known".as_ref()]);
    assert!(run.code == 0 && run.out.contains("failures=\"0\" errors=\"0\""), "{run:?}");
    assert!(run.out.contains("<system-out>Excused by --allow-known:"), "{}", run.out);
    assert_eq!(run.out.matches("name=\"requirement\"").count(), 1, "{}", run.out);
    let nothing =
        folder.write("nothing", lines("nonindexed-success.audit")[0].replace("\"create\"", "\"get\""));
    let run = replay([nothing.as_os_str(), "-ojunit".as_ref()]);
    assert!(run.code == 3 && run.out.contains("type=\"inconclusive\""), "{run:?}");
}

#[test]
fn colours_are_for_terminals_unless_they_are_forced() {
    let has_colours = |command: &mut std::process::Command| {
        finish(command.arg("replay").arg(recording("completions-zero.audit")), b"").out.contains('\u{1b}')
    };
    assert!(!has_colours(&mut binary()));
    assert!(has_colours(binary().args(["--color", "always"])));
    assert!(has_colours(binary().env("CLICOLOR_FORCE", "1")));
    assert!(!has_colours(binary().env("CLICOLOR_FORCE", "1").args(["--color=never"])));
    assert!(!has_colours(binary().env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1")));
}

#[test]
fn quiet_is_one_line_for_each_trace_and_verbose_shows_every_job() {
    let files = || [recording("completions-zero.audit"), recording("recreate-same-name.audit")];
    let run = replay(files().iter().map(|it| it.as_os_str()).chain(["--quiet".as_ref()]));
    assert_eq!(run.out.lines().count(), 3, "{}", run.out);
    let run = replay(files().iter().map(|it| it.as_os_str()).chain(["-v".as_ref()]));
    assert_eq!(run.out.matches("executor, ").count(), 3, "{}", run.out);
    assert_eq!(replay(["-v", "--quiet", "x"]).code, 2);
}

#[test]
fn a_pipe_that_is_closed_early_is_no_error() {
    let folder = recording("x").parent().unwrap().to_owned();
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut command = binary();
    command.arg("replay").args(files).args(["-v", "-ojson"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

#[test]
fn control_characters_of_a_trace_do_not_reach_the_terminal() {
    let folder = Folder::new();
    let file = folder.write("bad", "{\"kind\":\"\\u001b[2J\",\"apiVersion\":\"x\"}");
    let run = replay([&file]);
    assert!(run.code == 2 && !run.err.contains('\u{1b}') && !run.out.contains('\u{1b}'), "{run:?}");
}

#[test]
fn completions_offer_ids_and_names_and_no_internal_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = jobcheck(["completions", shell]);
        assert_eq!(run.code, 0, "{shell}: {}", run.err);
        for offered in ["replay", "FT-02", "B18", "built-in"] {
            assert!(run.out.contains(offered), "{shell} does not offer {offered}");
        }
        // The generators of the other shells complete no positional arguments.
        if ["bash", "zsh", "fish"].contains(&shell) {
            assert!(run.out.contains("stale-caches/suspend"), "{shell} offers no scopes");
        }
        let mut words = run.out.split(|c: char| !c.is_ascii_alphanumeric());
        assert!(!words.any(|word| word == "serve"), "{shell} offers the internal command");
    }
}

#[cfg(unix)]
#[test]
fn as_a_kubectl_plugin_it_names_itself_so() {
    let folder = Folder::new();
    let link = folder.path("kubectl-jobcheck");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_jobcheck"), &link).unwrap();
    let help = finish(std::process::Command::new(&link).args(["replay", "--help"]), b"");
    assert!(help.out.contains("Usage: kubectl jobcheck replay"), "{}", help.out);
    assert!(help.out.contains("  kubectl jobcheck replay audit.log"), "{}", help.out);
    let run =
        finish(std::process::Command::new(&link).arg("replay").arg(recording("completions-zero.audit")), b"");
    assert_eq!(run.code, 0, "{run:?}");
    let wrong = finish(std::process::Command::new(&link).args(["replay"]), b"");
    assert!(wrong.code == 2 && wrong.err.contains("Usage: kubectl jobcheck replay"), "{wrong:?}");
}

/// Only the wrong Jobs of a long log are listed. The others are counted, in each form.
#[test]
fn jobs_that_are_not_listed_are_counted() {
    let folder = Folder::new();
    let wrong = folder.write_lines("wrong.jsonl", &counted_too_much());
    let right = recording("completions-zero.audit");
    let with = |list: &str, form: &str| {
        let flags = ["--group=one", "--list", list, "-o", form].map(std::ffi::OsStr::new);
        replay(flags.into_iter().chain([wrong.as_os_str(), right.as_os_str()]))
    };
    let (all, violations) = (with("all", "json"), with("violations", "json"));
    assert_eq!((all.code, violations.code), (1, 1), "{violations:?}");
    schema::check(&violations.json());
    let jobs = |report: &Value| report["jobs"].as_array().unwrap().len();
    assert_eq!((jobs(&all.json()), jobs(&violations.json())), (2, 1), "{violations:?}");
    assert_eq!(violations.json()["unlisted"]["conforming"], 1, "{violations:?}");
    assert!(all.json().get("unlisted").is_none(), "{all:?}");
    let text = with("violations", "text").out;
    assert!(text.contains("1 Job that conforms, not listed") && text.contains(" 2 Jobs, "), "{text}");
    assert!(!text.contains("completions-zero/"), "{text}");
}

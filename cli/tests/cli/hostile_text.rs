//! Traces, scenarios and file names that try to control the terminal, to forge lines, or to hide what they are.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::binary;
use crate::support::{
    Folder, Run, active_miscounted, counted_too_much, finish, jobcheck, with_refused_write,
};

/// Clears the screen, conceals, sets the title; CSI as C1; breaks the line; changes directions; is invisible.
const HOSTILE: &str = "\u{1b}[2J\u{1b}[8m\u{1b}]0;T\u{7}\u{9b}8m\r\nFORGED\u{85}\u{2028}FORGED\u{2029}\u{7f}\u{8}\u{202e}\u{2066}\
                       \u{200b}\u{200e}\u{200f}\u{61c}\u{feff}\u{ad}\u{fe00}\u{17b4}\u{e0041}]]>";
/// The same, in the name of a file.
const NAME: &str = "u\u{1b}[2J\u{1b}[31m\u{9b}8m\nFORGED\u{202e}\u{200b}\u{2028}'$(x)";

/// The characters of HOSTILE, and others like them.
fn is_hostile(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{ad}' | '\u{fe00}'..='\u{fe0f}' | '\u{17b4}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text without the colours of this program.
fn plain(text: &str) -> String {
    ["0", "1", "2", "4", "31", "32", "33", "36"]
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(&format!("\u{1b}[{code}m"), ""))
}

fn assert_harmless(what: &str, run: &Run) {
    for text in [&run.out, &run.err] {
        let found = plain(text);
        assert!(!found.chars().any(is_hostile), "{what}: {found:?}");
        assert!(!found.lines().any(|line| line.trim_start().starts_with("FORGED")), "{what}: {found}");
    }
}

/// Runs a command in all forms of output. Returns the text and the JSON.
fn in_all_forms(arguments: &[&OsStr], input: &str, with_junit: bool) -> (Run, Value) {
    let run = |more: &[&str]| {
        let run = finish(binary().args(arguments).args(more), input.as_bytes());
        assert_harmless(&format!("{arguments:?} {more:?}"), &run);
        run
    };
    run(&["--color=always"]);
    let json = run(&["--output=json"]).json();
    let yaml: Value = serde_saphyr::from_str(&run(&["--output=yaml"]).out).unwrap();
    let keys = |report: &Value| report.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&yaml), keys(&json));
    if with_junit {
        let junit = run(&["--output=junit"]);
        assert!(junit.out.contains("</testsuites>"), "{}", junit.out);
    }
    (run(&["--color=never"]), json)
}

/// Adds hostile text to names, users, agents, messages and annotations.
fn poison(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match (key.as_str(), &mut *member) {
                    (
                        "name" | "namespace" | "userAgent" | "message" | "image" | "reason",
                        Value::String(text),
                    ) => {
                        text.push_str(HOSTILE);
                    }
                    ("annotations" | "labels", Value::Object(all)) => {
                        all.values_mut().for_each(|text| *text = json!(HOSTILE));
                    }
                    _ => poison(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(poison),
        _ => {}
    }
}

fn poisoned(lines: &[String]) -> Vec<String> {
    let poisoned = |line: &String| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        poison(&mut event);
        event.to_string()
    };
    lines.iter().map(poisoned).collect()
}

#[test]
fn nothing_in_a_trace_or_its_name_controls_the_terminal() {
    let folder = Folder::new();
    let mut stranger = counted_too_much();
    let at = stranger.len() - 1;
    let mut event: Value = serde_json::from_str(&stranger[at]).unwrap();
    event["user"]["username"] = json!(HOSTILE);
    stranger[at] = event.to_string();
    let refused = with_refused_write(|status| status["succeeded"] = json!(7));
    for lines in [counted_too_much(), active_miscounted(), stranger, refused] {
        let file = folder.write_lines(NAME, &poisoned(&lines));
        let (text, json) = in_all_forms(&["replay".as_ref(), "-v".as_ref(), file.as_os_str()], "", true);
        assert!(text.out.contains("\\u{202e}"), "{}", text.out);
        assert!(json["jobs"][0]["job"].as_str().unwrap().contains(HOSTILE), "{json}");
        in_all_forms(&["replay".as_ref(), "--explain=all".as_ref(), file.as_os_str()], "", true);
        in_all_forms(&["replay".as_ref(), "--explain=job".as_ref(), file.as_os_str()], "", true);
    }
    let broken = folder.write(NAME, format!("{{\"{HOSTILE}"));
    in_all_forms(&["replay".as_ref(), broken.as_os_str()], "", true);
}

#[test]
fn nothing_in_a_status_or_its_name_controls_the_terminal() {
    let folder = Folder::new();
    let status = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": HOSTILE, "namespace": HOSTILE},
        "spec": {"completions": 1, "template": {"spec": {}}},
        "status": {"completedIndexes": HOSTILE, "conditions": [
            {"type": HOSTILE, "status": HOSTILE, "reason": HOSTILE, "message": HOSTILE},
            {"type": "Complete", "status": "True", "reason": HOSTILE}]}});
    let old = folder.write("old", status.to_string());
    let new = folder.write(NAME, status.to_string().replace("\"Complete\"", "\"Failed\""));
    for pair in [[&old, &new], [&new, &old]] {
        in_all_forms(&["status".as_ref(), pair[0].as_os_str(), pair[1].as_os_str()], "", false);
    }
}

/// A text as a scalar of YAML, which has no raw control characters.
fn yaml(text: &str) -> String {
    let escaped: String = text.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    format!("\"{escaped}\"")
}

fn scenario(tail: &str) -> String {
    let about = yaml(HOSTILE);
    format!(
        "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: {about}\nsource: {about}\njobs:\n- name: job\n  spec: \
         {{completions: 1}}\n{tail}"
    )
}

#[test]
fn nothing_in_a_scenario_or_its_name_controls_the_terminal() {
    let folder = Folder::new();
    let wrong = "steps:\n- succeed: {pod: 1}\nexpect:\n- succeeded: 2\n";
    let unknown = format!("{}: 1\n", yaml(HOSTILE));
    for (code, tail) in [(1, wrong), (0, ""), (2, &*unknown), (2, "steps:\n- edit: {}\n")] {
        let file = folder.write(&format!("{NAME}.yaml"), scenario(tail));
        for target in ["model", "sim", "model,sim"] {
            let arguments = ["run", "--runs=2", "--target", target].map(OsStr::new);
            let arguments: Vec<&OsStr> = arguments.into_iter().chain([file.as_os_str()]).collect();
            let (text, json) = in_all_forms(&arguments, "", true);
            assert_eq!(text.code, code, "{text:?}");
            if code < 2 {
                assert_eq!(json["scenarios"][0]["about"], HOSTILE);
            }
        }
        assert_harmless("--list", &jobcheck(["run".as_ref(), "--list".as_ref(), file.as_os_str()]));
    }
    let name = scenario(wrong).replace("name: x", &format!("name: {}", yaml(HOSTILE)));
    let run = finish(binary().args(["run", "-"]), name.as_bytes());
    assert_eq!(run.code, 2, "{run:?}");
    assert_harmless("a name", &run);
}

#[test]
fn the_command_that_runs_a_scenario_again_is_quoted_for_a_shell() {
    let folder = Folder::new();
    let wrong = scenario("steps:\n- succeed: {pod: 1}\nexpect:\n- succeeded: 2\n");
    let file = folder.write("it's $(x).yaml", &wrong);
    let run = jobcheck(["run".as_ref(), "--target=sim".as_ref(), file.as_os_str()]);
    let again = run.out.lines().find_map(|line| line.trim().strip_prefix("again: ")).unwrap();
    let words = shlex::split(again).unwrap();
    assert_eq!(words.last().map(PathBuf::from), Some(file), "{again}");
    let file = folder.write(&format!("{NAME}.yaml"), &wrong);
    let run = jobcheck(["run".as_ref(), "--target=sim".as_ref(), file.as_os_str()]);
    let again = run.out.lines().find_map(|line| line.trim().strip_prefix("again: ")).unwrap();
    assert!(again.contains(" $'") && again.contains("\\x1b[2J") && again.contains("\\'$(x)"), "{again}");
}

#[test]
fn no_name_of_a_written_file_controls_the_terminal() {
    let folder = Folder::new();
    let directory = folder.path(NAME);
    let file = folder.write(&format!("{NAME}.yaml"), scenario("expect:\n- succeeded: 2\n"));
    for target in ["--target=model", "--target=sim"] {
        let run = jobcheck([
            "run".as_ref(),
            target.as_ref(),
            "--save".as_ref(),
            directory.as_os_str(),
            file.as_os_str(),
        ]);
        assert!(run.err.contains("is written"), "{run:?}");
        assert_harmless("run --save", &run);
    }
    let missing = directory.join("no").join("file");
    for arguments in [
        ["check", "non-indexed", "--mutant", "B01", "--save"],
        ["check", "non-indexed", "--mutant", "B01", "--scenario"],
        ["check", "non-indexed", "--mutant", "B01", "--dot"],
        ["check", "non-indexed", "--mutant", "B01", "--itf"],
    ] {
        for path in [&directory, &missing, &file] {
            let run = finish(binary().args(arguments).arg(path), b"");
            assert_harmless(&arguments.join(" "), &run);
        }
    }
    let argument = |text: &str| format!("{text}{}", NAME.replace('\n', ""));
    for words in
        [vec!["rule".into(), argument("FT-")], vec!["check".into(), argument("x")], vec![argument("--")]]
    {
        let run = jobcheck(&words);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(!plain(&run.err).chars().any(is_hostile), "{run:?}");
    }
    in_all_forms(&["rule".as_ref(), "FT-03".as_ref()], "", false);
}

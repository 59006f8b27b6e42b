//! `jobcheck check`.

use serde_json::Value;

use crate::options::COMMANDS;
use crate::schema;
use crate::support::{Folder, Run, binary, finish, jobcheck};

fn check(arguments: &[&str]) -> Run {
    jobcheck(["check"].iter().chain(arguments).copied())
}

fn report(arguments: &[&str]) -> Value {
    let run = check(&[arguments, &["-o", "json"]].concat());
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

#[test]
fn a_scope_holds_and_its_size_is_reported() {
    let report = report(&["ttl", "--symmetry", "off"]);
    let scope = &report["scopes"][0];
    assert_eq!(
        (&report["exitCode"], &scope["result"], &scope["states"]),
        (&0.into(), &"holds".into(), &700.into())
    );
    assert!(scope["bytesPerState"].as_f64().unwrap() < 100.0, "{scope}");
}

#[test]
fn symmetry_is_on_unless_it_is_switched_off() {
    let states =
        |symmetry: &str| report(&["two-jobs", "--symmetry", symmetry])["scopes"][0]["states"].clone();
    assert_eq!([states("auto"), states("on"), states("off")], [190, 190, 361].map(Value::from));
    let run = check(&["backoff-delay", "--without", "BO-01", "--symmetry", "on"]);
    assert!(run.code == 2 && run.err.contains("--symmetry on is not sound in backoff-delay"), "{run:?}");
}

#[test]
fn a_limit_is_not_finished() {
    for limit in [["--max-states", "100"], ["--max-memory", "1MB"], ["--budget", "0ms"]] {
        let run = check(&["elastic", limit[0], limit[1]]);
        assert!(run.code == 3 && run.out.contains("not finished"), "{run:?}");
    }
    assert_eq!(check(&["elastic", "--max-memory", "1"]).code, 2);
}

#[test]
fn a_counterexample_is_printed_and_written() {
    let folder = Folder::new();
    let file = folder.path("path.itf.json");
    let run = check(&["non-indexed", "--without", "FT-03", "--itf", file.to_str().unwrap()]);
    assert!(run.code == 1 && run.out.contains("loses its finalizer"), "{run:?}");
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(trace["#meta"]["format"], "ITF");
    assert_eq!(trace["states"].as_array().unwrap().len(), 4);
    let lost = check(&[
        "non-indexed",
        "--without",
        "FT-03",
        "--itf",
        folder.path("no/such/folder").to_str().unwrap(),
    ]);
    assert_eq!(lost.code, 4, "{lost:?}");
}

#[test]
fn walks_print_their_seed_and_prove_nothing() {
    let run = check(&["ttl", "--walks", "5", "--depth", "20", "--seed", "42"]);
    assert!(run.code == 3 && run.out.contains("seed 42") && run.out.contains("nothing is proved"), "{run:?}");
    assert!(check(&["ttl", "--walks", "5"]).out.contains("seed "));
    assert_eq!(check(&["ttl", "--seed", "42"]).code, 2);
}

#[test]
fn a_graph_is_of_one_scope() {
    let folder = Folder::new();
    let file = folder.path("graph.dot");
    let run = check(&["two-jobs", "--dot", file.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{run:?}");
    let graph = std::fs::read_to_string(&file).unwrap();
    assert!(graph.starts_with("digraph \"two-jobs\" {") && graph.contains("  0 -> 1 [label="), "{graph}");
    assert!(!graph.contains("red"), "{graph}");
    assert_eq!(check(&["--dot", file.to_str().unwrap()]).code, 2);
}

#[test]
fn the_path_of_a_counterexample_is_red_in_the_graph() {
    let folder = Folder::new();
    let file = folder.path("graph.dot");
    let run = check(&["--mutant", "B18", "--dot", file.to_str().unwrap()]);
    assert_eq!(run.code, 1, "{run:?}");
    let graph = std::fs::read_to_string(&file).unwrap();
    let red = graph.lines().filter(|line| line.contains("color=red"));
    let edges: Vec<(&str, &str)> =
        red.filter_map(|line| line.trim().split(" [").next()?.split_once(" -> ")).collect();
    let path: Vec<&str> =
        std::iter::successors(Some("0"), |at| edges.iter().find(|(from, _)| from == at).map(|(_, to)| *to))
            .collect();
    assert!(edges.len() > 5 && path.len() == edges.len() + 1, "{graph}");
    assert!(graph.contains(&format!("  {} [color=red];", path[edges.len()])), "{graph}");
}

#[test]
fn the_report_fits_its_schema_as_json_and_as_yaml() {
    for arguments in [
        &["check", "two-jobs", "-ojson"][..],
        &["check", "non-indexed", "--without=FT-02", "-ojson"],
        &["check", "two-jobs", "--max-states=5", "-ojson"],
        &["check", "progress/backoff-limit", "-ojson"],
    ] {
        schema::check(&jobcheck(arguments).json());
    }
    let yaml: Value = serde_saphyr::from_str(&jobcheck(["check", "two-jobs", "-oyaml"]).out).unwrap();
    assert_eq!((&yaml["kind"], &yaml["apiVersion"]), (&"CheckReport".into(), &"jobcheck.dev/v1".into()));
    let wrong = serde_json::json!({"kind": "CheckReport"});
    assert!(!schema::problems(&wrong).is_empty());
}

/// Walks that find nothing, that find a counterexample, and that are stopped.
#[test]
fn the_report_of_walks_fits_its_schema_as_json_and_as_yaml() {
    let walks = |arguments: &[&str], output: &str| {
        let arguments = [&["check", "--walks=40", "--seed=42", output][..], arguments].concat();
        jobcheck(arguments)
    };
    let broken = &["non-indexed", "--without=FT-03"][..];
    for (arguments, code) in [(&["ttl", "two-jobs"][..], 3), (broken, 1), (&["ttl", "--budget=0ms"], 3)] {
        let run = walks(arguments, "-ojson");
        let report = run.json();
        schema::check(&report);
        assert_eq!((run.code, &report["exitCode"]), (code, &code.into()), "{report:#}");
        assert_eq!(report["scopes"][0]["counterexample"].is_object(), code == 1, "{report:#}");
    }
    let yaml: Value = serde_saphyr::from_str(&walks(broken, "-oyaml").out).unwrap();
    schema::check(&yaml);
    let mut wrong = yaml.clone();
    wrong["scopes"][0]["counterexample"]["story"][0]["extra"] = true.into();
    assert_eq!(
        schema::problems(&wrong),
        ["/scopes/0/counterexample/story/0: Additional properties are not allowed ('extra' was unexpected)"]
    );
}

#[test]
fn progress_is_checked_in_the_scopes_that_ask_for_it_and_without_reductions() {
    let report = report(&["progress/backoff-limit", "ttl"]);
    let [checked, other] = [&report["scopes"][0], &report["scopes"][1]];
    assert_eq!(
        (&checked["result"], &checked["states"], &checked["rests"]),
        (&"holds".into(), &183.into(), &4.into())
    );
    assert_eq!((&report["exitCode"], &other["rests"]), (&0.into(), &Value::Null));
    let last = report["properties"].as_array().unwrap().last().unwrap();
    assert_eq!(last["scopesReached"], 1, "{last}");
    let run = check(&["progress/backoff-limit"]);
    assert!(
        run.out.contains("gets there") && run.out.contains("every Job finishes on every fair path"),
        "{run:?}"
    );
}

#[test]
fn a_search_for_progress_that_is_cut_is_not_finished() {
    for limit in ["--max-states=100", "--budget=0ms"] {
        let run = check(&["progress/backoff-limit", limit]);
        assert!(run.code == 3 && !run.out.contains("gets there"), "{run:?}");
    }
}

#[test]
fn help_lists_every_flag_and_every_exit_code() {
    for command in ["check", "replay"] {
        let help = jobcheck([command, "--help"]).out;
        for code in 0..=5 {
            assert!(help.contains(&format!("\n  {code}  ")), "{command}: {code} is missing in {help}");
        }
    }
    assert!(jobcheck(["check", "--help"]).out.contains("--without <REQUIREMENT>"));
}

#[test]
fn help_of_every_command_names_the_internal_error() {
    for command in COMMANDS {
        let words = command.split(' ').filter(|word| !word.is_empty());
        let help = jobcheck(words.chain(["--help"])).out;
        assert!(help.contains("\n  5  internal error"), "{command}: {help}");
    }
}

#[test]
fn a_search_that_is_cut_proves_nothing() {
    let run = jobcheck(["check", "non-indexed", "--max-states=100"]);
    assert!(run.code == 3 && run.out.contains("not finished"), "{run:?}");
}

#[test]
fn a_single_pod_has_no_plural() {
    let run = jobcheck(["check", "--list"]);
    assert!(run.code == 0 && run.out.contains("at most 1 pod") && !run.out.contains("1 pods"), "{}", run.out);
}

#[test]
fn a_file_that_cannot_be_written_is_reported_before_the_search() {
    for arguments in [["--dot", "/dev/null/x"], ["--itf", "/nowhere/x"], ["--save", "/dev/null/x"]] {
        let run = jobcheck(["check", "non-indexed", arguments[0], arguments[1]]);
        assert_eq!((run.code, &*run.out), (4, ""), "{arguments:?}: {run:?}");
        assert!(run.err.starts_with("error: cannot "), "{}", run.err);
    }
}

/// No specification allows two leaders: their scopes are listed last, and explored only by name.
#[test]
fn two_leaders_are_listed_last_and_explored_by_name() {
    for arguments in [&["--list"][..], &["--list", "--subject", "controller"]] {
        let run = check(arguments);
        let (before, last) = run.out.split_once("no specification allows").expect("they are listed last");
        assert!(run.code == 0 && !before.contains("two-leaders/"), "{}", run.out);
        assert!(last.contains("two-leaders/backoff-limit") && last.contains("SY-01"), "{last}");
    }
    assert!(!check(&["--list", "--subject", "spec"]).out.contains("two-leaders"));
    let named = check(&["--list", "two-leaders"]).out;
    assert!(named.starts_with("two-leaders/") && !named.contains("no specification allows"), "{named}");
    let run = check(&["two-leaders/backoff-limit"]);
    assert!(run.code == 1 && run.out.contains("which is counted already"), "{run:?}");
    assert!(run.out.contains("no specification allows two leaders (SY-01)"), "{run:?}");
    assert!(!check(&["non-indexed", "--without", "FT-03"]).out.contains("two leaders"));
}

#[test]
fn the_shipped_controllers_are_a_subject() {
    let report = report(&["failed-request/ttl", "--subject", "controller"]);
    let scope = &report["scopes"][0];
    assert_eq!((&scope["subject"], &scope["result"]), (&"controller".into(), &"holds".into()), "{scope}");
    let run = check(&[
        "stale-caches/ttl",
        "stale-caches/legacy-pods",
        "--subject",
        "controller",
        "--without",
        "TC-07",
    ]);
    assert!(run.code == 0 && run.out.contains("2 scopes with the shipped controllers"), "{run:?}");
}

#[test]
fn a_subject_has_scopes_of_its_own() {
    for (scope, subject, part) in [
        ("two-jobs", "controller", "stale-caches/two-jobs"),
        ("two-jobs", "algorithm", "stale-caches/two-jobs"),
        ("crash/per-index", "spec", "use per-index, the one of the specification"),
    ] {
        let run = check(&[scope, "--subject", subject]);
        assert!(run.code == 2 && run.err.contains(part), "{run:?}");
    }
    assert_eq!(check(&["two-jobs", "--subject", "spec"]).code, 0);
}

#[test]
fn a_defect_can_be_explored() {
    let run = check(&["--mutant", "B18"]);
    assert!(run.code == 1 && run.out.contains("a property is broken"), "{run:?}");
    let run = check(&["stale-caches/full-lists", "--mutant", "B07"]);
    assert!(run.code == 1 && run.out.contains("stale-caches/full-lists"), "{run:?}");
    for (arguments, part) in [
        (["--mutant", "B14", "--subject", "controller"], "B14 does not apply to the shipped controllers"),
        (["--mutant", "B18", "--subject", "spec"], "the specification has no defects"),
    ] {
        let run = check(&arguments);
        assert!(run.code == 2 && run.err.contains(part), "{run:?}");
    }
    let run = check(&["--mutant", "B18", "--subject", "controller"]);
    assert!(run.code == 1 && run.out.contains("broken, PC-02"), "{run:?}");
    assert!(run.err.contains("B18 is known for breaking TC-04"), "{run:?}");
    assert_eq!(check(&["two-jobs", "--mutant", "B18"]).code, 2);
    assert_eq!(check(&["--mutant", "B999"]).code, 2);
}

#[test]
fn every_property_is_listed_with_its_rule_and_kind() {
    let text = check(&["--list-properties"]);
    assert!(text.code == 0 && text.out.contains("FT-02  always    no pod is counted twice"), "{text:?}");
    let report = report(&["--list-properties"]);
    schema::check(&report);
    let properties = report["properties"].as_array().unwrap();
    let kinds: Vec<_> = properties.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "progress").count(), 1);
    assert_eq!(properties.len(), text.out.lines().take_while(|line| !line.is_empty()).count() - 1);
}

#[test]
fn on_a_narrow_terminal_a_row_takes_two_lines_and_no_word_is_cut() {
    let mut command = crate::support::binary();
    command.env("COLUMNS", "80").args(["check", "stale-caches/suspend", "crash/non-indexed", "-v"]);
    let run = crate::support::finish(&mut command, b"");
    assert_eq!(run.code, 0, "{run:?}");
    let too_long: Vec<&str> = run.out.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(too_long.is_empty(), "{too_long:#?}");
    assert!(
        run.out.contains("    depth 25, ") && run.out.contains("; 4 pods, lag 1, crash 1"),
        "{}",
        run.out
    );
}

#[test]
fn another_checker_finds_the_same_states() {
    let run = jobcheck(["check", "backoff-limit", "crash/backoff-limit", "--engine", "stateright"]);
    assert_eq!((run.code, run.out.matches("| same").count()), (0, 2), "{run:?}");
    let run = jobcheck(["check", "backoff-limit", "--without", "FT-03", "--engine", "stateright"]);
    assert_eq!((run.code, run.out.matches("| same verdict").count()), (1, 1), "{run:?}");
    let run = jobcheck(["check", "deadline", "--engine", "stateright", "--max-states", "100"]);
    assert!(run.code == 3 && run.out.contains("cut"), "{run:?}");
    assert_eq!(jobcheck(["check", "backoff-limit", "--engine", "stateright", "-ojson"]).code, 2);
    assert_eq!(jobcheck(["check", "managers/plain", "--engine", "stateright"]).code, 2);
}

/// The scopes of the parts are those of the whole, and no part has a scope of another.
#[test]
fn all_shards_together_are_the_whole() {
    for subject in ["all", "mirror", "aggregate"] {
        let listed = |shard: &[&str]| {
            let run = check(&[&["--list", "--subject", subject], shard].concat());
            assert_eq!(run.code, 0, "{run:?}");
            let (scopes, _) = run.out.split_once("\n\n").unwrap_or((&*run.out, ""));
            scopes.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let whole = listed(&["--shard", "0/1"]);
        let mut parts: Vec<String> =
            ["0/3", "1/3", "2/3"].iter().flat_map(|shard| listed(&["--shard", shard])).collect();
        assert!(whole.len() > 3, "{whole:?}");
        let mut sorted = whole.clone();
        sorted.sort_unstable();
        parts.sort_unstable();
        assert_eq!(parts, sorted, "{subject}");
    }
}

#[test]
fn a_shard_takes_its_index_from_an_indexed_job() {
    let indexed = |index: &str, flags: &[&str]| {
        let arguments = [&["check", "ttl", "--shard", "100"], flags].concat();
        finish(binary().env("JOB_COMPLETION_INDEX", index).args(arguments), b"")
    };
    let first = indexed("0", &["--quiet"]);
    assert!(first.code == 0 && first.err.contains("note: shard 0/100 has 1 of "), "{first:?}");
    let beyond = indexed("99", &["--quiet"]);
    assert!(beyond.code == 3 && beyond.err.contains("note: shard 99/100 has 0 of "), "{beyond:?}");
    let wrong = indexed("100", &[]);
    assert!(wrong.code == 2 && wrong.err.contains("there is no shard 100 of 100"), "{wrong:?}");
    let none = jobcheck(["check", "--shard", "4"]);
    assert!(none.code == 2 && none.err.contains("JOB_COMPLETION_INDEX is not set"), "{none:?}");
}

//! The flags of `jobcheck replay`.

use crate::support::{Folder, Run, binary, counted_too_much, finish, jobcheck, lines, recording, replay};

fn with(flags: &[&str], file: &std::path::Path) -> Run {
    replay(flags.iter().map(std::ffi::OsStr::new).chain([file.as_os_str()]))
}

#[test]
fn help_teaches_by_examples_and_exit_codes() {
    let run = jobcheck(["replay", "--help"]);
    assert_eq!(run.code, 0);
    for expected in ["Examples:", "Exit codes:", "jobcheck replay audit.log", "How to record:"] {
        assert!(run.out.contains(expected), "{expected:?} is missing in {}", run.out);
    }
    assert_eq!(jobcheck(["--help"]).code, 0);
    assert_eq!(jobcheck(["--version"]).code, 0);
}

/// Every command, as the words that follow `jobcheck`.
pub const COMMANDS: &[&str] = &[
    "",
    "verify",
    "replay",
    "view",
    "record",
    "watch-audit",
    "check",
    "explore",
    "mutants",
    "rule",
    "status",
    "run",
    "fuzz",
    "conform",
    "controller",
    "cluster",
    "cluster up",
    "cluster down",
    "cluster env",
    "cluster pause",
    "cluster resume",
    "cluster status",
    "report show",
    "report verify",
    "report diff",
    "report merge",
    "completions",
    "man",
];

#[test]
fn the_help_of_every_command_has_an_example_exit_codes_and_at_most_80_columns() {
    for command in COMMANDS {
        for help in ["-h", "--help"] {
            let words = command.split(' ').filter(|word| !word.is_empty()).chain([help]);
            let run = finish(binary().env("COLUMNS", "80").args(words), b"");
            assert_eq!(run.code, 0, "{command}: {run:?}");
            let too_long: Vec<&str> = run.out.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(too_long.is_empty(), "{command} {help}: {too_long:#?}");
            assert!(run.out.contains("Exit codes:\n  0  "), "{command} {help} has no exit codes");
            assert!(
                run.out.contains("\n  jobcheck ") || run.out.contains("$(jobcheck "),
                "{command}: no example"
            );
        }
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let file = recording("completions-zero.audit");
    assert_eq!(jobcheck(Vec::<&str>::new()).code, 2);
    assert_eq!(jobcheck(["replai"]).code, 2);
    assert_eq!(jobcheck(["replay"]).code, 2);
    for (flags, part) in [
        (["--requirement", "FT-99"], "there is no requirement \"FT-99\"; the nearest are FT-32"),
        (["--kubernetes", "1.33"], "expected 1.34, 1.35, 1.36, 1.37 or 1.38"),
        (["--kubernetes", "latest"], "expected 1.34"),
        (["--assume", "retries=3"], "expected one of pod-failure-backoff"),
        (["--assume", "pod-failure-backoff=10"], "expected a duration such as 100ms"),
        (["--assume", "max-uncounted-pods=0"], "expected a number of pods, 1 or more"),
        (["--assume", "pod-failure-backoff=20m"], "at most pod-failure-backoff-max"),
        (
            ["--assume", "pod-failure-backoff=2s,pod-failure-backoff-max=1s"],
            "at most pod-failure-backoff-max",
        ),
        (["--assume", "max-uncounted-pods=many"], "expected a number of pods"),
        (["--actor", "boss=admin"], "expected one of the roles job-controller"),
        (["--actor", "job-controller"], "expected ROLE=USER"),
        (["--output", "xml"], "possible values: text, json, yaml, junit"),
        (["--color", "sometimes"], "possible values: auto, always, never"),
    ] {
        let run = with(&flags, &file);
        assert_eq!(run.code, 2, "{flags:?}: {run:?}");
        assert!(run.err.contains(part), "{flags:?}: {part:?} is not in {}", run.err);
    }
}

#[test]
fn a_requirement_filters_violations_and_the_exit_code() {
    let folder = Folder::new();
    let file = folder.write_lines("bad.jsonl", &counted_too_much());
    assert_eq!(with(&["--requirement", "FT-02"], &file).code, 1);
    let same_fact = with(&["--requirement=ft-03"], &file);
    assert!(same_fact.code == 1 && same_fact.out.contains("FT-02 (also FT-03"), "{same_fact:?}");
    let other = with(&["--requirement=TC-05"], &file);
    assert!(other.code == 0 && other.out.contains("judged        1 requirement; "), "{other:?}");
    assert_eq!(with(&["--requirement=TC-05", "--requirement=FT-02"], &file).code, 1);
}

#[test]
fn a_requirement_whose_premise_was_never_met_is_inconclusive() {
    let file = recording("completions-zero.audit");
    let run = with(&["--requirement", "BI-01"], &file);
    assert!(run.code == 3 && run.out.contains("BI-01: its premise was never met"), "{run:?}");
    assert!(run.out.contains("not judged") && !run.out.contains("conforms"), "{run:?}");
    let run = with(&["--requirement", "FT-28"], &file);
    assert!(run.code == 3 && run.out.contains("FT-28 is not decided by traces"), "{run:?}");
    let run = with(&["--requirement", "TT-01"], &recording("ttl-zero.watch"));
    assert!(run.code == 3 && run.out.contains("TT-01 cannot be decided from a watch stream"), "{run:?}");
    assert!(run.first_line().starts_with("inconclusive"), "{}", run.out);
}

#[test]
fn a_premise_that_one_of_several_traces_meets_is_met() {
    let indexed = recording("indexed-success.audit");
    let run = replay([
        "--requirement=PC-21".as_ref(),
        indexed.as_os_str(),
        recording("completions-zero.audit").as_os_str(),
    ]);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn versions_and_assumptions_are_taken() {
    let file = recording("exponential-backoff.audit");
    let run = with(&["--kubernetes=1.34", "-ojson"], &file);
    assert_eq!(run.json()["traces"][0]["kubernetes"], "1.34");
    assert!(with(&["--kubernetes=1.34"], &file).first_line().contains("rules of 1.34"));
    let assumed = "--assume=pod-failure-backoff=100ms,max-uncounted-pods=10,pod-failure-backoff-max=10m";
    assert_eq!(with(&[assumed], &file).code, 0);
    let longer = with(&["--assume=pod-failure-backoff=5m", "--strict"], &file);
    assert!(longer.code == 1 && longer.out.contains("BO-01"), "{longer:?}");
}

#[test]
fn an_actor_can_be_named() {
    let folder = Folder::new();
    let renamed: Vec<String> = lines("ttl-zero.audit")
        .iter()
        .map(|line| {
            let user = if line.contains("/ttl-after-finished-controller\"") { "sweeper" } else { "kcm" };
            line.replace("system:kube-controller-manager", user)
                .replace("/ttl-after-finished-controller\"", "/x\"")
        })
        .collect();
    let file = folder.write_lines("renamed.jsonl", &renamed);
    let premise = |run: &Run| run.json()["requirements"]["judged"]["TT-01"].is_number();
    let unnamed = with(&["-ojson"], &file);
    let user = "--actor=ttl-after-finished-controller=sweeper";
    let named = with(&["-ojson", user], &file);
    assert!(!premise(&unnamed) && premise(&named), "{} {}", unnamed.out, named.out);
}

#[test]
fn how_files_are_grouped_can_be_forced() {
    let files = [recording("completions-zero.audit"), recording("nonindexed-success.audit")];
    let traces = |how: &str| {
        let run = replay(files.iter().map(|it| it.as_os_str()).chain(["-ojson".as_ref(), how.as_ref()]));
        run.json()["traces"].as_array().unwrap().len()
    };
    assert_eq!([traces("--group=auto"), traces("--group=one"), traces("--group=each")], [2, 1, 2]);
}

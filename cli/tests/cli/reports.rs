//! Typical text reports of `jobcheck replay`, compared with the files in `reports/`.
//!
//! `JOBCHECK_BLESS=1` accepts new ones.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{
    Folder, Run, at_metadata, binary, counted_too_much, finish, lines, root, with_refused_write,
};

const CORPUS: &str = "traces/corpus";

/// Runs `jobcheck replay` in a folder, with a terminal of 100 columns.
fn replay_in(folder: &Path, arguments: &[&str]) -> Run {
    finish(binary().current_dir(folder).env("COLUMNS", "100").arg("replay").args(arguments), b"")
}

fn replay(arguments: &[&str]) -> Run {
    replay_in(root(), arguments)
}

/// Compares the report of a run in `folder`, or at the root of the repository, with the file of this name.
fn check(name: &str, arguments: &[&str], folder: Option<&Folder>) {
    let folder = folder.map_or_else(|| root().to_owned(), |folder| folder.path(""));
    let run = replay_in(&folder, arguments);
    let text = format!("exit {}\n{}{}", run.code, run.out, run.err);
    let path = root().join("cli/tests/cli/reports").join(name).with_extension("txt");
    if std::env::var_os("JOBCHECK_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == text, "{name}: if this report is right, accept it with JOBCHECK_BLESS=1:\n{text}");
}

/// The lines of a file of the corpus.
fn corpus(file: &str) -> Vec<String> {
    fs::read_to_string(root().join(CORPUS).join(file)).unwrap().lines().map(str::to_owned).collect()
}

/// The lines as those of another Job in another namespace.
fn renamed(lines: &[String], namespace: &str, number: usize) -> Vec<String> {
    let mut event: Value = serde_json::from_str(&lines[0]).unwrap();
    let old = event["objectRef"]["namespace"].take();
    let (old, digits) = (old.as_str().unwrap(), format!("{number:04x}"));
    let line = |line: &String| with_other_uids(&line.replace(old, namespace), &digits);
    lines.iter().map(line).collect()
}

/// The text with other last digits in each UID.
fn with_other_uids(text: &str, digits: &str) -> String {
    let is_uid = |at: usize| {
        text.get(at..at + 36).is_some_and(|uid| {
            uid.bytes().enumerate().all(|(position, byte)| match position {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        })
    };
    let mut out = text.to_owned();
    (0..text.len()).filter(|at| is_uid(*at)).for_each(|at| out.replace_range(at + 32..at + 36, digits));
    out
}

/// Twenty-five Jobs in one log. Seven of them count a pod too much.
fn many_jobs() -> Vec<String> {
    let right = lines("nonindexed-success.audit");
    let wrong = counted_too_much();
    let job = |number: usize| {
        let of = if number < 7 { &wrong } else { &right };
        renamed(of, &format!("team-{number}"), number)
    };
    (0..25).flat_map(job).collect()
}

#[test]
fn a_conforming_trace() {
    check("conforms", &["traces/corpus/recordings/per-index-backoff.audit.jsonl"], None);
}

#[test]
fn a_violation() {
    check("violates", &["traces/corpus/invalid/FT-03--released-before-recorded.audit.jsonl"], None);
    let explained = ["--explain", "traces/corpus/invalid/FT-03--released-before-recorded.audit.jsonl"];
    check("violates-explained", &explained, None);
}

#[test]
fn a_known_deviation() {
    check("known", &["traces/corpus/known/s05-readopted.audit.jsonl"], None);
    check("known-allowed", &["--allow-known", "traces/corpus/known/s05-readopted.audit.jsonl"], None);
}

#[test]
fn what_is_not_excused_comes_before_what_is() {
    let folder = Folder::new();
    let mut lines = corpus("known/s05-readopted.audit.jsonl");
    let last = lines.len() - 1;
    lines[last] = lines[last].replace("\"succeeded\":4", "\"succeeded\":5");
    folder.write_lines("known-and-more.jsonl", &lines);
    check("known-and-more", &["--allow-known", "known-and-more.jsonl"], Some(&folder));
}

#[test]
fn a_level_that_shows_too_little() {
    let folder = Folder::new();
    folder.write_lines("metadata.jsonl", &at_metadata("nonindexed-success.audit"));
    check("inconclusive", &["metadata.jsonl"], Some(&folder));
}

#[test]
fn a_trace_that_begins_in_mid_life() {
    let folder = Folder::new();
    let lines = corpus("known/s05-readopted.audit.jsonl");
    folder.write_lines("mid-life.jsonl", &lines[lines.len() - 12..]);
    check("mid-life", &["mid-life.jsonl"], Some(&folder));
}

#[test]
fn a_mirror() {
    check("mirror", &["traces/corpus/recordings/managed-by-mirror.audit.jsonl"], None);
}

/// Jobs without `spec.managedBy`, whose status an aggregator writes.
#[test]
fn an_aggregator() {
    let folder = Folder::new();
    let lines = corpus("recordings/managed-by-mirror.audit.jsonl");
    let value = ",\"managedBy\":\"acme.example.com/mirror\"";
    let lines: Vec<String> = lines.iter().map(|line| line.replace(value, "")).collect();
    folder.write_lines("aggregator.jsonl", &lines);
    check("aggregate", &["--profile", "aggregate", "aggregator.jsonl"], Some(&folder));
}

#[test]
fn several_files() {
    check(
        "several-files",
        &[
            "traces/corpus/recordings/per-index-backoff.audit.jsonl",
            "traces/corpus/recordings/completions-zero.watch.jsonl",
            "traces/corpus/invalid/TC-04--complete-beside-terminating-pod.audit.jsonl",
        ],
        None,
    );
}

#[test]
fn many_jobs_are_one_screen() {
    let folder = Folder::new();
    folder.write_lines("many.jsonl", &many_jobs());
    check("many-jobs", &["many.jsonl"], Some(&folder));
}

#[test]
fn filters_select_jobs_and_decide_the_exit_code() {
    let folder = Folder::new();
    let file = folder.write_lines("many.jsonl", &many_jobs()).display().to_string();
    assert_eq!(replay(&["--job", "team-9/job", &file]).code, 0);
    assert_eq!(replay(&["-n", "team-9", "-n", "team-3", &file]).code, 1);
    let one = replay(&["--job", "team-3/job", "-ojson", &file]).json();
    assert_eq!((one["jobs"].as_array().unwrap().len(), &one["exitCode"]), (1, &1.into()));
    check("no-such-job", &["--job", "team-33/job", "many.jsonl"], Some(&folder));
    // The last violation is in the last second of the log; an hour later there is nothing.
    assert_eq!(replay(&["--since", "10m", &file]).code, 1);
    assert_eq!(replay(&["--since", "2026-11-21T00:00:00Z", &file]).code, 1);
    let later = replay(&["--since", "2027-01-01T00:00:00Z", &file]);
    assert_eq!(later.code, 3, "{later:?}");
    assert!(later.out.contains("no Job has an event since 2027-01-01T00:00:00Z"), "{}", later.out);
    for wrong in ["--job=a/b/c", "--job=/", "--since=yesterday", "--restarted=10m"] {
        let run = replay(&[wrong, &file]);
        assert!(run.code == 2 && run.err.contains("expected "), "{wrong}: {run:?}");
    }
}

#[test]
fn a_violation_before_the_time_of_since_does_not_count() {
    let folder = Folder::new();
    // The second write is wrong; the Job continues for two seconds.
    let file = folder.write_lines("early.jsonl", &crate::support::active_miscounted()).display().to_string();
    assert_eq!(replay(&[&file]).code, 1);
    assert_eq!(replay(&["--since", "1s", &file]).code, 0);
}

/// Nothing happens any more to a Job that hangs.
#[test]
fn a_job_that_waits_for_its_controller_is_open_at_any_time_of_since() {
    let folder = Folder::new();
    let mut hanging = lines("nonindexed-success.audit");
    hanging.truncate(9);
    hanging.extend(lines("completions-zero.audit"));
    let file = folder.write_lines("hanging.jsonl", &hanging).display().to_string();
    let late = |since: &str| replay(&["--group=one", "--since", since, &file]);
    let run = late("10s");
    assert!(run.code == 1 && run.out.contains("overdue obligation"), "{run:?}");
    assert_eq!(late("2027-01-01T00:00:00Z").code, 3);
}

/// BO-05: without its memory the controller delays nothing.
#[test]
fn a_restart_that_the_user_states_explains_a_missing_delay() {
    let file = "traces/corpus/recordings/exponential-backoff.audit.jsonl";
    let longer = "--assume=pod-failure-backoff=5m";
    let silent = replay(&[longer, "--strict", file]);
    assert!(silent.code == 1 && silent.out.contains("BO-01"), "{silent:?}");
    // The time of each line, so that there is a restart between each failure and the next creation.
    let times = lines("exponential-backoff.audit").into_iter().map(|line| {
        let event: Value = serde_json::from_str(&line).unwrap();
        format!("--restarted={}", event["stageTimestamp"].as_str().unwrap())
    });
    let times: Vec<String> = times.collect();
    let mut arguments = vec![longer, "--strict", file];
    arguments.extend(times.iter().map(String::as_str));
    let told = replay(&arguments);
    assert_eq!(told.code, 0, "{told:?}");
}

#[test]
fn equal_warnings_share_a_line() {
    let folder = Folder::new();
    let with_warning = with_refused_write(|_| {});
    let job = |number: usize| renamed(&with_warning, &format!("team-{number}"), number);
    folder.write_lines("warned.jsonl", &(0..3).flat_map(job).collect::<Vec<_>>());
    check("warnings", &["warned.jsonl"], Some(&folder));
}

#[test]
fn a_file_that_cannot_be_read() {
    let folder = Folder::new();
    let mut lines = lines("nonindexed-success.audit");
    lines[17].truncate(200);
    folder.write_lines("cut.jsonl", &lines);
    check("bad-input", &["cut.jsonl"], Some(&folder));
}

#[test]
fn the_life_of_a_job_that_conforms() {
    let file = "traces/corpus/recordings/per-index-backoff.audit.jsonl";
    check("life", &["--job", "job", "--explain", file], None);
    let report = replay(&["--explain=job", "-ojson", file]).json();
    crate::schema::check(&report);
    let pods = report["jobs"][0]["life"]["pods"].as_array().unwrap();
    assert!(pods.iter().all(|pod| pod["counted"].as_array().unwrap().len() == 1), "{pods:#?}");
    assert!(pods.iter().any(|pod| pod["counted"][0]["text"] == "succeeded"), "{pods:#?}");
    assert!(replay(&["--explain", "-ojson", file]).json()["jobs"][0]["life"].is_null());
    let unknown = replay(&["--explain=jab", file]);
    assert!(unknown.err.contains("--explain=jab fits no Job"), "{unknown:?}");
}

#[test]
fn an_explanation_has_an_end() {
    let folder = Folder::new();
    let file = folder.write_lines("many.jsonl", &many_jobs()).display().to_string();
    let lines = |arguments: &[&str]| replay(arguments).out.lines().count();
    let (bounded, all) = (lines(&["--explain", &file]), lines(&["--explain=all", &file]));
    assert!(bounded <= 5 * 90 + 40 && bounded < all, "{bounded} {all}");
}

/// No line of a report is wider than the terminal, unless a word is.
#[test]
fn reports_fit_a_terminal_of_80_columns() {
    for file in ["invalid/FT-03--released-before-recorded.audit.jsonl", "known/s05-readopted.audit.jsonl"] {
        let file = format!("{CORPUS}/{file}");
        let run = finish(
            binary().current_dir(root()).env("COLUMNS", "80").args(["replay", "--explain", &file]),
            b"",
        );
        for line in run.out.lines().filter(|line| line.chars().count() > 80) {
            let longest = line.split_whitespace().map(|word| word.chars().count()).max().unwrap();
            assert!(longest > 50, "{line:?}");
        }
    }
}

//! The README: its samples are what the commands print, and its numbers are right.

use std::fs;

use crate::support::{binary, finish, root};

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The fenced blocks that begin with `$ jobcheck`: the command, and the lines below it.
fn samples(text: &str) -> Vec<(String, Vec<String>)> {
    let blocks = text.split("```").skip(1).step_by(2);
    let sample = |block: &str| {
        let mut lines = block.lines().skip(1).map(str::to_owned);
        let command = lines.next()?.strip_prefix("$ jobcheck ")?.to_owned();
        Some((command, lines.collect()))
    };
    blocks.filter_map(sample).collect()
}

/// A line without its numbers and its spacing: times differ from run to run.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for word in line.split_whitespace() {
        for c in word.chars() {
            match c {
                '0'..='9' if shape.ends_with('#') => {}
                '0'..='9' => shape.push('#'),
                c => shape.push(c),
            }
        }
        shape.push(' ');
    }
    shape
}

#[test]
fn every_sample_of_the_readme_is_what_the_command_prints() {
    let samples = samples(&readme());
    assert_eq!(samples.len(), 1, "{samples:?}");
    compare(samples);
}

#[test]
fn every_sample_of_the_guide_to_replay_is_what_the_command_prints() {
    let guide = fs::read_to_string(root().join("docs/guide/replay.md")).unwrap();
    let samples = samples(&guide);
    assert_eq!(samples.len(), 4, "{samples:?}");
    compare(samples);
}

#[test]
fn the_sample_of_the_guide_to_status_is_what_the_command_prints() {
    let guide = fs::read_to_string(root().join("docs/guide/status.md")).unwrap();
    let samples = samples(&guide);
    assert_eq!(samples.len(), 1, "{samples:?}");
    compare(samples);
}

#[test]
fn the_sample_of_the_guide_to_view_is_what_the_command_prints() {
    let guide = fs::read_to_string(root().join("docs/guide/view.md")).unwrap();
    let samples = samples(&guide);
    assert_eq!(samples.len(), 1, "{samples:?}");
    compare(samples);
}

/// Panics if a command does not print the lines of its sample in their order.
fn compare(samples: Vec<(String, Vec<String>)>) {
    for (command, shown) in samples {
        let run = finish(binary().current_dir(root()).args(command.split(' ')), b"");
        let mut printed = run.out.lines().map(shape);
        for line in shown.iter().filter(|line| line.trim() != "…") {
            let (wanted, is_cut) = match line.strip_suffix('…') {
                Some(start) => (shape(start), true),
                None => (shape(line), false),
            };
            let fits = |found: String| {
                if is_cut { found.starts_with(wanted.trim_end()) } else { found == wanted }
            };
            assert!(
                printed.any(fits),
                "`jobcheck {command}` does not print {line:?}, or not there:\n{}",
                run.out
            );
        }
    }
}

#[test]
fn the_numbers_of_the_readme_are_right() {
    let count = |folder: &str| fs::read_dir(root().join("traces/corpus").join(folder)).unwrap().count();
    let text = readme();
    for line in [
        format!("- {} recordings of the built-in controller", count("recordings")),
        format!("- {} invalid traces", count("invalid")),
    ] {
        assert!(text.contains(&line), "{line:?} is not in the README");
    }
}

/// The sample of `verify`, which `checkout::nothing_is_missing_outside_a_checkout` compares, because a run takes minutes.
pub fn verify_sample() -> String {
    let text = readme();
    let (_, sample) = text.split_once("$ cargo run --release -- verify\n").unwrap();
    sample.split_once("```").unwrap().0.to_owned()
}

/// The table of commands has each command of `jobcheck --help`, and no other.
#[test]
fn the_table_of_commands_is_complete() {
    let help = finish(binary().arg("--help"), b"").out;
    let commands = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    names.retain(|name| !["help", "completions", "man"].contains(name));
    let text = readme();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `jobcheck ")?.split('`').next());
    let mut rows: Vec<&str> = rows.collect();
    names.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, names);
}

/// A newcomer reads the whole page.
#[test]
fn the_readme_is_short() {
    let words = readme().split_whitespace().count();
    assert!(words <= 700, "{words} words, at most 700");
}

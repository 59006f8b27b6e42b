//! The README: its samples are what the commands print, and its numbers are right.

use std::fs;
use std::path::PathBuf;

use crate::support::{binary, finish};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

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
    assert!(samples.len() >= 3, "{samples:?}");
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

#[test]
fn every_family_that_a_sample_names_is_explained() {
    let text = readme();
    let key = text.split("The codes are families of requirements:").nth(1).unwrap();
    let key = key.split("\n\n").next().unwrap();
    for family in
        ["FT", "PC", "BO", "BI", "RP", "TC", "PF", "SX", "SU", "MB", "SS", "SP", "TT", "EN", "SC", "SY"]
    {
        assert!(key.contains(&format!("{family} ")), "{family} is not explained in {key:?}");
    }
}

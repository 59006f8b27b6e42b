//! Expected outputs that are checked in, and one way to accept new ones.
//!
//! A test that compares an output with a file uses [`check`]. `JOBCHECK_BLESS=1 cargo test` writes the files instead,
//! for every kind of output: counterexamples, generated pages, invalid traces, golden verdicts.

use std::collections::BTreeSet;
use std::fs;

use crate::corpus::root;

/// The environment variable that accepts the outputs.
const BLESS: &str = "JOBCHECK_BLESS";
/// The number of different lines that a message shows.
const SHOWN: usize = 20;

/// Returns true if this run writes the expected outputs.
#[must_use]
pub fn is_blessing() -> bool {
    std::env::var_os(BLESS).is_some()
}

/// Compares an output with the file of this path, relative to the repository. If [`is_blessing`], writes the file first.
///
/// # Panics
///
/// The file has other contents, or cannot be written. The message shows the lines that differ.
pub fn check(path: &str, output: &str) {
    let file = root().join(path);
    if is_blessing() {
        fs::write(&file, output).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == output,
        "{path} differs. If the new output is right, accept it with {BLESS}=1 cargo test.\n{}",
        difference(&stored, output)
    );
}

/// Compares the names of the files in a folder with those that a test has checked. If [`is_blessing`], removes the others.
///
/// # Panics
///
/// A file belongs to nothing, or the folder cannot be read.
pub fn check_names(folder: &str, names: &BTreeSet<String>) {
    let path = root().join(folder);
    let entries = fs::read_dir(&path).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let found = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let others: Vec<String> = found.filter(|name| !names.contains(name)).collect();
    if is_blessing() {
        for name in &others {
            fs::remove_file(path.join(name)).unwrap_or_else(|error| panic!("{folder}/{name}: {error}"));
        }
        return;
    }
    assert!(others.is_empty(), "nothing makes these files of {folder}: {others:?}");
}

/// The lines that only one of the texts has.
fn difference(stored: &str, output: &str) -> String {
    let [before, after] = [stored, output].map(|text| text.lines().collect::<BTreeSet<&str>>());
    let gone = before.difference(&after).map(|line| format!("- {line}"));
    let lines: Vec<String> = gone.chain(after.difference(&before).map(|line| format!("+ {line}"))).collect();
    let more = lines.len().saturating_sub(SHOWN);
    let shown = lines[..lines.len() - more].join("\n");
    if more > 0 { format!("{shown}\n… and {more} more lines") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_the_lines_of_one_side() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), "- a\n+ c");
        assert_eq!(difference("", "b\n"), "+ b");
    }

    #[test]
    #[should_panic(expected = "Cargo.toml differs")]
    fn another_output_is_refused() {
        assert!(!is_blessing(), "Cargo.toml differs");
        check("Cargo.toml", "another output");
    }
}

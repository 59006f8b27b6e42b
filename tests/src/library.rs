//! The library of scenarios: `tests/scenarios`, without the folders below it.

use std::fs;
use std::path::PathBuf;

use jobcheck_scenario::{Scenario, read};

use crate::corpus::root;

/// The scenarios of the library with their files, sorted by name.
///
/// # Panics
///
/// The folder or a scenario cannot be read.
#[must_use]
pub fn library() -> Vec<(PathBuf, Scenario)> {
    let folder = root().join("tests/scenarios");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    let scenario = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let scenario = read(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file, scenario)
    };
    files.into_iter().map(scenario).collect()
}

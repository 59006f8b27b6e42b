//! The library of scenarios: `tests/scenarios` and its folder of findings.

use std::fs;
use std::path::PathBuf;

use jobcheck_scenario::{Scenario, TargetName, read};

use crate::corpus::root;

/// The scenarios of the library that a target can play, with their files, sorted by name.
///
/// # Panics
///
/// A folder or a scenario cannot be read.
#[must_use]
pub fn library(target: TargetName) -> Vec<(PathBuf, Scenario)> {
    let mut files = Vec::new();
    for folder in ["tests/scenarios", "tests/scenarios/findings"].map(|folder| root().join(folder)) {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        files.extend(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())));
    }
    files.retain(|file| file.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    let scenario = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let scenario = read(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file, scenario)
    };
    let can_play = |it: &Scenario| it.targets.is_empty() || it.targets.contains(&target);
    files.into_iter().map(scenario).filter(|(_, it)| can_play(it)).collect()
}

//! Finds and reads scenarios: files, directories, and the library of this binary.

use std::io::Read;
use std::path::{Path, PathBuf};

use jobcheck_scenario::{Scenario, read};

use super::report::InputProblem;
use crate::library::{self, Entry};
use crate::parse::similar;

/// The maximum length of a scenario in bytes. It ends the reading of a device or of an endless pipe.
const LONGEST: u64 = 16 << 20;

/// The text of a scenario with its origin.
pub struct Source {
    /// The file, `-`, or the name in the library.
    pub name: String,
    text: String,
}

impl Source {
    /// Reads the scenario.
    pub fn read(&self) -> Result<Scenario, InputProblem> {
        read(&self.text).map_err(|error| InputProblem::of(&self.name, &error))
    }

    fn of(entry: &Entry) -> Source {
        Source { name: entry.name().to_owned(), text: entry.text() }
    }
}

/// The scenarios of the arguments, in their order. A problem takes the place of a scenario that cannot be read.
pub fn collect(arguments: &[PathBuf]) -> Vec<Result<Source, InputProblem>> {
    if arguments.is_empty() {
        return library::scenarios().iter().map(|entry| Ok(Source::of(entry))).collect();
    }
    let of_argument = |argument: &PathBuf| match found(argument) {
        Ok(Found::Files(files)) => files.iter().map(|file| text_of(file)).collect(),
        Ok(Found::Entry(entry)) => vec![Ok(Source::of(entry))],
        Err(problem) => vec![Err(problem)],
    };
    arguments.iter().flat_map(of_argument).collect()
}

/// The scenarios that an argument names.
enum Found {
    Files(Vec<PathBuf>),
    Entry(&'static Entry),
}

/// A file, the scenarios in a directory and below it, or a scenario of the library.
fn found(argument: &Path) -> Result<Found, InputProblem> {
    if argument.is_dir() {
        return directory(argument).map(Found::Files);
    }
    let name = argument.to_string_lossy();
    if name == "-" || argument.exists() {
        return Ok(Found::Files(vec![argument.to_owned()]));
    }
    library::scenario(&name).map(Found::Entry).ok_or_else(|| {
        let hint = similar(&name, library::scenarios().iter().map(Entry::name));
        InputProblem::whole(
            argument,
            &format!(
                "there is no such file, and no scenario of this name{hint}; jobcheck run --list lists all"
            ),
        )
    })
}

fn directory(path: &Path) -> Result<Vec<PathBuf>, InputProblem> {
    let (mut open, mut files) = (vec![path.to_owned()], Vec::new());
    while let Some(directory) = open.pop() {
        let unreadable = |error: std::io::Error| InputProblem::unreadable(&directory, &error);
        for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // Links are not followed, because a link can lead back to its own directory.
            let is_directory = entry.file_type().map_err(unreadable)?.is_dir();
            let path = entry.path();
            if is_directory {
                open.push(path);
                continue;
            }
            let is_scenario =
                path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
            // A pipe would be waited for. The files of a mounted ConfigMap are links.
            if is_scenario && std::fs::metadata(&path).is_ok_and(|data| data.is_file()) {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(InputProblem::whole(path, "there is no *.yaml or *.yml in this directory"));
    }
    Ok(files)
}

fn text_of(file: &Path) -> Result<Source, InputProblem> {
    let name = file.to_string_lossy().into_owned();
    let unreadable = |error: std::io::Error| InputProblem::unreadable(file, &error);
    let text = if name == "-" {
        beginning(std::io::stdin().lock())
    } else {
        beginning(std::fs::File::open(file).map_err(unreadable)?)
    };
    let text = text.map_err(unreadable)?;
    if text.len() as u64 > LONGEST {
        return Err(InputProblem::whole(
            file,
            &format!("longer than {LONGEST} bytes, the maximum for a scenario"),
        ));
    }
    Ok(Source { name, text })
}

/// The text up to one byte more than the maximum.
fn beginning(from: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(LONGEST + 1).read_to_string(&mut text)?;
    Ok(text)
}

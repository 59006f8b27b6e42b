//! Finding and reading scenarios.

use std::io::Read;
use std::path::{Path, PathBuf};

use jobcheck_scenario::{Scenario, read};

use super::report::InputProblem;

/// The most bytes of a scenario: a device, or a pipe that nobody closes, is read no further.
const MOST: u64 = 16 << 20;

/// The text of a scenario, and where it comes from.
pub struct Source {
    /// The file, or `-`.
    pub name: String,
    text: String,
}

impl Source {
    /// Reads it.
    pub fn read(&self) -> Result<Scenario, InputProblem> {
        read(&self.text).map_err(|error| InputProblem::of(&self.name, &error))
    }
}

/// The scenarios that are asked for, in their order, and what cannot be read in its place.
pub fn collect(paths: &[PathBuf]) -> Vec<Result<Source, InputProblem>> {
    let of_path = |path: &PathBuf| match found(path) {
        Ok(files) => files.iter().map(|file| text_of(file)).collect(),
        Err(problem) => vec![Err(problem)],
    };
    paths.iter().flat_map(of_path).collect()
}

/// The file, or the scenarios in the directory and those below, by name.
fn found(path: &Path) -> Result<Vec<PathBuf>, InputProblem> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut open, mut files) = (vec![path.to_owned()], Vec::new());
    while let Some(directory) = open.pop() {
        let unreadable = |error: std::io::Error| InputProblem::unreadable(&directory, &error);
        for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // A link may lead back to where it is.
            let is_directory = entry.file_type().map_err(unreadable)?.is_dir();
            let path = entry.path();
            if is_directory {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
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
    let name = file.display().to_string();
    let unreadable = |error: std::io::Error| InputProblem::unreadable(file, &error);
    let text = if name == "-" {
        beginning(std::io::stdin().lock())
    } else {
        beginning(std::fs::File::open(file).map_err(unreadable)?)
    };
    let text = text.map_err(unreadable)?;
    if text.len() as u64 > MOST {
        return Err(InputProblem::whole(
            file,
            &format!("it is longer than {MOST} bytes, which no scenario is"),
        ));
    }
    Ok(Source { name, text })
}

/// What there is to read, or a little more than may be.
fn beginning(from: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(MOST + 1).read_to_string(&mut text)?;
    Ok(text)
}

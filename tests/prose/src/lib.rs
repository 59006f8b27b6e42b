//! Checks the prose of the project: Markdown pages and comments of Rust sources.
//!
//! | rule | checked by |
//! | --- | --- |
//! | at most 25 words in a sentence | [`sentence`] |
//! | no sentence opens with Of, What, Whether, Where, Who or How | [`sentence`] |
//! | the words of the glossary, and none of the words that they replaced | [`words`] |
//! | every link leads to a file and a heading that exist | [`links`] |
//! | every file that a comment cites exists | [`citations`] |
//!
//! [`text`] cuts Markdown pages and Rust sources into sentences with their lines.

pub mod citations;
pub mod links;
pub mod sentence;
pub mod text;
pub mod words;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, relative to the workspace.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The broken rule, and the text that breaks it.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// Returns the root directory of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

/// Returns the Markdown pages and Rust sources below a path of the workspace, sorted by path.
///
/// # Errors
///
/// A directory cannot be read.
pub fn files(below: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut open = vec![root().join(below)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        // A link shows what is elsewhere, so that a crate can be packed.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            let hidden = path.file_name().is_some_and(|name| name == "target" || name == ".git");
            if !hidden {
                for entry in fs::read_dir(&path)? {
                    open.push(entry?.path());
                }
            }
        } else if path.extension().is_some_and(|it| it == "md" || it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the problems of one file, by line. In a Markdown page, the problems of links are last.
///
/// # Errors
///
/// The file cannot be read.
pub fn check(path: &Path) -> std::io::Result<Vec<Problem>> {
    let source = fs::read_to_string(path)?;
    let is_page = path.extension().is_some_and(|it| it == "md");
    let sentences = if is_page { text::of_markdown(&source) } else { text::of_rust(&source) };
    let file = path.strip_prefix(root()).unwrap_or(path);
    let mut problems = Vec::new();
    for it in &sentences {
        for what in sentence::problems(&it.text).into_iter().chain(words::problems(&it.text)) {
            problems.push(Problem { file: file.to_path_buf(), line: it.line, what });
        }
        let cited = if is_page { None } else { citations::broken(path, &it.cited) };
        problems.extend(cited.map(|what| Problem { file: file.to_path_buf(), line: it.line, what }));
    }
    if is_page {
        problems.extend(links::problems(path, &source));
    }
    Ok(problems)
}

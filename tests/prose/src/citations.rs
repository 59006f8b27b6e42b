//! Checks that the files cited in comments exist.

use std::path::Path;

use crate::root;

/// Extensions of files that a comment may cite by a path.
const ENDINGS: [&str; 6] = [".md", ".rs", ".go", ".tla", ".json", ".yaml"];

/// Returns the message about the first cited file that does not exist. Returns `None` if all exist.
///
/// A path is relative to the root of the workspace, or to one of the four nearest folders of the source. A source that
/// is cited by its name alone is not checked.
#[must_use]
pub fn broken(source: &Path, comment: &str) -> Option<String> {
    let is_between = |c: char| !(c.is_alphanumeric() || "/._-{}*<>".contains(c));
    let cited = comment.split(is_between).map(|word| word.trim_matches(|c: char| "._".contains(c)));
    let mut files =
        cited.filter(|word| ENDINGS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending)));
    let wrong = files.find(|word| !exists(source, word))?;
    Some(format!("the cited file {wrong} does not exist"))
}

fn exists(source: &Path, cited: &str) -> bool {
    let is_pattern = cited.contains(['*', '{', '<']) || cited.contains("NAME") || cited.contains("MINOR");
    let is_page = cited.ends_with(".md");
    // Patterns, sources without a folder, and files of Kubernetes have no path in the workspace.
    if is_pattern
        || (!is_page && !cited.contains('/'))
        || cited.starts_with("pkg/")
        || cited.starts_with("test/integration")
    {
        return true;
    }
    let folders = source.ancestors().skip(1).take_while(|folder| folder.starts_with(root()));
    root().join(cited).exists() || folders.take(4).any(|folder| folder.join(cited).exists())
}

#[cfg(test)]
mod tests {
    use super::broken;
    use crate::root;

    #[test]
    fn a_page_is_cited_by_a_path_that_exists() {
        let source = root().join("tests/prose/src/lib.rs");
        assert!(broken(&source, "The semantics are in docs/reference/judging.md, section 4.").is_none());
        assert!(broken(&source, "See judging.md 4.").is_some());
        assert!(broken(&source, "The table in src/words.rs, and job_controller.go of Kubernetes.").is_none());
        assert!(broken(&source, "The table in src/no_such_file.rs.").is_some());
    }
}

//! The navigation: `docs/SUMMARY.md`, in the format of mdBook.

use std::fs;
use std::io;
use std::path::Path;

use crate::paths;

/// The page with the navigation, in the repository.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// An entry of the navigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The heading of a part.
    Part(String),
    /// A page: its title, its path in the repository, and the depth in the list, from 0.
    Page(String, String, usize),
}

/// Reads the navigation. Lines that are neither headings of parts nor items of lists are text for readers.
#[must_use]
pub fn summary(text: &str) -> Vec<Entry> {
    text.lines().filter_map(entry).collect()
}

fn entry(line: &str) -> Option<Entry> {
    if let Some(part) = line.strip_prefix("## ") {
        return Some(Entry::Part(part.trim().to_owned()));
    }
    let item = line.trim_start();
    let depth = (line.len() - item.len()) / 2;
    let (title, target) = item.strip_prefix("- [")?.strip_suffix(')')?.rsplit_once("](")?;
    Some(Entry::Page(title.to_owned(), paths::join("docs", target)?, depth))
}

/// The pages of `docs` that the navigation does not list, sorted.
///
/// # Errors
///
/// A file cannot be read.
pub fn not_listed(root: &Path) -> io::Result<Vec<String>> {
    let entries = summary(&fs::read_to_string(root.join(SUMMARY))?);
    let is_listed =
        |path: &str| entries.iter().any(|it| matches!(it, Entry::Page(_, page, _) if page == path));
    let mut open = vec!["docs".to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if path.ends_with(".md") && path != SUMMARY && !is_listed(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_parts_and_items_are_pages() {
        let text = "# Summary\n\nText.\n\n## Guide\n\n- [A](guide/a.md)\n  - [B [c]](../B.md)\n";
        assert_eq!(
            summary(text),
            [
                Entry::Part("Guide".to_owned()),
                Entry::Page("A".to_owned(), "docs/guide/a.md".to_owned(), 0),
                Entry::Page("B [c]".to_owned(), "B.md".to_owned(), 1),
            ]
        );
    }

    #[test]
    fn a_page_that_is_not_listed_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("docs/guide")).unwrap();
        fs::write(folder.path().join(SUMMARY), "- [A](guide/a.md)\n").unwrap();
        for name in ["a.md", "b.md", "c.svg"] {
            fs::write(folder.path().join("docs/guide").join(name), "").unwrap();
        }
        assert_eq!(not_listed(folder.path()).unwrap(), ["docs/guide/b.md"]);
    }
}

//! Dead links: every link of every HTML file leads to a file of the site, and to an anchor that it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use crate::paths;

/// The links of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The number of links inside the site.
    pub links: usize,
    /// The dead links, each with its page.
    pub problems: Vec<String>,
}

/// Checks the links of all HTML files below a folder. Links to other sites are not followed.
///
/// # Errors
///
/// A file cannot be read.
pub fn check(site: &Path) -> io::Result<Checked> {
    let mut files = BTreeMap::new();
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(site.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if path.ends_with(".html") {
                let page = Page::of(&fs::read_to_string(entry.path())?);
                files.insert(path, page);
            } else {
                files.insert(path, Page::default());
            }
        }
    }
    let mut checked = Checked::default();
    for (path, page) in &files {
        for target in &page.targets {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            checked.links += 1;
            if let Some(problem) = dead(&files, path, target) {
                checked.problems.push(format!("{path}: the link {target} {problem}"));
            }
        }
    }
    Ok(checked)
}

fn dead(files: &BTreeMap<String, Page>, path: &str, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let found = if file.is_empty() { Some(path.to_owned()) } else { paths::join(paths::folder(path), file) };
    match found.and_then(|found| files.get(&found)) {
        None => Some("leads to no file"),
        Some(page) if !anchor.is_empty() && !page.anchors.contains(anchor) => Some("leads to no heading"),
        Some(_) => None,
    }
}

/// The links and the anchors of a page.
#[derive(Debug, Default)]
struct Page {
    targets: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn of(html: &str) -> Page {
        let mut page = Page::default();
        for tag in html.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            // The parts with odd positions are the values of attributes.
            let parts: Vec<&str> = tag.split('"').collect();
            for pair in parts.chunks_exact(2) {
                let value = || pair[1].replace("&amp;", "&");
                match pair[0].trim_start().trim_end_matches('=').rsplit(' ').next().unwrap_or_default() {
                    "href" | "src" => page.targets.push(value()),
                    "id" => {
                        page.anchors.insert(value());
                    }
                    _ => {}
                }
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        let page = "<a href=\"../index.html#there\">x</a> <a class=\"y\" href=\"no.html\">x</a> <a href=\"#no\">x</a>\
                    <img src=\"b.svg\"><p id=\"here\"> <a href=\"#here\"></a> <a href=\"https://example.com\"></a>";
        fs::write(folder.path().join("a/page.html"), page).unwrap();
        fs::write(folder.path().join("a/b.svg"), "").unwrap();
        fs::write(folder.path().join("index.html"), "<h2 class=\"x\" id=\"there\">").unwrap();
        let checked = check(folder.path()).unwrap();
        assert_eq!(checked.links, 5);
        assert_eq!(
            checked.problems,
            [
                "a/page.html: the link no.html leads to no file",
                "a/page.html: the link #no leads to no heading"
            ]
        );
    }
}

//! Checks that the links of a Markdown page lead to files and headings that exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Problem, root};

/// Returns a problem for each link whose file or heading does not exist.
#[must_use]
pub fn problems(path: &Path, page: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut fenced = false;
    for (number, line) in page.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for target in targets(line) {
            if let Some(what) = broken(path, page, target) {
                let file = path.strip_prefix(root()).unwrap_or(path).to_path_buf();
                problems.push(Problem { file, line: number + 1, what });
            }
        }
    }
    problems
}

/// Returns the link targets of a line: the texts between `](` and `)` outside of code spans.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (number, part) in line.split('`').enumerate() {
        // Every second part is a code span. A link whose text is a code span has its `](` in the next part.
        if number % 2 == 1 {
            continue;
        }
        let mut rest = part;
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            if let Some(close) = rest.find(')') {
                found.push(&rest[..close]);
            }
        }
    }
    found
}

fn broken(path: &Path, page: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = path.parent().unwrap_or(path);
    let found: PathBuf = if file.is_empty() { path.to_path_buf() } else { folder.join(file) };
    if !found.exists() {
        return Some(format!("the file of the link {target} does not exist"));
    }
    let is_page = found.extension().is_some_and(|it| it == "md");
    if anchor.is_empty() || !is_page {
        return None;
    }
    let text = if file.is_empty() { page.to_owned() } else { fs::read_to_string(&found).unwrap_or_default() };
    (!anchors(&text).iter().any(|it| it == anchor))
        .then(|| format!("the heading of the link {target} does not exist"))
}

/// Returns the anchors of a page's headings in the form that GitHub generates.
#[must_use]
pub fn anchors(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced || !line.starts_with('#') {
            continue;
        }
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let same = found.iter().filter(|it| **it == anchor || it.starts_with(&format!("{anchor}-"))).count();
        let twice = found.contains(&anchor);
        found.push(if twice { format!("{anchor}-{same}") } else { anchor });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{anchors, broken, targets};

    #[test]
    fn links_are_found_outside_of_code() {
        assert_eq!(targets("see [a](b.md#c) and `[x](y)` and [`z`](w)"), ["b.md#c", "w"]);
    }

    #[test]
    fn headings_have_the_anchors_of_github() {
        assert_eq!(
            anchors("# FT-03\n## 4. Refusals, and rest\n```\n# no\n```\n"),
            ["ft-03", "4-refusals-and-rest"]
        );
    }

    #[test]
    fn a_link_to_a_missing_file_or_heading_is_reported() {
        let page = crate::root().join("README.md");
        assert!(broken(&page, "", "https://example.com/x").is_none());
        assert!(broken(&page, "", "no-such-file.md").is_some());
        assert!(broken(&page, "# Here\n", "#here").is_none());
        assert!(broken(&page, "# Here\n", "#there").is_some());
    }
}

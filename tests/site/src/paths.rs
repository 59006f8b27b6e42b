//! Paths in the repository, with `/`, and the places of their files in the site.

/// Files that the site has as they are. Other files that are no Markdown become pages.
const RAW: [&str; 6] = ["png", "svg", "json", "jsonl", "css", "js"];

/// A path relative to a folder, without `.` and `..`. `None` if it leaves the repository.
pub fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folder of a path.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The kind of a file in the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A page from Markdown.
    Page,
    /// A page that lists a folder.
    Folder,
    /// A page that shows a text.
    Source,
    /// The file as it is.
    Raw,
}

/// The kind of a file.
pub fn kind(path: &str, is_folder: bool) -> Kind {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        _ if is_folder => Kind::Folder,
        "md" => Kind::Page,
        extension if RAW.contains(&extension) => Kind::Raw,
        _ => Kind::Source,
    }
}

/// The place of a file in the site.
pub fn place(path: &str, kind: Kind) -> String {
    match kind {
        Kind::Folder if path.is_empty() => "index.html".to_owned(),
        Kind::Folder => format!("{path}/index.html"),
        Kind::Page => match path.strip_suffix("README.md") {
            Some(folder) => format!("{folder}index.html"),
            None => format!("{}.html", path.trim_end_matches(".md")),
        },
        Kind::Source => format!("{path}.html"),
        Kind::Raw => path.to_owned(),
    }
}

/// The address of a place of the site, relative to another one.
pub fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let (from, last) = (&from[..from.len() - 1], to.len() - 1);
    let same = from.iter().zip(&to[..last]).take_while(|(a, b)| a == b).count();
    format!("{}{}", "../".repeat(from.len() - same), to[same..].join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_inside_the_repository() {
        assert_eq!(
            join("docs/guide", "../reference/./judging.md").as_deref(),
            Some("docs/reference/judging.md")
        );
        assert_eq!(join("docs", "../../x"), None);
    }

    #[test]
    fn files_have_places() {
        for (path, is_folder, expected) in [
            ("README.md", false, "index.html"),
            ("docs/README.md", false, "docs/index.html"),
            ("docs/guide/view.md", false, "docs/guide/view.html"),
            ("model/src", true, "model/src/index.html"),
            ("model/src/lib.rs", false, "model/src/lib.rs.html"),
            ("docs/a.svg", false, "docs/a.svg"),
        ] {
            assert_eq!(place(path, kind(path, is_folder)), expected);
        }
    }

    #[test]
    fn addresses_are_relative() {
        assert_eq!(relative("docs/guide/view.html", "docs/guide/view/light.png"), "view/light.png");
        assert_eq!(relative("docs/guide/view.html", "index.html"), "../../index.html");
        assert_eq!(relative("index.html", "docs/index.html"), "docs/index.html");
    }
}

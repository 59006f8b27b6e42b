//! Writes the site.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use jobcheck_look::escape;
use serde::Serialize;

use crate::markdown::{self, Section};
use crate::paths::{self, Kind};
use crate::summary::{Entry, SUMMARY, summary};

/// Styles after those that all pages share.
const STYLE: &str = include_str!("assets/site.css");
const SCRIPT: &str = include_str!("assets/search.js");
/// The names of the site's own files.
const STYLE_FILE: &str = "site.css";
const SCRIPT_FILE: &str = "search.js";
const INDEX_FILE: &str = "search-index.js";

/// A site that has been written.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// The number of pages from Markdown.
    pub pages: usize,
    /// The number of other files of the repository.
    pub files: usize,
    /// Links of pages to what the repository does not have.
    pub problems: Vec<String>,
}

/// Writes the site of a repository to a folder, in place of what the folder holds.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn build(root: &Path, out: &Path) -> io::Result<Built> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let entries = summary(&fs::read_to_string(root.join(SUMMARY))?);
    let mut site = Site { root, out, entries, built: Built::default(), index: Vec::new(), open: Vec::new() };
    let mut known = BTreeSet::new();
    let pages = site.pages();
    site.open.extend(pages.into_iter().rev());
    while let Some(path) = site.open.pop() {
        if known.insert(path.clone()) {
            site.add(&path)?;
        }
    }
    let index = serde_json::to_string(&site.index).map_err(io::Error::other)?;
    site.write(INDEX_FILE, format!("window.sections = {index};\n").as_bytes())?;
    site.write(
        STYLE_FILE,
        format!("{}{}{STYLE}", jobcheck_look::STYLE, jobcheck_look::PLOT_STYLE).as_bytes(),
    )?;
    site.write(SCRIPT_FILE, SCRIPT.as_bytes())?;
    Ok(site.built)
}

struct Site<'a> {
    root: &'a Path,
    out: &'a Path,
    entries: Vec<Entry>,
    built: Built,
    index: Vec<Found>,
    /// Files to add. They may have been added.
    open: Vec<String>,
}

/// A section as the search has it.
#[derive(Serialize)]
struct Found {
    page: String,
    title: String,
    heading: String,
    anchor: String,
    text: String,
}

impl Site<'_> {
    /// The pages of the navigation, in order.
    fn pages(&self) -> Vec<String> {
        let pages = self.entries.iter().filter_map(|entry| match entry {
            Entry::Page(_, path, _) => Some(path.clone()),
            Entry::Part(_) => None,
        });
        pages.collect()
    }

    fn add(&mut self, path: &str) -> io::Result<()> {
        let file = self.root.join(path);
        let kind = paths::kind(path, file.is_dir());
        let place = paths::place(path, kind);
        match kind {
            Kind::Page => self.add_page(path, &place, &fs::read_to_string(file)?),
            Kind::Folder => self.add_folder(path, &place),
            Kind::Source => {
                self.built.files += 1;
                let text = escape_lines(&fs::read_to_string(file)?);
                let title = path.rsplit('/').next().unwrap_or(path);
                let content = format!(
                    "<h1>{}</h1>\n<p class=\"dim\">{}</p>\n<pre class=\"source\"><code>{text}</code></pre>\n",
                    escape::html(title),
                    escape::html(path)
                );
                self.write_page(path, &place, title, &content, &[])
            }
            Kind::Raw => {
                self.built.files += 1;
                self.write(&place, &fs::read(file)?)
            }
        }
    }

    fn add_page(&mut self, path: &str, place: &str, text: &str) -> io::Result<()> {
        self.built.pages += 1;
        let mut wrong = Vec::new();
        let (root, open) = (self.root, &mut self.open);
        let page = markdown::page(text, &mut |target| {
            address(root, path, place, target, open).unwrap_or_else(|| {
                wrong.push(format!("{path}: the link {target} leads to no file"));
                target.to_owned()
            })
        });
        self.built.problems.append(&mut wrong);
        for section in &page.sections {
            let text = section.text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.index.push(Found {
                page: place.to_owned(),
                title: page.title.clone(),
                heading: section.heading.clone(),
                anchor: section.anchor.clone(),
                text,
            });
        }
        self.write_page(path, place, &page.title, &page.html, &page.sections)
    }

    /// A page that lists a folder, and the files in it.
    fn add_folder(&mut self, path: &str, place: &str) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(path))? {
            let entry = entry?;
            names.push((entry.file_name().to_string_lossy().into_owned(), entry.file_type()?.is_dir()));
        }
        names.sort();
        let mut content = format!("<h1>{}</h1>\n<ul>\n", escape::html(path));
        for (name, is_folder) in names {
            let inner = format!("{path}/{name}");
            let to = paths::relative(place, &paths::place(&inner, paths::kind(&inner, is_folder)));
            let _ = writeln!(
                content,
                "<li><a href=\"{}\">{}</a></li>",
                escape::html(&encode(&to)),
                escape::html(&name)
            );
            self.open.push(inner);
        }
        content.push_str("</ul>\n");
        self.write_page(path, place, path, &content, &[])
    }

    fn write_page(
        &self,
        path: &str,
        place: &str,
        title: &str,
        content: &str,
        sections: &[Section],
    ) -> io::Result<()> {
        let to = |name: &str| escape::html(&encode(&paths::relative(place, name)));
        let title = if title == "jobcheck" { title.to_owned() } else { format!("{title} – jobcheck") };
        let html = format!(
            "<!doctype html>\n<html lang=\"en\" data-root=\"{root}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <link rel=\"stylesheet\" href=\"{style}\">\n<script src=\"{script}\" defer></script>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#content\">To the content</a>\n\
             <header class=\"top\">\n<a class=\"home\" href=\"{home}\">jobcheck</a>\n\
             <div id=\"search\" role=\"search\" hidden>\n<input id=\"find\" type=\"search\" placeholder=\"Search (key /)\" \
             aria-label=\"Search the documentation\" aria-controls=\"results\">\n\
             <div id=\"results\" hidden><p id=\"count\" class=\"dim\" role=\"status\"></p><ul id=\"hits\"></ul></div>\n</div>\n\
             <a class=\"menu\" href=\"#pages\">Pages</a>\n</header>\n<div class=\"columns\">\n<nav id=\"pages\" aria-label=\"Pages\">\n{nav}</nav>\n\
             <main id=\"content\">\n{content}{around}</main>\n{contents}</div>\n</body>\n</html>\n",
            root = "../".repeat(place.matches('/').count()),
            title = escape::html(&title),
            style = to(STYLE_FILE),
            script = to(SCRIPT_FILE),
            home = to("index.html"),
            nav = self.navigation(path, place),
            around = self.around(path, place),
            contents = contents(sections),
        );
        self.write(place, html.as_bytes())
    }

    /// The navigation. The part with the page is open.
    fn navigation(&self, path: &str, place: &str) -> String {
        let mut out = String::new();
        for part in self.entries.split_inclusive(|entry| matches!(entry, Entry::Part(_))) {
            // Each slice ends with the heading of the next part.
            out.push_str(&self.items(part, path, place));
            if let Some(Entry::Part(title)) = part.last() {
                if !out.is_empty() {
                    out.push_str("</ul>\n</details>\n");
                }
                let open = if self.holds(title, path) { " open" } else { "" };
                let _ = write!(out, "<details{open}>\n<summary>{}</summary>\n<ul>\n", escape::html(title));
            }
        }
        out.push_str("</ul>\n</details>\n");
        out
    }

    fn items(&self, entries: &[Entry], path: &str, place: &str) -> String {
        let mut out = String::new();
        for entry in entries {
            let Entry::Page(title, page, depth) = entry else { continue };
            let current = if page == path { " aria-current=\"page\"" } else { "" };
            let to = paths::relative(place, &paths::place(page, Kind::Page));
            let _ = writeln!(
                out,
                "<li class=\"depth{depth}\"><a href=\"{}\"{current}>{}</a></li>",
                escape::html(&encode(&to)),
                escape::html(title)
            );
        }
        out
    }

    /// Returns whether a part has the page. The first part has what no part has.
    fn holds(&self, part: &str, path: &str) -> bool {
        let mut now = None;
        let mut first = None;
        for entry in &self.entries {
            match entry {
                Entry::Part(title) => {
                    first = first.or(Some(title));
                    now = Some(title);
                }
                Entry::Page(_, page, _) if page == path => return now.is_some_and(|now| now == part),
                Entry::Page(..) => {}
            }
        }
        first.is_some_and(|first| first == part)
    }

    /// Links to the previous and the next page of the navigation.
    fn around(&self, path: &str, place: &str) -> String {
        let pages: Vec<(&String, &String)> = self
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Page(title, path, _) => Some((title, path)),
                Entry::Part(_) => None,
            })
            .collect();
        let Some(at) = pages.iter().position(|(_, page)| *page == path) else { return String::new() };
        let link = |at: Option<usize>, rel: &str, mark: &str| {
            let (title, page) = pages.get(at?)?;
            let to = paths::relative(place, &paths::place(page, Kind::Page));
            let (to, title) = (escape::html(&encode(&to)), escape::html(title));
            Some(format!("<a rel=\"{rel}\" href=\"{to}\"><span class=\"dim\">{mark}</span> {title}</a>\n"))
        };
        let previous = link(at.checked_sub(1), "prev", "Previous:").unwrap_or_default();
        let next = link(Some(at + 1), "next", "Next:").unwrap_or_default();
        format!("<div class=\"around\">\n{previous}{next}</div>\n")
    }

    fn write(&self, place: &str, bytes: &[u8]) -> io::Result<()> {
        let file = self.out.join(place);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, bytes)
    }
}

/// The address in the site of what a page links to, which is added to the site. `None` if the repository lacks it.
fn address(root: &Path, path: &str, place: &str, target: &str, open: &mut Vec<String>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") || target.starts_with('#') {
        return Some(target.to_owned());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let mut found = paths::join(paths::folder(path), file)?;
    if root.join(&found).join("README.md").is_file() {
        found = paths::join(&found, "README.md")?;
    }
    let at = root.join(&found);
    if !at.exists() {
        return None;
    }
    let to = paths::relative(place, &paths::place(&found, paths::kind(&found, at.is_dir())));
    open.push(found);
    Some(if anchor.is_empty() { to } else { format!("{to}#{anchor}") })
}

/// Characters of file names that have a meaning in an address.
fn encode(address: &str) -> String {
    address.replace('%', "%25").replace(' ', "%20").replace('?', "%3F").replace('#', "%23")
}

/// The headings of a page, if it has several.
fn contents(sections: &[Section]) -> String {
    let listed: Vec<&Section> = sections.iter().filter(|it| it.level == 2 || it.level == 3).collect();
    if listed.len() < 2 {
        return String::new();
    }
    let mut out = String::from("<aside aria-label=\"On this page\">\n<h2>On this page</h2>\n<ul>\n");
    for section in listed {
        let _ = writeln!(
            out,
            "<li class=\"depth{}\"><a href=\"#{}\">{}</a></li>",
            section.level - 2,
            escape::html(&section.anchor),
            escape::html(&section.heading)
        );
    }
    out.push_str("</ul>\n</aside>\n");
    out
}

/// A text of several lines for HTML.
fn escape_lines(text: &str) -> String {
    text.lines().map(|line| escape::html(&line.replace('\t', "    ")) + "\n").collect()
}

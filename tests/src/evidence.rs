//! Collects the evidence for each requirement from the sources: functions, properties, mutants, traces, and scenarios.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_managers::any::AnyMutant;
use jobcheck_rulebook::Kind;
use jobcheck_spec::{CATALOGUE, Req};

use crate::corpus::root;

/// One line of `evidence.tsv`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// The requirement.
    pub req: Req,
    /// The kind of the item.
    pub kind: Kind,
    /// The name of the function, property, mutant, trace, or scenario.
    pub name: String,
    /// The file, relative to the workspace.
    pub file: String,
}

/// Path prefixes of sources that decide requirements, each with the kind of their functions. The first matching prefix
/// applies.
const CODE: &[(&str, Kind)] = &[
    ("model/spec/src/apiserver/", Kind::ApiServer),
    ("model/spec/src/obligations", Kind::Obligation),
    ("model/spec/src/", Kind::Guard),
    ("harness/judge/src/validate/owed", Kind::Obligation),
    ("harness/judge/src/", Kind::Judge),
];

/// Folders in which comments name the requirement that a function implements, each with the kind of these functions.
const IMPLEMENTATIONS: &[(&str, Kind)] = &[
    ("controller/src", Kind::Controller),
    ("controller/runtime/src", Kind::Controller),
    ("model/explorer/src/process", Kind::Algorithm),
    ("model/explorer/src/reference", Kind::Algorithm),
];

/// Sources that list ids, but decide no requirement.
const TABLES: [&str; 3] =
    ["model/spec/src/catalogue.rs", "model/spec/src/requirement.rs", "harness/judge/src/report/id.rs"];

/// The source whose functions choose the id that a verdict names.
const DIAGNOSIS: &str = "model/spec/src/guards/diagnosis.rs";

/// Returns the evidence for all requirements, sorted by requirement.
///
/// # Panics
///
/// The name of an invalid trace does not begin with a requirement and `--`.
#[must_use]
pub fn collect() -> BTreeSet<Item> {
    let mut items = decisions();
    for (folder, kind) in IMPLEMENTATIONS {
        for path in files(folder, "rs") {
            implementation(&path, *kind, &mut items);
        }
    }
    for property in PROPERTIES {
        let (name, file) = (property.name.to_owned(), "model/explorer/src/properties".to_owned());
        items.insert(Item { req: property.req, kind: Kind::Property, name, file });
    }
    for mutant in MUTANTS {
        let (name, file) = (mutant.id.to_owned(), "model/explorer/src/mutants".to_owned());
        items.insert(Item { req: mutant.requirement(), kind: Kind::Mutant, name, file });
    }
    for mutant in AnyMutant::all() {
        let file = match mutant {
            AnyMutant::Mirror(_) => "model/managers/src/mutants.rs",
            AnyMutant::Aggregate(_) => "model/managers/src/aggregate/defects.rs",
        };
        let (name, file) = (mutant.id().to_owned(), file.to_owned());
        items.insert(Item { req: mutant.req(), kind: Kind::Mutant, name, file });
    }
    for path in files("traces/corpus/invalid", "jsonl") {
        let name = stem(&path);
        let id = name.split("--").next().and_then(Req::parse);
        let req = id.unwrap_or_else(|| panic!("{name} does not begin with a requirement and --"));
        items.insert(Item { req, kind: Kind::InvalidTrace, name, file: relative(&path) });
    }
    for path in files("tests/scenarios", "yaml") {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let file = relative(&path);
        let name = file.trim_start_matches("tests/scenarios/").trim_end_matches(".yaml").to_owned();
        for req in named(&asked(&text)) {
            items.insert(Item { req, kind: Kind::Scenario, name: name.clone(), file: file.clone() });
        }
    }
    items
}

/// The text of a scenario without the requirements that it does not ask for.
fn asked(text: &str) -> String {
    let mut is_excepted = false;
    let mut kept = String::new();
    for line in text.lines() {
        is_excepted = line.starts_with("except:") || (is_excepted && line.starts_with(['-', ' ']));
        if !is_excepted {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// Returns the functions whose code names a requirement in a verdict.
#[must_use]
pub fn emissions() -> BTreeSet<Item> {
    let mut items = BTreeSet::new();
    for path in sources() {
        code(&path, &mut items);
    }
    items
}

/// Returns the functions that decide requirements: those whose documentation names the requirement. Other functions that
/// name it in a verdict are [`Kind::Reports`]. If no documentation names it, they decide it.
fn decisions() -> BTreeSet<Item> {
    let mut decides = BTreeSet::new();
    for path in sources().filter(|path| relative(path) != DIAGNOSIS) {
        if let Some(kind) = kind_of(&relative(&path)) {
            implementation(&path, kind, &mut decides);
        }
    }
    let documented: BTreeSet<Req> = decides.iter().map(|it| it.req).collect();
    for item in emissions() {
        if !documented.contains(&item.req) {
            decides.insert(item);
        } else if !decides.contains(&item) {
            decides.insert(Item { kind: Kind::Reports, ..item });
        }
    }
    decides
}

/// The sources of the specification and the judge.
fn sources() -> impl Iterator<Item = PathBuf> {
    ["model/spec/src", "harness/judge/src"].into_iter().flat_map(|folder| files(folder, "rs"))
}

/// The kind of the functions of a source file that decides requirements.
fn kind_of(file: &str) -> Option<Kind> {
    if TABLES.contains(&file) || file.contains("/tests") {
        return None;
    }
    CODE.iter().find(|(start, _)| file.starts_with(start)).map(|(_, kind)| *kind)
}

/// Returns the content of `evidence.tsv` for these items.
#[must_use]
pub fn text(items: &BTreeSet<Item>) -> String {
    items.iter().map(|it| format!("{}\t{}\t{}\t{}\n", it.req, it.kind.word(), it.name, it.file)).collect()
}

/// Returns the requirements with an item of one of these kinds.
#[must_use]
pub fn emitted(items: &BTreeSet<Item>, kinds: &[Kind]) -> BTreeSet<Req> {
    items.iter().filter(|it| kinds.contains(&it.kind)).map(|it| it.req).collect()
}

/// Adds the functions and constants of a source file whose code names a requirement.
fn code(path: &Path, items: &mut BTreeSet<Item>) {
    let file = relative(path);
    let Some(kind) = kind_of(&file) else { return };
    let source = fs::read_to_string(path).unwrap_or_default();
    let mut holder = String::new();
    for line in source.split("#[cfg(test)]").next().unwrap_or_default().lines() {
        let line = line.split("//").next().unwrap_or_default();
        if let Some(name) = ["fn ", "const ", "static "].into_iter().find_map(|word| declared(line, word)) {
            name.clone_into(&mut holder);
        }
        for at in line.match_indices("Req::").map(|(at, _)| at + 5) {
            let rest = &line[at..];
            let word = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())];
            let Some(entry) = CATALOGUE.iter().find(|entry| format!("{:?}", entry.req) == word) else {
                continue;
            };
            // In a table of rules, the name of the function follows the id.
            let beside =
                rest[word.len()..].strip_prefix(", ").and_then(|it| it.split_once(')')).map(|it| it.0);
            let function = beside
                .filter(|it| it.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit()));
            let in_table = line.trim_start().starts_with("(Req::");
            let name = function.filter(|_| in_table).unwrap_or(&holder).to_owned();
            items.insert(Item { req: entry.req, kind, name, file: file.clone() });
        }
    }
}

/// Adds the functions and types of a source file whose comments name a requirement. A doc comment is about the next
/// item, and any other comment is about the item that contains it.
fn implementation(path: &Path, kind: Kind, items: &mut BTreeSet<Item>) {
    let file = relative(path);
    if file.contains("/tests") {
        return;
    }
    let source = fs::read_to_string(path).unwrap_or_default();
    let (mut holder, mut announced) = (None, BTreeSet::new());
    for line in source.split("#[cfg(test)]").next().unwrap_or_default().lines() {
        let text = line.trim_start();
        if text.starts_with("//!") {
            continue;
        }
        if text.starts_with("///") {
            announced.extend(named(text));
            continue;
        }
        // In the specification, types hold the facts, and functions decide.
        let items_of_code: &[&str] = if kind.decides() { &["fn "] } else { &["fn ", "struct ", "enum "] };
        if let Some(name) = items_of_code.iter().find_map(|word| declared(line, word)) {
            holder = Some(name.to_owned());
        } else if is_other_item(text) {
            (holder, announced) = (None, BTreeSet::new());
        }
        let comment = text.split_once("//").filter(|_| !kind.decides());
        let mut comment = comment.map(|(_, comment)| named(comment)).unwrap_or_default();
        // The shipped controllers name the requirement of a decision in their trace.
        if kind == Kind::Controller && text.contains("because(\"") {
            comment.extend(named(text));
        }
        let is_item = !text.is_empty() && !text.starts_with('#');
        let reqs = if is_item { std::mem::take(&mut announced) } else { BTreeSet::new() };
        for req in reqs.into_iter().chain(comment) {
            if let Some(name) = holder.clone() {
                items.insert(Item { req, kind, name, file: file.clone() });
            }
        }
    }
}

/// Returns true if a line declares an item of another kind, or a field or variant.
fn is_other_item(line: &str) -> bool {
    let words = ["struct ", "enum ", "trait ", "type ", "const ", "static ", "mod ", "impl "];
    let line = ["pub(crate) ", "pub(super) ", "pub "]
        .into_iter()
        .find_map(|it| line.strip_prefix(it))
        .unwrap_or(line);
    words.into_iter().any(|word| line.starts_with(word)) && !line.starts_with("const fn ")
}

/// Returns the name that a line declares with this keyword.
fn declared<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let line = line.trim_start();
    let rest = ["pub(crate) ", "pub(super) ", "pub ", ""].into_iter().find_map(|it| line.strip_prefix(it))?;
    let rest = rest.strip_prefix("const fn ").or_else(|| rest.strip_prefix(keyword))?;
    let name = &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_')?];
    (!name.is_empty() && name != "fn").then_some(name)
}

/// Returns the requirements whose ids occur in a text.
pub(crate) fn named(text: &str) -> BTreeSet<Req> {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').filter_map(Req::parse).collect()
}

/// Returns the files of a folder and its subfolders with this extension, sorted.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut open = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            open.extend(entries.flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns a path relative to the workspace.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns the name of a file without its extension.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
}

//! The checks of a requirement beside its evidence in the rulebook: tests, benchmarks, pages, and steps of the
//! environment that name it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jobcheck_spec::{CATALOGUE, Req};

use crate::evidence::{files, named, relative, stem};

/// The kind of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A scope of the explorer, or a step of its environment.
    Environment,
    /// A test.
    Test,
    /// A benchmark.
    Benchmark,
    /// A page for readers, other than those that list all requirements.
    Page,
}

/// A check of a requirement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Check {
    /// The requirement.
    pub req: Req,
    /// The kind of the check.
    pub kind: Kind,
    /// The name of the function or file.
    pub name: String,
    /// The file, relative to the workspace.
    pub file: String,
}

/// Sources of the explorer's environment and scopes.
const ENVIRONMENT: [&str; 3] = ["model/explorer/src/env", "model/explorer/src/scopes", "model/managers/src"];

/// Folders with tests.
const TESTS: [&str; 6] = ["model", "controller", "harness", "traces", "cli", "tests"];

/// Folders with pages for readers.
const PAGES: [&str; 3] = ["docs/guide", "docs/results", "docs/findings"];

/// Returns the checks of all requirements, sorted by requirement and kind.
#[must_use]
pub fn collect() -> BTreeSet<Check> {
    let mut checks = BTreeSet::new();
    for path in ENVIRONMENT.into_iter().flat_map(|folder| files(folder, "rs")) {
        functions(&path, Kind::Environment, &mut checks);
    }
    let scopes = Path::new("model/explorer/src/scopes.rs");
    functions(&crate::corpus::root().join(scopes), Kind::Environment, &mut checks);
    for path in TESTS.into_iter().flat_map(|folder| files(folder, "rs")) {
        functions(&path, Kind::Test, &mut checks);
    }
    for path in files("tests/bench", "rs") {
        whole(&path, Kind::Benchmark, &mut checks);
    }
    for path in PAGES.into_iter().flat_map(|folder| files(folder, "md")) {
        whole(&path, Kind::Page, &mut checks);
    }
    checks
}

/// Adds a file whose text names a requirement.
fn whole(path: &Path, kind: Kind, checks: &mut BTreeSet<Check>) {
    let text = fs::read_to_string(path).unwrap_or_default();
    for req in named(&text) {
        checks.insert(Check { req, kind, name: stem(path), file: relative(path) });
    }
}

/// Adds the functions of a source whose doc comment or name contains a requirement: tests, or all others.
fn functions(path: &Path, kind: Kind, checks: &mut BTreeSet<Check>) {
    let source = fs::read_to_string(path).unwrap_or_default();
    let (mut reqs, mut is_test) = (BTreeSet::new(), false);
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("///") || line.starts_with("// ") {
            reqs.extend(named(line));
        } else if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else {
            if let Some(name) = function(line) {
                reqs.extend(in_name(name));
                let wanted = is_test == (kind == Kind::Test);
                for req in std::mem::take(&mut reqs).into_iter().filter(|_| wanted) {
                    checks.insert(Check { req, kind, name: name.to_owned(), file: relative(path) });
                }
            }
            (reqs, is_test) = (BTreeSet::new(), false);
        }
    }
}

/// Returns the name of the function that a line declares.
fn function(line: &str) -> Option<&str> {
    let words = ["pub(crate) ", "pub(super) ", "pub ", "async ", "const "];
    let mut rest = line;
    while let Some(shorter) = words.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = shorter;
    }
    let name = rest.strip_prefix("fn ")?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Returns the requirements that a name begins with, such as `ss19_ready_exceeds_active`.
fn in_name(name: &str) -> impl Iterator<Item = Req> {
    let start = name.split('_').next().unwrap_or_default().to_uppercase();
    CATALOGUE.iter().filter(move |entry| entry.id.replace('-', "") == start).map(|entry| entry.req)
}

//! The statements of the five KEPs, each with the requirements that carry it.

use jobcheck_spec::Req;

/// One statement a line: code, sections, text, requirements, notes, page, reason, and examples, separated by tabs.
const STATEMENTS: &str = include_str!("../statements.tsv");
/// One note a line: id and text, separated by a tab.
const NOTES: &str = include_str!("../notes.tsv");

/// A statement of a KEP in this project's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// A letter for the KEP, and a number, such as `A07`.
    pub code: &'static str,
    /// The sections of the KEP.
    pub sections: &'static str,
    /// The statement.
    pub text: &'static str,
    /// The requirements that carry the statement.
    pub reqs: Vec<Req>,
    /// The notes about differences between the text and Kubernetes.
    pub notes: Vec<&'static str>,
    /// A file or folder that is evidence beside that for the requirements; empty if there is none.
    pub file: &'static str,
    /// The reason why the statement needs no evidence; empty if it has some.
    pub reason: &'static str,
    /// The names of the evidence that shows the statement best. The page shows it before other evidence of its kind.
    pub examples: Vec<&'static str>,
}

impl Statement {
    /// The KEP of the statement, such as `KEP-2307`.
    #[must_use]
    pub fn kep(&self) -> &'static str {
        match self.code.as_bytes().first() {
            Some(b'A') => "KEP-2307",
            Some(b'B') => "KEP-3939",
            Some(b'C') => "KEP-3850",
            Some(b'D') => "KEP-4368",
            _ => "KEP-592",
        }
    }
}

/// Returns all statements, in the order of the KEPs and of their sections.
///
/// # Panics
///
/// A line has not eight fields, or names an unknown requirement. A test rules this out.
#[must_use]
pub fn statements() -> Vec<Statement> {
    STATEMENTS.lines().map(parse).collect()
}

/// Returns the notes about differences between the texts of the KEPs and Kubernetes: id and text.
pub fn notes() -> impl Iterator<Item = (&'static str, &'static str)> {
    NOTES.lines().filter_map(|line| line.split_once('\t'))
}

fn parse(line: &'static str) -> Statement {
    let fields: Vec<&str> = line.split('\t').collect();
    let [code, sections, text, reqs, notes, file, reason, examples] = fields[..] else {
        panic!("not eight fields: {line}");
    };
    let req = |id| Req::parse(id).unwrap_or_else(|| panic!("{code}: {id} is no requirement"));
    let words = |text: &'static str| text.split_whitespace();
    let (reqs, notes) = (words(reqs).map(req).collect(), words(notes).collect());
    Statement { code, sections, text, reqs, notes, file, reason, examples: words(examples).collect() }
}

//! The statements of the five KEPs, each with what stands for it. This file generates `docs/reference/kep-matrix.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jobcheck_rulebook::{Kind, Statement, notes, page, statements};
use jobcheck_spec::{CATALOGUE, Req};
use jobcheck_tests::checks::{self, Check};
use jobcheck_tests::corpus::root;
use jobcheck_tests::evidence::{Item, collect};
use jobcheck_tests::expected;

const MATRIX: &str = "docs/reference/kep-matrix.md";

/// The evidence for all requirements.
struct Evidence {
    items: BTreeSet<Item>,
    checks: BTreeSet<Check>,
}

impl Evidence {
    fn collect() -> Evidence {
        Evidence { items: collect(), checks: checks::collect() }
    }

    fn has(&self, req: Req, kinds: &[Kind]) -> bool {
        self.items.iter().any(|it| it.req == req && kinds.contains(&it.kind))
    }

    /// Returns true if a guard, a rule of the API server, an obligation, or the judge decides the requirement by itself.
    fn is_decided(&self, req: Req) -> bool {
        self.items.iter().any(|it| it.req == req && it.kind.decides())
    }

    /// Returns true if something fails if the requirement is broken. A page is enough for advice to operators.
    fn is_checked(&self, req: Req) -> bool {
        const BREAKING: [Kind; 4] = [Kind::Property, Kind::Mutant, Kind::InvalidTrace, Kind::Scenario];
        let is_advice = req.id().starts_with("OP-") || req == Req::UG18;
        let fails = |kind| match kind {
            checks::Kind::Test | checks::Kind::Benchmark => true,
            checks::Kind::Page => is_advice,
            checks::Kind::Environment => req.id().starts_with("EN-"),
        };
        self.has(req, &BREAKING) || self.checks.iter().any(|it| it.req == req && fails(it.kind))
    }

    /// Returns one item of each kind as a link: the example of the row, or the first one of the first requirement that
    /// has any.
    fn links(&self, statement: &Statement) -> Vec<String> {
        let Statement { reqs, examples, .. } = statement;
        let item = |kind: Kind| {
            let of = |req| self.items.iter().filter(move |it| it.req == req && it.kind == kind);
            best(reqs.iter().flat_map(|req| of(*req)), examples, |it| &it.name)
        };
        let check = |kind: checks::Kind| {
            let of = |req| self.checks.iter().filter(move |it| it.req == req && it.kind == kind);
            best(reqs.iter().flat_map(|req| of(*req)), examples, |it| &it.name)
        };
        let mut links = Vec::new();
        for (word, kind) in ITEMS {
            let name = |it: &Item| match kind {
                Kind::Property => format!("{word}: {}", it.name),
                _ => link(word, &it.name, &it.file),
            };
            links.extend(item(kind).map(name));
        }
        for (word, kind) in CHECKS {
            links.extend(check(kind).map(|it| link(word, &it.name, &it.file)));
        }
        links
    }
}

/// The first one that is an example, or else the first one.
fn best<'a, T>(
    all: impl Iterator<Item = &'a T> + Clone,
    examples: &[&str],
    name: impl Fn(&T) -> &String,
) -> Option<&'a T> {
    let mut named = all.clone().filter(|it| examples.contains(&name(it).as_str()));
    named.next().or_else(|| all.clone().next())
}

const ITEMS: [(&str, Kind); 8] = [
    ("guard", Kind::Guard),
    ("API rule", Kind::ApiServer),
    ("obligation", Kind::Obligation),
    ("judge", Kind::Judge),
    ("property", Kind::Property),
    ("mutant", Kind::Mutant),
    ("invalid trace", Kind::InvalidTrace),
    ("scenario", Kind::Scenario),
];

const CHECKS: [(&str, checks::Kind); 4] = [
    ("environment", checks::Kind::Environment),
    ("test", checks::Kind::Test),
    ("benchmark", checks::Kind::Benchmark),
    ("page", checks::Kind::Page),
];

fn link(word: &str, name: &str, file: &str) -> String {
    format!("{word}: [`{name}`](../../{file})")
}

const INTRODUCTION: &str = "\
# The statements of the five KEPs

For readers who ask whether a sentence of a KEP is checked, and by what. Each statement of the KEPs has a row, in this
project's words. The row has the requirements that carry the statement, and one example of each kind of evidence. The
page of a requirement has all its evidence.

An id with ° is decided by no guard of its own: other requirements, properties, or tests decide it. *Put down* gives the
reason why a statement needs no evidence. *Note* names a difference between the text and Kubernetes; the
[notes](#notes) explain it.

`tests/suite/kep_matrix.rs` generates this page from `model/rulebook/statements.tsv` and from the code. It fails if a
row has a requirement without evidence and no reason.
";

fn matrix(evidence: &Evidence) -> String {
    let statements = statements();
    let mut out = INTRODUCTION.to_owned();
    out.push_str("\n| KEP | statements | put down |\n| --- | --- | --- |\n");
    let mut keps: Vec<&str> = statements.iter().map(Statement::kep).collect();
    keps.dedup();
    for kep in &keps {
        let rows = statements.iter().filter(|it| it.kep() == *kep);
        let put_down = rows.clone().filter(|it| !it.reason.is_empty()).count();
        writeln!(out, "| {kep} | {} | {put_down} |", rows.count()).unwrap();
    }
    for kep in keps {
        write!(
            out,
            "\n## {kep}\n\n| row | statement | requirements | evidence |\n| --- | --- | --- | --- |\n"
        )
        .unwrap();
        for statement in statements.iter().filter(|it| it.kep() == kep) {
            out.push_str(&row(statement, evidence));
        }
    }
    out.push_str("\n## Notes\n\nThe texts of the KEPs differ from Kubernetes here. The requirements follow Kubernetes.\n\n");
    out.push_str("| note | difference |\n| --- | --- |\n");
    notes().for_each(|(id, text)| writeln!(out, "| {id} | {text} |").unwrap());
    out
}

fn row(statement: &Statement, evidence: &Evidence) -> String {
    let id = |req: &Req| {
        let mark = if evidence.is_decided(*req) { "" } else { " °" };
        format!("[{req}](requirements/{}.md#{}){mark}", page(*req), req.id().to_lowercase())
    };
    let ids: Vec<String> = statement.reqs.iter().map(id).collect();
    let mut links = evidence.links(statement);
    if !statement.file.is_empty() {
        links.push(link("page", statement.file.rsplit('/').next().unwrap_or_default(), statement.file));
    }
    if !statement.reason.is_empty() {
        links.insert(0, format!("*Put down:* {}", statement.reason));
    }
    let notes: Vec<String> = statement.notes.iter().map(|id| noted(id)).collect();
    if !notes.is_empty() {
        links.push(format!("*Note:* {}", notes.join(", ")));
    }
    let Statement { code, sections, text, .. } = statement;
    format!("| {code} | {text} *({sections})* | {} | {} |\n", ids.join(", "), links.join("; "))
}

/// Returns a link to a known deviation, or the id of a note on this page.
fn noted(id: &str) -> String {
    match Req::parse(id) {
        Some(req) => format!("[{id}](requirements/{}.md#{})", page(req), id.to_lowercase()),
        None => id.to_owned(),
    }
}

#[test]
fn the_page_is_up_to_date() {
    expected::check(MATRIX, &matrix(&Evidence::collect()));
}

/// A row without evidence must be put down with a reason.
#[test]
fn every_statement_has_evidence_or_a_reason() {
    let evidence = Evidence::collect();
    let mut wrong = Vec::new();
    for statement in statements().iter().filter(|it| it.reason.is_empty()) {
        let unchecked: Vec<Req> =
            statement.reqs.iter().copied().filter(|req| !evidence.is_checked(*req)).collect();
        if !unchecked.is_empty() || statement.reqs.is_empty() {
            wrong.push(format!(
                "{} {}: nothing fails if these are broken: {unchecked:?}",
                statement.code, statement.text
            ));
        }
    }
    assert!(wrong.is_empty(), "{} rows\n{}", wrong.len(), wrong.join("\n"));
}

/// The name of an example is that of evidence for a requirement of its row.
#[test]
fn examples_are_evidence_of_their_rows() {
    let evidence = Evidence::collect();
    let mut unknown = Vec::new();
    for Statement { code, reqs, examples, .. } in statements() {
        for example in examples {
            let is_item = evidence.items.iter().any(|it| it.name == example && reqs.contains(&it.req));
            let is_check = evidence.checks.iter().any(|it| it.name == example && reqs.contains(&it.req));
            if !is_item && !is_check {
                unknown.push(format!("{code} {example}"));
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn rows_are_numbered_and_their_notes_and_files_exist() {
    let notes: BTreeSet<&str> = notes().map(|(id, _)| id).collect();
    let mut before = ("", 0);
    for statement in statements() {
        let (letter, number) = statement.code.split_at(1);
        let number: u32 = number.parse().unwrap();
        let expected = if letter == before.0 { before.1 + 1 } else { 1 };
        assert_eq!(number, expected, "{}", statement.code);
        before = (letter, number);
        for note in &statement.notes {
            assert!(notes.contains(note) || Req::parse(note).is_some(), "{note}");
        }
        assert!(root().join(statement.file).exists(), "{}", statement.file);
        assert!(statement.text.ends_with('.') && !statement.sections.is_empty(), "{}", statement.code);
    }
    let used: BTreeSet<&str> = statements().into_iter().flat_map(|it| it.notes).collect();
    let unused: Vec<&&str> = notes.iter().filter(|note| !used.contains(**note)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// The other direction: a requirement whose source is one of the five KEPs is in some row.
#[test]
fn every_requirement_from_the_keps_is_in_a_row() {
    const KEPS: [&str; 5] = ["KEP-2307", "KEP-3939", "KEP-3850", "KEP-4368", "KEP-592"];
    let cited: BTreeSet<Req> = statements().into_iter().flat_map(|it| it.reqs).collect();
    let of_keps = CATALOGUE.iter().filter(|entry| KEPS.iter().any(|kep| entry.source.contains(kep)));
    let lost: Vec<&str> = of_keps.filter(|entry| !cited.contains(&entry.req)).map(|entry| entry.id).collect();
    assert_eq!(lost, [""; 0]);
}

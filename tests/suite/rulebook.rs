//! The rulebook is true: the pages name what decides each requirement, and how it is decided is how it is reported.
//!
//! `model/rulebook/evidence.tsv`, the facts in `docs/reference/requirements/*.md` and `docs/reference/coverage.md` are
//! generated here. `JOBCHECK_BLESS=1` writes them; without it they are compared.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use jobcheck_rulebook::{FACTS, Kind, page, pages, reported_as};
use jobcheck_spec::{Binds, CATALOGUE, Judged, Level, Req, Requirement};
use jobcheck_tests::corpus::root;
use jobcheck_tests::evidence::{Item, collect, emitted, text};

const EVIDENCE: &str = "model/rulebook/evidence.tsv";
const COVERAGE: &str = "docs/reference/coverage.md";
const PAGES: &str = "docs/reference/requirements";

#[test]
fn evidence_and_pages_are_up_to_date() {
    let items = collect();
    bless_or_compare(EVIDENCE, &text(&items));
    for (family, _) in pages() {
        let path = format!("{PAGES}/{family}.md");
        let page = fs::read_to_string(root().join(&path)).unwrap();
        bless_or_compare(&path, &with_facts(&page, &items));
    }
    bless_or_compare(COVERAGE, &coverage(&items));
}

/// Compares a generated file with what is checked in, or writes it where `JOBCHECK_BLESS` is set.
fn bless_or_compare(path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var_os("JOBCHECK_BLESS").is_some() {
        fs::write(&file, text).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == text,
        "{path} is out of date: run `JOBCHECK_BLESS=1 cargo test -p jobcheck-tests rulebook`"
    );
}

/// A page with the facts of each section as they are now.
fn with_facts(page: &str, items: &BTreeSet<Item>) -> String {
    let mut parts = page.split("\n## ");
    let mut out = parts.next().unwrap_or_default().trim_end().to_owned();
    for section in parts {
        let text = section.split(FACTS).next().unwrap_or(section).trim_end();
        let id = text.lines().next().unwrap_or_default().trim();
        let req = Req::parse(id).unwrap_or_else(|| panic!("{id} is no requirement"));
        write!(out, "\n\n## {text}\n\n{FACTS}\n{}", facts(req, items)).unwrap();
    }
    out.push('\n');
    out
}

fn facts(req: Req, items: &BTreeSet<Item>) -> String {
    let entry = req.entry();
    let mut rows = vec![("binds", bound(entry)), ("decided", decided(entry))];
    let list = |decides: &dyn Fn(Kind) -> bool| linked(req, items, decides);
    rows.push(("in the code", list(&Kind::decides)));
    rows.push(("reported as", ids(&reported_as(req))));
    rows.push(("reported with", ids(&req.also())));
    for (label, kind) in [
        ("shipped controllers", Kind::Controller),
        ("reference algorithm", Kind::Algorithm),
        ("property", Kind::Property),
        ("mutant", Kind::Mutant),
        ("invalid trace", Kind::InvalidTrace),
        ("scenario", Kind::Scenario),
    ] {
        rows.push((label, list(&|it| it == kind)));
    }
    let mut out = "\n| | |\n| --- | --- |\n".to_owned();
    for (label, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(out, "| {label} | {text} |").unwrap();
    }
    out.trim_end().to_owned()
}

/// Links to these items.
fn linked(req: Req, items: &BTreeSet<Item>, wanted: &dyn Fn(Kind) -> bool) -> String {
    let of_req = items.iter().filter(|it| it.req == req && wanted(it.kind));
    let links = of_req.map(|it| match it.kind {
        Kind::Property => it.name.clone(),
        Kind::Mutant => format!("`jobcheck mutants {}`", it.name),
        _ => format!("[`{}`](../../../{})", it.name, it.file),
    });
    links.collect::<Vec<_>>().join(", ")
}

fn ids(reqs: &[Req]) -> String {
    let link = |req: &Req| format!("[{req}]({}.md#{})", page(*req), req.id().to_lowercase());
    reqs.iter().map(link).collect::<Vec<_>>().join(", ")
}

fn bound(entry: &Requirement) -> String {
    let who = match entry.binds {
        Binds::Api => "the API server",
        Binds::Executor => "executors",
        Binds::Manager => "managers",
        Binds::Ttl => "the TTL controller",
        Binds::Internal => {
            return "nobody: internal to a process, or an assumption about the environment".to_owned();
        }
    };
    match entry.level {
        Level::Must => format!("{who} (MUST)"),
        Level::Should => format!("{who} (SHOULD)"),
    }
}

fn decided(entry: &Requirement) -> String {
    match entry.judged {
        Judged::Truth => "from what etcd held".to_owned(),
        Judged::View => "from what some possible state of the caches showed".to_owned(),
        Judged::Audit => "from actors, requests or refusals, which a watch does not show".to_owned(),
        Judged::Pending => "from what was still outstanding when the trace ended".to_owned(),
        Judged::Explored(reason) => format!("by exploration and tests alone: {reason}"),
        Judged::Not(reason) => format!("not by this project: {reason}"),
    }
}

const INTRODUCTION: &str = "\
# Coverage

For readers who ask what this project checks, and how much evidence each rule has. Each requirement has a row: how it is
decided, and how many functions, properties, mutants, invalid traces and scenarios it has. The id leads to the full text
with links to all of them.

`tests/suite/rulebook.rs` generates this page.
";

const WAYS: &[(&str, &str)] = &[
    ("truth", "from what etcd held"),
    ("view", "from what some possible state of the caches showed"),
    ("audit", "from actors, requests or refusals, which only audit logs and native traces hold"),
    ("pending", "from what was still outstanding when the trace ended"),
    ("explored", "by exploration and tests alone"),
    ("not judged", "not by this project"),
];

fn way(judged: Judged) -> &'static str {
    match judged {
        Judged::Truth => "truth",
        Judged::View => "view",
        Judged::Audit => "audit",
        Judged::Pending => "pending",
        Judged::Explored(_) => "explored",
        Judged::Not(_) => "not judged",
    }
}

fn coverage(items: &BTreeSet<Item>) -> String {
    let mut out = INTRODUCTION.to_owned();
    out.push_str("\n| decided | meaning | requirements |\n| --- | --- | --- |\n");
    for (word, meaning) in WAYS {
        let count = CATALOGUE.iter().filter(|entry| way(entry.judged) == *word).count();
        writeln!(out, "| {word} | {meaning} | {count} |").unwrap();
    }
    writeln!(out, "| all | | {} |", CATALOGUE.len()).unwrap();
    out.push_str("\n| id | rule | decided | code | properties | mutants | invalid traces | scenarios |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for entry in CATALOGUE {
        let count = |wanted: &dyn Fn(Kind) -> bool| {
            let count = items.iter().filter(|it| it.req == entry.req && wanted(it.kind)).count();
            if count == 0 { "-".to_owned() } else { count.to_string() }
        };
        let kinds = [Kind::Property, Kind::Mutant, Kind::InvalidTrace, Kind::Scenario];
        let counts = kinds.map(|kind| count(&|it| it == kind)).join(" | ");
        let link = format!("[{}](requirements/{}.md#{})", entry.id, page(entry.req), entry.id.to_lowercase());
        let code = count(&Kind::decides);
        writeln!(out, "| {link} | {} | {} | {code} | {counts} |", entry.sentence, way(entry.judged)).unwrap();
    }
    out
}

/// How the catalogue calls the way in which a rule is decided is how it is reported: a rule about an outstanding write by
/// a function that lists obligations, any other by a guard, a rule of the API server, or the judge. A rule that nothing
/// reports by itself is named by the reports of another.
#[test]
fn a_requirement_is_reported_in_the_way_that_the_catalogue_says() {
    let items = collect();
    let outstanding = emitted(&items, &[Kind::Obligation]);
    let judged = emitted(&items, &[Kind::Guard, Kind::ApiServer, Kind::Judge]);
    let mut wrong = Vec::new();
    for entry in CATALOGUE {
        let is_in = |set: &BTreeSet<Req>| {
            set.contains(&entry.req) || reported_as(entry.req).iter().any(|other| set.contains(other))
        };
        let fits = match entry.judged {
            // A known deviation of this kind is a label that the judge puts on an obligation.
            Judged::Pending => is_in(&outstanding) || (entry.id.starts_with('J') && is_in(&judged)),
            Judged::Truth | Judged::View | Judged::Audit => is_in(&judged),
            Judged::Explored(_) | Judged::Not(_) => true,
        };
        if !fits {
            wrong.push(format!(
                "{} is decided by {}, but nothing reports it so",
                entry.id,
                way(entry.judged)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// From the id to the code: every rule that a trace can break leads to a function, its own or that of the id under which it
/// is reported.
#[test]
fn every_rule_that_a_trace_can_break_leads_to_a_function() {
    let items = collect();
    let decided = emitted(&items, &[Kind::Guard, Kind::ApiServer, Kind::Judge, Kind::Obligation]);
    let lost: Vec<&str> = CATALOGUE
        .iter()
        .filter(|entry| entry.judged.by_trace())
        .filter(|entry| !decided.contains(&entry.req))
        .filter(|entry| !reported_as(entry.req).iter().any(|other| decided.contains(other)))
        .map(|entry| entry.id)
        .collect();
    assert_eq!(lost, [""; 0]);
}

/// The reason why something is never reported stands in the catalogue; what is reported all the same is listed here.
#[test]
fn what_is_explored_only_is_reported_by_these_alone() {
    let items = collect();
    let reported = emitted(&items, &[Kind::Guard, Kind::ApiServer, Kind::Judge, Kind::Obligation]);
    let never = |entry: &&Requirement| matches!(entry.judged, Judged::Explored(_) | Judged::Not(_));
    let found = CATALOGUE.iter().filter(never).filter(|entry| reported.contains(&entry.req));
    let found: Vec<&str> = found.map(|entry| entry.id).collect();
    // Gates that are off in no supported version, and rules that the explorer alone asks about.
    assert_eq!(found, ["PC-27", "SU-13", "SP-09", "UG-04", "UG-05", "UG-07", "UG-08", "UG-13"]);
}

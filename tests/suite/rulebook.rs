//! The rulebook agrees with the code. The pages list the evidence for each requirement. Each requirement is reported
//! in the way that the catalogue states.
//!
//! This file generates `model/rulebook/evidence.tsv`, `docs/reference/coverage.md`, and the facts in
//! `docs/reference/requirements/*.md`. `JOBCHECK_BLESS=1` writes them. Without it, the tests compare them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use jobcheck_rulebook::{FACTS, Kind, page, pages, reported_as};
use jobcheck_spec::{Binds, CATALOGUE, Judged, Level, Req, Requirement};
use jobcheck_tests::corpus::root;
use jobcheck_tests::evidence::{Item, collect, emissions, emitted, text};
use jobcheck_tests::expected;

const EVIDENCE: &str = "model/rulebook/evidence.tsv";
const COVERAGE: &str = "docs/reference/coverage.md";
const PAGES: &str = "docs/reference/requirements";

#[test]
fn evidence_and_pages_are_up_to_date() {
    let items = collect();
    expected::check(EVIDENCE, &text(&items));
    for (family, _) in pages() {
        let path = format!("{PAGES}/{family}.md");
        let page = fs::read_to_string(root().join(&path)).unwrap();
        expected::check(&path, &with_facts(&page, &items));
    }
    expected::check(COVERAGE, &coverage(&items));
}

/// Returns a page with the current facts in each section.
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
    rows.push(("decided by", list(&Kind::decides)));
    rows.push(("named by", list(&|kind| kind == Kind::Reports)));
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

/// Returns links to the items of a requirement that have one of the wanted kinds.
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
        Judged::Clusters => "from the traces of the manager and of its workers".to_owned(),
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
    ("clusters", "from the traces of the manager and of its workers"),
    ("explored", "by exploration and tests alone"),
    ("not judged", "not by this project"),
];

fn way(judged: Judged) -> &'static str {
    match judged {
        Judged::Truth => "truth",
        Judged::View => "view",
        Judged::Audit => "audit",
        Judged::Pending => "pending",
        Judged::Clusters => "clusters",
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

/// A requirement is reported by code of the kind that its entry in the catalogue states. Functions that list
/// obligations report requirements about outstanding writes. Guards, rules of the API server, and the judge report all
/// others. A report under the id of another requirement counts, too.
#[test]
fn a_requirement_is_reported_in_the_way_that_the_catalogue_says() {
    let items = emissions();
    let outstanding = emitted(&items, &[Kind::Obligation]);
    let judged = emitted(&items, &[Kind::Guard, Kind::ApiServer, Kind::Judge]);
    let mut wrong = Vec::new();
    for entry in CATALOGUE {
        let is_in = |set: &BTreeSet<Req>| {
            set.contains(&entry.req) || reported_as(entry.req).iter().any(|other| set.contains(other))
        };
        let fits = match entry.judged {
            // A known deviation (J) is a label, which the judge adds to an obligation.
            Judged::Pending => is_in(&outstanding) || (entry.id.starts_with('J') && is_in(&judged)),
            Judged::Truth | Judged::View | Judged::Audit | Judged::Clusters => is_in(&judged),
            Judged::Explored(_) | Judged::Not(_) => true,
        };
        if !fits {
            wrong.push(format!(
                "the catalogue says {} for {}, but no code of this kind reports it",
                way(entry.judged),
                entry.id
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// For every requirement that a trace can break there is a function that reports it, under its own id or another id.
#[test]
fn every_rule_that_a_trace_can_break_leads_to_a_function() {
    let items = emissions();
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

/// For a requirement that no trace can break, the catalogue has the reason. The guards report only these of them.
#[test]
fn few_requirements_that_no_trace_can_break_are_reported() {
    let items = emissions();
    let reported = emitted(&items, &[Kind::Guard, Kind::ApiServer, Kind::Judge, Kind::Obligation]);
    let never = |entry: &&Requirement| matches!(entry.judged, Judged::Explored(_) | Judged::Not(_));
    let found = CATALOGUE.iter().filter(never).filter(|entry| reported.contains(&entry.req));
    let found: Vec<&str> = found.map(|entry| entry.id).collect();
    // They concern feature gates that are on in all supported versions, or only the explorer calls their guards.
    assert_eq!(found, ["FT-22", "PC-27", "SU-13", "SP-09", "UG-04", "UG-05", "UG-07", "UG-08", "UG-13"]);
}

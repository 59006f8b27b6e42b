//! Each guard is needed by a property, or declared redundant with a reason. `docs/results/sensitivity.md` shows both.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::sensitivity::{NEEDED, REDUNDANT, UNDECIDED, listed};
use jobcheck_rulebook::page;
use jobcheck_spec::{Judged, Req};
use jobcheck_tests::corpus::cases;
use jobcheck_tests::evidence::emissions;
use jobcheck_tests::expected;

const PAGE: &str = "docs/results/sensitivity.md";
const GUARDS: &str = "model/spec/src/guards/";

/// The requirements that the sources of the guards report.
fn guarded() -> BTreeSet<Req> {
    emissions().into_iter().filter(|it| it.file.starts_with(GUARDS)).map(|it| it.req).collect()
}

#[test]
fn each_guard_is_needed_or_redundant_or_undecided() {
    let listed: BTreeSet<Req> = listed().into_iter().collect();
    let guarded = guarded();
    let missing: Vec<_> = guarded.difference(&listed).collect();
    let obsolete: Vec<_> = listed.difference(&guarded).collect();
    assert!(missing.is_empty(), "run `just sensitivity`, and list {missing:?}");
    assert!(obsolete.is_empty(), "no guard reports {obsolete:?}");
}

/// The first invalid trace, or else the first mutant, that breaks a requirement.
fn broken_by(req: Req, traces: &[(String, String)]) -> Option<String> {
    let trace = traces.iter().find(|(id, _)| id == req.id()).map(|(_, file)| {
        let name = file.trim_end_matches(".jsonl");
        format!("[{name}](../../traces/corpus/invalid/{file})")
    });
    let mutant = || MUTANTS.iter().find(|mutant| mutant.requirement() == req);
    trace.or_else(|| mutant().map(|mutant| format!("`jobcheck mutants {}`", mutant.id)))
}

/// The traces that break a requirement which no single trace breaks, or the reason of the catalogue why no trace does.
fn unseen(req: Req) -> String {
    match req.entry().judged {
        Judged::Clusters if req >= Req::MR30 => {
            "sums of members in [traces/corpus/sums](../../tests/edits/tests/sums.md)".to_owned()
        }
        Judged::Clusters => {
            "a pair of traces in [tests/suite](../../tests/suite/judge_clusters.rs)".to_owned()
        }
        Judged::Explored(why) | Judged::Not(why) => format!("no trace: {why}"),
        judged => panic!("no trace and no mutant breaks {req}, which is judged by {judged:?}"),
    }
}

const INTRODUCTION: &str = "\
# Sensitivity of the specification

For readers who ask which guards the properties need. The guards that report one requirement are switched off. Then every
scope of the specification is explored, the smallest first, until a property breaks. `just sensitivity` repeats this;
`tests/suite/sensitivity.rs` generates this page.

A guard that no property needs is declared redundant, with the reason. An invalid trace or a mutant breaks each of
them, unless no trace shows the rule.
If a search was stopped before it had visited all states, the guard is undecided.

The scopes of algorithms are left out. There, guards judge writes, and never change them.
";

fn link(req: Req) -> String {
    format!("[{req}](../reference/requirements/{}.md#{})", page(req), req.id().to_lowercase())
}

#[test]
fn the_page_is_up_to_date() {
    let mut out = INTRODUCTION.to_owned();
    writeln!(out, "\n## Needed\n\nWithout each of these {} guards, a property breaks.\n", NEEDED.len())
        .unwrap();
    out.push_str("| without | scope | property that breaks | steps |\n| --- | --- | --- | --- |\n");
    for (req, scope, property, steps) in NEEDED {
        let broken = property.map_or("deadlock".to_owned(), link);
        writeln!(out, "| {} | {scope} | {broken} | {steps} |", link(*req)).unwrap();
    }
    out.push_str(
        "\n## Undecided\n\nWithout these guards, no property breaks in the states that were explored.\n\n",
    );
    out.push_str("| without | scopes that were not finished | states of each |\n| --- | --- | --- |\n");
    for (req, scopes, states) in UNDECIDED {
        writeln!(out, "| {} | {} | {states} |", link(*req), scopes.join(", ")).unwrap();
    }
    writeln!(
        out,
        "\n## Redundant\n\nWithout each of these {} guards, all properties hold.\n",
        REDUNDANT.len()
    )
    .unwrap();
    out.push_str("| without | reason | broken by |\n| --- | --- | --- |\n");
    let traces: Vec<(String, String)> =
        cases().unwrap().into_iter().map(|case| (case.requirement.clone(), case.file_name())).collect();
    for (req, because) in REDUNDANT {
        let broken = broken_by(*req, &traces).unwrap_or_else(|| unseen(*req));
        writeln!(out, "| {} | {because} | {broken} |", link(*req)).unwrap();
    }
    expected::check(PAGE, &out);
}

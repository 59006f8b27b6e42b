//! `jobcheck rule`.

use std::path::Path;

use crate::schema;
use crate::support::jobcheck;

/// Requirements of every kind. They are decided by:
///
/// - a guard
/// - the absence of other violations
/// - the API server
/// - an obligation
/// - a guard that reports another id
/// - exploration alone
const ASKED: [&str; 12] = [
    "TC-04", "FT-03", "BI-08", "RP-03", "SX-03", "TT-05", "MB-02", "BO-06", "PC-06", "SU-08", "PF-06",
    "SS-32",
];

#[test]
fn a_rule_is_printed_with_its_reason_an_example_and_the_way_to_its_code() {
    for id in ASKED {
        let run = jobcheck(["rule", id]);
        assert_eq!(run.code, 0, "{run:?}");
        for label in ["reason", "example", "source", "binds", "decided", "page"] {
            let has_it = run.out.lines().any(|line| line.starts_with(label) && line.len() > label.len() + 4);
            assert!(has_it, "{id} has no {label}: {}", run.out);
        }
        let leads_on = ["code", "named by", "shipped", "reference"]
            .iter()
            .any(|label| run.out.contains(&format!("\n{label} ")));
        assert!(leads_on, "{id} leads nowhere: {}", run.out);
    }
}

#[test]
fn every_file_that_a_rule_names_is_in_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let report = jobcheck(["rule", "-o", "json"]).json();
    schema::check(&report);
    let rules = report["rules"].as_array().unwrap();
    assert!(rules.len() > 300, "{}", rules.len());
    for item in rules.iter().flat_map(|rule| rule["evidence"].as_array().unwrap()) {
        let file = item["file"].as_str().unwrap();
        assert!(root.join(file).exists(), "{file}");
    }
}

#[test]
fn a_family_and_all_rules_are_listed() {
    let family = jobcheck(["rule", "ft"]);
    assert!(family.code == 0 && family.out.starts_with("FT-01   "), "{family:?}");
    assert!(!family.out.contains("PC-01"), "{}", family.out);
    let all = jobcheck(["rule"]);
    assert!(all.out.contains("\nPC-01") && all.out.contains("\nJ-09"), "{}", all.out);
    let deviations = jobcheck(["rule", "S"]);
    assert!(deviations.out.contains("S-12") && !deviations.out.contains("SS-12"), "{}", deviations.out);
}

#[test]
fn an_id_that_does_not_exist_is_an_error_that_says_where_to_look() {
    let run = jobcheck(["rule", "FT-99"]);
    assert!(run.code == 2 && run.err.contains("FT-99") && run.err.contains("jobcheck rule"), "{run:?}");
    assert_eq!(jobcheck(["rule", "FT-03", "nonsense"]).code, 2);
    let defect = jobcheck(["rule", "b18"]);
    assert!(defect.code == 2 && defect.err.contains("jobcheck mutants b18"), "{defect:?}");
}

/// An upstream issue may concern several requirements, and a deviation leads to its page.
#[test]
fn an_issue_and_a_deviation_lead_to_their_rules() {
    let issue = jobcheck(["rule", "123775"]);
    assert!(issue.code == 0 && issue.out.contains("TC-04"), "{issue:?}");
    let deviation = jobcheck(["rule", "kd5"]);
    assert!(deviation.out.starts_with("S-05 (also KD-05)"), "{deviation:?}");
    assert!(deviation.out.contains("(docs/findings/S-05.md)"), "{deviation:?}");
}

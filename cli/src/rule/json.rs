//! Rules for machines (docs/reference/schemas/rule.schema.json).

use jobcheck_judge::report::{Id, aliases};
use jobcheck_rulebook::{Rule, rule};
use jobcheck_spec::{Binds, Judged, Level, Req};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rules {
    api_version: &'static str,
    kind: &'static str,
    rules: Vec<OneRule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OneRule {
    id: Id,
    aliases: Vec<&'static str>,
    sentence: &'static str,
    details: &'static str,
    reason: &'static str,
    example: &'static str,
    source: &'static str,
    binds: &'static str,
    level: &'static str,
    decided: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'static str>,
    named_by: Vec<Id>,
    names: Vec<Id>,
    evidence: Vec<Item>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    kind: &'static str,
    name: &'static str,
    file: &'static str,
}

fn rules(reqs: &[Req]) -> Rules {
    let rules = reqs.iter().map(|req| one(&rule(*req))).collect();
    Rules { api_version: "jobcheck.dev/v1", kind: "RuleList", rules }
}

fn one(rule: &Rule) -> OneRule {
    let entry = rule.requirement;
    let (decided, why_not) = match entry.judged {
        Judged::Truth => ("truth", None),
        Judged::View => ("view", None),
        Judged::Audit => ("audit", None),
        Judged::Pending => ("pending", None),
        Judged::Explored(reason) => ("explored", Some(reason)),
        Judged::Not(reason) => ("notJudged", Some(reason)),
    };
    OneRule {
        id: Id(entry.req),
        aliases: aliases(entry.req).collect(),
        sentence: entry.sentence,
        details: rule.section.details,
        reason: rule.section.reason,
        example: rule.section.example,
        source: rule.section.source,
        binds: match entry.binds {
            Binds::Api => "apiServer",
            Binds::Executor => "executor",
            Binds::Manager => "manager",
            Binds::Ttl => "ttlController",
            Binds::Internal => "internal",
        },
        level: if entry.level == Level::Must { "MUST" } else { "SHOULD" },
        decided,
        why_not,
        named_by: rule.reported_as.iter().copied().map(Id).collect(),
        names: entry.req.also().into_iter().map(Id).collect(),
        evidence: rule
            .evidence
            .iter()
            .map(|it| Item { kind: it.kind.word(), name: it.name, file: it.file })
            .collect(),
    }
}

/// As JSON.
pub fn json(reqs: &[Req]) -> String {
    let text =
        serde_json::to_string_pretty(&rules(reqs)).expect("strings and lists of strings have a JSON form");
    format!("{text}\n")
}

/// As YAML.
pub fn yaml(reqs: &[Req]) -> String {
    serde_saphyr::to_string(&rules(reqs)).expect("strings and lists of strings have a YAML form")
}

//! The JSON report of `jobcheck rule` (docs/reference/schemas/rule.schema.json).

use jobcheck_judge::report::{API_VERSION, Id, aliases};
use jobcheck_rulebook::{Rule, rule};
use jobcheck_spec::{Binds, Judged, Level, Req};
use serde::Serialize;

/// The report of `jobcheck rule`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rules {
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
    #[serde(skip_serializing_if = "str::is_empty")]
    instead: &'static str,
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

/// Returns the JSON report about these requirements.
pub fn report(reqs: &[Req]) -> Rules {
    let rules = reqs.iter().map(|req| one(&rule(*req))).collect();
    Rules { api_version: API_VERSION, kind: "RuleList", rules }
}

fn one(rule: &Rule) -> OneRule {
    let entry = rule.requirement;
    let (decided, why_not) = match entry.judged {
        Judged::Truth => ("truth", None),
        Judged::View => ("view", None),
        Judged::Audit => ("audit", None),
        Judged::Pending => ("pending", None),
        Judged::Clusters => ("clusters", None),
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
        instead: rule.section.instead,
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

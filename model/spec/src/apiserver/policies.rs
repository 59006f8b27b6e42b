//! Rules for a valid `podFailurePolicy` (SP-06) and `successPolicy` (SP-07).

use super::index_text;
use super::names::is_qualified_name;
use super::outcome::Outcome;
use crate::indexes::check_grammar;
use crate::job::{ConditionPattern, FailureAction, JobSpec, OnExitCodes, PodFailureRule, SuccessRule};
use crate::words::numbers;

const MAX_RULES: usize = 20;
const MAX_EXIT_CODES: usize = 255;
const MAX_CONDITION_PATTERNS: usize = 20;
const MAX_INDEX_TEXT: usize = 64 * 1024;

const FAILURE_RULES: &str = "spec.podFailurePolicy.rules";
const SUCCESS_RULES: &str = "spec.successPolicy.rules";

/// SP-06: a pod failure policy has at most 20 rules, each with one valid requirement and a valid action.
pub(super) fn pod_failure_policy_is_valid(spec: &JobSpec) -> Outcome {
    let Some(policy) = &spec.pod_failure_policy else { return Outcome::NotApplicable };
    let count = policy.rules.len();
    let few = Outcome::of(count <= MAX_RULES, FAILURE_RULES, || ("at most 20 rules", count));
    let rules = policy.rules.iter().map(|rule| failure_rule_is_valid(spec, rule));
    Outcome::all([few].into_iter().chain(rules))
}

fn failure_rule_is_valid(spec: &JobSpec, rule: &PodFailureRule) -> Outcome {
    let action = match rule.action {
        FailureAction::FailJob | FailureAction::Ignore | FailureAction::Count => Outcome::Holds,
        FailureAction::FailIndex => {
            Outcome::of(spec.backoff_limit_per_index.is_some(), "spec.podFailurePolicy.rules.action", || {
                ("an action other than FailIndex without backoffLimitPerIndex", "FailIndex")
            })
        }
        FailureAction::Unknown => {
            Outcome::breaks("spec.podFailurePolicy.rules.action", "a known action", "another value")
        }
    };
    let patterns = &rule.on_pod_conditions;
    let one_of = match (&rule.on_exit_codes, patterns.is_empty()) {
        (Some(codes), true) => exit_codes_are_valid(spec, codes),
        (None, false) => patterns_are_valid(patterns),
        (Some(_), false) => Outcome::breaks(FAILURE_RULES, "one of onExitCodes and onPodConditions", "both"),
        (None, true) => Outcome::breaks(FAILURE_RULES, "one of onExitCodes and onPodConditions", "neither"),
    };
    Outcome::all([action, one_of])
}

fn exit_codes_are_valid(spec: &JobSpec, codes: &OnExitCodes) -> Outcome {
    const VALUES: &str = "spec.podFailurePolicy.rules.onExitCodes.values";
    let values = &codes.values;
    let operator =
        Outcome::of(codes.is_in.is_some(), "spec.podFailurePolicy.rules.onExitCodes.operator", || {
            ("In or NotIn", "another value")
        });
    let container = match &codes.container_name {
        None => Outcome::NotApplicable,
        Some(name) => {
            let exists = spec.template.container_names.contains(name);
            Outcome::of(exists, "spec.podFailurePolicy.rules.onExitCodes.containerName", || {
                ("a container of the template", name.to_string())
            })
        }
    };
    Outcome::all([
        operator,
        container,
        Outcome::of((1..=MAX_EXIT_CODES).contains(&values.len()), VALUES, || {
            ("1 to 255 values", values.len())
        }),
        Outcome::of(codes.is_in != Some(true) || !values.contains(&0), VALUES, || {
            ("no 0 with In", numbers(values))
        }),
        Outcome::of(values.is_sorted_by(|one, next| one < next), VALUES, || {
            ("ascending values", numbers(values))
        }),
    ])
}

fn patterns_are_valid(patterns: &[ConditionPattern]) -> Outcome {
    const PATTERNS: &str = "spec.podFailurePolicy.rules.onPodConditions";
    let count = patterns.len();
    let few = Outcome::of(count <= MAX_CONDITION_PATTERNS, PATTERNS, || ("at most 20 patterns", count));
    let each = patterns.iter().map(|pattern| {
        let status = matches!(&*pattern.status, "True" | "False" | "Unknown");
        Outcome::of(status && is_qualified_name(&pattern.kind), PATTERNS, || {
            ("a qualified name and True, False or Unknown", format!("{}={}", pattern.kind, pattern.status))
        })
    });
    Outcome::all([few].into_iter().chain(each))
}

/// SP-07: a success policy needs mode `Indexed`, and has 1 to 20 rules with valid indexes or counts.
pub(super) fn success_policy_is_valid(spec: &JobSpec) -> Outcome {
    let Some(policy) = &spec.success_policy else { return Outcome::NotApplicable };
    if !spec.is_indexed() {
        return Outcome::breaks("spec.successPolicy", "none without mode Indexed", "a policy");
    }
    let count = policy.rules.len();
    let few = Outcome::of((1..=MAX_RULES).contains(&count), SUCCESS_RULES, || ("1 to 20 rules", count));
    // SP-03 refuses an Indexed Job without completions.
    let completions = spec.completions.unwrap_or(i32::MAX);
    let rules = policy.rules.iter().map(|rule| success_rule_is_valid(rule, i64::from(completions)));
    Outcome::all([few].into_iter().chain(rules))
}

fn success_rule_is_valid(rule: &SuccessRule, completions: i64) -> Outcome {
    const INDEXES: &str = "spec.successPolicy.rules.succeededIndexes";
    const COUNT: &str = "spec.successPolicy.rules.succeededCount";
    let (text, count) = (rule.succeeded_indexes.as_deref(), rule.succeeded_count.map(i64::from));
    let has_criterion = Outcome::of(text.is_some() || count.is_some(), SUCCESS_RULES, || {
        ("succeededIndexes or succeededCount", "neither")
    });
    let indexes = match text.map(|text| (text.len(), check_grammar(text, completions))) {
        None => Outcome::NotApplicable,
        Some((length, _)) if length > MAX_INDEX_TEXT => Outcome::breaks(INDEXES, "at most 64 KiB", length),
        Some((_, Err(why))) => Outcome::breaks(INDEXES, "increasing indexes below completions", why),
        Some((_, Ok(()))) => Outcome::Holds,
    };
    let limit = text.map_or(completions, |text| index_text::count(text, completions).min(completions));
    let counted = match count {
        None => Outcome::NotApplicable,
        Some(count) => Outcome::of((0..=limit).contains(&count), COUNT, || (format!("0 to {limit}"), count)),
    };
    Outcome::all([has_criterion, indexes, counted])
}

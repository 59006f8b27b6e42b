//! The broken rules of a Job in upstream's words (`pkg/apis/batch/validation`).

use std::collections::HashSet;

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::{Broken, Req};
use serde_json::{Value, json};

use crate::error::{FieldError, Problem};
use crate::object::at;

const IMMUTABLE: &str = "field is immutable";
const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
const NEEDS_INDEXED: &str = "requires indexed completion mode";

/// The errors in upstream's response. If a rule of the model stands for several checks of upstream's, the first one
/// is reported.
pub(super) fn field_errors(
    rules: RuleSet,
    broken: &[Broken],
    object: &Value,
    changed: &[&str],
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for broken in broken {
        match broken.req {
            Req::SS01 => errors.extend(negative(object, "status", &COUNTERS)),
            Req::SP02 => errors.extend(negative(object, "spec", &NUMBERS)),
            Req::SP08 => errors.extend(changed.iter().map(|key| {
                FieldError::invalid(format!("spec.{key}"), value(object, &format!("spec.{key}")), IMMUTABLE)
            })),
            _ => errors.push(field_error(rules, broken, object)),
        }
    }
    errors
}

/// The counters of a status that must not be negative (SS-01).
const COUNTERS: [&str; 5] = ["active", "succeeded", "failed", "ready", "terminating"];
const NUMBERS: [&str; 7] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];

fn negative<'a>(
    object: &'a Value,
    part: &'a str,
    names: &'static [&'static str],
) -> impl Iterator<Item = FieldError> + 'a {
    names.iter().filter_map(move |name| {
        let number = &object[part][*name];
        let is_negative = number.as_i64().is_some_and(|number| number < 0);
        is_negative.then(|| FieldError::invalid(format!("{part}.{name}"), number.clone(), NOT_NEGATIVE))
    })
}

fn value(object: &Value, path: &str) -> Value {
    let path: Vec<&str> = path.split('.').collect();
    at(object, &path).cloned().unwrap_or(Value::Null)
}

/// Returns true if a rule expects the value at a path.
fn expects(broken: &Broken, object: &Value, path: &str) -> bool {
    let (asked, found) = (broken.expected.to_string(), value(object, path).to_string());
    asked == found
}

fn field_error(rules: RuleSet, broken: &Broken, object: &Value) -> FieldError {
    let what = broken.what;
    let invalid = |detail: &str| FieldError::invalid(what, value(object, what), detail);
    let found = broken.found.to_string();
    match broken.req {
        Req::SS02 | Req::SS13 => uncounted(broken, object),
        Req::SS09 if rules.minor < 36 => {
            FieldError::required(what, "startTime cannot be removed for unsuspended job")
        }
        Req::SS09 => invalid("field is immutable for unsuspended job once set"),
        Req::SS10 => FieldError::required(what, "startTime is required for finished job"),
        Req::SS11 => invalid("must be equal to or after `startTime`"),
        Req::SS12 => invalid("active>0 is invalid for finished job"),
        Req::SS14 => invalid(&format!("error parsing completedIndexes: {}", after(&found, "\": "))),
        Req::SS15 => invalid(&format!("error parsing failedIndexes: {}", after(&found, "\": "))),
        Req::SS16 if what == "status.completedIndexes" => {
            invalid("cannot set non-empty completedIndexes when non-indexed completion mode")
        }
        Req::SS16 => invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null"),
        Req::SS17 => {
            let index = after(&found, "shares ");
            invalid(&format!("failedIndexes and completedIndexes overlap at index: {index}"))
        }
        Req::SS18 => invalid("terminating>0 is invalid for finished job"),
        Req::SS19 => invalid("cannot set more ready pods than active"),
        Req::SS24 => invalid("cannot set completionTime when there is no Complete=True condition"),
        Req::SS25 => FieldError::required(what, "completionTime is required for Complete jobs"),
        Req::SS26 | Req::SU12 => invalid(IMMUTABLE),
        Req::SS27 => invalid("cannot decrease the failed counter"),
        Req::SS28 => invalid("cannot decrease the succeeded counter"),
        Req::SP03 | Req::BI12 => modes(broken, object),
        Req::SP04 => restart_policy(object),
        Req::SP05 => invalid(
            "must be a lowercase RFC 1123 subdomain, of no more than 63 characters where it is a label",
        ),
        Req::SP15 => FieldError::unsupported(what, value(object, what), &["Failed", "TerminatingOrFailed"]),
        Req::RP01 => FieldError::unsupported(what, value(object, what), &["Failed"]),
        Req::MB01 if !broken.expected.to_string().starts_with("a domain-prefixed path") => invalid(IMMUTABLE),
        Req::MB01 if found.is_empty() => FieldError::required(what, ""),
        Req::MB01 if found.len() > 63 => FieldError {
            field: what.to_owned(),
            problem: Problem::TooLong,
            detail: "may not be more than 63 bytes".to_owned(),
        },
        Req::MB01 => invalid("must be a domain-prefixed path (such as \"acme.io/foo\")"),
        Req::PC15 if what == "spec.selector" => invalid("`selector` not auto-generated"),
        Req::PC22 if expects(broken, object, "spec.parallelism") => {
            invalid("can only be modified in tandem with spec.parallelism")
        }
        Req::PC22 => invalid(IMMUTABLE),
        _ => condition_or_other(broken, object),
    }
}

/// The rest of a text after the last occurrence of `mark`.
fn after<'a>(text: &'a str, mark: &str) -> &'a str {
    text.rsplit(mark).next().unwrap_or_default()
}

/// The messages of rules about pairs of conditions, and of the remaining rules.
fn condition_or_other(broken: &Broken, object: &Value) -> FieldError {
    let unfit = |detail: String| FieldError {
        field: "status.conditions".to_owned(),
        problem: Problem::Unfit,
        detail,
    };
    let detail = match broken.req {
        Req::UG07 => "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy",
        Req::SS03 => "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        Req::SS04 => "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        Req::SS05 => "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
        Req::SS06 => "cannot disable the SuccessCriteriaMet=True condition",
        Req::SS07 => "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        Req::SS08 => return unfit(format!("cannot disable the terminal {}=True condition", broken.expected)),
        Req::SS20 => "cannot set Failed=True condition without the FailureTarget=true condition",
        Req::SS21 => "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        Req::SS22 => "cannot set Complete=True and Failed=true conditions",
        Req::SS23 => "cannot set Complete=True and FailureTarget=true conditions",
        _ => {
            let detail = format!("must be {}, found {}", broken.expected, broken.found);
            return FieldError::invalid(broken.what, value(object, broken.what), detail);
        }
    };
    unfit(detail.to_owned())
}

/// The errors in `uncountedTerminatedPods`. SS-02 names the entry, SS-13 the whole list.
fn uncounted(broken: &Broken, object: &Value) -> FieldError {
    const PATH: &str = "status.uncountedTerminatedPods";
    let whole = value(object, PATH);
    if broken.req == Req::SS13 {
        return FieldError::invalid(PATH, whole, "must be empty for finished job");
    }
    let mut seen = HashSet::new();
    for list in ["succeeded", "failed"] {
        for (place, uid) in whole[list].as_array().into_iter().flatten().enumerate() {
            let field = format!("{PATH}.{list}[{place}]");
            if *uid == json!("") {
                return FieldError::invalid(field, uid.clone(), "must not be empty");
            }
            if !seen.insert(uid) {
                return FieldError { field, problem: Problem::Duplicate(uid.clone()), detail: String::new() };
            }
        }
    }
    FieldError::invalid(PATH, whole, broken.found.to_string())
}

/// The errors of SP-03 and BI-12: fields that depend on the completion mode.
fn modes(broken: &Broken, object: &Value) -> FieldError {
    let what = broken.what;
    let invalid = |detail: &str| FieldError::invalid(what, value(object, what), detail);
    let missing = value(object, what).is_null();
    match what {
        "spec.completionMode" => {
            FieldError::unsupported(what, value(object, what), &["NonIndexed", "Indexed"])
        }
        "spec.completions" => FieldError::required(what, "when completion mode is Indexed"),
        "metadata.name" => {
            invalid(&format!("will not able to create pod with invalid DNS label: {}", broken.found))
        }
        "spec.backoffLimitPerIndex" => match broken.expected.to_string().as_str() {
            "a number with maxFailedIndexes" => {
                FieldError::required(what, "when maxFailedIndexes is specified")
            }
            "none without mode Indexed" => invalid(NEEDS_INDEXED),
            _ => invalid(IMMUTABLE),
        },
        "spec.maxFailedIndexes" if missing => {
            FieldError::required(what, "must be specified when completions is above 100000")
        }
        "spec.maxFailedIndexes" if expects(broken, object, "spec.completions") => {
            invalid("must be less than or equal to completions")
        }
        _ if broken.expected.to_string() == "10000" => invalid(
            "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per \
             index",
        ),
        "spec.parallelism" => invalid("must be less than or equal to 100000 when completion mode is Indexed"),
        _ => invalid(&format!("must be less than or equal to {}", broken.expected)),
    }
}

fn restart_policy(object: &Value) -> FieldError {
    const WHAT: &str = "spec.template.spec.restartPolicy";
    let policy = value(object, WHAT);
    match policy.as_str() {
        Some("OnFailure") => FieldError::invalid(
            WHAT,
            policy,
            "only \"Never\" is supported when podFailurePolicy is specified",
        ),
        Some("Always") | None => FieldError::required(WHAT, "valid values: \"OnFailure\", \"Never\""),
        Some(_) => FieldError::unsupported(WHAT, policy, &["OnFailure", "Never"]),
    }
}

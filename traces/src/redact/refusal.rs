//! Messages of refused requests. Only sentences that Kubernetes itself writes stay.
//!
//! A message may quote values and complete objects, and webhooks write what they want. So a text stays only if its form is
//! known: with names, numbers, and words of fixed sets in it. The rest becomes a digest.
//!
//! | message | stays |
//! | --- | --- |
//! | of a known form ([`WHOLE`]) | all of it |
//! | about fields (`field.Error`) | paths and kinds; numbers and times in a status; known explanations ([`DETAILS`]) |
//! | with a known start ([`STARTS`]) | the start |
//! | another one | nothing but the phrases that the judge looks for ([`PHRASES`]) |

/// Complete messages. `{n}` stands for a name, `{q}` for a quantity of a quota.
const WHOLE: [&str; 22] = [
    "{n} \"{n}\" not found",
    "{n} \"{n}\" already exists",
    "{n} \"{n}\" is forbidden: User \"{n}\" cannot {n} resource \"{n}\" in API group \"{n}\" in the namespace \"{n}\"",
    "{n} \"{n}\" is forbidden: User \"{n}\" cannot {n} resource \"{n}\" in API group \"{n}\" at the cluster scope",
    "{n} is forbidden: User \"{n}\" cannot {n} resource \"{n}\" in API group \"{n}\" in the namespace \"{n}\"",
    "{n} is forbidden: User \"{n}\" cannot {n} resource \"{n}\" in API group \"{n}\" at the cluster scope",
    "{n} \"{n}\" is forbidden: unable to create new content in namespace {n} because it is being terminated",
    "{n} \"{n}\" is forbidden: exceeded quota: {n}, requested: {q}, used: {q}, limited: {q}",
    "namespace {n} is being terminated",
    "admission webhook \"{n}\" denied the request without explanation",
    "Operation cannot be fulfilled on {n} \"{n}\": the object has been modified",
    "Operation cannot be fulfilled on {n} \"{n}\": the object has been modified; please apply your changes to the latest \
     version and try again",
    "Operation cannot be fulfilled on {n} \"{n}\": the ResourceVersion in the precondition ({n}) does not match the \
     ResourceVersion in record ({n}). The object might have been modified",
    "Operation cannot be fulfilled on {n} \"{n}\": the UID in the precondition ({n}) does not match the UID in record \
     ({n}). The object might have been deleted and then recreated",
    "Operation cannot be fulfilled on {n} \"{n}\": StorageError: invalid object, Code: 4, Key: {n}, ResourceVersion: {n}, \
     AdditionalErrorMsg: Precondition failed: UID in precondition: {n}, UID in object meta: {n}",
    "Unauthorized",
    "Timeout: request did not complete within the allotted duration",
    "Timeout: request did not complete within requested timeout - context deadline exceeded",
    "etcdserver: request timed out",
    "the server could not find the requested resource",
    "the server is currently unable to handle the request",
    "the server has received too many requests and has asked us to try again later",
];

/// Starts of messages whose rest is written by others.
const STARTS: [&str; 9] = [
    "admission webhook \"{n}\" denied the request",
    "{n} \"{n}\" is forbidden: ValidatingAdmissionPolicy '{n}' with binding '{n}' denied request",
    "ValidatingAdmissionPolicy '{n}' with binding '{n}' denied request",
    "Internal error occurred: failed calling webhook \"{n}\"",
    "{n} \"{n}\" is forbidden: exceeded quota",
    "{n} \"{n}\" is forbidden",
    "{n} \"{n}\" is invalid",
    "Operation cannot be fulfilled on {n} \"{n}\"",
    "Internal error occurred",
];

/// The phrases by which the judge knows the reason of a refusal.
const PHRASES: [&str; 8] = [
    " is invalid: ",
    "admission webhook",
    "denied the request",
    "exceeded quota",
    "because it is being terminated",
    "Precondition failed",
    " cannot ",
    " resource ",
];

/// The kinds of errors in fields. A value follows those with `true`.
const KINDS: [(&str, bool); 9] = [
    ("Required value", false),
    ("Forbidden", false),
    ("Too long", false),
    ("Too many", true),
    ("Invalid value", true),
    ("Duplicate value", true),
    ("Unsupported value", true),
    ("Not found", true),
    ("Internal error", false),
];

/// The explanations of the validation of Jobs. `{n}` stands for a name or a number.
const DETAILS: [&str; 41] = [
    "field is immutable",
    "field is immutable for unsuspended job once set",
    "must be greater than or equal to 0",
    "must be less than or equal to completions",
    "must be less than or equal to {n}",
    "must be less than or equal to {n} when completion mode is Indexed",
    "must be less than or equal to {n} when completions are above {n} and used with backoff limit per index",
    "must be equal to or after `startTime`",
    "must be empty for finished job",
    "must not be empty",
    "must be specified for an update",
    "must be specified when completions is above {n}",
    "active>0 is invalid for finished job",
    "terminating>0 is invalid for finished job",
    "startTime is required for finished job",
    "startTime cannot be removed for unsuspended job",
    "completionTime is required for Complete jobs",
    "cannot set completionTime when there is no Complete=True condition",
    "cannot set more ready pods than active",
    "cannot decrease the failed counter",
    "cannot decrease the succeeded counter",
    "cannot set non-empty completedIndexes when non-indexed completion mode",
    "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
    "failedIndexes and completedIndexes overlap at index: {n}",
    "requires indexed completion mode",
    "when completion mode is Indexed",
    "when maxFailedIndexes is specified",
    // These three are of 1.38.
    "must be set when {n} is set",
    "must be set to a non-empty value when {n} or {n} is set",
    "must not be set together with the {n} annotation",
    "can only be modified in tandem with spec.parallelism",
    "`selector` not auto-generated",
    "may not be more than {n} bytes",
    "cannot set {n} condition without the {n} condition",
    "cannot set {n} and {n} conditions",
    "cannot set {n} for Job without SuccessPolicy",
    "cannot set {n} for Job already has {n} conditions",
    "cannot set {n} for Job with SuccessPolicy unless {n}",
    "cannot disable the {n} condition",
    "cannot disable the terminal {n} condition",
    "pod updates may not add or remove containers",
];

/// The message without free text and without values. Equal messages stay equal.
pub(super) fn without_free_text(message: &str, digest: impl Fn(&str) -> String) -> String {
    if message.is_empty() || WHOLE.iter().any(|form| fits(form, message)) {
        return message.to_owned();
    }
    let (head, errors) = match message.split_once(" is invalid: ") {
        Some((head, errors)) if fits("{n} \"{n}\"", head) => (format!("{head} is invalid: "), errors),
        _ => (String::new(), message),
    };
    if let Some(errors) = field_errors(errors, &digest) {
        return with_phrases(head + &errors, message);
    }
    let start = STARTS.iter().filter_map(|form| start(form, message)).max().unwrap_or_default();
    let separator = if start == 0 { "" } else { ": " };
    with_phrases(format!("{}{separator}{}", &message[..start], digest(message)), message)
}

/// The text with the phrases of the message that it has lost.
fn with_phrases(mut text: String, message: &str) -> String {
    for phrase in PHRASES {
        if message.contains(phrase) && !text.contains(phrase) {
            text.push_str("; ");
            text.push_str(phrase);
        }
    }
    text
}

/// Errors in fields: one, or several in brackets. After the first one that is not understood, nothing is: its value may
/// contain what looks like another error.
fn field_errors(text: &str, digest: &impl Fn(&str) -> String) -> Option<String> {
    let listed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let pieces: Vec<&str> = listed.map_or_else(|| vec![text], |list| list.split(", ").collect());
    let mut shown = Vec::new();
    for piece in &pieces {
        if let Some(safe) = field_error(piece) {
            shown.push(safe);
            continue;
        }
        let (path, kind, _) = parts(piece)?;
        let detail = DETAILS.iter().find_map(|form| ends_in(form, text)).filter(|_| pieces.len() == 1);
        let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
        shown.push(format!(
            "{}{}{kind}: {}{detail}",
            path,
            if path.is_empty() { "" } else { ": " },
            digest(text)
        ));
        break;
    }
    let shown = shown.join(", ");
    Some(if listed.is_some() { format!("[{shown}]") } else { shown })
}

/// An error in a field that has nothing secret.
fn field_error(text: &str) -> Option<String> {
    let (path, kind, rest) = parts(text)?;
    let (_, has_value) = KINDS.into_iter().find(|(name, _)| *name == kind)?;
    let is_known = |detail: &str| DETAILS.iter().any(|form| fits(form, detail));
    let is_safe = match rest {
        "" => true,
        rest if is_known(rest) => true,
        rest if has_value && is_public(path) => {
            let (value, detail) = rest.split_once(": ").unwrap_or((rest, ""));
            is_plain(value) && (detail.is_empty() || is_known(detail))
        }
        _ => false,
    };
    is_safe.then(|| text.to_owned())
}

/// The path, the kind, and the rest of an error in a field. A cause of a status has no path.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let of_kind = |text: &str| {
        KINDS.iter().find_map(|(kind, _)| match text.strip_prefix(kind)? {
            "" => Some((*kind, text.len())),
            rest => rest.starts_with(": ").then_some((*kind, kind.len() + 2)),
        })
    };
    if let Some((kind, end)) = of_kind(text) {
        return Some(("", kind, &text[end..]));
    }
    let (path, rest) = text.split_once(": ")?;
    let (kind, end) = of_kind(rest).filter(|_| is_path(path))?;
    Some((path, kind, &rest[end..]))
}

/// Members and indexes of lists. Keys of maps may be secret.
fn is_path(path: &str) -> bool {
    let is_member = |part: &str| {
        let (name, index) = part.split_once('[').unwrap_or((part, "0]"));
        let digits = index.strip_suffix(']').unwrap_or_default();
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    path.split('.').all(is_member) && !["annotations", "labels", "data"].iter().any(|map| path.contains(map))
}

/// Fields of Jobs and of their status, but not of their templates.
fn is_public(path: &str) -> bool {
    let is_of_pods = ["template", "ontainer", "olume"].iter().any(|word| path.contains(word));
    (path.starts_with("status.") || path.starts_with("spec.")) && !is_of_pods
}

/// A number, a time, a list of indexes, a UID, or `null`.
fn is_plain(value: &str) -> bool {
    let text = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let is_plain = |byte: u8| byte.is_ascii_digit() || b"abcdef:.,-+TZ".contains(&byte);
    text == "null" || text.bytes().all(is_plain)
}

/// A known explanation at the end of a text.
fn ends_in<'a>(form: &str, text: &'a str) -> Option<&'a str> {
    let (_, detail) = text.rsplit_once(": ")?;
    fits(form, detail).then_some(detail)
}

/// Returns whether a text has a form.
fn fits(form: &str, text: &str) -> bool {
    start(form, text) == Some(text.len())
}

/// The length of the start of a text that has a form. A placeholder takes all characters that fit.
fn start(form: &str, text: &str) -> Option<usize> {
    let (mut form, mut rest) = (form, text);
    while let Some((literal, tail)) = form.split_once('{') {
        rest = rest.strip_prefix(literal)?;
        let (placeholder, tail) = tail.split_once('}')?;
        let more: &[u8] = if placeholder == "q" { b"-./=,_" } else { b"-./:_@=>" };
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || more.contains(byte);
        let length = rest.bytes().take_while(|byte| fits(byte)).count();
        // The comma behind a list is not of it.
        rest = &rest[rest[..length].trim_end_matches(',').len()..];
        form = tail;
    }
    Some(text.len() - rest.strip_prefix(form)?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(message: &str) -> String {
        without_free_text(message, |_| "*".to_owned())
    }

    #[test]
    fn forms_of_kubernetes_stay() {
        for message in [
            "",
            r#"jobs.batch "a" not found"#,
            r#"pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group "" in the namespace "n""#,
            r#"pods "job-" is forbidden: unable to create new content in namespace t because it is being terminated"#,
            r#"pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"#,
            r#"Operation cannot be fulfilled on jobs.batch "a": the object has been modified; please apply your changes to the latest version and try again"#,
            r#"Operation cannot be fulfilled on Pod "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (2). The object might have been modified"#,
            r#"Job.batch "a" is invalid: status.ready: Invalid value: 2: cannot set more ready pods than active"#,
            r#"Job.batch "a" is invalid: [status.failed: Invalid value: 1: cannot decrease the failed counter, status.startTime: Required value: startTime is required for finished job]"#,
            r#"Job.batch "a" is invalid: status.completionTime: Invalid value: "2026-01-01T00:00:00Z": field is immutable"#,
            "Duplicate value",
            "Required value: startTime is required for finished job",
        ] {
            assert_eq!(cut(message), message);
        }
    }

    /// In the words of kube-apiserver, of webhooks, and of those who try to deceive.
    #[test]
    fn values_and_free_text_are_cut() {
        for (message, shown) in [
            (
                "Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than \
                 `spec.containers[*].image`\n  core.PodSpec{\n- Env: []core.EnvVar{{Name: \"A\", Value: \"SECRET\"}},\n",
                "Pod \"p\" is invalid: spec: Forbidden: *",
            ),
            (
                r#"Pod "p" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "SECRET""#,
                r#"Pod "p" is invalid: spec.containers[0].volumeMounts[0].name: Not found: *"#,
            ),
            (
                r#"Job.batch "a" is invalid: spec.template.spec.containers[0].env[0].value: Invalid value: "424242": field is immutable"#,
                r#"Job.batch "a" is invalid: spec.template.spec.containers[0].env[0].value: Invalid value: *: field is immutable"#,
            ),
            (
                r#"Job.batch "a" is invalid: [spec.x: Invalid value: "a": bad, spec.template.spec.containers[0].args[0]: Invalid value: "SECRET": bad]"#,
                r#"Job.batch "a" is invalid: [spec.x: Invalid value: *]"#,
            ),
            (
                r#"Job.batch "a" is invalid: metadata.annotations[SECRET]: Too long: may not be more than 262144 bytes"#,
                r#"Job.batch "a" is invalid: *"#,
            ),
            (
                r#"admission webhook "w.example.com" denied the request: SECRET because it is being terminated"#,
                r#"admission webhook "w.example.com" denied the request: *; because it is being terminated"#,
            ),
            (
                r#"pods "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: SECRET"#,
                r#"pods "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: *"#,
            ),
            (r#"pods "a" is forbidden: SECRET"#, r#"pods "a" is forbidden: *"#),
            (r#"pods "a SECRET" not found"#, "*"),
            (r#"Apply failed with 1 conflict: .spec.template.args="SECRET""#, "*"),
            (r#"testing value /metadata/annotations/a failed: expected "SECRET""#, "*"),
            ("Invalid value: \"SECRET\": field is immutable", "Invalid value: *: field is immutable"),
            ("Invalid value: 424242", "Invalid value: *"),
            (r#"User "SECRET x" cannot get resource "pods""#, "*;  cannot ;  resource "),
            (r#"x "n" is invalid: y SECRET is invalid: "#, "x \"n\" is invalid: *"),
        ] {
            assert_eq!(cut(message), shown, "{message}");
        }
    }

    #[test]
    fn no_phrase_that_the_judge_looks_for_is_lost_or_invented() {
        for message in
            ["", "x", " is invalid: x", "a cannot b resource c", "exceeded quota admission webhook"]
        {
            let shown = cut(message);
            for phrase in PHRASES {
                assert_eq!(shown.contains(phrase), message.contains(phrase), "{message}: {shown}");
            }
        }
    }
}

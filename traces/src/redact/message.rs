//! Messages of the API server, which quote the values that it refused.

/// The texts before a value that was refused, in messages of `field.Error`.
const MARKS: [&str; 3] = ["Invalid value: ", "Unsupported value: ", "Duplicate value: "];

/// The members of a path whose values may be secret.
const SECRET: [&str; 7] = ["annotations", "args", "command", "containers", "env", "template", "Containers"];

/// The message with a digest in place of each value that may be secret: those of templates and containers, of
/// annotations, and complete structures.
pub(super) fn without_values(message: &str, digest: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((at, mark)) = MARKS.iter().filter_map(|mark| Some((rest.find(mark)?, mark))).min() {
        let (before, value) = rest.split_at(at + mark.len());
        out.push_str(before);
        let (value, after) = value.split_at(end(value));
        let path = before[..at].trim_end_matches([':', ' ']).rsplit([' ', ',']).next().unwrap_or_default();
        // The causes of a status name the path beside the message.
        let is_secret = path.is_empty()
            || value.contains(['{', '[', '&'])
            || SECRET.iter().any(|word| path.contains(word));
        if is_secret && !value.is_empty() {
            out.push_str(&digest(value));
        } else {
            out.push_str(value);
        }
        rest = after;
    }
    out + rest
}

/// The length of a value as Go prints it: a quoted text, a number, or a structure. A colon or a comma follows.
fn end(value: &str) -> usize {
    let (mut depth, mut quote) = (0u32, None);
    let mut characters = value.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some('"'), '\\') => _ = characters.next(),
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`') => quote = Some(character),
            (None, '{' | '[' | '(') => depth += 1,
            (None, '}' | ']' | ')') if depth > 0 => depth -= 1,
            (None, ':' | ',' | ']') if depth == 0 => return at,
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(message: &str) -> String {
        without_values(message, |_| "*".to_owned())
    }

    /// In the words of kube-apiserver 1.36.
    #[test]
    fn refused_values_of_templates_and_complete_structures_are_cut() {
        let template = concat!(
            r#"Job.batch "a" is invalid: [spec.template: Invalid value: core.PodTemplateSpec{Env:[]core.EnvVar{{Name:"T", "#,
            r#"Value:"SEC\"RET}: x"}}, Ports:nil}: field is immutable, spec.completions: Invalid value: -1: must be positive]"#
        );
        assert_eq!(
            cut(template),
            r#"Job.batch "a" is invalid: [spec.template: Invalid value: *: field is immutable, spec.completions: Invalid value: -1: must be positive]"#
        );
        let name =
            r#"Pod "p" is invalid: spec.containers[0].env[0].name: Invalid value: "SECRET": a valid name"#;
        assert_eq!(
            cut(name),
            r#"Pod "p" is invalid: spec.containers[0].env[0].name: Invalid value: *: a valid name"#
        );
    }

    #[test]
    fn what_the_judge_reads_stays() {
        let status = r#"Job.batch "a" is invalid: status.completionTime: Invalid value: "2026-01-01T00:00:00Z": cannot be set"#;
        assert_eq!(cut(status), status);
        assert_eq!(cut("no value here"), "no value here");
        assert_eq!(cut("Invalid value: \"SECRET\": no"), "Invalid value: *: no");
        assert_eq!(cut("status.succeeded: Invalid value: "), "status.succeeded: Invalid value: ");
    }

    #[test]
    fn a_text_that_is_cut_short_is_secret_to_its_end() {
        assert_eq!(
            cut("spec.template: Invalid value: core.P{V:\"SECRET: "),
            "spec.template: Invalid value: *"
        );
    }
}

//! The forms of names (`apimachinery/pkg/util/validation`). Each function returns upstream's sentence about what is
//! wrong.

const LABEL: usize = 63;
const SUBDOMAIN: usize = 253;

/// The reason why a text is not a DNS label (RFC 1123). `None`: it is one.
#[must_use]
pub fn dns_label_problem(text: &str) -> Option<String> {
    if text.len() > LABEL {
        return Some(format!("must be no more than {LABEL} bytes"));
    }
    (!is_label_form(text)).then(|| {
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
         end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            .to_owned()
    })
}

/// The reason why a text is not a DNS subdomain (RFC 1123). `None`: it is one.
#[must_use]
pub fn dns_subdomain_problem(text: &str) -> Option<String> {
    if text.len() > SUBDOMAIN {
        return Some(format!("must be no more than {SUBDOMAIN} bytes"));
    }
    (!text.split('.').all(is_label_form)).then(|| {
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
         start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            .to_owned()
    })
}

/// Returns true if a text is a name with an optional subdomain before a slash.
#[must_use]
pub fn is_qualified_name(text: &str) -> bool {
    qualified_name_problem(text).is_none()
}

/// The reason why a text is not a qualified name. `None`: it is one.
#[must_use]
pub fn qualified_name_problem(text: &str) -> Option<String> {
    let name = match text.split_once('/') {
        None => text,
        Some(("", _)) => return Some("prefix part must be non-empty".to_owned()),
        Some((prefix, name)) => {
            if let Some(problem) = dns_subdomain_problem(prefix) {
                return Some(format!("prefix part {problem}"));
            }
            name
        }
    };
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if name.len() > LABEL {
        return Some(format!("name part must be no more than {LABEL} bytes"));
    }
    (!is_name_form(name)).then(|| {
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            .to_owned()
    })
}

/// Returns true if a text is a valid value of a label.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    label_value_problem(text).is_none()
}

/// The reason why a text is not a valid value of a label. `None`: it is one.
#[must_use]
pub fn label_value_problem(text: &str) -> Option<String> {
    if text.len() > LABEL {
        return Some(format!("must be no more than {LABEL} bytes"));
    }
    (!text.is_empty() && !is_name_form(text)).then(|| {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
         start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
         for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            .to_owned()
    })
}

fn is_label_form(text: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bounded(text, outer, |byte| outer(byte) || byte == b'-')
}

fn is_name_form(text: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_alphanumeric();
    bounded(text, outer, |byte| outer(byte) || matches!(byte, b'-' | b'_' | b'.'))
}

/// Returns true if the first and the last byte satisfy `ends`, and all bytes satisfy `any`.
fn bounded(text: &str, ends: impl Fn(u8) -> bool, any: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => ends(*first) && ends(*last) && bytes.iter().all(|byte| any(*byte)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_forms() {
        assert!(dns_label_problem("a-1").is_none() && dns_label_problem("a.b").is_some());
        assert!(dns_subdomain_problem("a.b-c").is_none() && dns_subdomain_problem("a..b").is_some());
        assert!(dns_label_problem(&"a".repeat(64)).is_some() && dns_subdomain_problem("").is_some());
        for good in ["a", "A_b.c", "x.io/A"] {
            assert!(is_qualified_name(good), "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "-a"] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
        assert!(
            is_label_value("") && is_label_value("a_b") && !is_label_value("-") && !is_label_value("a b")
        );
    }
}

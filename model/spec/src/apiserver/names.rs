//! Forms of names that the API server accepts.

/// The maximum length of a DNS label, of a label value, and of `managedBy`.
pub(super) const LABEL_LENGTH: usize = 63;

const SUBDOMAIN_LENGTH: usize = 253;

/// Returns whether a text is a DNS label (RFC 1123).
pub(super) fn is_dns_label(text: &str) -> bool {
    text.len() <= LABEL_LENGTH && has_label_form(text)
}

/// Returns whether a text is a DNS subdomain (RFC 1123).
pub(super) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_LENGTH && text.split('.').all(has_label_form)
}

/// Returns whether a text is a qualified name: a name, after an optional subdomain and slash.
///
/// Keys of labels and types of conditions have this form.
pub(super) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        None => is_unqualified_name(text),
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_unqualified_name(name),
    }
}

/// Returns whether a text is a domain-prefixed path, like `managedBy`: a subdomain, a slash, and a path of RFC 3986.
pub(super) fn is_domain_prefixed_path(text: &str) -> bool {
    text.split_once('/').is_some_and(|(host, path)| {
        is_dns_subdomain(host) && !path.is_empty() && path.bytes().all(is_path_byte)
    })
}

/// Returns whether a text has the form of one label of a subdomain. Its length is not limited.
fn has_label_form(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bounded_by(text, inner, |byte| inner(byte) || byte == b'-')
}

fn is_unqualified_name(text: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_alphanumeric();
    text.len() <= LABEL_LENGTH
        && bounded_by(text, outer, |byte| outer(byte) || matches!(byte, b'-' | b'_' | b'.'))
}

/// Returns whether the first and the last byte satisfy `ends`, and all bytes satisfy `any`.
fn bounded_by(text: &str, ends: impl Fn(u8) -> bool, any: impl Fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [first, .., last] if !ends(*first) || !ends(*last) => false,
        [only] => ends(*only),
        bytes => bytes.iter().all(|byte| any(*byte)),
    }
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_names_are_lower_case_and_bounded_by_letters_or_digits() {
        for good in ["a", "a-b", "0", &"a".repeat(63)] {
            assert!(is_dns_label(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a.b", "a_b", &"a".repeat(64)] {
            assert!(!is_dns_label(bad), "{bad}");
        }
        for (text, good) in [("a.b-c", true), ("a..b", false), ("a.-b", false), (&"a".repeat(64), true)] {
            assert_eq!(is_dns_subdomain(text), good, "{text}");
        }
        assert!(is_dns_subdomain(&"a".repeat(253)) && !is_dns_subdomain(&"a".repeat(254)));
    }

    #[test]
    fn qualified_names_may_have_one_prefix() {
        for good in ["Ready", "a.b_c", "example.com/Ready"] {
            assert!(is_qualified_name(good), "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "A.b/c", "-a", &"a".repeat(64)] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
    }

    #[test]
    fn domain_prefixed_paths_need_both_parts() {
        for good in ["acme.io/x", "a/b/c", "a//", "a/%zz~"] {
            assert!(is_domain_prefixed_path(good), "{good}");
        }
        for bad in ["", "acme.io", "/x", "acme.io/", "Acme.io/x", "a/b c", "a/ü"] {
            assert!(!is_domain_prefixed_path(bad), "{bad}");
        }
    }
}

//! Requests that a web page may have sent. A browser on this machine reaches the ports that are open to this machine
//! only, and it sends requests for any page.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};

/// Returns whether a Host header has an address, or the name of this machine. Any other name may be part of a DNS
/// rebinding attack.
#[must_use]
pub fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

/// Returns whether a request is for a host with another name. A request without a Host header is not.
#[must_use]
pub fn is_for_another_host(headers: &HeaderMap) -> bool {
    headers.get_all(HOST).iter().any(|host| !host.to_str().is_ok_and(is_this_machine))
}

/// Returns whether a browser sent the request for a page of another origin, or with another method than GET and HEAD.
#[must_use]
pub fn is_of_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
}

/// Returns the media type of the body, without parameters. Empty if the request has none.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn names_of_other_machines_are_recognised() {
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:80", "10.0.0.1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "", "?"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn each_of_several_host_headers_is_checked() {
        let mut headers = HeaderMap::new();
        assert!(!is_for_another_host(&headers));
        headers.append(HOST, HeaderValue::from_static("localhost:1"));
        assert!(!is_for_another_host(&headers));
        headers.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(is_for_another_host(&headers));
        let opaque = HeaderMap::from_iter([(HOST, HeaderValue::from_bytes(b"\xff").unwrap())]);
        assert!(is_for_another_host(&opaque));
    }

    #[test]
    fn a_media_type_has_no_parameters() {
        let of = |value| HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
        assert_eq!(media_type(&of("application/json; charset=utf-8")), "application/json");
        assert_eq!(media_type(&HeaderMap::new()), "");
    }
}

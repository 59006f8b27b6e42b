//! Proxies, which are not supported, and the clusters that need none.

use std::net::IpAddr;

use http::Uri;
use kube::Config;

/// Takes the proxy out of the configuration, if the cluster must be reached without it.
///
/// # Errors
///
/// The cluster must be reached by the proxy.
pub(crate) fn take_out(config: &mut Config) -> Result<(), String> {
    let Some(proxy) = &config.proxy_url else { return Ok(()) };
    let variable = |names: [&str; 2]| {
        names.into_iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
    };
    let of_environment = variable(["HTTPS_PROXY", "https_proxy"]);
    let is_of_environment = of_environment.and_then(|it| it.parse().ok()).is_some_and(|it: Uri| it == *proxy);
    let no_proxy = variable(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if !is_of_environment || !is_direct(&config.cluster_url, &no_proxy) {
        return Err(unsupported(proxy, &config.cluster_url, is_of_environment));
    }
    config.proxy_url = None;
    Ok(())
}

fn unsupported(proxy: &Uri, cluster: &Uri, is_of_environment: bool) -> String {
    let (proxy, host) = (place(proxy), cluster.host().unwrap_or_default());
    let (source, advice) = if is_of_environment {
        ("$HTTPS_PROXY", format!("add {host} to $NO_PROXY"))
    } else {
        ("the kubeconfig", "remove proxy-url".to_owned())
    };
    format!(
        "{host} is reached by the proxy {proxy} of {source}, and jobcheck supports no proxies; if it can be reached \
         directly, {advice}"
    )
}

/// The host and port of a URL, without a password.
fn place(url: &Uri) -> String {
    let port = url.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host().unwrap_or_default())
}

/// Returns whether clients in Go, such as kubectl, would reach a URL without the proxy of `$HTTPS_PROXY`.
fn is_direct(url: &Uri, no_proxy: &str) -> bool {
    // That proxy is for https.
    if url.scheme_str() != Some("https") {
        return true;
    }
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.');
    let host = host.to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|it| it.is_loopback()) {
        return true;
    }
    let port = url.port_u16().unwrap_or(443);
    no_proxy.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| match address {
        _ if entry == "*" => true,
        Some(address) => names_address(&entry, address, port),
        None => names_host(&entry, &host, port),
    })
}

/// Splits the port off an entry, if it has one. An entry with another port is none.
fn for_port(entry: &str, port: u16) -> Option<&str> {
    match entry.rsplit_once(':') {
        // An address of IPv6 has no port unless it is in brackets.
        Some((name, given)) if !name.contains(':') || name.ends_with(']') => {
            (given.parse() == Ok(port)).then_some(name)
        }
        _ => Some(entry),
    }
}

fn names_address(entry: &str, address: IpAddr, port: u16) -> bool {
    if let Some((network, length)) = entry.split_once('/') {
        let network = network.parse().ok().zip(length.parse().ok());
        return network.is_some_and(|(network, length)| is_in(address, network, length));
    }
    let name = for_port(entry, port).map(|name| name.trim_matches(['[', ']']));
    name.is_some_and(|name| name.parse() == Ok(address))
}

fn is_in(address: IpAddr, network: IpAddr, length: u32) -> bool {
    let (address, network, bits) = match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            (u128::from(address.to_bits()), u128::from(network.to_bits()), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits(), network.to_bits(), 128),
        _ => return false,
    };
    let Some(host_bits) = 32_u32.checked_mul(bits / 32).and_then(|bits| bits.checked_sub(length)) else {
        return false;
    };
    (address ^ network).checked_shr(host_bits).unwrap_or(0) == 0
}

/// `example.com` names the host and the hosts in it; `.example.com` and `*.example.com` name the latter only.
fn names_host(entry: &str, host: &str, port: u16) -> bool {
    let Some(name) = for_port(entry, port) else { return false };
    let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match name.strip_prefix('.') {
        _ if name.is_empty() => false,
        Some(_) => host.ends_with(name),
        None => host == name || host.ends_with(&format!(".{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(url: &str, no_proxy: &str) -> bool {
        is_direct(&url.parse().unwrap(), no_proxy)
    }

    #[test]
    fn this_machine_and_plain_http_are_reached_directly() {
        for url in
            ["https://127.0.0.1:6443", "https://localhost", "https://[::1]:6443", "http://10.0.0.1:8080"]
        {
            assert!(direct(url, ""), "{url}");
        }
        assert!(!direct("https://10.0.0.1:6443", ""));
    }

    /// The cases of Go's `httpproxy`.
    #[test]
    fn no_proxy_is_read_as_go_reads_it() {
        for (no_proxy, url, is_direct) in [
            ("*", "https://api.example", true),
            (" a.example , api.example ", "https://api.example", true),
            ("API.example", "https://api.EXAMPLE.", true),
            ("example", "https://api.example", true),
            ("ample", "https://api.example", false),
            (".example", "https://example", false),
            ("*.example", "https://api.example", true),
            ("api.example:6443", "https://api.example:6443", true),
            ("api.example:6443", "https://api.example", false),
            ("10.0.0.1", "https://10.0.0.1:6443", true),
            ("10.0.0.1:443", "https://10.0.0.1:6443", false),
            ("10.0.0.0/8", "https://10.200.0.1:6443", true),
            ("10.0.0.0/8", "https://11.0.0.1:6443", false),
            ("0.0.0.0/0", "https://11.0.0.1:6443", true),
            ("10.0.0.0/33", "https://10.0.0.1:6443", false),
            ("fd00::/8", "https://[fd12::1]:6443", true),
            ("fd12::1", "https://[fd12::1]:6443", true),
            ("[fd12::1]:6443", "https://[fd12::1]:6443", true),
            ("10.0.0.0/8", "https://[fd12::1]:6443", false),
            (",,", "https://api.example", false),
        ] {
            assert_eq!(direct(url, no_proxy), is_direct, "{no_proxy:?} {url}");
        }
    }
}

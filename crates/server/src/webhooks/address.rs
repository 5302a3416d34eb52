//! Where webhooks may lead: public addresses, over HTTPS. Whoever may make webhooks must not reach what only this machine
//! can.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use axum::http::Uri;

/// What most servers and proxies take.
const URL_CHARACTERS_MAX: usize = 2_048;
/// Looking a name up when a webhook is made; a slow answer is not waited for, because it is looked up again for each attempt.
const REGISTRATION_LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// A webhook's address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(super) https: bool,
    /// A name, or an address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// As the `Host` header says it.
    pub(super) authority: String,
    pub(super) path: String,
}

impl Target {
    /// Takes a URL apart. With `insecure` plain HTTP and addresses that are not public are allowed as well: for tests.
    pub(crate) fn parse(url: &str, insecure: bool) -> Result<Target, &'static str> {
        if url.len() > URL_CHARACTERS_MAX {
            return Err("must be at most 2048 characters");
        }
        if url.contains(['#', '\\']) {
            return Err("must be a URL without a fragment");
        }
        let uri: Uri = url.parse().map_err(|_| "must be an absolute URL")?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") if insecure => false,
            Some(_) | None => return Err("must begin with https://"),
        };
        let authority = uri.authority().ok_or("must name a host")?;
        if authority.as_str().contains('@') {
            return Err("must not have a user or a password in it");
        }
        let host = host_of(authority.host())?;
        if !insecure && !may_be_public(&host) {
            return Err("must lead to a public address");
        }
        // Not the library's: to it a port that does not fit is none, and none leads to whoever has the usual one.
        let port =
            match authority.as_str().strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':')) {
                Some(port) => {
                    port.parse().ok().filter(|&port| port > 0).ok_or("must have a port from 1 to 65535")?
                }
                None if https => 443,
                None => 80,
            };
        Ok(Target {
            https,
            host,
            port,
            authority: authority.as_str().to_owned(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }

    /// The addresses of the host that may be connected to.
    pub(super) async fn addresses(&self, insecure: bool) -> Result<Vec<SocketAddr>, String> {
        let all = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let all = all.map_err(|error| format!("the name cannot be looked up: {error}"))?;
        let allowed: Vec<SocketAddr> = all.filter(|address| insecure || is_public(address.ip())).collect();
        if allowed.is_empty() {
            return Err("the name leads to no public address".to_owned());
        }
        Ok(allowed)
    }
}

/// Whether a webhook may be made for a URL. What its name leads to can change, so each attempt asks again.
pub(crate) async fn check(url: &str, insecure: bool) -> Result<(), String> {
    let target = Target::parse(url, insecure)?;
    if insecure {
        return Ok(());
    }
    let looked_up = tokio::net::lookup_host((target.host.as_str(), target.port));
    // A name that nobody knows yet may be known when there is something to send.
    let Ok(Ok(mut addresses)) = tokio::time::timeout(REGISTRATION_LOOKUP_TIMEOUT, looked_up).await else {
        return Ok(());
    };
    if addresses.all(|address| is_public(address.ip())) {
        return Ok(());
    }
    Err("must lead to a public address".to_owned())
}

fn host_of(host: &str) -> Result<String, &'static str> {
    if let Some(inside) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: Ipv6Addr = inside.parse().map_err(|_| "must name a host")?;
        return Ok(address.to_string());
    }
    let plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    if host.is_empty() || !plain {
        return Err("must name a host");
    }
    Ok(host.to_ascii_lowercase())
}

/// Whether a host can be public by its looks.
fn may_be_public(host: &str) -> bool {
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_public(address);
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    // 2130706433, 127.1 and 0x7f.1 are ways to write 127.0.0.1; no top-level domain begins with a digit.
    let is_number = last.starts_with(|letter: char| letter.is_ascii_digit());
    let is_local =
        matches!(last, "localhost" | "local" | "internal" | "localdomain" | "lan" | "home" | "arpa");
    name.contains('.') && !is_number && !is_local
}

/// Whether an address belongs to the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let special = match (first, second, third) {
        // This network, and the addresses that carriers share among their customers.
        (0, ..) | (100, 64..=127, _) => true,
        // Protocol assignments, 6to4 relays, benchmarks, and what is reserved for ever.
        (192, 0, 0) | (192, 88, 99) | (198, 18..=19, _) | (240.., ..) => true,
        _ => false,
    };
    let named = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation();
    !special && !named
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // Only global unicast: this leaves out loopback, mapped and compatible addresses, NAT64, local and multicast ones.
    let [first, second, ..] = address.segments();
    let global = first & 0xe000 == 0x2000;
    // Teredo and other protocols, documentation, and 6to4, which carries an IPv4 address inside.
    let special =
        (first == 0x2001 && (second < 0x0200 || second == 0x0db8)) || first == 0x2002 || first == 0x3fff;
    global && !special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for public in
            ["93.184.216.34", "8.8.8.8", "100.63.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for not in [
            "127.0.0.1",
            "127.255.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "169.254.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "0.1.2.3",
            "255.255.255.255",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "192.0.2.1",
            "198.51.100.7",
            "203.0.113.9",
            "198.18.0.1",
            "192.0.0.8",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::7f00:1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2001::1",
        ] {
            assert!(!is_public(not.parse().unwrap()), "{not}");
        }
    }

    #[test]
    fn urls_are_taken_apart_or_refused() {
        let target = Target::parse("https://Hooks.Example.com:8443/a/b?c=d", false).unwrap();
        assert_eq!((target.https, target.host.as_str(), target.port), (true, "hooks.example.com", 8_443));
        assert_eq!(target.path, "/a/b?c=d");
        assert_eq!(Target::parse("https://example.com", false).unwrap().path, "/");
        assert_eq!(Target::parse("https://[2606:4700::1111]/", false).unwrap().host, "2606:4700::1111");
        for wrong in [
            "",
            "example.com",
            "/hook",
            "http://example.com/",
            "ftp://example.com/",
            "https://",
            "https:///x",
            "https://user:pass@example.com/",
            "https://example.com/#x",
            "https://localhost/",
            "https://a.localhost/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://169.254.169.254/latest/meta-data",
            "https://metadata.google.internal/",
            "https://printer/",
            "https://example.com\\@localhost/",
            "https://10.0.0.8./",
            "https://ex%61mple.com/",
            "https://example.com:99999/",
            "https://example.com:65536/",
            "https://example.com:0/",
            "https://example.com:/",
        ] {
            assert!(Target::parse(wrong, false).is_err(), "{wrong}");
        }
        assert!(Target::parse(&format!("https://example.com/{}", "x".repeat(2_048)), false).is_err());
    }

    #[test]
    fn tests_may_use_plain_http_on_this_machine() {
        let target = Target::parse("http://127.0.0.1:9/x", true).unwrap();
        assert_eq!((target.https, target.port, target.authority.as_str()), (false, 9, "127.0.0.1:9"));
        assert!(Target::parse("ftp://127.0.0.1/", true).is_err());
    }
}

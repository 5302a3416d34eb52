//! The address of a caller behind proxies, from `X-Forwarded-For` or `Forwarded` (RFC 7239).
//!
//! Each proxy appends the address of its own peer to the header, so the header is read from the right: the caller is the
//! first address that is not a trusted proxy. Everything left of it was sent by the caller and means nothing. A hop that
//! is not an address (`unknown`, an obfuscated name, an error) ends the walk: then the caller is the proxy right of it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use ipnet::IpNet;

use crate::problem::Problem;

/// The networks whose forwarding headers are believed.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustedProxies(Vec<IpNet>);

/// The headers that proxies add, in lower case.
const FORWARDING_HEADERS: [&str; 4] = ["x-forwarded-for", "forwarded", "x-real-ip", "via"];
/// How the names of others begin: host, protocol, port, prefix and what a proxy is configured to add.
const FORWARDING_PREFIX: &str = "x-forwarded-";
/// How one of those is called here.
const OTHER_FORWARDING_HEADER: &str = "x-forwarded-*";

/// The forwarding headers of a request, each line in the order of the request.
#[derive(Debug, Default)]
pub(crate) struct ForwardingHeaders<'a> {
    /// The name of one of them; `None` if there are none.
    pub(crate) name: Option<&'static str>,
    x_forwarded_for: Vec<&'a [u8]>,
    forwarded: Vec<&'a [u8]>,
}

impl<'a> ForwardingHeaders<'a> {
    pub(crate) fn of(headers: &'a HeaderMap) -> ForwardingHeaders<'a> {
        let lines = |name: &str| headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        let name = headers.keys().find_map(|name| ForwardingHeaders::known_name(name.as_str()));
        ForwardingHeaders { name, x_forwarded_for: lines("x-forwarded-for"), forwarded: lines("forwarded") }
    }

    /// How such a header is written here; `None` if it is another one.
    pub(crate) fn known_name(name: &str) -> Option<&'static str> {
        let known = FORWARDING_HEADERS.into_iter().find(|known| name.eq_ignore_ascii_case(known));
        known.or_else(|| {
            let beginning = name.get(..FORWARDING_PREFIX.len())?;
            beginning.eq_ignore_ascii_case(FORWARDING_PREFIX).then_some(OTHER_FORWARDING_HEADER)
        })
    }

    /// Adds a line of a header with a known name.
    pub(crate) fn push(&mut self, name: &'static str, line: &'a [u8]) {
        self.name = Some(name);
        match name {
            "x-forwarded-for" => self.x_forwarded_for.push(line),
            "forwarded" => self.forwarded.push(line),
            _ => {}
        }
    }
}

impl TrustedProxies {
    pub(crate) fn new(networks: Vec<IpNet>) -> TrustedProxies {
        TrustedProxies(networks)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The caller's address. If both headers are there and name different callers, one of them was not written by the
    /// proxy, and nothing says which.
    pub(crate) fn caller_address(
        &self,
        peer: IpAddr,
        headers: &ForwardingHeaders<'_>,
    ) -> Result<IpAddr, Problem> {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return Ok(peer);
        }
        let lines = headers.x_forwarded_for.iter().rev();
        let by_x_forwarded_for =
            self.walk(peer, lines.flat_map(|line| line.rsplit(|byte| *byte == b',')).map(hop_address));
        let lines = headers.forwarded.iter().rev();
        let by_forwarded = self.walk(peer, lines.flat_map(|line| forwarded_hops(line).into_iter().rev()));
        match (headers.x_forwarded_for.is_empty(), headers.forwarded.is_empty()) {
            (false, false) if by_x_forwarded_for != by_forwarded => Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "REQUEST_REFUSED",
                "`X-Forwarded-For` and `Forwarded` name different callers. The proxy must remove the one that it does not set.",
            )),
            (true, _) => Ok(by_forwarded),
            (false, _) => Ok(by_x_forwarded_for),
        }
    }

    /// Goes from hop to hop, the nearest first, until one is not trusted or not an address.
    fn walk(&self, peer: IpAddr, hops: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        let mut caller = peer;
        for hop in hops {
            let Some(address) = hop else { break };
            caller = address;
            if !self.contains(caller) {
                break;
            }
        }
        caller
    }
}

/// A network as it is written in `--trusted-proxies`: `10.0.0.0/8`, or a single address.
pub(crate) fn parse_network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let single = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    let network = single.or_else(|_| text.parse::<IpNet>()).map_err(|_| {
        format!("{text:?} is not an address or a network such as 10.0.0.0/8 or 2001:db8::/32")
    })?;
    if let IpNet::V6(mapped) = network
        && let (Some(address), Some(bits)) =
            (mapped.addr().to_ipv4_mapped(), mapped.prefix_len().checked_sub(96))
    {
        // Addresses are compared as IPv4, so that it would match none.
        return Err(format!("{text:?} is an IPv4 network in the form of IPv6: write it as {address}/{bits}"));
    }
    Ok(network)
}

/// An address with or without a port, an IPv6 address with or without brackets.
fn hop_address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim_matches([' ', '\t']);
    let address = if let Ok(address) = text.parse::<IpAddr>() {
        address
    } else if let Ok(address) = text.parse::<SocketAddr>() {
        address.ip()
    } else {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        IpAddr::V6(inner.parse::<Ipv6Addr>().ok()?)
    };
    Some(address.to_canonical())
}

/// The `for` of each hop in a line of `Forwarded`, in the order of the line. A malformed line is one hop without an
/// address: after an open quotation its hops cannot be told apart.
fn forwarded_hops(line: &[u8]) -> Vec<Option<IpAddr>> {
    let mut hops = Vec::new();
    let mut elements = Elements { rest: line };
    loop {
        match elements.next_element() {
            Ok(Some(element)) => hops.push(element),
            Ok(None) => return hops,
            Err(Malformed) => return vec![None],
        }
    }
}

struct Malformed;

/// Reads a line of `Forwarded` from the left: `for=192.0.2.1;proto=https, for="[2001:db8::1]:443"`.
struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// The address of the next hop; `None` in it if that has no `for`, or one that is not an address.
    fn next_element(&mut self) -> Result<Option<Option<IpAddr>>, Malformed> {
        self.skip_spaces();
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut found = None;
        loop {
            let name = self.take_token();
            if !name.is_empty() {
                if self.take_byte() != Some(b'=') {
                    return Err(Malformed);
                }
                let value = self.take_value()?;
                if name.eq_ignore_ascii_case(b"for") && found.replace(hop_address(&value)).is_some() {
                    return Err(Malformed);
                }
            }
            self.skip_spaces();
            match self.take_byte() {
                Some(b';') => self.skip_spaces(),
                Some(b',') | None => return Ok(Some(found.flatten())),
                Some(_) => return Err(Malformed),
            }
        }
    }

    fn take_value(&mut self) -> Result<Vec<u8>, Malformed> {
        let Some(quoted) = self.rest.strip_prefix(b"\"") else { return Ok(self.take_token().to_vec()) };
        self.rest = quoted;
        let mut value = Vec::new();
        loop {
            match self.take_byte().ok_or(Malformed)? {
                b'"' => return Ok(value),
                b'\\' => value.push(self.take_byte().ok_or(Malformed)?),
                byte => value.push(byte),
            }
        }
    }

    /// The bytes up to the next one that has a meaning. An address without quotation is taken as many proxies write it,
    /// with its colons and brackets.
    fn take_token(&mut self) -> &'a [u8] {
        let has_meaning = |byte: &u8| b"=;,\" \t".contains(byte);
        let end = self.rest.iter().position(has_meaning).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        token
    }

    fn take_byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted() -> TrustedProxies {
        let networks = ["10.0.0.0/8", "127.0.0.1", "2001:db8:ffff::/48"];
        TrustedProxies::new(networks.iter().map(|text| parse_network(text).unwrap()).collect())
    }

    fn caller(peer: &str, x_forwarded_for: &[&str], forwarded: &[&str]) -> Result<String, u16> {
        fn bytes<'a>(lines: &[&'a str]) -> Vec<&'a [u8]> {
            lines.iter().map(|line| line.as_bytes()).collect()
        }
        let (x_forwarded_for, forwarded) = (bytes(x_forwarded_for), bytes(forwarded));
        let headers = ForwardingHeaders { name: None, x_forwarded_for, forwarded };
        let address = trusted().caller_address(peer.parse().unwrap(), &headers);
        address.map(|address| address.to_string()).map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn the_rightmost_untrusted_hop_is_the_caller() {
        let rows: &[(&str, &[&str], &str)] = &[
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            ("::ffff:10.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.9, 192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.9", "192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.9, 192.0.2.1, 10.1.1.1"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.9, 192.0.2.1", "10.1.1.1,\t127.0.0.1"], "192.0.2.1"),
            ("10.0.0.1", &["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
            ("10.0.0.1", &["192.0.2.1:4711"], "192.0.2.1"),
            ("10.0.0.1", &["2001:db8::1"], "2001:db8::1"),
            ("10.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
            ("10.0.0.1", &["[2001:db8::1]:4711, 2001:db8:ffff::7"], "2001:db8::1"),
            ("10.0.0.1", &["::ffff:192.0.2.1"], "192.0.2.1"),
            // Not from a trusted proxy: any client could write that.
            ("192.0.2.9", &["198.51.100.9"], "192.0.2.9"),
            // What is not an address ends the walk at the proxy right of it.
            ("10.0.0.1", &["unknown"], "10.0.0.1"),
            ("10.0.0.1", &[""], "10.0.0.1"),
            ("10.0.0.1", &["192.0.2.1, unknown, 10.1.1.1"], "10.1.1.1"),
            ("10.0.0.1", &["192.0.2.1,, 10.1.1.1"], "10.1.1.1"),
            ("10.0.0.1", &["192.0.2.1, 010.0.0.1"], "10.0.0.1"),
            ("10.0.0.1", &["192.0.2.1 10.1.1.1"], "10.0.0.1"),
            ("10.0.0.1", &["[2001:db8::1"], "10.0.0.1"),
            ("10.0.0.1", &["fe80::1%eth0"], "10.0.0.1"),
        ];
        for (peer, lines, expected) in rows {
            assert_eq!(caller(peer, lines, &[]).as_deref(), Ok(*expected), "{peer} {lines:?}");
        }
    }

    #[test]
    fn forwarded_names_the_same_caller() {
        let rows: &[(&[&str], &str)] = &[
            (&["for=192.0.2.1"], "192.0.2.1"),
            (&["For=\"192.0.2.1:4711\";proto=https;by=203.0.113.43"], "192.0.2.1"),
            (&["proto=https; for=192.0.2.1"], "192.0.2.1"),
            (&["for=198.51.100.9, for=192.0.2.1, for=10.1.1.1"], "192.0.2.1"),
            (&["for=198.51.100.9", "for=192.0.2.1,for=10.1.1.1"], "192.0.2.1"),
            (&["for=\"[2001:db8::1]:4711\""], "2001:db8::1"),
            (&["for=\"[2001:db8::1]\""], "2001:db8::1"),
            (&["for=\"\\1\\92.0.2.1\""], "192.0.2.1"),
            (&["for=\"a, for=192.0.2.1\", for=192.0.2.7"], "192.0.2.7"),
            // What is not an address ends the walk at the proxy right of it.
            (&["for=unknown"], "10.0.0.1"),
            (&["for=_hidden, for=10.1.1.1"], "10.1.1.1"),
            (&["for=192.0.2.1, proto=https"], "10.0.0.1"),
            (&["for=192.0.2.1;for=192.0.2.2"], "10.0.0.1"),
            (&["for=192.0.2.1 for=192.0.2.2"], "10.0.0.1"),
            // An open quotation hides where the hops are.
            (&["for=\"192.0.2.1"], "10.0.0.1"),
            (&["for=\", for=192.0.2.1"], "10.0.0.1"),
            (&["for=\", for=\"192.0.2.1\""], "10.0.0.1"),
            (&["for=\"", "for=192.0.2.1"], "192.0.2.1"),
            (&["192.0.2.1"], "10.0.0.1"),
            (&["=192.0.2.1"], "10.0.0.1"),
            (&[""], "10.0.0.1"),
        ];
        for (lines, expected) in rows {
            assert_eq!(caller("10.0.0.1", &[], lines).as_deref(), Ok(*expected), "{lines:?}");
        }
    }

    #[test]
    fn headers_that_name_different_callers_are_refused() {
        let both = |one: &str, other: &str| caller("10.0.0.1", &[one], &[other]);
        assert_eq!(both("192.0.2.1", "for=192.0.2.1"), Ok("192.0.2.1".to_owned()));
        assert_eq!(both("192.0.2.1", "for=192.0.2.2"), Err(400));
        assert_eq!(both("192.0.2.1", "for=unknown"), Err(400));
        assert_eq!(caller("192.0.2.9", &["192.0.2.1"], &["for=192.0.2.2"]), Ok("192.0.2.9".to_owned()));
    }

    #[test]
    fn networks_are_read_as_they_are_written() {
        for (text, expected) in [
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            (" 192.0.2.1 ", Some("192.0.2.1/32")),
            ("2001:db8::/32", Some("2001:db8::/32")),
            ("::1", Some("::1/128")),
            ("::ffff:192.0.2.1", Some("192.0.2.1/32")),
            ("::ffff:10.0.0.0/104", None),
            ("::ffff:0.0.0.0/96", None),
            ("::/0", Some("::/0")),
            ("10.0.0.0/33", None),
            ("proxy.example", None),
            ("", None),
        ] {
            let network = parse_network(text).map(|network| network.to_string());
            assert_eq!(network.ok().as_deref(), expected, "{text:?}");
        }
    }
}

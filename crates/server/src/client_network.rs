//! The network by which limits tell clients apart.

use std::net::{IpAddr, Ipv4Addr};

/// An IPv4 address, or the first 64 bits of an IPv6 address: a single client is usually given a whole /64 and may use
/// every address in it. An IPv4-mapped IPv6 address counts as the IPv4 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ClientNetwork {
    V4(Ipv4Addr),
    V6Prefix(u64),
}

impl From<IpAddr> for ClientNetwork {
    fn from(address: IpAddr) -> ClientNetwork {
        match address.to_canonical() {
            IpAddr::V4(address) => ClientNetwork::V4(address),
            IpAddr::V6(address) => ClientNetwork::V6Prefix((address.to_bits() >> 64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_client_are_one_network() {
        for (one, other, expected) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("::1", "127.0.0.1", false),
        ] {
            let network = |text: &str| ClientNetwork::from(text.parse::<IpAddr>().unwrap());
            assert_eq!(network(one) == network(other), expected, "{one} and {other}");
        }
    }
}

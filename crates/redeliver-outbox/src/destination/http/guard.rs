//! Which addresses are not the public internet's. A URL that comes from outside must not lead into the network that the relay is in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::host::Host;

/// IPv4 that is refused: first address, length of the prefix, name. The narrower range comes first, so that it is the one that is named.
const V4: [(Ipv4Addr, u32, &str); 23] = [
    (Ipv4Addr::new(0, 0, 0, 0), 32, "unspecified (0.0.0.0)"),
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network (0.0.0.0/8)"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private (10.0.0.0/8)"),
    (
        Ipv4Addr::new(100, 100, 100, 200),
        32,
        "cloud metadata (100.100.100.200)",
    ),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "carrier-grade NAT (100.64.0.0/10)",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback (127.0.0.0/8)"),
    (
        Ipv4Addr::new(168, 63, 129, 16),
        32,
        "cloud metadata (168.63.129.16)",
    ),
    (
        Ipv4Addr::new(169, 254, 169, 254),
        32,
        "cloud metadata (169.254.169.254)",
    ),
    (
        Ipv4Addr::new(169, 254, 170, 2),
        32,
        "cloud metadata (169.254.170.2)",
    ),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local (169.254.0.0/16)"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private (172.16.0.0/12)"),
    (Ipv4Addr::new(192, 0, 0, 192), 32, "cloud metadata (192.0.0.192)"),
    (
        Ipv4Addr::new(192, 0, 0, 0),
        24,
        "protocol assignments (192.0.0.0/24)",
    ),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation (192.0.2.0/24)"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relays (192.88.99.0/24)"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private (192.168.0.0/16)"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarks (198.18.0.0/15)"),
    (
        Ipv4Addr::new(198, 51, 100, 0),
        24,
        "documentation (198.51.100.0/24)",
    ),
    (
        Ipv4Addr::new(203, 0, 113, 0),
        24,
        "documentation (203.0.113.0/24)",
    ),
    (
        Ipv4Addr::new(233, 252, 0, 0),
        24,
        "documentation (233.252.0.0/24)",
    ),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast (224.0.0.0/4)"),
    (
        Ipv4Addr::new(255, 255, 255, 255),
        32,
        "broadcast (255.255.255.255)",
    ),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved (240.0.0.0/4)"),
];

/// IPv6 that is refused, in the same way. Whatever carries an IPv4 address inside is refused with it.
const V6: [(Ipv6Addr, u32, &str); 20] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified (::)"),
    (Ipv6Addr::LOCALHOST, 128, "loopback (::1)"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0]), 96, "IPv4-compatible (::/96)"),
    (
        v6([0, 0, 0, 0, 0, 0xffff, 0, 0]),
        96,
        "IPv4-mapped (::ffff:0:0/96)",
    ),
    (
        v6([0, 0, 0, 0, 0xffff, 0, 0, 0]),
        96,
        "IPv4-translated (::ffff:0:0:0/96)",
    ),
    (NAT64, 96, "NAT64 (64:ff9b::/96)"),
    (
        v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0]),
        48,
        "local NAT64 (64:ff9b:1::/48)",
    ),
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0]), 64, "discard-only (100::/64)"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0]), 32, "Teredo (2001::/32)"),
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0]), 48, "benchmarks (2001:2::/48)"),
    (
        v6([0x2001, 0, 0, 0, 0, 0, 0, 0]),
        23,
        "protocol assignments (2001::/23)",
    ),
    (
        v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0]),
        32,
        "documentation (2001:db8::/32)",
    ),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0]), 16, "6to4 (2002::/16)"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0]), 20, "documentation (3fff::/20)"),
    (
        v6([0x5f00, 0, 0, 0, 0, 0, 0, 0]),
        16,
        "segment routing (5f00::/16)",
    ),
    (
        v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0]),
        32,
        "cloud metadata (fd00:ec2::/32)",
    ),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0]), 7, "unique local (fc00::/7)"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0]), 10, "link-local (fe80::/10)"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0]), 10, "site-local (fec0::/10)"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0]), 8, "multicast (ff00::/8)"),
];

const NAT64: Ipv6Addr = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0]);

const fn v6(s: [u16; 8]) -> Ipv6Addr {
    Ipv6Addr::new(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7])
}

/// The range because of which an address is refused, if it is.
pub(super) fn refused(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let within =
                |first: Ipv4Addr, length| (address.to_bits() ^ first.to_bits()) >> (32 - length) == 0;
            let range = V4.iter().find(|(first, length, _)| within(*first, *length));
            range.map(|(.., name)| *name)
        }
        IpAddr::V6(address) => {
            let within =
                |first: Ipv6Addr, length| (address.to_bits() ^ first.to_bits()) >> (128 - length) == 0;
            let range = V6.iter().find(|(first, length, _)| within(*first, *length));
            match range {
                Some((.., name)) => Some(name),
                None if !within(v6([0x2000, 0, 0, 0, 0, 0, 0, 0]), 3) => Some("reserved (not in 2000::/3)"),
                // The one tunnel that hides an IPv4 address under any prefix.
                None => isatap(address).and_then(|inside| refused(inside.into())),
            }
        }
    }
}

/// The same of an address that a name has. A network without IPv4 reaches it by NAT64, and then its resolver answers so for every
/// public name: what counts is the address inside.
pub(super) fn refused_answer(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V6(outside) if outside.segments()[..6] == NAT64.segments()[..6] => {
            refused(last_four(outside).into())
        }
        address => refused(address),
    }
}

fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let marked = matches!(segments[4], 0 | 0x200) && segments[5] == 0x5efe;
    marked.then(|| last_four(address))
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// Whether a destination may be where it is. It is asked three times of each connection: of the host as it is written, of every address
/// that its name has, and of the peer that was reached.
#[derive(Clone, Copy)]
pub(super) struct Guard {
    refused: Option<fn(IpAddr) -> Option<&'static str>>,
}

impl Guard {
    pub(super) const ON: Self = Self::refusing(refused_answer);
    pub(super) const OFF: Self = Self { refused: None };

    pub(super) const fn refusing(refused: fn(IpAddr) -> Option<&'static str>) -> Self {
        let refused = Some(refused);
        Self { refused }
    }

    /// What is wrong with a host as it is written, as the rest of a sentence about it.
    pub(super) fn host(self, host: &str) -> Result<(), String> {
        if self.refused.is_none() {
            return Ok(());
        }
        let at =
            |address: IpAddr| refused(address).map(|range| format!("is at {address}, {}", no_entry(range)));
        let problem = match Host::of(host) {
            Host::Name => None,
            Host::ThisMachine => Some(format!("is this machine, {}", no_entry("loopback"))),
            Host::Address(address) => at(address),
            Host::Odd(address) => Some(at(address.into()).unwrap_or_else(|| {
                format!("has an unusual way to write an address; if {address} is meant, write it so")
            })),
            Host::Neither => Some("has a host that is neither a name nor an address".to_owned()),
        };
        problem.map_or(Ok(()), Err)
    }

    /// What is wrong with an address that a name has, or that was reached.
    pub(super) fn address(self, address: IpAddr) -> Result<(), String> {
        let range = self.refused.and_then(|refused| refused(address));
        range.map_or(Ok(()), |range| Err(format!("{address}, {}", no_entry(range))))
    }
}

fn no_entry(range: &str) -> String {
    format!("which is {range}; if messages may go there, set allow_private = true on this destination")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_text(text: &str) -> Option<&'static str> {
        refused(text.parse().unwrap())
    }

    #[test]
    fn nat64_counts_for_what_is_inside_if_a_resolver_says_so() {
        let answer = |text: &str| refused_answer(text.parse().unwrap());
        assert_eq!(answer("64:ff9b::8.8.8.8"), None);
        assert_eq!(answer("64:ff9b::10.0.0.1"), Some("private (10.0.0.0/8)"));
        assert_eq!(
            answer("64:ff9b::169.254.169.254"),
            Some("cloud metadata (169.254.169.254)")
        );
        assert_eq!(answer("64:ff9b:1::8.8.8.8"), Some("local NAT64 (64:ff9b:1::/48)"));
        assert_eq!(answer("127.0.0.1"), refused_text("127.0.0.1"));
        assert_eq!(refused_text("64:ff9b::8.8.8.8"), Some("NAT64 (64:ff9b::/96)"));
    }
}

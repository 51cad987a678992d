//! What the host of a URL says, in every notation that some program understands.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a URL's host says of where it is, without asking anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// A name, which only a resolver knows.
    Name,
    /// A name that is this machine's wherever it is asked for.
    ThisMachine,
    /// An address, written as addresses are.
    Address(IpAddr),
    /// An address, written as only some programs understand it: `127.1`, `0x7f000001`, `0177.0.0.1`.
    Odd(Ipv4Addr),
    /// It looks like an address and is none.
    Neither,
}

impl Host {
    /// Reads a host as it stands in a URL, brackets and all.
    pub(super) fn of(host: &str) -> Self {
        if host.starts_with('[') || host.contains(':') {
            let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let address = inside.unwrap_or(host).parse::<Ipv6Addr>();
            return address.map_or(Self::Neither, |address| Self::Address(address.into()));
        }
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Self::Address(address.into());
        }
        let dotless = host.strip_suffix('.').unwrap_or(host);
        let last = dotless.rsplit('.').next().unwrap_or_default();
        // No top-level domain is a number.
        if is_number(last) {
            return loose(dotless).map_or(Self::Neither, Self::Odd);
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let mut labels = dotless.split('.');
        match labels.all(|label| !label.is_empty() && label.bytes().all(plain)) {
            false => Self::Neither,
            true if last.eq_ignore_ascii_case("localhost") => Self::ThisMachine,
            true => Self::Name,
        }
    }
}

fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    let digits = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    digits || hex.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// As `inet_aton` reads it: one to four numbers, decimal, octal or hexadecimal, of which the last fills what is left.
fn loose(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    let (last, first) = parts.split_last()?;
    if first.len() > 3 {
        return None;
    }
    let mut bits = 0_u32;
    for (place, part) in first.iter().enumerate() {
        let byte = u8::try_from(number(part)?).ok()?;
        bits |= u32::from(byte) << (24 - 8 * place);
    }
    let last = number(last)?;
    let room = 32 - 8 * first.len();
    let fits = u32::try_from(last).ok().filter(|_| last >> room == 0)?;
    Some(Ipv4Addr::from_bits(bits | fits))
}

fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // The standard library takes a sign, and inet_aton "0x" for zero.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match digits {
        "" if radix == 16 => Some(0),
        _ => u64::from_str_radix(digits, radix).ok().filter(|_| plain),
    }
}

#[cfg(test)]
mod tests {
    use std::net::ToSocketAddrs as _;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_host_is_read_as_every_program_may_read_it() {
        let loopback = Ipv4Addr::LOCALHOST;
        for (text, expected) in [
            ("example.com", Host::Name),
            ("example.com.", Host::Name),
            ("127.0.0.1.nip.io", Host::Name),
            ("0x7f", Host::Odd(Ipv4Addr::new(0, 0, 0, 127))),
            ("127.0.0.1", Host::Address(loopback.into())),
            ("[::1]", Host::Address(Ipv6Addr::LOCALHOST.into())),
            ("::1", Host::Address(Ipv6Addr::LOCALHOST.into())),
            ("127.1", Host::Odd(loopback)),
            ("0x7f000001.", Host::Odd(loopback)),
            ("0x.0.0.1", Host::Odd(Ipv4Addr::new(0, 0, 0, 1))),
            ("+127.1", Host::Neither),
            ("127.+1", Host::Neither),
            ("", Host::Neither),
            (".", Host::Neither),
            ("[", Host::Neither),
            ("1.2.3.4.5", Host::Neither),
            ("99999999999999999999999", Host::Neither),
        ] {
            assert_eq!(Host::of(text), expected, "{text}");
        }
    }

    /// A number in one of the ways that a part of an address can have.
    fn part() -> impl Strategy<Value = String> {
        let value = prop_oneof![0..=300_u64, 0..=70_000_u64, 0..=(1_u64 << 33)];
        (value, 0..3_usize, 0..3_usize).prop_map(|(value, notation, zeros)| match notation {
            0 => value.to_string(),
            1 => format!("0{}{value:o}", "0".repeat(zeros)),
            _ => format!("0x{}{value:x}", "0".repeat(zeros)),
        })
    }

    proptest! {
        #[test]
        fn every_host_is_answered(text in any::<String>(), loose in "[0-9xXa-f.:\\[\\]%-]{0,20}") {
            Host::of(&text);
            Host::of(&loose);
        }

        /// The system reads addresses too, and what it reads is where a connection goes.
        #[test]
        fn an_odd_address_is_the_one_that_the_system_reads(parts in prop::collection::vec(part(), 1..=4)) {
            let text = parts.join(".");
            if let Host::Odd(address) = Host::of(&text) {
                let read: Vec<_> = (text.as_str(), 0).to_socket_addrs().unwrap().map(|found| found.ip()).collect();
                prop_assert!(read.iter().all(|read| *read == address), "{text}: {address} {read:?}");
            }
        }
    }
}

//! What a certificate says of itself.

use std::time::Duration;

use redeliver::address::printable;
use x509_cert::{
    Certificate as Parsed,
    der::Decode as _,
    ext::pkix::{SubjectAltName, name::GeneralName},
};

use crate::desk::{Finding, Grade};

const DAY: u64 = 24 * 3600;
/// Whoever renews by hand needs this long.
const SOON: Duration = Duration::from_secs(21 * DAY);
/// How many of the names that a certificate is for are shown.
const NAMES_SHOWN: usize = 5;

/// Times are since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificate {
    names: String,
    issuer: String,
    from: Duration,
    until: Duration,
}

impl Certificate {
    /// None if it is not what a certificate should be: then TLS has refused it too, or reads more than this does.
    pub(super) fn read(der: &[u8]) -> Option<Self> {
        let certificate = Parsed::from_der(der).ok()?.tbs_certificate;
        let named: Option<(bool, SubjectAltName)> = certificate.get().ok().flatten();
        let mut names: Vec<String> = named
            .iter()
            .flat_map(|(_, names)| &names.0)
            .filter_map(|name| match name {
                GeneralName::DnsName(name) => Some(name.to_string()),
                _ => None,
            })
            .collect();
        let more = names.len().saturating_sub(NAMES_SHOWN);
        names.truncate(NAMES_SHOWN);
        let names = match (names.is_empty(), more) {
            (true, _) => certificate.subject.to_string(),
            (false, 0) => names.join(", "),
            (false, more) => format!("{} and {more} more", names.join(", ")),
        };
        Some(Self {
            names: printable(&names),
            issuer: printable(&certificate.issuer.to_string()),
            from: certificate.validity.not_before.to_unix_duration(),
            until: certificate.validity.not_after.to_unix_duration(),
        })
    }

    /// Whom it is for and who says so.
    pub(super) fn described(&self) -> String {
        format!("for {}, from {}", self.names, self.issuer)
    }

    /// Whether it is valid now, and for how long.
    pub(super) fn finding(&self, topic: &'static str, now: Duration) -> Finding {
        let described = self.described();
        let (grade, what, next) = if now > self.until {
            let ago = days(now - self.until);
            (
                Grade::Problem,
                format!("{described}: ended {ago} ago"),
                "renew it",
            )
        } else if now < self.from {
            let ahead = days(self.from - now);
            let next = "compare the clocks of both sides, or wait";
            (Grade::Problem, format!("{described}: begins in {ahead}"), next)
        } else {
            let left = self.until - now;
            let (grade, next) = match left < SOON {
                true => (Grade::Advice, "renew it before it ends"),
                false => (Grade::Good, ""),
            };
            (grade, format!("{described}: {} left", days(left)), next)
        };
        Finding::new(grade, topic, what, next)
    }
}

fn days(time: Duration) -> String {
    match time.as_secs() / DAY {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(names: &[&str]) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut parameters = rcgen::CertificateParams::new(names).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2026, 1, 1);
        // Beyond 2049 the time is written in another form.
        parameters.not_after = rcgen::date_time_ymd(2051, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_issuer_and_times_are_read() {
        let certificate = Certificate::read(&made(&["shop.example", "*.shop.example"])).unwrap();
        assert_eq!(certificate.names, "shop.example, *.shop.example");
        assert_eq!(certificate.issuer, "CN=rcgen self signed cert");
        assert_eq!(certificate.from, Duration::from_secs(1_767_225_600));
        assert_eq!(certificate.until, Duration::from_secs(2_556_144_000));
        let many: Vec<String> = (0..9).map(|number| format!("{number}.example")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let certificate = Certificate::read(&made(&many)).unwrap();
        assert!(
            certificate.names.ends_with("4.example and 4 more"),
            "{certificate:?}"
        );
        let certificate = Certificate::read(&made(&[])).unwrap();
        assert_eq!(certificate.names, "CN=rcgen self signed cert");
    }

    #[test]
    fn what_ends_soon_is_told() {
        let certificate = Certificate::read(&made(&["a"])).unwrap();
        let day = Duration::from_secs(DAY);
        for (now, grade, words) in [
            (certificate.from - day, Grade::Problem, "begins in 1 day"),
            (certificate.from, Grade::Good, "9131 days left"),
            (certificate.until - 21 * day, Grade::Good, "21 days left"),
            (
                certificate.until - 21 * day + Duration::from_secs(1),
                Grade::Advice,
                "20 days left",
            ),
            (certificate.until, Grade::Advice, "less than a day left"),
            (certificate.until + 3 * day, Grade::Problem, "ended 3 days ago"),
        ] {
            let finding = certificate.finding("certificate", now);
            assert_eq!(finding.grade, grade, "{finding:?}");
            assert!(finding.what.ends_with(words), "{finding:?}");
            assert_eq!(finding.next.is_empty(), grade == Grade::Good, "{finding:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_shown_is_answered(bytes in any::<Vec<u8>>(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let _ = Certificate::read(&bytes);
            let mut damaged = made(&["shop.example"]);
            let at = at.index(damaged.len());
            damaged[at] ^= 1 << bit;
            let _ = Certificate::read(&damaged);
        }
    }
}

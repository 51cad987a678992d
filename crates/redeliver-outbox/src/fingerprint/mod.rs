//! What makes many dead letters one issue: where they were to go, why they were quarantined, and their error without what differs from
//! message to message.

use std::{fmt, str::FromStr};

mod normal;

use normal::normalised;

/// The name of an issue: dead letters that failed in the same way have the same one. It is kept with them, so it never changes from one
/// release to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The issue of the dead letters that have not been looked at yet: an older relay wrote them, or they are from before there were issues.
    pub const UNGROUPED: Self = Self(0);

    /// Of a message to this destination that was quarantined for this reason, with this error.
    #[must_use]
    pub fn of(destination: &str, reason: &str, error: &str) -> Self {
        let normalised = normalised(error);
        let parts = [destination, reason, &normalised];
        let hash = parts.iter().fold(OFFSET, |hash, part| {
            // A byte that is in no text, so that no part runs into the next.
            part.bytes()
                .chain([0xff])
                .fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
        });
        Self(hash.max(1))
    }

    /// As the tables hold it: sixteen digits, or nothing.
    #[must_use]
    pub fn column(self) -> String {
        if self == Self::UNGROUPED {
            return String::new();
        }
        format!("{:016x}", self.0)
    }

    /// What the tables hold. What nobody can have written there is as good as nothing.
    #[must_use]
    pub fn from_column(text: &str) -> Self {
        u64::from_str_radix(text, 16).map_or(Self::UNGROUPED, Self)
    }
}

/// FNV-1a in 64 bits.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

const UNGROUPED: &str = "ungrouped";

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::UNGROUPED {
            return f.pad(UNGROUPED);
        }
        f.pad(&self.column())
    }
}

/// A text that names no issue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no issue: it looks like 1f0c9a52e77b3d48, as `redeliver dead issues` lists it, or is the word ungrouped"
)]
pub struct NoFingerprint(String);

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        if text == UNGROUPED {
            return Ok(Self::UNGROUPED);
        }
        let right = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u64::from_str_radix(text, 16) {
            Ok(bits) if right && bits > 0 => Ok(Self(bits)),
            _ => Err(NoFingerprint(text.chars().take(64).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Written into tables all over the world.
    #[test]
    fn a_fingerprint_is_the_same_for_ever() {
        for (destination, reason, error, expected) in [
            ("", "", "", "f998341be47bae14"),
            (
                "billing",
                "permanent",
                "422 Unprocessable Content",
                "963fa49f09f12ae0",
            ),
            (
                "mail",
                "attempts_exhausted",
                "no answer from https://mail.example:8443 within 30s",
                "48250e9782b3faa6",
            ),
        ] {
            let fingerprint = Fingerprint::of(destination, reason, error);
            assert_eq!(
                fingerprint.to_string(),
                expected,
                "{destination} {reason} {error}"
            );
        }
    }

    #[test]
    fn each_part_counts_and_none_runs_into_the_next() {
        let one = Fingerprint::of("billing", "permanent", "422");
        for (destination, reason, error) in [
            ("billing2", "permanent", "422"),
            ("billing", "expired", "422"),
            ("billing", "permanent", "404"),
            ("billingpermanent", "", "422"),
        ] {
            assert_ne!(one, Fingerprint::of(destination, reason, error));
        }
    }

    #[test]
    fn what_names_no_issue_is_refused() {
        for text in [
            "",
            "1f0c",
            "0000000000000000",
            "+f0c9a52e77b3d48",
            "1f0c9a52e77b3d4g",
        ] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
        assert_eq!("ungrouped".parse(), Ok(Fingerprint::UNGROUPED));
        assert_eq!(Fingerprint::from_column(""), Fingerprint::UNGROUPED);
        assert_eq!(Fingerprint::UNGROUPED.column(), "");
    }

    proptest! {
        #[test]
        fn a_fingerprint_is_read_as_it_is_written(destination in ".{0,20}", error in ".{0,200}") {
            let fingerprint = Fingerprint::of(&destination, "permanent", &error);
            prop_assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
            prop_assert_eq!(Fingerprint::from_column(&fingerprint.column()), fingerprint);
        }
    }
}

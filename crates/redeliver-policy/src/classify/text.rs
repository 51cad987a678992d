use crate::Class;

/// How the standard library begins every failure to look up a name, which has no kind of its own. A resolver without a network often calls a
/// name unknown, so that no words after it are a reason to give up.
pub(super) const LOOKUP: &str = "failed to lookup address information";

/// Texts that mean nothing was sent, then texts that mean something may have been.
const TRANSIENT: [&str; 9] = [
    "econnrefused",
    "enetunreach",
    "ehostunreach",
    "eai_again",
    "connection refused",
    "network is unreachable",
    "no route to host",
    "temporary failure in name resolution",
    LOOKUP,
];
const UNKNOWN: [&str; 8] = [
    "econnreset",
    "etimedout",
    "epipe",
    "socket hang up",
    "connection reset",
    "broken pipe",
    "timed out",
    "unexpected eof",
];

/// The class of a foreign error that carries no type, by its text. What no table knows is permanent: the safe side.
///
/// ```
/// use redeliver_policy::{Class, classify::by_text};
///
/// assert_eq!(by_text("connect ECONNREFUSED 127.0.0.1:3000"), Class::Transient);
/// assert_eq!(by_text("Error: socket hang up"), Class::Unknown);
/// assert_eq!(by_text("invalid card number"), Class::Permanent);
/// ```
#[must_use]
pub fn by_text(text: &str) -> Class {
    if TRANSIENT.iter().any(|needle| contains(text, needle)) {
        Class::Transient
    } else if UNKNOWN.iter().any(|needle| contains(text, needle)) {
        Class::Unknown
    } else {
        Class::Permanent
    }
}

/// Case does not matter; `needle` is lower case already.
pub(super) fn contains(text: &str, needle: &str) -> bool {
    text.as_bytes()
        .windows(needle.len())
        .any(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_five_are_all_retried() {
        for text in [
            "ECONNRESET",
            "ETIMEDOUT",
            "ECONNREFUSED",
            "ENETUNREACH",
            "socket hang up",
        ] {
            assert_ne!(by_text(text), Class::Permanent, "{text}");
        }
        assert_eq!(by_text(""), Class::Permanent);
    }
}

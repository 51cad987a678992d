use crate::Class;

/// How the standard library begins every failure to look up a name, which has no kind of its own. A resolver without a network often calls a
/// name unknown, so that no words after it are a reason to give up.
pub(super) const LOOKUP: &str = "failed to lookup address information";

/// A call that redeliver itself gave up. Its text tells the last error's, which was retried already.
const GAVE_UP: &str = "gave up after";

/// Texts that ask for fewer requests.
const THROTTLED: [&str; 4] = [
    "too many requests",
    "rate limit",
    "throttl",
    "service unavailable",
];

/// Texts that mean nothing was sent, or nothing was done.
const TRANSIENT: [&str; 17] = [
    "econnrefused",
    "enetunreach",
    "ehostunreach",
    "eai_again",
    "connection refused",
    "network is unreachable",
    "no route to host",
    "temporary failure in name resolution",
    "temporarily unavailable",
    "temporary overload",
    "overloaded",
    "try again",
    "database is locked",
    "deadlock",
    "serialization failure",
    "busy",
    LOOKUP,
];

/// Texts that mean something may have been.
const UNKNOWN: [&str; 11] = [
    "econnreset",
    "etimedout",
    "epipe",
    "socket hang up",
    "connection reset",
    "broken pipe",
    "timed out",
    "timeout",
    "unexpected eof",
    "bad gateway",
    "connection closed",
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
    if contains(text, GAVE_UP) {
        Class::Permanent
    } else if THROTTLED.iter().any(|needle| contains(text, needle)) {
        Class::THROTTLED
    } else if TRANSIENT.iter().any(|needle| contains(text, needle)) {
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

    #[test]
    fn what_servers_and_databases_say_is_known() {
        assert_eq!(by_text("HTTP 503 Service Unavailable"), Class::THROTTLED);
        assert_eq!(by_text("rate limit exceeded"), Class::THROTTLED);
        assert_eq!(by_text("database is locked"), Class::Transient);
        assert_eq!(
            by_text("Deadlock found when trying to get lock"),
            Class::Transient
        );
        assert_eq!(by_text("request timeout"), Class::Unknown);
        assert_eq!(by_text("invalid business id"), Class::Permanent);
    }

    #[test]
    fn what_was_given_up_is_not_judged_by_the_error_it_tells() {
        let text = "gave up after 3 attempts in 2s: out of attempts; last error: connection refused";
        assert_eq!(by_text(text), Class::Permanent);
    }
}

//! What may be sent twice.

use reqwest::Method;

use crate::entropy;

/// The header that tells a server that two requests are one.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Whether sending a request of this method twice means no more than sending it once.
pub(crate) fn is_idempotent(method: &Method) -> bool {
    let safe_to_repeat = [
        Method::GET,
        Method::HEAD,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
    ];
    safe_to_repeat.contains(method)
}

/// A new key, in the form of a random UUID.
pub(crate) fn new_key() -> String {
    let (high, low) = (entropy::draw(), entropy::draw());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        8 | low >> 62,
        low >> 48 & 0xfff,
        low & 0xffff_ffff_ffff,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn post_patch_and_unknown_methods_are_not_repeated_by_themselves() {
        for (name, expected) in [
            ("GET", true),
            ("HEAD", true),
            ("PUT", true),
            ("DELETE", true),
            ("OPTIONS", true),
            ("TRACE", true),
            ("POST", false),
            ("PATCH", false),
            ("CONNECT", false),
            ("PURGE", false),
        ] {
            assert_eq!(is_idempotent(&name.parse().unwrap()), expected, "{name}");
        }
    }

    #[test]
    fn a_key_is_a_version_4_uuid_and_new_each_time() {
        let keys: std::collections::HashSet<String> = (0..1_000).map(|_| new_key()).collect();
        assert_eq!(keys.len(), 1_000);
        for key in keys {
            let lengths: Vec<usize> = key.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{key}");
            assert_eq!(&key[14..15], "4", "{key}");
            assert!("89ab".contains(&key[19..20]), "{key}");
        }
    }
}

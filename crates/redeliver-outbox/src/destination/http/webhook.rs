//! Signatures as [Standard Webhooks 1.0](https://www.standardwebhooks.com) has them.
//!
//! What is signed is the id, the time in seconds since 1970 and the body, with a dot between them. A request carries one signature for
//! each secret, so that a receiver who knows any of them, the old one or the new one, can check it.
//!
//! ```
//! use redeliver_outbox::destination::webhook::{Secret, sign, verify};
//! use std::time::Duration;
//!
//! let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
//! let (now, body) = (Duration::from_secs(1_614_265_330), br#"{"test": 2432232314}"#);
//! let signatures = sign(std::slice::from_ref(&secret), "msg_p5jXN8AQM9LWM0D4loKWxJek", now.as_secs(), body);
//! assert_eq!(signatures, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
//!
//! let tolerance = Duration::from_secs(300);
//! verify(&[secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", &signatures, body, now, tolerance)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{fmt, str::FromStr, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use redeliver::duration;
use ring::{
    hmac,
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};

const SHARED: &str = "whsec_";
const PRIVATE: &str = "whsk_";
const PUBLIC: &str = "whpk_";
const SEED: usize = 32;

/// What signs, or checks signatures: `whsec_…` (HMAC-SHA256, both), `whsk_…` (the private half of an ed25519 key, both) or `whpk_…` (its
/// public half, which only checks). It is shown nowhere.
pub struct Secret(Key);

enum Key {
    Shared(hmac::Key),
    // Its precomputed parts make it far larger than the others.
    Private(Box<Ed25519KeyPair>),
    Public([u8; SEED]),
}

/// A text that is no secret of a webhook. It does not hold the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSecret(String);

/// Why a request is not to be believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// The timestamp is no number of seconds.
    #[error("webhook-timestamp is not a number of seconds since 1970")]
    Timestamp,
    /// It was signed too long ago: somebody may be sending it again.
    #[error("it was signed {} ago; at most {} are allowed", duration::display(*.0), duration::display(*.1))]
    Old(Duration, Duration),
    /// It was signed in the future, further than clocks differ.
    #[error("it was signed {} in the future; at most {} are allowed: compare the clocks", duration::display(*.0), duration::display(*.1))]
    Early(Duration, Duration),
    /// There is no signature of a kind that the secrets can check.
    #[error("webhook-signature holds no signature of the kind {0}")]
    Unsigned(&'static str),
    /// None of the signatures is right.
    #[error("no signature is right: another secret, or something was changed on the way")]
    Wrong,
}

impl Secret {
    /// Whether it can sign; the public half of a key cannot.
    #[must_use]
    pub const fn signs(&self) -> bool {
        !matches!(self.0, Key::Public(_))
    }

    /// The public half, as the receiver of ed25519 signatures is given it; none where there is none.
    #[must_use]
    pub fn public(&self) -> Option<String> {
        match &self.0 {
            Key::Shared(_) => None,
            Key::Private(pair) => Some(format!("{PUBLIC}{}", STANDARD.encode(pair.public_key()))),
            Key::Public(key) => Some(format!("{PUBLIC}{}", STANDARD.encode(key))),
        }
    }

    pub(super) const fn version(&self) -> &'static str {
        match self.0 {
            Key::Shared(_) => "v1",
            Key::Private(_) | Key::Public(_) => "v1a",
        }
    }

    fn sign(&self, content: &[u8]) -> Option<String> {
        let signature = match &self.0 {
            Key::Shared(key) => STANDARD.encode(hmac::sign(key, content)),
            Key::Private(pair) => STANDARD.encode(pair.sign(content)),
            Key::Public(_) => return None,
        };
        Some(format!("{},{signature}", self.version()))
    }

    /// Takes the same time wherever the first difference is.
    fn accepts(&self, content: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            Key::Shared(key) => hmac::verify(key, content, signature).is_ok(),
            Key::Private(pair) => UnparsedPublicKey::new(&ED25519, pair.public_key())
                .verify(content, signature)
                .is_ok(),
            Key::Public(key) => UnparsedPublicKey::new(&ED25519, key)
                .verify(content, signature)
                .is_ok(),
        }
    }
}

impl FromStr for Secret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        let refuse = |rule: String| Err(InvalidSecret(rule));
        let Some(prefix) = [SHARED, PRIVATE, PUBLIC]
            .into_iter()
            .find(|&kind| text.starts_with(kind))
        else {
            return refuse(
                "must begin with whsec_ (shared) or whsk_ (the private half of an ed25519 key)".to_owned(),
            );
        };
        let Ok(bytes) = STANDARD.decode(&text[prefix.len()..]) else {
            return refuse(format!("is no base64 after {prefix}"));
        };
        let length = bytes.len();
        let key = match (prefix, length) {
            (SHARED, 24..=64) => Key::Shared(hmac::Key::new(hmac::HMAC_SHA256, &bytes)),
            (SHARED, _) => return refuse(format!("holds {length} bytes after whsec_; 24 to 64 are allowed")),
            (PRIVATE, SEED) => pair(Ed25519KeyPair::from_seed_unchecked(&bytes))?,
            (PRIVATE, 64) => {
                let (seed, public) = bytes.split_at(SEED);
                pair(Ed25519KeyPair::from_seed_and_public_key(seed, public))?
            }
            (PRIVATE, _) => {
                let rule = "32 (the private half) or 64 (both halves) are allowed";
                return refuse(format!("holds {length} bytes after whsk_; {rule}"));
            }
            _ => match bytes.try_into() {
                Ok(key) => Key::Public(key),
                Err(_) => return refuse(format!("holds {length} bytes after whpk_; 32 are allowed")),
            },
        };
        Ok(Self(key))
    }
}

fn pair(pair: Result<Ed25519KeyPair, ring::error::KeyRejected>) -> Result<Key, InvalidSecret> {
    match pair {
        Ok(pair) => Ok(Key::Private(Box::new(pair))),
        Err(_) => Err(InvalidSecret(
            "is no ed25519 key: its private and its public half do not belong together".to_owned(),
        )),
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({},…)", self.version())
    }
}

/// The value of `webhook-signature`: one signature for each secret that can sign, in their order.
#[must_use]
pub fn sign(secrets: &[Secret], id: &str, timestamp: u64, body: &[u8]) -> String {
    let content = content(id, &timestamp.to_string(), body);
    let signatures: Vec<String> = secrets
        .iter()
        .filter_map(|secret| secret.sign(&content))
        .collect();
    signatures.join(" ")
}

/// Whether one of the signatures was made with one of the secrets, and not longer than `tolerance` before or after `now` (since 1970).
/// The texts are the values of `webhook-id`, `webhook-timestamp` and `webhook-signature`; the body is as it came, byte for byte.
///
/// # Errors
/// Why the request is not to be believed.
pub fn verify(
    secrets: &[Secret],
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now: Duration,
    tolerance: Duration,
) -> Result<(), Unverified> {
    let signed = seconds(timestamp).ok_or(Unverified::Timestamp)?;
    let (age, lead) = (now.saturating_sub(signed), signed.saturating_sub(now));
    if age > tolerance {
        return Err(Unverified::Old(age, tolerance));
    }
    if lead > tolerance {
        return Err(Unverified::Early(lead, tolerance));
    }
    let content = content(id, timestamp, body);
    let mut problem = Unverified::Unsigned(kinds(secrets));
    for (version, signature) in signatures.split(' ').filter_map(|one| one.split_once(',')) {
        for secret in secrets.iter().filter(|secret| secret.version() == version) {
            let bytes = STANDARD.decode(signature);
            if bytes.is_ok_and(|bytes| secret.accepts(&content, &bytes)) {
                return Ok(());
            }
            problem = Unverified::Wrong;
        }
    }
    Err(problem)
}

/// A number of seconds as it is signed: digits and nothing else.
fn seconds(timestamp: &str) -> Option<Duration> {
    let digits = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| timestamp.parse().ok().map(Duration::from_secs))?
}

fn kinds(secrets: &[Secret]) -> &'static str {
    let has = |version| secrets.iter().any(|secret| secret.version() == version);
    match (has("v1"), has("v1a")) {
        (true, true) => "v1 or v1a",
        (false, true) => "v1a",
        _ => "v1",
    }
}

fn content(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIME: u64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const TOLERANCE: Duration = Duration::from_secs(300);
    const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const WHSK: &str =
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
    const WHPK: &str = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

    fn secrets(texts: &[&str]) -> Vec<Secret> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn check(texts: &[&str], signatures: &str, body: &[u8], now: u64) -> Result<(), Unverified> {
        let now = Duration::from_secs(now);
        verify(
            &secrets(texts),
            ID,
            &TIME.to_string(),
            signatures,
            body,
            now,
            TOLERANCE,
        )
    }

    #[test]
    fn the_known_signatures_come_out() {
        let shared = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let private =
            "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
        let seed = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=";
        for (texts, expected) in [
            (vec![WHSEC], shared.to_owned()),
            (vec![WHSK], private.to_owned()),
            (vec![seed], private.to_owned()),
            (vec![WHSEC, WHSK, WHPK], format!("{shared} {private}")),
        ] {
            assert_eq!(sign(&secrets(&texts), ID, TIME, BODY), expected);
            assert_eq!(check(&texts, &expected, BODY, TIME), Ok(()));
        }
        assert_eq!(check(&[WHPK], private, BODY, TIME), Ok(()));
        assert_eq!(secrets(&[WHSK])[0].public().as_deref(), Some(WHPK));
    }

    #[test]
    fn any_of_the_secrets_will_do_and_no_other() {
        let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let both = sign(&secrets(&[other, WHSEC]), ID, TIME, BODY);
        for receiver in [&[other][..], &[WHSEC], &[other, WHSEC], &[WHPK, WHSEC]] {
            assert_eq!(check(receiver, &both, BODY, TIME), Ok(()));
        }
        let one = sign(&secrets(&[WHSEC]), ID, TIME, BODY);
        assert_eq!(check(&[other], &one, BODY, TIME), Err(Unverified::Wrong));
        assert_eq!(check(&[WHPK], &one, BODY, TIME), Err(Unverified::Unsigned("v1a")));
        assert_eq!(check(&[WHSEC], &format!("v2,x {one}"), BODY, TIME), Ok(()));
        for signatures in ["", "v1", "v1,", "v1,%", &one[..20], &one.replace("v1,", "v1a,")] {
            check(&[WHSEC], signatures, BODY, TIME).unwrap_err();
        }
    }

    #[test]
    fn what_was_signed_long_ago_or_later_than_now_is_refused() {
        let signatures = sign(&secrets(&[WHSEC]), ID, TIME, BODY);
        for now in [TIME - 300, TIME + 300] {
            assert_eq!(check(&[WHSEC], &signatures, BODY, now), Ok(()));
        }
        let second = Duration::from_secs(301);
        let late = check(&[WHSEC], &signatures, BODY, TIME + 301).unwrap_err();
        assert_eq!(late, Unverified::Old(second, TOLERANCE));
        let early = check(&[WHSEC], &signatures, BODY, TIME - 301).unwrap_err();
        assert_eq!(early, Unverified::Early(second, TOLERANCE));
        for timestamp in [
            "",
            "now",
            "+1614265330",
            "-1",
            " 1614265330",
            "1614265330.0",
            "99999999999999999999",
        ] {
            let now = Duration::from_secs(TIME);
            let checked = verify(
                &secrets(&[WHSEC]),
                ID,
                timestamp,
                &signatures,
                BODY,
                now,
                TOLERANCE,
            );
            assert_eq!(checked, Err(Unverified::Timestamp), "{timestamp}");
        }
    }

    #[test]
    fn what_is_no_secret_is_refused_without_being_shown() {
        for (text, words) in [
            ("hunter2", "must begin with whsec_"),
            ("whsec_hunter2!", "no base64"),
            ("whsec_aHVudGVyMg==", "7 bytes after whsec_"),
            ("whsk_aHVudGVyMg==", "7 bytes after whsk_"),
            ("whpk_aHVudGVyMg==", "7 bytes after whpk_"),
            (
                "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlaaaaaaaaaaAJ6p9lMicMFs6Kvg==",
                "do not belong together",
            ),
        ] {
            let error = text.parse::<Secret>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
            assert!(
                !error.contains("hunter2") && !error.contains("6Xb"),
                "{text}: {error}"
            );
        }
        assert_eq!(
            format!("{:?}", secrets(&[WHSEC, WHSK])),
            "[Secret(v1,…), Secret(v1a,…)]"
        );
    }

    proptest! {
        #[test]
        fn a_change_anywhere_is_found(body in proptest::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let texts = [WHSEC, WHSK];
            let signatures = sign(&secrets(&texts), ID, TIME, &body);
            prop_assert_eq!(check(&texts, &signatures, &body, TIME), Ok(()));
            let mut changed = body.clone();
            changed[at.index(body.len())] ^= 1 << bit;
            prop_assert_eq!(check(&texts, &signatures, &changed, TIME), Err(Unverified::Wrong));
        }

        #[test]
        fn whatever_arrives_is_answered(id in any::<String>(), timestamp in any::<String>(), signatures in any::<String>(), body in any::<Vec<u8>>()) {
            let now = Duration::from_secs(TIME);
            prop_assert!(verify(&secrets(&[WHSEC]), &id, &timestamp, &signatures, &body, now, TOLERANCE).is_err());
        }
    }
}

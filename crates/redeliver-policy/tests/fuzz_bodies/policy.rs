//! A policy file in TOML and in JSON: refused in words, or a sound policy that waits within its bounds and comes back
//! from a file as it is.

use std::time::Duration;

use redeliver_policy::{Class, Decision, Moment, Policy, Session};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(policy) = toml::from_str::<Policy>(text) {
        behaves(&policy);
    }
    match serde_json::from_str::<Policy>(text) {
        Ok(policy) => behaves(&policy),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn behaves(policy: &Policy) {
    assert_eq!(policy.validate(), Ok(()));
    let written = toml::to_string(policy).expect("a policy is a table");
    assert_eq!(
        toml::from_str::<Policy>(&written).as_ref(),
        Ok(policy),
        "{written}"
    );
    let mut session = Session::new(policy, Moment::ZERO);
    let mut previous = Duration::ZERO;
    for retry in 0..8 {
        let (low, high) = policy.bounds(retry);
        let entropy = u64::from(retry).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        previous = policy.wait(retry, previous, entropy);
        assert!(
            low <= previous && previous <= high,
            "{low:?} {previous:?} {high:?}"
        );
        if let Decision::Retry { after, .. } = session.on_failure(Moment::ZERO, Class::Transient, entropy) {
            assert!(policy.deadline.is_none_or(|deadline| after < deadline));
        }
    }
    let _ = (policy.to_string(), policy.bounds(u32::MAX));
}

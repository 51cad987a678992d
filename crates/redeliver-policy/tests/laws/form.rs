//! Laws of the written form: what validates comes back from a file as it was, and what does not is named.

use std::time::Duration;

use proptest::prelude::*;
use redeliver_policy::{Backoff, Jitter, Policy, Reset, WaitList};

use crate::strategies::{any_policy, sound_policy};

const FIELDS: [&str; 13] = [
    "preset",
    "backoff",
    "base",
    "step",
    "max",
    "multiplier",
    "waits",
    "jitter",
    "max_attempts",
    "deadline",
    "attempt_timeout",
    "retry_after_max",
    "idempotent",
];

fn round_trips(policy: &Policy) -> Result<(), TestCaseError> {
    let json = serde_json::to_string(policy).expect("a sound policy has a written form");
    prop_assert_eq!(
        &serde_json::from_str::<Policy>(&json).expect("a sound policy has a written form"),
        policy,
        "{}",
        json
    );
    let toml = toml::to_string(policy).expect("a sound policy has a written form");
    prop_assert_eq!(
        &toml::from_str::<Policy>(&toml).expect("a sound policy has a written form"),
        policy,
        "{}",
        toml
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_sound_policy_comes_back_from_a_file_as_it_was(policy in sound_policy()) {
        prop_assert_eq!(policy.validate(), Ok(()));
        round_trips(&policy)?;
    }

    #[test]
    fn whatever_validates_round_trips_and_whatever_does_not_is_refused_by_name(policy in any_policy()) {
        match policy.validate() {
            Ok(()) => {
                let toml = toml::to_string(&policy).unwrap();
                prop_assert_eq!(toml::from_str::<Policy>(&toml), Ok(policy));
            }
            Err(error) => {
                prop_assert!(FIELDS.contains(&error.field), "{}", error);
                prop_assert!(!error.value.is_empty() && !error.rule.is_empty());
                let line = error.to_string();
                prop_assert!(line.starts_with(error.field) && !line.contains('\n'));
            }
        }
    }

    #[test]
    fn every_wrong_value_names_its_field(field in prop::sample::select(&FIELDS[..]), value in wrong_value()) {
        let json = format!("{{\"{field}\": {value}}}");
        let error = serde_json::from_str::<Policy>(&json).unwrap_err().to_string();
        prop_assert!(error.contains(field), "{}: {}", json, error);
        prop_assert!(!error.contains('\n'));
    }

    #[test]
    fn any_text_is_a_policy_or_an_error(text in "\\PC{0,80}|[a-z_]{1,16} = (\"[0-9a-z ]{0,9}\"|[0-9.]{1,9})") {
        if let Ok(policy) = toml::from_str::<Policy>(&text) {
            prop_assert_eq!(policy.validate(), Ok(()));
        }
        if let Ok(policy) = serde_json::from_str::<Policy>(&text) {
            prop_assert_eq!(policy.validate(), Ok(()));
        }
    }

    #[test]
    fn a_reset_round_trips_with_its_duration_as_text(nanos in any::<u64>(), kind in 0usize..4) {
        let span = Duration::from_nanos(nanos);
        let reset = [Reset::Never, Reset::AfterFirstItem, Reset::AfterUp(span), Reset::Decay(span)][kind];
        let json = serde_json::to_string(&reset).unwrap();
        prop_assert!(!json.contains("nanos"), "{}", json);
        prop_assert_eq!(serde_json::from_str::<Reset>(&json).unwrap(), reset);
    }
}

/// Values that no field takes.
fn wrong_value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "-1",
        "1.5e300",
        "-0.5",
        "\"\"",
        "\"soon\"",
        "\"5\"",
        "[[]]",
        "[1]",
        "{\"a\": {\"b\": 1}}",
        "18446744073709551616",
        "[\"-1s\"]",
    ])
    .prop_map(String::from)
}

#[test]
fn errors_read_as_one_line_with_field_value_and_rule() {
    for (json, message) in [
        (
            r#"{"base": "5"}"#,
            "base = \"5\": \"5\" has no unit; write a duration as 200ms",
        ),
        (
            r#"{"base": 5}"#,
            "base = 5: must be a duration in quotes, such as \"200ms\"",
        ),
        (
            r#"{"max_attempts": 5000000000}"#,
            "max_attempts = 5000000000: must be a whole number from 1 to 4294967295, or \"unlimited\"",
        ),
        (
            r#"{"max_attempts": "many"}"#,
            "max_attempts = \"many\": must be a whole number from 1",
        ),
        (r#"{"max_attempts": 0}"#, "max_attempts = 0: must be at least 1"),
        (
            r#"{"idempotent": "yes"}"#,
            "idempotent = \"yes\": must be true or false",
        ),
        (
            r#"{"waits": "1s"}"#,
            "waits = \"1s\": must be a list of durations",
        ),
        (
            r#"{"waits": ["1s", "x"]}"#,
            "waits = \"x\": \"x\" does not start with a number",
        ),
        (
            r#"{"waits": ["1s"], "multiplier": 3}"#,
            "multiplier = 3: only backoff = \"exponential\" has a multiplier, this one is list",
        ),
        (
            r#"{"waits": ["1s"], "step": "1s"}"#,
            "step = \"1s\": only backoff = \"linear\" has a step, this one is list",
        ),
        (
            r#"{"waits": ["1s"], "max": "0s"}"#,
            "max = 0s: must be longer than 0s",
        ),
        (r#"{"backoff": "list"}"#, "waits: backoff = \"list\" needs waits"),
        (
            r#"{"backoff": "quadratic"}"#,
            "backoff = \"quadratic\": must be fixed, linear, exponential, fibonacci or list",
        ),
        (
            r#"{"preset": "heroic"}"#,
            "preset = \"heroic\": must be one of interactive, standard, batch, reconnect, aws-standard, grpc, finagle, delivery",
        ),
        (
            r#"{"jitter": "additive:11"}"#,
            "jitter = additive:11: the factor must be a number from 0 to 10",
        ),
        (
            r#"{"jitter": 0.3}"#,
            "jitter = 0.3: must be text, such as \"full\"",
        ),
        (
            r#"{"multiplier": "2"}"#,
            "multiplier = \"2\": must be a number, such as 1.5",
        ),
        (
            r#"{"speed": 1}"#,
            "unknown field `speed`, expected one of `preset`",
        ),
    ] {
        let error = serde_json::from_str::<Policy>(json).unwrap_err().to_string();
        assert!(error.starts_with(message), "{json}: {error}");
    }
}

#[test]
fn forms_that_could_lose_something_lose_nothing() {
    let secs = Duration::from_secs;
    let fixed_with_room = Policy::new(Backoff::Fixed { base: secs(1) }, secs(5)).jitter(Jitter::Decorrelated);
    let list_below_its_longest = Policy::new(Backoff::List(WaitList::new(&[secs(1), secs(90)])), secs(30));
    let unlimited = Policy::INTERACTIVE
        .unlimited_attempts()
        .retry_after_max(Duration::ZERO)
        .idempotent(false);
    let longest = Policy::exponential(secs(1), Duration::MAX)
        .multiplier(1.6)
        .deadline(Duration::MAX);
    for policy in [fixed_with_room, list_below_its_longest, unlimited, longest] {
        round_trips(&policy).unwrap();
    }
}

#[test]
fn what_is_left_out_comes_from_the_preset() {
    let read = |toml: &str| toml::from_str::<Policy>(toml).unwrap();
    assert_eq!(read(""), Policy::STANDARD);
    assert_eq!(
        read("preset = 'grpc'\nmultiplier = 2"),
        Policy::GRPC.multiplier(2.0)
    );
    assert_eq!(
        read("preset = 'reconnect'\nmax_attempts = 4"),
        Policy::RECONNECT.max_attempts(4)
    );
}

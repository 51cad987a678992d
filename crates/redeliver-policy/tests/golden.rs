//! The tables that the source documents print, and the totals that follow from their formulas.

use std::time::Duration;

use redeliver_policy::{Jitter, PRESETS, Policy, Wait};

fn millis(duration: Duration) -> u64 {
    assert_eq!(
        duration.subsec_nanos() % 1_000_000,
        0,
        "{duration:?} is not whole milliseconds"
    );
    u64::try_from(duration.as_millis()).expect("shorter than for ever")
}

fn ranges(policy: Policy, waits: u32) -> Vec<(u64, u64)> {
    (0..waits)
        .map(|retry| policy.bounds(retry))
        .map(|(shortest, longest)| (millis(shortest), millis(longest)))
        .collect()
}

fn last(policy: Policy, at_most: u32) -> Wait {
    *policy.forecast(at_most).last().expect("at least one wait")
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const DOCUMENT_002: Policy = Policy::exponential(ms(1_000), ms(30_000))
    .jitter(Jitter::Additive(0.3))
    .max_attempts(7);

#[test]
fn the_table_of_002_for_attempts_0_to_5() {
    let table = [
        (1_000, 1_300),
        (2_000, 2_600),
        (4_000, 5_200),
        (8_000, 10_400),
        (16_000, 20_800),
        (30_000, 39_000),
    ];
    assert_eq!(ranges(DOCUMENT_002, 6), table);
    let waits = DOCUMENT_002.forecast(u32::MAX);
    assert_eq!(waits.len(), 6);
    assert_eq!(
        (millis(waits[5].total_shortest), millis(waits[5].total_longest)),
        (61_000, 79_300),
        "002 says about 80 s"
    );
    assert_eq!(millis(waits[5].total_mean), 70_150);
}

#[test]
fn the_table_of_003_with_ten_percent_either_way() {
    let plain: Vec<u64> = (0..8)
        .map(|retry| Policy::RECONNECT.backoff.wait(retry, Policy::RECONNECT.max_delay))
        .map(|wait| wait.as_secs())
        .collect();
    assert_eq!(plain, [1, 2, 4, 8, 16, 30, 30, 30]);
    let table = [
        (900, 1_100),
        (1_800, 2_200),
        (3_600, 4_400),
        (7_200, 8_800),
        (14_400, 17_600),
        (27_000, 33_000),
        (27_000, 33_000),
    ];
    assert_eq!(ranges(Policy::RECONNECT, 7), table);
    assert_eq!(Policy::RECONNECT.max_attempts, None);
}

#[test]
fn the_full_jitter_of_000_is_anything_up_to_the_backoff() {
    let policy = Policy::exponential(ms(1_000), ms(60_000))
        .jitter(Jitter::Full)
        .max_attempts(10);
    let table = [1, 2, 4, 8, 16, 32, 60, 60, 60].map(|seconds| (0, seconds * 1_000));
    assert_eq!(ranges(policy, 9), table);
}

#[test]
fn the_twenty_percent_of_004() {
    let policy = Policy::exponential(ms(1_000), ms(60_000)).jitter(Jitter::Proportional(0.2));
    let table = [
        (800, 1_200),
        (1_600, 2_400),
        (3_200, 4_800),
        (6_400, 9_600),
        (12_800, 19_200),
        (25_600, 38_400),
        (48_000, 72_000),
    ];
    assert_eq!(ranges(policy, 7), table);
}

#[test]
fn the_policy_of_001() {
    let policy = Policy::exponential(ms(200), ms(2_500))
        .jitter(Jitter::Full)
        .max_attempts(5)
        .attempt_timeout(ms(1_200))
        .deadline(ms(8_000));
    assert_eq!(policy.validate(), Ok(()));
    assert_eq!(ranges(policy, 4), [(0, 200), (0, 400), (0, 800), (0, 1_600)]);
    assert_eq!(millis(last(policy, 9).total_longest), 3_000);
}

/// What the waits of each preset come to at their shortest and longest, in milliseconds.
///
/// 002 states about 4.5 s, 1 min 30 s and 30 min for its three. Its own loop makes `maxRetries` attempts in all, so it waits one time
/// less: 0.36 s, 19.5 s and 30 min 22.5 s at the longest, of which only the last is what it states. Were `maxRetries` the number
/// of waits, it would be 0.84 s, 40.3 s and 37 min 52.5 s.
#[test]
fn the_true_totals_of_the_presets() {
    let limited = [
        ("interactive", 300, 360),
        ("standard", 15_000, 19_500),
        ("batch", 1_215_000, 1_822_500),
        ("aws-standard", 0, 3_000),
        ("delivery", 228_600_000, 279_400_000),
    ];
    for (name, shortest, longest) in limited {
        let wait = last(Policy::preset(name).unwrap(), u32::MAX);
        let totals = (millis(wait.total_shortest), millis(wait.total_longest));
        assert_eq!(totals, (shortest, longest), "{name}");
    }
    let as_waits = [
        (Policy::INTERACTIVE.max_attempts(4), 840),
        (Policy::STANDARD.max_attempts(6), 40_300),
        (Policy::BATCH.max_attempts(11), 2_272_500),
    ];
    for (policy, longest) in as_waits {
        assert_eq!(millis(last(policy, u32::MAX).total_longest), longest);
    }
    let unlimited = [
        ("reconnect", 81_900, 100_100),
        ("grpc", 34_458, 51_687),
        ("finagle", 307_500, 615_000),
    ];
    for (name, shortest, longest) in unlimited {
        let wait = last(Policy::preset(name).unwrap(), 7);
        let totals = (wait.total_shortest.as_millis(), wait.total_longest.as_millis());
        assert_eq!(totals, (shortest, longest), "{name}, first 7 waits");
    }
}

#[test]
fn the_numbers_of_every_preset() {
    let shown: Vec<String> = PRESETS
        .iter()
        .map(|preset| format!("{}: {}", preset.name, preset.policy))
        .collect();
    assert_eq!(
        shown,
        [
            "interactive: exponential from 100ms to 3s, 3 attempts, jitter additive:0.2",
            "standard: exponential from 1s to 30s, 5 attempts, jitter additive:0.3",
            "batch: exponential from 5s to 5m, 10 attempts, jitter additive:0.5",
            "reconnect: exponential from 1s to 30s, unlimited attempts, jitter proportional:0.1",
            "aws-standard: exponential from 1s to 20s, 3 attempts, jitter full",
            "grpc: exponential ×1.6 from 1s to 2m, unlimited attempts, jitter proportional:0.2",
            "finagle: exponential from 5s to 5m, unlimited attempts, jitter equal",
            "delivery: exponential ×3 from 5s to 6h, 20 attempts, jitter proportional:0.1, deadline 7d",
        ]
    );
    let grpc = [1_000, 1_600, 2_560, 4_096, 6_553].map(|millis: u128| millis);
    let waits: Vec<u128> = (0..5)
        .map(|retry| {
            Policy::GRPC
                .backoff
                .wait(retry, Policy::GRPC.max_delay)
                .as_millis()
        })
        .collect();
    assert_eq!(waits, grpc);
}

#[test]
fn the_readmes_policy_file_is_one() {
    let readme = include_str!("../../../README.md");
    let file = readme
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let policy: Policy = toml::from_str(file).unwrap();
    assert_eq!(policy.max_attempts, Some(7));
    assert_eq!(policy.deadline, Some(Duration::from_secs(90)));
}

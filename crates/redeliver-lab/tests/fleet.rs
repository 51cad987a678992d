//! What must hold of every fleet, and what retries are known to do to a server.

use std::time::Duration;

use redeliver_lab::fleet::{Contender, Happening, MAX_CLIENTS, OutageKind, Report, Scenario};
use redeliver_policy::{BreakerRule, BudgetRule, Class, Jitter, Moment, Policy, StopReason};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// 1,000 clients, 200 requests a second, ten seconds down.
fn scenario() -> Scenario {
    Scenario::new(1_000, 200.0, Duration::from_secs(10))
}

const GROWING: Policy = Policy::exponential(ms(100), ms(5_000))
    .unlimited_attempts()
    .deadline(Duration::from_secs(60));
const FIXED: Policy = Policy::fixed(ms(100))
    .jitter(Jitter::None)
    .unlimited_attempts()
    .deadline(Duration::from_secs(60));

fn run(scenario: &Scenario, contender: &Contender) -> Report {
    scenario.run(contender).expect("the scenario is in range")
}

/// Everything that happened, in order.
fn history(scenario: &Scenario, contender: &Contender) -> (Vec<(Moment, u32, Happening)>, Report) {
    let mut history = Vec::new();
    let report = scenario.run_observed(contender, |now, client, happening| {
        history.push((now, client, happening));
    });
    (history, report.expect("the scenario is in range"))
}

fn scenarios() -> Vec<(Scenario, Contender)> {
    let hang = Scenario {
        outage_kind: OutageKind::Hang,
        queue: Some(900),
        run_for: Duration::from_secs(40),
        ..scenario()
    };
    let told = Scenario {
        retry_after: Some(Duration::from_secs(2)),
        ..scenario()
    };
    let limited = Policy::STANDARD.deadline(Duration::from_secs(20));
    vec![
        (scenario(), Contender::new("equal", GROWING.jitter(Jitter::Equal))),
        (
            told,
            Contender::new("additive", GROWING.jitter(Jitter::Additive(0.3))),
        ),
        (hang.clone(), Contender::new("fixed", FIXED)),
        (hang, Contender::new("standard", limited)),
        (
            scenario(),
            Contender::new("all", GROWING)
                .budget(BudgetRule::ratio(0.1))
                .breaker(BreakerRule::DEFAULT),
        ),
    ]
}

#[test]
fn every_call_ends_exactly_once_and_is_counted_once() {
    for (scenario, contender) in scenarios() {
        let (history, report) = history(&scenario, &contender);
        let outage_at = Moment::ZERO.plus(scenario.outage_at);
        let mut began: Vec<Option<Moment>> = vec![None; scenario.clients as usize];
        let (mut calls, mut requests, mut succeeded, mut lost) = (0, 0, 0, 0);
        for (now, client, happening) in history {
            let call = &mut began[client as usize];
            let counted = u64::from(call.unwrap_or(now) >= outage_at);
            match happening {
                Happening::Call => {
                    assert_eq!(call.replace(now), None, "a client makes one call at a time");
                    calls += counted;
                }
                Happening::Request => requests += counted,
                Happening::Failure(_) => assert!(call.is_some()),
                Happening::Success => {
                    assert!(call.take().is_some(), "only a call that goes on can end");
                    succeeded += counted;
                }
                Happening::GaveUp(_) => {
                    assert!(call.take().is_some(), "only a call that goes on can end");
                    lost += counted;
                }
            }
        }
        let unfinished = began
            .iter()
            .flatten()
            .filter(|began| **began >= outage_at)
            .count() as u64;
        let name = contender.name();
        assert_eq!(calls, succeeded + lost + unfinished, "{name}");
        let reported = (report.calls, report.attempts, report.succeeded, report.lost);
        assert_eq!(reported, (calls, requests, succeeded, lost), "{name}");
        assert_eq!(report.unfinished, unfinished, "{name}");
        assert_eq!(report.lost_by.values().sum::<u64>(), lost, "{name}");
    }
}

#[test]
fn no_retry_comes_before_its_policys_shortest_wait_or_after_its_deadline() {
    for (scenario, contender) in scenarios() {
        let policy = contender.policy();
        let (history, _) = history(&scenario, &contender);
        let mut calls = vec![(Moment::ZERO, 0u32, None); scenario.clients as usize];
        let (mut retries, mut hinted) = (0, 0);
        for (now, client, happening) in history {
            let (began, failed, last_failure) = &mut calls[client as usize];
            match happening {
                Happening::Call => (*began, *failed, *last_failure) = (now, 0, None),
                Happening::Failure(failure) => {
                    *failed += 1;
                    *last_failure = Some((now, failure.class));
                }
                Happening::Request => {
                    let deadline = policy.deadline.expect("every policy here has one");
                    assert!(now.since(*began) < deadline);
                    let Some((at, class)) = *last_failure else {
                        continue;
                    };
                    retries += 1;
                    let shortest = match class {
                        Class::Throttled { after: Some(hint) } => {
                            hinted += 1;
                            hint
                        }
                        _ => policy.bounds(*failed - 1).0,
                    };
                    assert!(now.since(at) >= shortest, "{}: {now:?}", contender.name());
                }
                Happening::Success | Happening::GaveUp(_) => {}
            }
        }
        assert!(retries > 50, "{}: {retries}", contender.name());
        assert_eq!(hinted > 0, scenario.retry_after.is_some());
    }
}

#[test]
fn a_budget_holds_all_retries_together_to_its_ratio() {
    let ratio = 0.1;
    let contender = Contender::new("budget", GROWING).budget(BudgetRule::ratio(ratio));
    for outage_kind in [OutageKind::Refuse, OutageKind::Hang] {
        let scenario = Scenario {
            outage_kind,
            ..scenario()
        };
        let (history, report) = history(&scenario, &contender);
        let count = |wanted| {
            history
                .iter()
                .filter(|(_, _, happening)| *happening == wanted)
                .count() as f64
        };
        let (calls, requests) = (count(Happening::Call), count(Happening::Request));
        assert!(requests > calls, "some retries are made");
        assert!(requests <= calls * (1.0 + ratio), "{requests} for {calls}");
        assert!(report.amplification <= 1.0 + ratio);
        assert!(report.lost_by[StopReason::Budget.as_str()] > 0);
    }
}

#[test]
fn jitter_takes_the_spikes_off_a_server_that_comes_back() {
    let fixed = run(&scenario(), &Contender::new("fixed", FIXED));
    let in_step = run(
        &scenario(),
        &Contender::new("exponential", GROWING.jitter(Jitter::None)),
    );
    let full = run(&scenario(), &Contender::new("full", GROWING.jitter(Jitter::Full)));
    assert!(fixed.peak_load > full.peak_load);
    assert!(fixed.peak_after > 10 * full.peak_after, "{}", fixed.peak_after);
    assert!(in_step.peak_after > 2 * full.peak_after, "{}", in_step.peak_after);
    assert!(in_step.recover_ms.unwrap() > 3 * full.recover_ms.unwrap());
    assert!(fixed.amplification > 3.0 * full.amplification);
    assert_eq!(full.success_rate, 1.0);
}

#[test]
fn a_queue_longer_than_the_clients_patience_keeps_the_server_down_unless_retries_are_bounded() {
    let scenario = Scenario {
        outage_kind: OutageKind::Hang,
        queue: Some(1_000),
        ..Scenario::new(2_000, 200.0, Duration::from_secs(10))
    };
    let storm = run(&scenario, &Contender::new("full", GROWING));
    assert_eq!(storm.recover_ms, None);
    assert!(storm.wasted > 10_000, "{}", storm.wasted);
    for bounded in [
        Contender::new("budget", GROWING).budget(BudgetRule::ratio(0.1)),
        Contender::new("breaker", GROWING).breaker(BreakerRule::DEFAULT),
    ] {
        let report = run(&scenario, &bounded);
        assert!(report.recover_ms.is_some(), "{}", report.name);
    }
}

#[test]
fn a_breaker_spares_the_server_and_comes_back_by_itself() {
    let bare = run(&scenario(), &Contender::new("full", GROWING));
    let contender = Contender::new("breaker", GROWING).breaker(BreakerRule::DEFAULT);
    let broken = run(&scenario(), &contender);
    let during = |report: &Report| {
        report.series[11..20]
            .iter()
            .map(|second| second.load)
            .sum::<u64>()
    };
    assert!(during(&broken) * 10 < during(&bare), "{}", during(&broken));
    assert!(broken.lost_by[StopReason::Breaker.as_str()] > 0);
    assert!(broken.recover_ms.is_some());
}

#[test]
fn the_fleet_offers_what_it_is_said_to_and_the_server_never_does_more_than_it_can() {
    let scenario = Scenario {
        outage_at: Duration::from_secs(100),
        run_for: Duration::from_secs(200),
        ..scenario()
    };
    let report = run(&scenario, &Contender::new("fixed", FIXED));
    let normal: u64 = report.series[..100].iter().map(|second| second.load).sum();
    assert!(
        (normal as f64 / 100.0 / scenario.normal_load() - 1.0).abs() < 0.05,
        "{normal}"
    );
    assert!(report.series.iter().all(|second| second.succeeded <= 201));
    assert!(report.series[100..110].iter().all(|second| second.succeeded == 0));
    assert_eq!(report.series.len(), 200);
}

#[test]
fn a_seed_gives_the_same_bytes() {
    for (scenario, contender) in scenarios() {
        let bytes = |scenario: &Scenario| serde_json::to_vec(&run(scenario, &contender)).expect("plain data");
        let first = bytes(&scenario);
        assert_eq!(first, bytes(&scenario));
        let reseeded = Scenario {
            seed: scenario.seed + 1,
            ..scenario
        };
        assert_ne!(first, bytes(&reseeded));
    }
}

#[test]
fn a_handful_of_clients_and_a_tiny_server_work_too() {
    let tiny = Scenario::new(1, 0.1, Duration::from_secs(1));
    assert!(run(&tiny, &Contender::new("full", GROWING)).calls > 0);
    let idle = Scenario {
        herd: 0.0,
        ..Scenario::new(3, 1_000_000.0, Duration::from_secs(1))
    };
    let once = Contender::new("none", FIXED.max_attempts(1));
    let report = run(&idle, &once);
    assert_eq!(report.amplification, 1.0);
    assert!(idle.normal_load() < 60.0);
}

#[test]
fn numbers_out_of_range_are_named() {
    type Spoil = fn(&mut Scenario);
    let fields: [(&str, Spoil); 9] = [
        ("clients", |scenario| scenario.clients = MAX_CLIENTS + 1),
        ("capacity", |scenario| scenario.capacity = f64::NAN),
        ("load", |scenario| scenario.load = -0.5),
        ("herd", |scenario| scenario.herd = 1.5),
        ("process", |scenario| scenario.process = 0),
        ("queue", |scenario| scenario.queue = Some(0)),
        ("outage", |scenario| scenario.outage = Duration::MAX),
        ("outage-at", |scenario| scenario.outage_at = Duration::ZERO),
        ("for", |scenario| scenario.run_for = Duration::from_secs(1)),
    ];
    for (field, spoil) in fields {
        let mut scenario = scenario();
        spoil(&mut scenario);
        assert_eq!(scenario.validate().unwrap_err().field, field);
    }
}

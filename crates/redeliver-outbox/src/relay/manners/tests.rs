use super::*;
use crate::{DeadReason, Timestamp, live::LiveState};

const TOOK: Duration = Duration::from_millis(5);

fn held(cause: HoldCause) -> Hold {
    Hold {
        destination: "billing".to_owned(),
        kind: cause.kind(),
        cause,
        detail: "maintenance".to_owned(),
        who: "ana".to_owned(),
        since: Timestamp::default(),
    }
}

#[test]
fn a_hold_lets_nothing_go_and_ends_on_a_ramp() {
    let mut conduct = Conduct::new(Manners::default(), 16);
    run(&mut conduct, 0, 60_000, false, &Outcome::Delivered);
    // The breaker may be open by then: who resumes it says that it is well.
    run(&mut conduct, 60_000, 60_100, false, &down());
    let now = Moment::from_millis(60_100);
    let under_way = conduct.begin(false, now, 0);
    assert!(conduct.hold(held(HoldCause::Hand), now));
    assert!(!conduct.hold(held(HoldCause::Hand), now), "it was held before");
    assert_eq!(run(&mut conduct, 60_100, 120_000, false, &Outcome::Delivered), 0);
    assert!(conduct.allowance(now).parked);
    assert_eq!(conduct.next_chance(now), None, "time does not end it");
    if let Some(begun) = under_way {
        assert_eq!(
            conduct.ended(begun, &Outcome::Delivered, TOOK, Tried::default(), now),
            None
        );
    }
    let (now, time) = (Moment::from_millis(120_000), Timestamp::from_millis(5));
    assert_eq!(conduct.live(now, time).state, LiveState::Paused);
    assert_eq!(conduct.live(now, time).detail, "maintenance");
    assert!(conduct.resume(now) && !conduct.resume(now));
    assert_eq!(conduct.live(now, time).state, LiveState::Ramping);
    let first = run(&mut conduct, 120_000, 121_000, false, &Outcome::Delivered);
    let usual = 16 * 1_000;
    assert!(
        (1..usual).contains(&first),
        "{first} in the first second, {usual} before"
    );
}

#[test]
fn who_is_gone_or_rejects_everything_alike_is_held() {
    let mut conduct = Conduct::new(Manners::default(), 16);
    let mut end = |outcome: &Outcome, at: u64| {
        let now = Moment::from_millis(at);
        let begun = conduct.begin(false, now, 0).unwrap();
        conduct.ended(begun, outcome, TOOK, Tried::default(), now)
    };
    let gone = Outcome::Disable {
        reason: "410 Gone".to_owned(),
    };
    let alarm = end(&gone, 0).unwrap();
    assert_eq!(
        (alarm.cause, alarm.detail.as_str()),
        (HoldCause::Gone, "410 Gone")
    );
    let rejected = Outcome::Reject {
        kind: DeadReason::Permanent,
        reason: "401 Unauthorized".to_owned(),
    };
    let first = (1..100).find_map(|at| Some((at, end(&rejected, at)?)));
    let (at, alarm) = first.unwrap();
    assert_eq!((at, alarm.cause), (40, HoldCause::Surge));
    assert!(alarm.detail.contains("40 of the last 50"), "{}", alarm.detail);
    assert!(conduct.hold(held(HoldCause::Surge), Moment::from_millis(200)));
    conduct.resume(Moment::from_millis(300));
    let now = Moment::from_millis(10_000);
    let begun = conduct.begin(false, now, 0).unwrap();
    assert_eq!(
        conduct.ended(begun, &rejected, TOOK, Tried::default(), now),
        None,
        "it begins to count again"
    );
}

#[test]
fn the_figures_tell_until_when_and_why() {
    let mut conduct = Conduct::new(Manners::default(), 16);
    let time = Timestamp::from_millis(1_000_000);
    let now = Moment::from_millis(100);
    assert_eq!(conduct.live(now, time).state, LiveState::Well);
    run(&mut conduct, 100, 200, false, &down());
    let now = Moment::from_millis(200);
    let open = conduct.live(now, time);
    assert_eq!(
        (open.state, open.detail.as_str()),
        (LiveState::Open, "connection refused")
    );
    let until = open.until.unwrap();
    assert!(
        until > time && until <= time.plus(Duration::from_secs(30)),
        "{until}"
    );
    // The twentieth failure in a row was in the second millisecond.
    assert_eq!(open.since, Some(Timestamp::from_millis(1_000_000 - 99)));
    assert_eq!((open.limit, open.ceiling), (0, 16));
    assert!(open.failed_per_second > 0.0 && open.latency_p50_ms.is_some());
}

fn down() -> Outcome {
    Outcome::Retry {
        class: Class::Transient,
        reason: "connection refused".to_owned(),
    }
}

/// Sends whatever may go in one millisecond after the other, and says how many were sent.
fn run(conduct: &mut Conduct, from: u64, to: u64, retry: bool, outcome: &Outcome) -> u64 {
    let mut sent = 0;
    for millis in from..to {
        let now = Moment::from_millis(millis);
        for _ in 0..conduct.allowance(now).sends {
            let Some(begun) = conduct.begin(retry, now, 0) else {
                break;
            };
            conduct.ended(begun, outcome, TOOK, Tried::default(), now);
            sent += 1;
        }
    }
    sent
}

#[test]
fn an_outage_costs_a_probe_each_time_and_ends_on_a_ramp() {
    let manners = Manners {
        rate: Some(100.0),
        ..Manners::default()
    };
    let mut conduct = Conduct::new(manners, 16);
    let before = run(&mut conduct, 1_000, 121_000, false, &Outcome::Delivered);
    assert!((11_900..=12_100).contains(&before), "{before} in two minutes");

    let until_open = run(&mut conduct, 121_000, 136_000, false, &down());
    assert!(conduct.allowance(Moment::from_millis(136_000)).parked);
    assert!(until_open <= 1_100, "{until_open} until the breaker opened");
    let during = run(&mut conduct, 136_000, 736_000, false, &down());
    assert!((19..=21).contains(&during), "{during} probes in ten minutes");

    let manners = Manners::default();
    conduct.manners = manners;
    let probe = conduct.next_chance(Moment::from_millis(736_000));
    let well = probe.map_or(736_000, |probe| probe.as_nanos() / 1_000_000);
    let first_minute = run(&mut conduct, well, well + 60_000, false, &Outcome::Delivered);
    assert!(
        (3_000..=12_000).contains(&first_minute),
        "{first_minute} in the first minute; 6000 a minute before"
    );
    assert!(!conduct.allowance(Moment::from_millis(well + 60_000)).parked);
}

#[test]
fn an_outage_after_a_busy_spell_is_noticed_at_once() {
    let mut conduct = Conduct::new(Manners::default(), 16);
    run(&mut conduct, 0, 5_000, false, &Outcome::Delivered);
    let tried = run(&mut conduct, 5_000, 6_000, false, &down());
    assert_eq!(tried, 20);
    let mut conduct = Conduct::new(Manners::default().without_breaker(), 16);
    let tried = run(&mut conduct, 0, 1_000, false, &down());
    assert!(tried > 1_000, "{tried} without a breaker");
}

#[test]
fn a_rest_that_one_message_was_asked_for_holds_all() {
    let now = Moment::from_millis(1_000);
    let wait = Duration::from_secs(7);
    let throttled = Outcome::Retry {
        class: Class::throttled_for(wait),
        reason: "429".to_owned(),
    };
    let open = Outcome::Ambiguous {
        reason: "500".to_owned(),
        asked: Some(wait),
    };
    for outcome in [throttled, open] {
        let mut conduct = Conduct::new(Manners::default(), 16);
        let begun = conduct.begin(false, now, 0).unwrap();
        conduct.ended(begun, &outcome, TOOK, Tried::default(), now);
        assert_eq!(run(&mut conduct, 1_000, 8_000, false, &Outcome::Delivered), 0);
        assert_eq!(conduct.next_chance(now), Some(Moment::from_millis(8_000)));
        assert!(run(&mut conduct, 8_000, 8_100, false, &Outcome::Delivered) > 0);
    }
}

#[test]
fn retries_stay_within_their_budget() {
    let mut conduct = Conduct::new(Manners::default(), 64);
    let retried = run(&mut conduct, 1_000, 61_000, true, &Outcome::Delivered);
    assert!(
        retried <= 20 * 60 + 200,
        "{retried} retries in a minute, and nothing else"
    );
    assert!(
        run(&mut conduct, 61_000, 61_100, false, &Outcome::Delivered) > 1_000,
        "the others go on"
    );
}

#[test]
fn who_throttles_is_asked_less_often_until_it_does_not() {
    let mut conduct = Conduct::new(Manners::default(), 64);
    // A server that takes fifty a second and refuses the rest without a hint.
    let (mut taken, mut refused) = (0_u32, 0_u32);
    let (mut second, mut in_second) = (0, 0);
    for millis in 0..240_000_u64 {
        let now = Moment::from_millis(millis);
        if millis / 1_000 != second {
            (second, in_second) = (millis / 1_000, 0);
        }
        for _ in 0..conduct.allowance(now).sends {
            let Some(begun) = conduct.begin(false, now, 0) else {
                break;
            };
            in_second += 1;
            let outcome = if in_second <= 50 {
                Outcome::Delivered
            } else {
                Outcome::Retry {
                    class: Class::THROTTLED,
                    reason: "429".to_owned(),
                }
            };
            let refusal = outcome != Outcome::Delivered;
            conduct.ended(begun, &outcome, TOOK, Tried::default(), now);
            if second >= 180 {
                taken += u32::from(!refusal);
                refused += u32::from(refusal);
            }
        }
    }
    assert!(taken > 60 * 40, "{taken} taken in the fourth minute");
    assert!(refused * 4 < taken, "{refused} refused, {taken} taken");
}

/// A server that refuses three in ten whatever the load, 64 at a time, each answered after 10 ms: how many it takes in a minute.
fn refusing_by_chance(after: Option<Duration>) -> u32 {
    let mut conduct = Conduct::new(Manners::default(), 64);
    let mut under_way = std::collections::VecDeque::new();
    let (mut taken, mut drawn) = (0_u32, 1_u32);
    for millis in 0..60_000_u64 {
        let now = Moment::from_millis(millis);
        while under_way
            .front()
            .is_some_and(|&(begun_at, _)| begun_at + 10 <= millis)
        {
            let Some((_, begun)) = under_way.pop_front() else {
                break;
            };
            drawn = drawn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let outcome = if (drawn >> 16) % 10 < 3 {
                let (class, reason) = (Class::Throttled { after }, "503".to_owned());
                Outcome::Retry { class, reason }
            } else {
                taken += 1;
                Outcome::Delivered
            };
            conduct.ended(begun, &outcome, TOOK, Tried::default(), now);
        }
        for _ in 0..conduct.allowance(now).sends {
            under_way.extend(conduct.begin(false, now, 0).map(|begun| (millis, begun)));
        }
    }
    taken
}

#[test]
fn who_refuses_by_chance_is_not_slowed_down_to_nothing() {
    let taken = refusing_by_chance(None);
    assert!(taken > 60 * 3_000, "{taken} of 4480 a second");
    let taken = refusing_by_chance(Some(Duration::from_secs(1)));
    assert!(taken > 50 * 3_000, "{taken} of 4480 a second");
}

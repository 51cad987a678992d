use std::time::Duration;

use redeliver::{BudgetRule, Policy};
use redeliver_outbox::{
    config::{Config, RelaySettings},
    desk::Retention,
    destination::{Expects, LanePolicy, Manners, SurgeRule},
    store::Names,
};

use crate::{SECRET, parse};

#[test]
fn topics_lead_to_destinations() {
    let config = parse(Config::example()).unwrap();
    let of = |topic| config.destinations.of_topic(topic).unwrap();
    assert_eq!(of("orders.paid"), ["audit", "billing"]);
    assert_eq!(of("users.new"), ["audit"]);
    let few = "[destinations.a]\ntype = \"log\"\n[routes]\n\"x.*\" = \"a\"\n\"quiet\" = []\n";
    let routes = parse(few).unwrap().destinations;
    assert_eq!(routes.of_topic("x.y"), Some(vec!["a".to_owned()]));
    assert_eq!(routes.of_topic("quiet"), Some(Vec::new()));
    assert_eq!(routes.of_topic("z"), None);
}

#[test]
fn an_empty_file_is_a_valid_one() {
    let config = parse("").unwrap();
    assert_eq!((config.database, config.destinations.iter().count()), (None, 0));
    assert_eq!(config.relay, RelaySettings::default());
}

#[test]
fn everything_that_is_set_is_set() {
    let config = parse(
        r#"
        database = "$TOKEN"
        schema = "messaging"
        prefix = "shop_"
        relay = { lease = "20s", window = 10, window_bytes = "2MiB", concurrency = 3, workers = 2, shutdown = "1s", poll_latest = "1s", history = false, history_payloads = false }
        retention = { sent = "1h", discarded = "forever", inbox = "2h", audit = "3h" }
        [destinations."a b"]
        type = "http"
        url = "http://localhost:1"
        allow_private = true
        headers = { a = "$TOKEN", b = { env = "TOKEN" }, c = "$$5", d = { env = "TOKEN", prefix = "Bearer " } }
        lane = "park"
        timeout = "1500ms"
        payload_limit = 77
        expects = "anything"
        idempotent = false
        policy = { preset = "batch", jitter = "full" }
        [destinations.b]
        type = "log"
        expects = "json"
        concurrency = 9
        policy = "interactive"
        manners = { floor = 9, rate = 0.25, retry_share = 2, retry_floor = 7, breaker = { failures = 0.5, of_at_least = 40, open_for = "1s" }, ramp = "0s", longest_rest = "2m", surge = { of = 20, share = 0.5 } }
        [destinations.c]
        type = "log"
        manners.breaker = "off"
        manners.surge = "off"
        manners.rate = 1_000
        "#,
    )
    .unwrap();
    assert_eq!(config.database.as_deref(), Some(SECRET));
    assert_eq!(config.names, Names::new(Some("messaging"), "shop_").unwrap());
    let seconds = Duration::from_secs;
    let relay = RelaySettings {
        lease: seconds(20),
        window: 10,
        window_bytes: 2 << 20,
        concurrency: 3,
        workers: 2,
        shutdown: seconds(1),
        poll_latest: seconds(1),
        history: false,
        history_payloads: false,
    };
    assert_eq!(config.relay, relay);
    let retention = Retention {
        sent: Some(seconds(3600)),
        discarded: None,
        inbox: Some(seconds(7200)),
        audit: Some(seconds(10_800)),
    };
    assert_eq!(config.retention, retention);
    let first = config.destinations.get("a b").unwrap();
    assert_eq!((first.lane, first.concurrency), (LanePolicy::Park, 3));
    assert_eq!(
        (first.timeout, first.payload_limit),
        (Duration::from_millis(1500), 77)
    );
    assert_eq!(first.policy, Policy::BATCH.jitter(redeliver::Jitter::Full));
    assert!(matches!(first.expects, Expects::Anything) && !first.idempotent);
    let second = config.destinations.get("b").unwrap();
    assert_eq!((second.concurrency, second.policy), (9, Policy::INTERACTIVE));
    assert!(matches!(second.expects, Expects::Json));
    let manners = Manners::default()
        .floor(9)
        .rate(0.25)
        .budget(BudgetRule::ratio(2.0).burst(1_000).floor_per_second(7))
        .ramp(Duration::ZERO)
        .longest_rest(seconds(120))
        .surge(Some(SurgeRule { of: 20, share: 0.5 }));
    let breaker = manners.breaker.failure_rate(0.5).minimum_calls(40);
    assert_eq!(second.manners, manners.breaker(breaker.open_for(seconds(1))));
    let third = config.destinations.get("c").unwrap().manners;
    assert_eq!(
        third,
        Manners::default().without_breaker().rate(1_000.0).surge(None)
    );
    assert!(!format!("{config:?}").contains(SECRET));
}

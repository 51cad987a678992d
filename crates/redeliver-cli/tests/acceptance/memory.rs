//! What a relay does not keep in memory: rows that are too large, and what is scheduled.

use redeliver_lab::faulty::FaultyConfig;

use crate::{
    client::Client,
    database::{ALL, Database, Kind},
    endpoint::Endpoint,
    relay::{Relay, await_that},
};

const LARGE: i64 = 60;
const SMALL: usize = 100;
/// What `redeliver serve` may take at its peak, in kibibytes.
const PEAK_KIB: u64 = 200 << 10;

/// An expression with sixteen million bytes, made by the database.
const fn large(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "hex(zeroblob(8000000))",
        Kind::Postgres => "repeat(md5(random()::text), 500000)",
        Kind::MariaDb | Kind::MySql => "REPEAT(SHA2(RAND(), 256), 250000)",
    }
}

#[test]
fn rows_of_16_mb_are_dead_letters_and_never_in_memory() {
    for kind in ALL {
        let endpoint = Endpoint::start(FaultyConfig::default());
        let database = Database::new(kind);
        let url = format!("http://{}/ok", endpoint.address());
        database.configure(&format!(
            "[destinations.api]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\n"
        ));
        let mut client = database.client();
        insert(&mut client, kind);
        let relay = Relay::start(&database);
        endpoint.await_arrived(SMALL);
        await_that("the large ones are dead letters", || {
            (client.number("SELECT count(*) FROM redeliver_dead") == LARGE).then_some(())
        });
        let peak = relay.peak_kib();
        relay.stop();

        let too_large = client.number("SELECT count(*) FROM redeliver_dead WHERE reason = 'too_large'");
        let sent = client.number("SELECT count(*) FROM redeliver_sent");
        let left = client.number("SELECT count(*) FROM redeliver_outbox");
        assert_eq!((too_large, sent, left), (LARGE, 100, 0), "{kind:?}");
        assert!(peak <= PEAK_KIB, "{kind:?}: {peak} KiB at its peak");
        let list = database.redeliver(&["dead", "list"]);
        assert!(list.contains("too_large"), "{kind:?}: {list}");
    }
}

/// The large ones among the small ones, some with an ordering key.
fn insert(client: &mut Client, kind: Kind) {
    let large = large(kind);
    for n in 0..LARGE {
        let lane = if n % 3 == 0 { "'order-7'" } else { "NULL" };
        client.run(&format!(
            "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('api', {lane}, {large})"
        ));
        let small: Vec<String> = (0..SMALL)
            .filter(|small| small % 60 == usize::try_from(n).unwrap())
            .map(|small| format!("('api', {lane}, '{{\"n\":{small}}}')"))
            .collect();
        client.run(&format!(
            "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES {}",
            small.join(", ")
        ));
    }
}

const SCHEDULED: i64 = 100_000;
/// What that many scheduled messages may add to the peak, in kibibytes. Kept in memory, they would take about 90 MiB.
const SCHEDULED_KIB: u64 = 24 << 10;

/// Rows 1 to `count`, each with its number as `n`.
fn numbers(kind: Kind, count: i64) -> String {
    match kind {
        Kind::Sqlite => format!(
            "(WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {count}) SELECT n FROM g)"
        ),
        Kind::Postgres => format!("generate_series(1, {count})"),
        Kind::MariaDb => format!("(SELECT seq AS n FROM seq_1_to_{count})"),
        Kind::MySql => format!(
            "(SELECT a.n FROM JSON_TABLE(CONCAT('[', REPEAT('0,', {count} - 1), '0]'), '$[*]' COLUMNS (n FOR ORDINALITY)) a)"
        ),
    }
}

#[test]
fn scheduled_messages_with_keys_are_not_kept_in_memory() {
    for kind in ALL {
        let endpoint = Endpoint::start(FaultyConfig::default());
        let database = Database::new(kind);
        let url = format!("http://{}/ok", endpoint.address());
        database.configure(&format!(
            "[destinations.api]\ntype = \"http\"\nurl = \"{url}\"\nallow_private = true\n"
        ));
        let mut client = database.client();
        let deliver = |client: &mut Client, key: &str| {
            client.run(&format!(
                "INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('api', '{key}', '{{}}')"
            ));
            let relay = Relay::start(&database);
            await_that("the message is delivered", || {
                let sent = format!("SELECT count(*) FROM redeliver_sent WHERE lane = '{key}'");
                (client.number(&sent) == 1).then_some(())
            });
            let peak = relay.peak_kib();
            relay.stop();
            peak
        };
        let before = deliver(&mut client, "before");
        let (rows, later) = (numbers(kind, SCHEDULED), kind.time_from_now(86_400_000));
        let key = match kind {
            Kind::MariaDb | Kind::MySql => "CONCAT('key-', n)",
            Kind::Sqlite | Kind::Postgres => "'key-' || n",
        };
        client.run(&format!(
            "INSERT INTO redeliver_outbox (destination, lane, payload, next_attempt_at)
             SELECT 'api', {key}, '{{}}', {later} FROM {rows} AS g{}",
            if kind == Kind::Postgres { "(n)" } else { "" }
        ));
        let after = deliver(&mut client, "after");
        assert!(
            after <= before + SCHEDULED_KIB,
            "{kind:?}: {before} KiB without them, {after} KiB with them"
        );
        // A message behind a scheduled one waits for it.
        client.run("INSERT INTO redeliver_outbox (destination, lane, payload) VALUES ('api', 'key-7', '{}')");
        deliver(&mut client, "last");
        let overtook = client.number("SELECT count(*) FROM redeliver_sent WHERE lane = 'key-7'");
        assert_eq!(overtook, 0, "{kind:?}: its predecessor is scheduled");
    }
}

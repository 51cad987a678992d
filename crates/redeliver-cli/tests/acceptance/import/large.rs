use std::{fs, process::Stdio};

use super::shop;
use crate::database::{ALL, Kind};

const ROWS: i64 = 100_000;
/// The payloads alone are more: a process that held them would be larger.
const MOST_MEMORY_KIB: u64 = 96 * 1024;

#[test]
fn a_hundred_thousand_rows_do_not_fill_the_memory() {
    for kind in ALL {
        let database = shop(kind);
        let mut client = database.client();
        let (letters, numbers) = match kind {
            Kind::Sqlite => (
                "replace(hex(zeroblob(500)), '0', 'x')",
                "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)",
            ),
            Kind::Postgres => ("repeat('x', 1000)", ""),
            Kind::MariaDb | Kind::MySql => ("repeat('x', 1000)", ""),
        };
        let from = match kind {
            Kind::Sqlite => "numbers",
            Kind::Postgres => "generate_series(1, 100000) AS numbers (n)",
            Kind::MariaDb | Kind::MySql => {
                "(SELECT ROW_NUMBER() OVER () AS n FROM information_schema.collations a, information_schema.collations b, \
                 (SELECT 1 UNION ALL SELECT 2) c LIMIT 100000) AS numbers"
            }
        };
        client.run(&format!(
            "INSERT INTO events (id, payload, dest) {numbers} SELECT n, {letters}, 'api' FROM {from}"
        ));
        let mut command = database.command(&["import", "shop", "--json"]);
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut most = 0;
        let status = loop {
            most = most.max(memory(process.id()));
            if let Some(status) = process.try_wait().unwrap() {
                break status;
            }
            redeliver::clock::block(std::time::Duration::from_millis(5));
        };
        assert!(status.success(), "{kind:?}: {status}");
        assert!((1..MOST_MEMORY_KIB).contains(&most), "{kind:?}: {most} KiB");
        let there = client.number("SELECT count(DISTINCT number) FROM redeliver_outbox");
        assert_eq!(there, ROWS, "{kind:?}");
    }
}

/// What the process holds just now, in KiB, without the pages of its own program; nothing once it has ended.
fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    number.unwrap_or_default()
}

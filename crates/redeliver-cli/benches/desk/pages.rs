//! How long the server takes for each page.

use std::time::Duration;

use redeliver::clock;

use crate::{Outcome, outbox::Outbox, relay::Relay};

const ROUNDS: usize = 15;
/// What a person does not notice.
const GOAL: Duration = Duration::from_millis(100);

/// Every page, and the ways to narrow those that can be narrowed.
const PAGES: [&str; 28] = [
    "/",
    "/charts/flow",
    "/destinations",
    "/destinations/destination-3",
    "/charts/destinations/destination-3",
    "/lanes",
    "/messages",
    "/messages?status=failed",
    "/messages?status=sent&to=destination-2",
    "/messages?q=order-77",
    "/messages?q=nothing-has-this",
    "/messages/further?q=nothing-has-this&after=1500000",
    "/messages?key=order-77",
    "/messages?error=rule+b",
    "/messages?since=2h",
    "/messages/11",
    "/messages/11/edit",
    "/issues",
    "/issues/0000000000000007",
    "/letters/redrive?status=dead_lettered",
    "/letters/patch?status=dead_lettered&issue=0000000000000007",
    "/letters/discard?status=dead_lettered&to=destination-2",
    "/jobs",
    "/workers",
    "/storage",
    "/storage/health",
    "/audit",
    "/audit/verify",
];

pub(crate) async fn measure(outbox: &Outbox, rows: i64) -> Outcome<()> {
    outbox.configure("http://127.0.0.1:9/")?;
    outbox.run(&["migrate"])?;
    let (sqlite, postgres) = (
        include_str!("../../../redeliver-outbox/benches/desk/fill_sqlite.sql"),
        include_str!("../../../redeliver-outbox/benches/desk/fill_postgres.sql"),
    );
    let rows_text = rows.to_string();
    outbox
        .execute(
            &sqlite.replace("{rows}", &rows_text),
            &postgres.replace("{rows}", &rows_text),
        )
        .await?;
    // Held, so that what is there stays there.
    for number in 0..6 {
        outbox.run(&[
            "destination",
            "pause",
            &format!("destination-{number}"),
            "--why",
            "measured",
        ])?;
    }
    let relay = Relay::start(outbox, &[])?;
    let client = reqwest::Client::new();
    println!(
        "{}, {rows} live, {rows} sent, {} dead; milliseconds of {ROUNDS} requests",
        outbox.name,
        rows / 10
    );
    println!("  {:<50} {:>8} {:>8} {:>8}", "page", "first", "median", "longest");
    for page in PAGES {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let begun = clock::now();
            let answer = client.get(format!("{}{}", relay.url, &page[1..])).send().await?;
            let status = answer.status();
            let _body = answer.bytes().await?;
            times.push(clock::now().since(begun));
            if !status.is_success() {
                return Err(format!("{page}: {status}").into());
            }
        }
        let first = times[0];
        times.sort_unstable();
        let (median, longest) = (times[ROUNDS / 2], times[ROUNDS - 1]);
        let mark = if longest > GOAL { "  over" } else { "" };
        let [first, median, longest] = [first, median, longest].map(|time| time.as_secs_f64() * 1000.0);
        println!("  {page:<50} {first:>8.1} {median:>8.1} {longest:>8.1}{mark}");
    }
    drop(relay);
    outbox.remove().await
}

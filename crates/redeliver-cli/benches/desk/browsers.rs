//! How much slower a relay is while people look.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use redeliver::clock;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use crate::{Outcome, outbox::Outbox, relay::Relay};

const BROWSERS: usize = 10;
/// As often as a page asks again.
const TICK: Duration = Duration::from_secs(2);
/// What browsers look at: each one a page, and its charts.
const LOOKED_AT: [&[&str]; 5] = [
    &["", "charts/flow"],
    &["destinations"],
    &["messages"],
    &["issues"],
    &["lanes"],
];

/// A fresh relay for each drain: what a look leaves behind in one would be met by the next. Machines are shared, and how much of one there is
/// changes from minute to minute by more than browsers cost: so the two are taken by turns, each as often before the other as behind it, and
/// the result has its standard error.
pub(crate) async fn measure(outbox: &Outbox, messages: i64, rounds: i64) -> Outcome<()> {
    let address = receiver().await?;
    outbox.configure(&format!("http://{address}/"))?;
    outbox.run(&["migrate"])?;
    println!("{}, {messages} messages drained, a second", outbox.name);
    let mut pairs = Vec::new();
    for round in 1..=rounds {
        let alone_first = round % 2 == 1;
        let one = drained(outbox, messages, if alone_first { 0 } else { BROWSERS }).await?;
        let other = drained(outbox, messages, if alone_first { BROWSERS } else { 0 }).await?;
        let (alone, watched) = if alone_first { (one, other) } else { (other, one) };
        println!("  round {round}: {alone} alone, {watched} with {BROWSERS} browsers");
        pairs.push((alone, watched));
    }
    let (rate, _) = mean(&pairs, |(alone, _)| alone.rate);
    let (slower, slower_or_so) = mean(&pairs, |(alone, watched)| 1.0 - watched.rate / alone.rate);
    let (dearer, dearer_or_so) = mean(&pairs, |(alone, watched)| {
        watched.processor / alone.processor - 1.0
    });
    println!(
        "  cost: {:.1} ± {:.1} % of {rate:.0} a second, {:.1} ± {:.1} % more processor time",
        slower * 100.0,
        slower_or_so * 100.0,
        dearer * 100.0,
        dearer_or_so * 100.0,
    );
    outbox.remove().await
}

/// And its standard error.
fn mean(pairs: &[(Drain, Drain)], figure: fn(&(Drain, Drain)) -> f64) -> (f64, f64) {
    let count = pairs.len() as f64;
    let mean = pairs.iter().map(figure).sum::<f64>() / count;
    let squares: f64 = pairs.iter().map(|pair| (figure(pair) - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

/// How one outbox was emptied.
struct Drain {
    /// Messages a second.
    rate: f64,
    /// Microseconds of the relay's processor time for a message.
    processor: f64,
}

impl fmt::Display for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:8.0} ({:.2} µs)", self.rate, self.processor)
    }
}

/// Every drain begins alike, with nothing sent.
async fn drained(outbox: &Outbox, messages: i64, browsers: usize) -> Outcome<Drain> {
    let payload = "'{\"order\":' || n || ',\"note\":\"some text that is as long as an ordinary order may be, give or take a few words\"}'";
    outbox
        .execute("DELETE FROM redeliver_sent", "TRUNCATE redeliver_sent")
        .await?;
    outbox
        .execute(
            &format!(
                "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {messages})
                 INSERT INTO redeliver_outbox (destination, payload) SELECT 'destination-' || (n % 6), {payload} FROM counted"
            ),
            &format!(
                "INSERT INTO redeliver_outbox (destination, payload) SELECT 'destination-' || (n % 6), {payload}
                 FROM generate_series(1, {messages}) AS n"
            ),
        )
        .await?;
    let (begun, spent) = (clock::now(), spent_by_children()?);
    let relay = Relay::start(outbox, &["--until-empty"])?;
    let end = Arc::new(Notify::new());
    let watching: Vec<_> = (0..browsers)
        .map(|number| {
            tokio::spawn(look(
                relay.url.clone(),
                LOOKED_AT[number % LOOKED_AT.len()],
                Arc::clone(&end),
            ))
        })
        .collect();
    let told = tokio::task::block_in_place(|| relay.told("stopped"))?;
    let took = clock::now().since(begun);
    for browser in watching {
        browser.abort();
    }
    if told["delivered"].as_i64() != Some(messages) {
        return Err(format!("not everything was delivered: {told}").into());
    }
    drop(relay);
    let spent = spent_by_children()?.saturating_sub(spent);
    Ok(Drain {
        rate: messages as f64 / took.as_secs_f64(),
        processor: spent.as_secs_f64() * 1e6 / messages as f64,
    })
}

/// The processor time of every process that was started here and has ended.
fn spent_by_children() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name, in brackets; of those behind it these are the children's own time and the system's for them.
    let (_, fields) = stat.rsplit_once(')').ok_or("no name in /proc/self/stat")?;
    let mut ticks = fields.split_whitespace().skip(13).take(2).map(str::parse::<u64>);
    let mut next = || ticks.next().ok_or("too few fields in /proc/self/stat");
    let hundredths = next()?? + next()??;
    Ok(Duration::from_millis(hundredths * 10))
}

/// A browser with a page open.
async fn look(url: String, addresses: &'static [&'static str], end: Arc<Notify>) {
    let client = reqwest::Client::new();
    loop {
        for address in addresses {
            // A relay that has just ended answers no more.
            if let Ok(answer) = client.get(format!("{url}{address}")).send().await {
                let _ = answer.bytes().await;
            }
        }
        tokio::select! {
            () = clock::sleep(TICK) => {}
            () = end.notified() => return,
        }
    }
}

/// Something that takes every message at once.
async fn receiver() -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    Ok(address)
}

/// Requests have a length, and come one after the other.
async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut buffer = Vec::with_capacity(4096);
    loop {
        while let Some(end) = whole(&buffer) {
            buffer.drain(..end);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
        }
        if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

/// Where the first request ends, if all of it is there.
fn whole(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).ok()?.to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let end = head
        + length
            .and_then(|length| length.trim().parse::<usize>().ok())
            .unwrap_or(0);
    (buffer.len() >= end).then_some(end)
}

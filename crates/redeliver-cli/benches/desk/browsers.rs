//! How much slower a relay is while people look.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use redeliver::clock;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::{Outcome, outbox::Outbox, relay::Relay, turns};

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
pub(crate) async fn measure(
    outbox: &Outbox,
    messages: i64,
    rounds: i64,
    only: Option<&str>,
    within: bool,
) -> Outcome<()> {
    let pages: Vec<Vec<String>> = match only {
        Some(page) => vec![vec![page.to_owned()]],
        None => LOOKED_AT
            .iter()
            .map(|page| page.iter().map(ToString::to_string).collect())
            .collect(),
    };
    let (address, received) = receiver().await?;
    outbox.configure(&format!("http://{address}/"))?;
    outbox.run(&["migrate"])?;
    println!("{}, {messages} messages drained, a second", outbox.name);
    if within {
        for round in 1..=rounds {
            fill(outbox, messages).await?;
            turns::measure(outbox, messages, &received, &pages, round).await?;
        }
        return outbox.remove().await;
    }
    let mut pairs = Vec::new();
    for round in 1..=rounds {
        let alone_first = round % 2 == 1;
        let one = drained(outbox, messages, if alone_first { &[] } else { &pages }).await?;
        let other = drained(outbox, messages, if alone_first { &pages } else { &[] }).await?;
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
pub(crate) fn mean<T>(pairs: &[T], figure: fn(&T) -> f64) -> (f64, f64) {
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
async fn fill(outbox: &Outbox, messages: i64) -> Outcome<()> {
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
        .await
}

async fn drained(outbox: &Outbox, messages: i64, pages: &[Vec<String>]) -> Outcome<Drain> {
    fill(outbox, messages).await?;
    let (begun, spent) = (clock::now(), spent_by_children()?);
    let relay = Relay::start(outbox, &["--until-empty"])?;
    let watching = Watching::begin(&relay, pages);
    let told = tokio::task::block_in_place(|| relay.told("stopped"))?;
    let took = clock::now().since(begun);
    drop(watching);
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

/// Browsers with these pages open, for as long as this lives; none if there are no pages.
pub(crate) struct Watching {
    browsers: Vec<JoinHandle<()>>,
    /// Whether they ask, or are turned away for a while.
    pub(crate) looking: Arc<AtomicBool>,
}

impl Watching {
    pub(crate) fn begin(relay: &Relay, pages: &[Vec<String>]) -> Self {
        let looking = Arc::new(AtomicBool::new(true));
        let pages = pages.iter().cycle().take(BROWSERS);
        // They were opened one after the other.
        let browsers = pages.zip(0_u32..).map(|(page, number)| {
            let (url, page, looking) = (relay.url.clone(), page.clone(), Arc::clone(&looking));
            tokio::spawn(async move {
                clock::sleep(TICK * number / BROWSERS as u32).await;
                look(url, page, &looking).await;
            })
        });
        Self {
            browsers: browsers.collect(),
            looking,
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.browsers.iter().for_each(JoinHandle::abort);
    }
}

/// A browser with a page open.
async fn look(url: String, addresses: Vec<String>, looking: &AtomicBool) {
    let client = reqwest::Client::new();
    loop {
        for address in addresses.iter().filter(|_| looking.load(Ordering::Relaxed)) {
            // A relay that has just ended answers no more.
            if let Ok(answer) = client.get(format!("{url}{address}")).send().await {
                let _ = answer.bytes().await;
            }
        }
        clock::sleep(TICK).await;
    }
}

/// Something that takes every message at once, and how many it has taken.
async fn receiver() -> Outcome<(SocketAddr, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let received = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&received);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, Arc::clone(&counted)));
        }
    });
    Ok((address, received))
}

/// Requests have a length, and come one after the other.
async fn answer(mut stream: TcpStream, received: Arc<AtomicU64>) -> std::io::Result<()> {
    let mut buffer = Vec::with_capacity(4096);
    loop {
        while let Some(end) = whole(&buffer) {
            buffer.drain(..end);
            received.fetch_add(1, Ordering::Relaxed);
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

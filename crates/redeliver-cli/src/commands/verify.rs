//! `redeliver verify`: the relay under faults that a seed decides, in virtual time.

use std::time::Duration;

use clap::Args;
use redeliver::{Moment, clock};
use redeliver_lab::verify::{Counts, Plant, Sweep, Swept, Violation, plants};
use serde_json::json;

use crate::{
    exit::{BadInput, Exit},
    output, readable,
    table::table,
};

const EXAMPLES: &str = "\
The relay's own engine and its own SQL, on SQLite in memory and in virtual time. A seed decides everything: how many processes there \
are, what they send, which of them crash, stall or stop, what the database and the destinations do to them. Checkers outside the \
relay's code look at every write, every attempt and every arrival, and at what is left in the end.

Ends with 0 if no checker objects, with 1 if one does.

Examples:
  redeliver verify --seeds 2000
  redeliver verify --seed 17
  cargo run --release --features plants -- verify --plant no-fence";

/// Prove the relay: thousands of histories with crashes, stalls, lost answers and failing destinations.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// How many histories
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u64).range(1..=10_000_000), conflicts_with = "seed")]
    seeds: u64,
    /// Only the history of this seed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Plant this bug first, to see whether it is found
    #[arg(long, value_name = "BUG")]
    plant: Option<Plant>,
    /// Name the bugs that can be planted
    #[arg(long, conflicts_with_all = ["seeds", "seed", "plant"])]
    list_plants: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    if args.list_plants {
        list_plants(args.json);
        return Ok(Exit::Done);
    }
    if args.plant.is_some() && !plants::AVAILABLE {
        let how = "this build has no bugs to plant; build one that does with: cargo build --release --features plants";
        return Err(BadInput(format!("--plant: {how}")).into());
    }
    let sweep = Sweep {
        first: args.seed.unwrap_or(0),
        seeds: if args.seed.is_some() { 1 } else { args.seeds },
        plant: args.plant,
        threads: None,
    };
    let started = clock::now();
    let swept = sweep.run(|counts| progress(counts, sweep.seeds, started))?;
    output::progress("");
    let took = clock::now().since(started);
    if args.json {
        output::json(&as_json(&swept, took, args.plant));
    } else {
        tell(&swept, took, args.plant);
    }
    Ok(if swept.violation.is_some() {
        Exit::Failed
    } else {
        Exit::Done
    })
}

fn list_plants(as_json: bool) {
    if as_json {
        let all = Plant::ALL
            .iter()
            .map(|plant| json!({ "name": plant.as_str(), "what": plant.what() }));
        output::json(&json!({ "plants": all.collect::<Vec<_>>(), "available": plants::AVAILABLE }));
        return;
    }
    let mut shown = table(["bug", "what is wrong"], 2);
    for plant in Plant::ALL {
        shown.add_row([plant.as_str(), plant.what()]);
    }
    output::line(&shown.trim_fmt());
}

fn progress(counts: &Counts, seeds: u64, started: Moment) {
    let took = clock::now().since(started);
    let left = took.mul_f64((seeds.saturating_sub(counts.seeds)) as f64 / counts.seeds.max(1) as f64);
    let (done, hours) = (counts.seeds, hours(counts));
    let left = readable::duration(left);
    output::progress(&format!(
        "{done} of {seeds} histories, {hours} hours simulated, {left} left"
    ));
}

fn hours(counts: &Counts) -> String {
    readable::number(counts.simulated_ms as f64 / 3_600_000.0)
}

/// How much quicker than the time it simulates.
fn speed(counts: &Counts, took: Duration) -> f64 {
    counts.simulated_ms as f64 / 1000.0 / took.as_secs_f64().max(1e-6)
}

fn as_json(swept: &Swept, took: Duration, plant: Option<Plant>) -> serde_json::Value {
    json!({
        "passed": swept.violation.is_none(),
        "plant": plant.map(Plant::as_str),
        "took_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "times_real_time": speed(&swept.counts, took),
        "counts": swept.counts,
        "violation": swept.violation,
    })
}

fn tell(swept: &Swept, took: Duration, plant: Option<Plant>) {
    let counts = &swept.counts;
    if let Some(violation) = &swept.violation {
        output::line(&objection(violation, plant));
    }
    let mut shown = table(["", "count"], 1);
    for (name, count) in [
        ("messages committed", counts.messages),
        ("transactions rolled back", counts.rolled_back),
        ("attempts", counts.attempts),
        ("messages delivered", counts.delivered),
        ("dead letters left", counts.dead),
        ("redriven", counts.redriven),
        ("discarded", counts.discarded),
        ("destinations paused", counts.holds),
        ("lanes parked by hand", counts.parks),
        ("crashes", counts.crashes),
        ("pauses", counts.pauses),
        ("stops", counts.stops),
        ("calls refused by the database", counts.refused_calls),
        ("commits whose answer was lost", counts.lost_commits),
        ("clock steps", counts.clock_steps),
        ("shards claimed", counts.takeovers),
        ("writes of a passed epoch, refused", counts.fenced),
        ("duplicates, all explained", counts.duplicates.values().sum()),
    ] {
        shown.add_row([name.to_owned(), count.to_string()]);
    }
    for (cause, count) in &counts.duplicates {
        shown.add_row([format!("  by a {cause}"), count.to_string()]);
    }
    output::line(&shown.trim_fmt());
    let (seeds, hours, took_text) = (counts.seeds, hours(counts), readable::duration(took));
    let speed = readable::number(speed(counts, took));
    let verdict = if swept.violation.is_some() {
        "a checker objects"
    } else {
        "no checker objects"
    };
    output::line(&format!(
        "\n{seeds} histories, {hours} hours simulated in {took_text} ({speed} times real time): {verdict}"
    ));
}

/// What is wrong, how it came to be, and how to see it again.
fn objection(violation: &Violation, plant: Option<Plant>) -> String {
    let about = violation
        .message
        .map_or(String::new(), |number| format!("message {number}: "));
    let planted = plant.map_or(String::new(), |plant| format!(" --plant {plant}"));
    format!(
        "seed {}: the checker '{}' objects\n  {about}{}\n\n{}\n\nreplay it with: redeliver verify --seed {}{planted}\n",
        violation.seed,
        violation.checker,
        violation.what,
        violation.history.join("\n"),
        violation.seed,
    )
}

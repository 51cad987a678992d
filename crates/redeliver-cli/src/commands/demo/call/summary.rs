use redeliver_lab::faulty::FaultyStats;
use serde_json::{Value, json};

use super::payments::Tally;

/// What became of the payments, in words.
pub(super) fn words(elapsed: &str, tally: &Tally, server: &FaultyStats) -> String {
    let payments = &server.payments;
    format!(
        "\nAfter {elapsed}:\n\
         \x20 payments  {} of {} authorized in {} attempts, {} more under way; {} waits were asked for by the server, {} came back early\n\
         \x20 careless  {} sent without a key, {} attempts: what may have executed is not repeated\n\
         \x20 the API   answered {} requests, authorized {} payments; {} were asked for again with their key and not charged twice\n\n\
         What to try next:\n\
         \x20 redeliver explain --base 200ms --max 2500ms --jitter full --deadline 8s --attempt-timeout 1200ms\n\
         \x20 redeliver simulate fleet        what such policies do to a server through an outage\n\
         \x20 redeliver faulty                the API of this demo, with many more faults\n\
         \x20 redeliver call --help           one request with retries, from the command line",
        tally.authorized,
        tally.calls,
        tally.attempts,
        tally.under_way,
        tally.asked_waits,
        tally.early_waits,
        tally.careless,
        tally.careless_attempts,
        server.requests,
        payments.authorized,
        payments.replayed,
    )
}

/// What became of the payments, for programs.
pub(super) fn value(tally: &Tally, server: &FaultyStats) -> Value {
    json!({
        "payments": {
            "calls": tally.calls,
            "under_way": tally.under_way,
            "authorized": tally.authorized,
            "attempts": tally.attempts,
            "asked_waits": tally.asked_waits,
            "early_waits": tally.early_waits,
        },
        "careless": { "calls": tally.careless, "attempts": tally.careless_attempts },
        "server": { "requests": server.requests, "payments": server.payments },
    })
}

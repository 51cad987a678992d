//! `redeliver replay`: events of the history, once more to one destination.

use clap::Args;
use redeliver_outbox::{
    Timestamp, TopicPattern,
    desk::{Replay, Replayed},
};
use serde_json::json;

use super::{
    act_flags::WhoFlag,
    database::{DatabaseFlags, Outbox},
    when,
};
use crate::{
    exit::{BadInput, Exit, outbox_help},
    output, readable,
};

/// Send events of the history to one destination, each unless it was sent there before: for a destination that came later
#[derive(Args, Clone, Debug)]
#[command(after_long_help = outbox_help("  redeliver replay --to search --topic 'orders.*' --since 7d --dry-run\n  \
    redeliver replay --to search --topic 'orders.*' --since 7d --why 'the search is new'\n  \
    redeliver replay --to search --topic '**' --since 2026-11-01 --until 2026-11-08\n\n\
    Events come from the history that the relay keeps ([relay] history), in the order in which they were inserted. Run again, or after it \
    was ended in the middle, it goes on where it was: no event is sent twice to the same destination."))]
pub(crate) struct ReplayArgs {
    /// The destination's name
    #[arg(long, value_name = "DESTINATION")]
    to: String,
    /// Which topics: words with dots between them, * for one word, ** at the end for any number
    #[arg(long, value_name = "PATTERN")]
    topic: TopicPattern,
    /// Only inserted since then: so long ago, such as 2h, or a time, such as 2026-11-15T20:30:00Z
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    since: Timestamp,
    /// Only inserted before then
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    until: Option<Timestamp>,
    /// Only say how many it would be
    #[arg(long)]
    dry_run: bool,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    who: WhoFlag,
    #[command(flatten)]
    pub(super) database: DatabaseFlags,
}

pub(super) async fn run(args: &ReplayArgs, outbox: &Outbox) -> anyhow::Result<Exit> {
    let routes = &outbox.settings.routes;
    if routes.get(&args.to).is_none() {
        let known: Vec<&str> = routes.iter().map(|(name, _)| name).collect();
        return Err(BadInput(format!(
            "--to {}: the configuration has no such destination; it has {}",
            readable::line(&args.to, 80),
            known.join(", ")
        ))
        .into());
    }
    let replay = Replay {
        to: args.to.clone(),
        topic: args.topic.clone(),
        since: args.since,
        until: args.until,
    };
    let act = args.who.act(&args.why);
    let act = (!args.dry_run).then_some(&act);
    let mut sum = Replayed::default();
    let mut after = 0;
    loop {
        let step = outbox.desk().replay(&replay, after, act).await?;
        sum = Replayed {
            messages: sum.messages + step.messages,
            there_before: sum.there_before + step.there_before,
            without_payload: sum.without_payload + step.without_payload,
            ..step
        };
        let Some(next) = step.next else { break };
        after = next;
        output::progress(&words(args, &sum));
    }
    output::progress_done();
    if args.json {
        output::json(&json!({
            "to": args.to,
            "topic": args.topic.as_str(),
            "dry_run": args.dry_run,
            "messages": sum.messages,
            "there_before": sum.there_before,
            "without_payload": sum.without_payload,
            "oldest_event_at": sum.oldest.map(|time| time.to_string()),
        }));
    } else {
        output::line(&words(args, &sum));
    }
    for note in notes(args, &sum, Timestamp::wall()) {
        output::note(&note);
    }
    Ok(Exit::Done)
}

fn words(args: &ReplayArgs, sum: &Replayed) -> String {
    let done = if args.dry_run {
        "would be sent"
    } else {
        "are in the outbox"
    };
    format!(
        "{} messages to {} {done}; {} events had one before",
        sum.messages,
        readable::line(&args.to, 80),
        sum.there_before
    )
}

/// What the history cannot give.
fn notes(args: &ReplayArgs, sum: &Replayed, now: Timestamp) -> Vec<String> {
    let mut notes = Vec::new();
    match sum.oldest {
        None => notes.push(
            "the history has no event: none has fanned out yet, [relay] history is off, or [retention] sent has forgotten them"
                .to_owned(),
        ),
        Some(oldest) if oldest > args.since => notes.push(format!(
            "the history reaches back to {}: what was inserted before that is not in it ([retention] sent)",
            when::both(oldest, now)
        )),
        Some(_) => {}
    }
    if sum.without_payload > 0 {
        notes.push(format!(
            "{} events were left out, because their payloads were not kept ([relay] history_payloads was off)",
            sum.without_payload
        ));
    }
    notes
}

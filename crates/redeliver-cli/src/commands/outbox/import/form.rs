//! How an import is told.

use redeliver_outbox::{
    Message, MessageId, NewMessage, Timestamp,
    import::{Refusal, Tally},
};
use serde::Serialize;

use crate::readable;

/// The figures, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct ImportForm<'a> {
    import: &'a str,
    dry_run: bool,
    read: u64,
    inserted: u64,
    there_before: u64,
    refused: u64,
    up_to: Option<String>,
    ended: bool,
}

impl<'a> ImportForm<'a> {
    pub(super) fn of(
        import: &'a str,
        dry_run: bool,
        tally: &Tally,
        up_to: Option<String>,
        ended: bool,
    ) -> Self {
        Self {
            import,
            dry_run,
            read: tally.read,
            inserted: tally.inserted,
            there_before: tally.there_before,
            refused: tally.refused,
            up_to,
            ended,
        }
    }
}

/// A row that cannot be a message, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Refused<'a> {
    refused: String,
    reason: &'a str,
}

impl<'a> Refused<'a> {
    pub(super) fn of(place: String, refusal: &'a Refusal) -> Self {
        Self {
            refused: place,
            reason: &refusal.reason,
        }
    }
}

/// `shop: 10 rows read, 8 messages inserted, 1 there before, 1 refused; up to 10`.
pub(super) fn words(name: &str, dry_run: bool, tally: &Tally, up_to: Option<&str>) -> String {
    let inserted = match dry_run {
        true => format!(
            "{} messages would be inserted unless they are there",
            tally.inserted
        ),
        false => format!(
            "{} messages inserted, {} there before",
            tally.inserted, tally.there_before
        ),
    };
    let up_to = up_to.map_or(String::new(), |place| {
        format!("; up to {}", readable::line(place, 80))
    });
    format!(
        "{name}: {} rows read, {inserted}, {} refused{up_to}",
        tally.read, tally.refused
    )
}

/// The first message, so that a person sees what the mapping makes of a row.
pub(super) fn sample(message: &NewMessage) -> String {
    let message = Message::of(message, MessageId::new(0, 0), Timestamp::default());
    let payload = message.payload.as_text().map_or_else(
        || format!("{} bytes that are no text", message.payload.len()),
        |text| readable::line(text, 200),
    );
    let mut lines = vec!["the first message would be".to_owned()];
    for (name, value) in [
        (
            "destination",
            Some(message.destination.as_str()).filter(|name| !name.is_empty()),
        ),
        ("topic", message.topic.as_deref()),
        ("key", message.key.as_deref()),
        ("content type", message.content_type.as_deref()),
        ("headers", message.headers.as_deref()),
        ("traceparent", message.traceparent.as_deref()),
        ("payload", Some(payload.as_str())),
    ] {
        if let Some(value) = value {
            lines.push(format!("  {name:12}  {}", readable::line(value, 200)));
        }
    }
    lines.join("\n")
}

//! The numbered log that both streams send, and how their connections end before it does.

use std::time::Duration;

use hyper::StatusCode;

use super::chance::{happens, mix};
use super::config::LARGEST_DROP_AFTER;
use super::exchange::Exchange;
use super::payment::OVERLOADED;
use super::query::number;
use super::reply::{Refusal, Reply, json_response, with_retry_after};
use super::request::Call;

/// The largest id that every JSON reader holds exactly.
const LAST_ID: u64 = (1 << 53) - 1;

/// How a stream's connection is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropKind {
    /// As the protocol says goodbye: a close frame, a last chunk.
    Clean,
    /// The socket is closed without a word.
    Silent,
    /// A TCP reset.
    Reset,
    /// Closed with an item half sent.
    MidItem,
    /// Closed with nothing sent.
    BeforeFirst,
}

const KINDS: [(&str, DropKind); 5] = [
    ("clean", DropKind::Clean),
    ("silent", DropKind::Silent),
    ("reset", DropKind::Reset),
    ("mid-item", DropKind::MidItem),
    ("before-first", DropKind::BeforeFirst),
];

impl DropKind {
    pub(crate) fn name(self) -> &'static str {
        KINDS
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }
}

/// One connection's part of the log.
pub(crate) struct StreamPlan {
    pub(crate) every: Duration,
    /// The last id that the client has.
    pub(crate) after: u64,
    /// The log's last id.
    pub(crate) until: u64,
    /// Items to send before the drop; none if it does not come.
    drop_after: Option<u64>,
    pub(crate) kind: DropKind,
    seed: u64,
}

/// What the connection does next.
pub(crate) enum Step {
    Send(u64),
    Drop,
    End,
}

impl StreamPlan {
    /// Reads a stream's options and draws its end; `resumed` is the client's own word of where it was.
    pub(crate) fn draw(call: &mut Call, exchange: &Exchange, resumed: Option<u64>) -> Result<Self, Refusal> {
        let config = &exchange.lab().config;
        let query = &call.query;
        let every = query.duration("every", Duration::from_millis(10))?;
        let after = query.number("after", 0, 0..=LAST_ID)?;
        let until = query.number("until", LAST_ID, 0..=LAST_ID)?;
        let mean = query.number("drop_after", config.drop_after, 0..=LARGEST_DROP_AFTER)?;
        let asked = query.choice("drop", &KINDS)?;
        let drawn = KINDS[call.rng.usize(0..KINDS.len())].1;
        let kind = asked.unwrap_or(drawn);
        let items = if mean == 0 {
            0
        } else {
            call.rng.u64(1..=2 * mean - 1)
        };
        let drop_after = (mean > 0).then_some(if kind == DropKind::BeforeFirst { 0 } else { items });
        let after = resumed.unwrap_or(after);
        Ok(Self {
            every,
            after,
            until,
            drop_after,
            kind,
            seed: config.seed,
        })
    }

    /// What comes after `sent` items on this connection.
    pub(crate) fn step(&self, sent: u64) -> Step {
        let next = self.after + sent + 1;
        if next > self.until {
            Step::End
        } else if self.drop_after.is_some_and(|limit| sent >= limit) {
            Step::Drop
        } else {
            Step::Send(next)
        }
    }

    /// The item with this id: the same on every connection, and only from its seed and id.
    pub(crate) fn item(&self, id: u64) -> String {
        format!(r#"{{"id":{id},"data":"{:016x}"}}"#, mix(self.seed ^ mix(id)))
    }
}

/// Some connections are not accepted at all.
pub(crate) fn refused(call: &mut Call) -> Result<Option<Reply>, Refusal> {
    let percent = call.query.percent("refuse", 0)?;
    if !happens(&mut call.rng, percent) {
        return Ok(None);
    }
    let mut response = json_response(StatusCode::SERVICE_UNAVAILABLE, OVERLOADED.to_owned());
    if let Some(retry_after) = call.query.text("retry_after") {
        response = with_retry_after(response, retry_after)?;
    }
    Ok(Some(Reply::fault("refused", response)))
}

/// The id that a client says it has seen last.
pub(crate) fn seen_id(name: &str, value: &str) -> Result<u64, Refusal> {
    number(name, value, 0..=LAST_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(after: u64, until: u64, drop_after: Option<u64>) -> StreamPlan {
        StreamPlan {
            every: Duration::ZERO,
            after,
            until,
            drop_after,
            kind: DropKind::Silent,
            seed: 1,
        }
    }

    #[test]
    fn the_log_goes_on_where_the_client_was() {
        assert!(matches!(plan(7, 100, None).step(0), Step::Send(8)));
        assert!(matches!(plan(7, 100, Some(2)).step(2), Step::Drop));
        assert!(matches!(plan(7, 100, Some(0)).step(0), Step::Drop));
    }

    #[test]
    fn the_end_of_the_log_wins_over_a_drop() {
        assert!(matches!(plan(98, 100, Some(2)).step(2), Step::End));
        assert!(matches!(plan(LAST_ID, LAST_ID, None).step(0), Step::End));
    }

    #[test]
    fn an_item_depends_on_seed_and_id_alone() {
        assert_eq!(plan(0, 9, None).item(5), plan(4, 50, Some(3)).item(5));
        assert!(plan(0, 9, None).item(5).starts_with(r#"{"id":5,"data":""#));
        assert_ne!(plan(0, 9, None).item(5)[8..], plan(0, 9, None).item(6)[8..]);
    }
}

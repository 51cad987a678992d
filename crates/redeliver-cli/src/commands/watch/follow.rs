use std::{fmt::Display, pin::pin, time::Duration};

use futures_util::{Stream, StreamExt};
use redeliver::{GaveUp, clock, stream::StreamEvent};
use redeliver_policy::StopReason;

use super::{item::Item, report::Report};

/// What ends a watch before its stream does.
pub(super) struct Limits<T> {
    pub(super) items: u64,
    pub(super) time: Option<Duration>,
    pub(super) told: T,
}

/// How a watch ended.
pub(super) enum End {
    /// As it should.
    Done,
    /// Before that, and why.
    GaveUp { reason: StopReason, words: String },
}

impl End {
    /// The end as one word.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::GaveUp { reason, .. } => reason.as_str(),
        }
    }
}

/// Tells all that the stream tells until something ends it.
pub(super) async fn follow<T, E: Display>(
    stream: impl Stream<Item = Result<StreamEvent<T, E>, GaveUp<E>>>,
    read: impl Fn(T) -> Item,
    limits: Limits<impl Future<Output = ()>>,
    report: &mut Report,
) -> End {
    let mut stream = pin!(stream);
    let mut told = pin!(limits.told);
    let mut over = pin!(async {
        match limits.time {
            Some(time) => clock::sleep(time).await,
            None => std::future::pending().await,
        }
    });
    loop {
        let event = tokio::select! {
            // In this order: items that never stop must not keep the end from being seen.
            biased;
            () = &mut told => {
                let words = "interrupted".to_owned();
                return End::GaveUp { reason: StopReason::Cancelled, words };
            }
            () = &mut over => return End::Done,
            event = stream.next() => event,
        };
        match event {
            None => return End::Done,
            Some(Err(gave_up)) => {
                report.gave_up();
                return End::GaveUp {
                    reason: gave_up.reason,
                    words: gave_up.to_string(),
                };
            }
            Some(Ok(StreamEvent::Item(item))) => {
                if !report.item(&read(item)) || report.items() >= limits.items {
                    return End::Done;
                }
            }
            Some(Ok(StreamEvent::Connected(connection))) => report.connected(connection),
            Some(Ok(StreamEvent::Disconnected(lost))) => report.lost(&lost),
            Some(Ok(_)) => {}
        }
    }
}

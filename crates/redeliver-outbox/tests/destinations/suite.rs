//! What every destination keeps to.

use std::{future::poll_fn, sync::Arc};

use redeliver_outbox::{
    Message, Payload,
    destination::{Delivery, Destination, Outcome},
};

use crate::{LONG, deliver, message, soon};

/// How the other side behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Takes,
    Refuses,
    /// Begins, and never ends.
    Hangs,
}

/// What the other side was given.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) id: String,
    pub(crate) attempt: u32,
    pub(crate) payload: Given,
}

#[derive(Debug)]
pub(crate) enum Given {
    Whole(Vec<u8>),
    /// A destination that shows only the beginning.
    Start {
        length: usize,
        text: String,
    },
}

/// A destination, and the other side of it.
pub(crate) trait Bench {
    /// Whether the other side has moods; if not, it always takes.
    const MOODY: bool;

    fn destination(&self) -> Arc<dyn Destination>;
    fn feel(&self, mood: Mood);
    /// The next message that arrives.
    async fn received(&mut self) -> Received;
    /// Waits until what hung was given up.
    async fn given_up(&mut self);
}

pub(crate) async fn run<B: Bench>(mut bench: B) {
    delivers_every_byte(&mut bench).await;
    tells_the_same_id_on_every_attempt(&mut bench).await;
    does_nothing_before_it_is_polled(&mut bench).await;
    if B::MOODY {
        says_what_failed_as_a_value(&mut bench).await;
        ends_when_it_is_dropped(&mut bench).await;
    }
}

async fn delivers_every_byte(bench: &mut impl Bench) {
    let mebibyte: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    for payload in [
        Vec::new(),
        mebibyte,
        b"a\0b".to_vec(),
        vec![0xff, 0xfe, 0x80],
        "{\"crab\":\"🦀\"}".into(),
        b"\r\n0\r\n\r\n".to_vec(),
    ] {
        for payload in [
            Payload::from_bytes(payload.clone()),
            Payload::Binary(payload.into()),
        ] {
            let message = message(payload);
            assert_eq!(
                deliver(&*bench.destination(), &message, 1).await,
                Outcome::Delivered
            );
            arrived(&soon(bench.received()).await, &message);
        }
    }
}

fn arrived(received: &Received, message: &Message) {
    match &received.payload {
        Given::Whole(bytes) => assert!(bytes == message.payload.as_bytes()),
        Given::Start { length, text } => {
            let whole = String::from_utf8_lossy(message.payload.as_bytes());
            assert_eq!(*length, message.payload.len());
            assert!(whole.starts_with(text.as_str()));
            assert_eq!(text.chars().count(), whole.chars().count().min(500));
        }
    }
}

async fn tells_the_same_id_on_every_attempt(bench: &mut impl Bench) {
    let message = message("{}");
    for attempt in [1, 2, 7] {
        deliver(&*bench.destination(), &message, attempt).await;
        let received = soon(bench.received()).await;
        assert_eq!(received.id, message.id.to_string());
        assert_eq!(received.attempt, attempt);
    }
}

async fn does_nothing_before_it_is_polled(bench: &mut impl Bench) {
    let message = message("{}");
    let delivery = |attempt| Delivery {
        message: &message,
        attempt,
        timeout: LONG,
    };
    let destination = bench.destination();
    drop(destination.deliver(delivery(1)));
    let outcome = soon(destination.deliver(delivery(2))).await;
    assert_eq!(outcome, Outcome::Delivered);
    assert_eq!(soon(bench.received()).await.attempt, 2);
}

async fn says_what_failed_as_a_value(bench: &mut impl Bench) {
    bench.feel(Mood::Refuses);
    match deliver(&*bench.destination(), &message("{}"), 1).await {
        Outcome::Retry { reason, .. } => assert!(reason.contains("too busy"), "{reason}"),
        other => panic!("{other:?}"),
    }
    soon(bench.received()).await;
    bench.feel(Mood::Takes);
}

async fn ends_when_it_is_dropped(bench: &mut impl Bench) {
    bench.feel(Mood::Hangs);
    let message = message("{}");
    let delivery = Delivery {
        message: &message,
        attempt: 1,
        timeout: LONG,
    };
    let hung = hang(bench, delivery).await;
    assert_eq!(hung.attempt, 1);
    soon(bench.given_up()).await;
    bench.feel(Mood::Takes);
    assert_eq!(
        deliver(&*bench.destination(), &message, 2).await,
        Outcome::Delivered
    );
    assert_eq!(soon(bench.received()).await.attempt, 2);
}

/// Delivers until the other side has it, and then no longer.
async fn hang(bench: &mut impl Bench, delivery: Delivery<'_>) -> Received {
    let destination = bench.destination();
    let mut attempt = destination.deliver(delivery);
    let mut received = std::pin::pin!(bench.received());
    soon(poll_fn(|context| {
        assert!(attempt.as_mut().poll(context).is_pending());
        received.as_mut().poll(context)
    }))
    .await
}

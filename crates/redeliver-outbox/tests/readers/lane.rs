//! The relay's rules for a lane, in short: in the order in which the reader returns them, nothing past a message that waits for its time.

use std::{collections::VecDeque, time::Duration};

use fastrand::Rng;
use redeliver_outbox::{
    Message,
    store::{Attempted, LaneDemand, Verdict},
};

#[derive(Debug, Default)]
pub(crate) struct Lane {
    queue: VecDeque<Message>,
    /// The message that waits for its time, and all others for it.
    scheduled: Option<i64>,
    /// From this number on, messages were let go and have to be read again.
    spilled_from: Option<i64>,
}

impl Lane {
    pub(crate) fn schedule(&mut self, number: i64) {
        self.scheduled = Some(number);
    }

    /// Takes a message in, unless those before it were let go.
    pub(crate) fn push(&mut self, message: Message) {
        if self.spilled_from.is_none_or(|from| message.number() < from) {
            self.queue.push_back(message);
        }
    }

    /// The time of the message has come. Says whether it was the one that was waited for.
    pub(crate) fn push_due(&mut self, message: Message) -> bool {
        let awaited = self.scheduled == Some(message.number());
        if awaited {
            self.scheduled = None;
            self.queue.push_front(message);
        }
        awaited
    }

    pub(crate) fn holds(&self, number: i64) -> bool {
        self.queue.iter().any(|message| message.number() == number)
    }

    /// Lets go of all but the first.
    pub(crate) fn spill(&mut self) {
        if self.queue.len() > 1 {
            self.spilled_from = self.queue.get(1).map(Message::number);
            self.queue.truncate(1);
        }
    }

    pub(crate) fn demand(&self, shard: u16, key: &str, limit: usize) -> Option<LaneDemand> {
        self.spilled_from.map(|from| LaneDemand {
            shard,
            destination: "d".to_owned(),
            key: Some(key.to_owned()),
            from,
            limit,
        })
    }

    /// What was let go is here again, or a part of it.
    pub(crate) fn read_again(&mut self, messages: Vec<Message>, complete: bool) {
        let next = messages
            .last()
            .map(|last| last.number() + 1)
            .or(self.spilled_from);
        self.spilled_from = if complete { None } else { next };
        self.queue.extend(messages);
    }

    /// All that can go now: up to the first that fails.
    pub(crate) fn take(&mut self, rng: &mut Rng) -> Vec<(Message, Verdict)> {
        let mut taken = Vec::new();
        while self.scheduled.is_none()
            && let Some(message) = self.queue.pop_front()
        {
            let verdict = verdict(&message, rng);
            if matches!(verdict, Verdict::Retry { .. }) {
                self.scheduled = Some(message.number());
            }
            taken.push((message, verdict));
        }
        taken
    }
}

pub(crate) fn verdict(message: &Message, rng: &mut Rng) -> Verdict {
    let fails = rng.u8(..100) < 4;
    let attempted = Attempted {
        attempt: message.attempts + 1,
        took: Duration::from_millis(1),
        class: if fails { "transient" } else { "" },
        error: if fails { "busy" } else { "" }.to_owned(),
        resumes_lane: false,
    };
    if fails {
        let wait = Duration::from_millis(rng.u64(1..300));
        Verdict::Retry { attempted, wait }
    } else {
        Verdict::Delivered(attempted)
    }
}

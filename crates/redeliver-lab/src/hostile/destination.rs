//! Where messages go: a server that records every request, and fails some of them.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use redeliver::clock;

use super::{
    case::{self, Answer, Commit, Fate, Ticket},
    configuration::{RUN, TICKET, TIMEOUT},
    record::Record,
};
use crate::{
    crash::error::{Result, While as _},
    receiver::{self, Receiver, ReceiverConfig},
};

const LARGEST_BODY: usize = 64 << 20;

pub(super) struct Destination {
    receiver: Receiver,
    conduct: Arc<Conduct>,
}

struct Conduct {
    record: Arc<Record>,
    rng: Mutex<Rng>,
    calm: AtomicBool,
}

impl Destination {
    pub(super) fn start(record: &Arc<Record>, seed: u64) -> Result<Self> {
        let conduct = Arc::new(Conduct {
            record: Arc::clone(record),
            rng: Mutex::new(Rng::with_seed(seed)),
            calm: AtomicBool::new(false),
        });
        let config = ReceiverConfig {
            max_body: LARGEST_BODY,
            ..ReceiverConfig::default()
        };
        let answering = Arc::clone(&conduct);
        let receiver = Receiver::start(config, move |arrival| {
            let conduct = Arc::clone(&answering);
            async move { conduct.answer(arrival).await }
        })
        .during("listen as a destination")?;
        Ok(Self { receiver, conduct })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.receiver.address()
    }

    /// From now on it behaves.
    pub(super) fn calm_down(&self) {
        self.conduct.calm.store(true, Ordering::Relaxed);
    }
}

impl Conduct {
    async fn answer(&self, arrival: receiver::Arrival) -> receiver::Answer {
        let body = arrival.body.as_deref().unwrap_or_default();
        let ticket = arrival.header(TICKET).and_then(|text| text.parse().ok());
        let ticket =
            ticket.or_else(|| ticket_in_payload(&String::from_utf8_lossy(&body[..body.len().min(60)])));
        let message = ticket.and_then(|ticket| self.record.message(ticket));
        let number = |name: &str| {
            arrival
                .header(name)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0)
        };
        let (answer, delay) = self.decide(message.as_ref().map(|message| message.fate));
        let noted = self.record.arrived(case::Arrival {
            at: 0,
            answered_at: 0,
            ticket,
            destination: arrival.path.trim_start_matches('/').to_owned(),
            id: arrival.header("idempotency-key").unwrap_or_default().to_owned(),
            attempt: number("redeliver-attempt"),
            relay: number(RUN),
            answer: if answer == Answer::Accepted {
                Answer::TakenUnheard
            } else {
                answer
            },
            intact: message
                .is_none_or(|message| message.commit == Commit::RolledBack || message.payload == body),
        });
        let begun = clock::now();
        clock::sleep(delay).await;
        // On a machine that is slow, an answer may come after its relay has given up.
        let late = clock::now().since(begun) > TIMEOUT / 4;
        self.record
            .answered(noted, if late { unheard(answer) } else { answer });
        let status = match answer {
            Answer::Accepted => Some(200),
            Answer::PutOff | Answer::Cut => Some(503),
            Answer::Rejected => Some(400),
            Answer::TakenUnheard => None,
        };
        receiver::Answer {
            status,
            ..receiver::Answer::status(200)
        }
    }

    fn decide(&self, fate: Option<Fate>) -> (Answer, Duration) {
        let right = match fate {
            Some(Fate::Dead("permanent")) => Answer::Rejected,
            Some(Fate::Dead("attempts_exhausted")) => Answer::PutOff,
            _ => Answer::Accepted,
        };
        let at_once = Duration::ZERO;
        if self.calm.load(Ordering::Relaxed) || right == Answer::PutOff {
            return (right, at_once);
        }
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        // Out of a hundred.
        match rng.u32(0..100) {
            0..6 => (Answer::PutOff, at_once),
            6 => (Answer::TakenUnheard, at_once),
            7..17 => (right, Duration::from_millis(rng.u64(5..80))),
            _ => (right, at_once),
        }
    }
}

/// The answer, if its relay may not have heard it.
const fn unheard(answer: Answer) -> Answer {
    match answer {
        Answer::Accepted => Answer::TakenUnheard,
        Answer::Rejected => Answer::Cut,
        other => other,
    }
}

/// The ticket that a payload begins with.
pub(super) fn ticket_in_payload(payload: &str) -> Option<Ticket> {
    digits_after(payload, "{\"ticket\":")
}

/// The ticket that the text of a row's headers begins with.
pub(super) fn ticket_in_headers(headers: &str) -> Option<Ticket> {
    digits_after(headers, &format!("{{\"{TICKET}\":\""))
}

fn digits_after(text: &str, front: &str) -> Option<Ticket> {
    let rest = text.strip_prefix(front)?;
    let digits = rest
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

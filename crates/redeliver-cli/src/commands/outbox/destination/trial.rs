//! A message that is there to be tried with.

use std::time::Duration;

use redeliver::{Class, clock, duration, entropy};
use redeliver_outbox::{
    DeadReason, Message, MessageId, NewMessage, Timestamp,
    destination::{Delivery, Outcome, Route, Trial, fits},
};
use redeliver_policy::StopReason;
use serde_json::json;

use super::super::settings::Settings;
use crate::{
    exit::{BadInput, Exit, NotFound},
    readable,
};

/// The destination of this name.
pub(in super::super) fn chosen<'s>(settings: &'s Settings, name: &str) -> Result<&'s Route, NotFound> {
    settings.routes.get(name).ok_or_else(|| {
        let names: Vec<&str> = settings.routes.iter().map(|(name, _)| name).collect();
        let name = readable::line(name, 80);
        NotFound(format!(
            "no destination is called {name:?}; the configuration has {}",
            names.join(", ")
        ))
    })
}

/// What is to be sent.
pub(crate) struct Test {
    id: MessageId,
    message: NewMessage,
}

/// Why it was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsent {
    #[error("{0}")]
    Invalid(String),
    #[error("a relay would not send this ({kind}): {reason}")]
    Unfit { kind: DeadReason, reason: String },
}

impl Unsent {
    /// The same with how another one is sent, where that would help.
    pub(crate) fn or(&self, another: &str) -> BadInput {
        match self {
            Self::Invalid(_) => BadInput(self.to_string()),
            Self::Unfit { .. } => BadInput(format!("{self}; {another}")),
        }
    }
}

/// What came of it.
pub(crate) struct Tried {
    pub(crate) id: MessageId,
    pub(crate) took: Duration,
    pub(crate) trial: Trial,
    /// Whether a relay may send it twice.
    idempotent: bool,
}

impl Test {
    /// A message that says that it is a test.
    pub(crate) fn to(name: &str) -> Self {
        let now = Timestamp::wall();
        // Rows are counted from 1, and no outbox has had so many.
        let id = MessageId::new(now.as_millis(), entropy::draw().cast_signed());
        let payload = json!({
            "test": true,
            "id": id.to_string(),
            "destination": name,
            "sent_at": now.to_string(),
            "note": "sent by hand with redeliver to see whether messages arrive",
        });
        Self {
            id,
            message: NewMessage::to(name).payload(payload.to_string()),
        }
    }

    pub(crate) fn change(mut self, change: impl FnOnce(NewMessage) -> NewMessage) -> Self {
        self.message = change(self.message);
        self
    }

    /// Sends it, unless a relay would not.
    pub(crate) async fn send(self, route: &Route) -> Result<Tried, Unsent> {
        self.message
            .validate()
            .map_err(|error| Unsent::Invalid(error.to_string()))?;
        let message = Message::of(&self.message, self.id, Timestamp::wall());
        fits(&message, route).map_err(|(kind, reason)| Unsent::Unfit { kind, reason })?;
        let began = clock::now();
        let delivery = Delivery {
            message: &message,
            attempt: 1,
            timeout: route.timeout,
        };
        let mut trial = route.destination.trial(delivery).await;
        trial.outcome = route
            .secrecy
            .cleared_outcome(trial.outcome, &message, &*route.destination);
        if let Some(answer) = &mut trial.answer {
            answer.said = route.secrecy.cleared(&answer.said, &message);
        }
        Ok(Tried {
            id: self.id,
            took: clock::now().since(began),
            trial,
            idempotent: route.idempotent,
        })
    }
}

/// What may have arrived, and must not arrive twice.
fn open(reason: &str) -> String {
    format!(
        "it may have arrived, and the destination does not take a message twice: a relay would make it a dead letter ({}): {reason}",
        DeadReason::UnknownOutcome
    )
}

impl Tried {
    /// The outcome in one word.
    pub(crate) const fn word(&self) -> &'static str {
        match self.trial.outcome {
            Outcome::Delivered => "delivered",
            Outcome::Retry { class, .. } if self.is_open(class) => "ambiguous",
            Outcome::Retry { .. } | Outcome::Unreachable { .. } => "retry",
            Outcome::Reject { .. } => "rejected",
            Outcome::Disable { .. } => "disabled",
            Outcome::Ambiguous { .. } => "ambiguous",
        }
    }

    pub(crate) fn reason(&self) -> Option<&str> {
        match &self.trial.outcome {
            Outcome::Delivered => None,
            Outcome::Retry { reason, .. }
            | Outcome::Unreachable { reason }
            | Outcome::Reject { reason, .. }
            | Outcome::Disable { reason }
            | Outcome::Ambiguous { reason, .. } => Some(reason),
        }
    }

    /// The outcome for a person, and what a relay would do.
    pub(crate) fn told(&self) -> String {
        let reason = readable::line(self.reason().unwrap_or_default(), 400);
        match &self.trial.outcome {
            Outcome::Delivered => "delivered".to_owned(),
            Outcome::Retry {
                class: Class::Throttled { after, .. },
                ..
            } => {
                let after = after.map_or(String::new(), |after| format!(" in {}", duration::display(after)));
                format!("not delivered; it asks to come back{after}, and a relay would: {reason}")
            }
            Outcome::Retry { class, .. } if self.is_open(*class) => open(&reason),
            Outcome::Retry { .. } | Outcome::Unreachable { .. } => {
                format!("not delivered; a relay would try again: {reason}")
            }
            Outcome::Reject { kind, .. } => {
                format!("refused; a relay would make it a dead letter ({kind}): {reason}")
            }
            Outcome::Disable { .. } => format!("refused; it says that it is gone for good: {reason}"),
            Outcome::Ambiguous { .. } if !self.idempotent => open(&reason),
            Outcome::Ambiguous { asked, .. } => {
                let after = asked.map_or(String::new(), |after| format!(" in {}", duration::display(after)));
                format!("it may have arrived; a relay would try again{after}: {reason}")
            }
        }
    }

    /// Whether a failure of this class leaves open what must not happen twice.
    const fn is_open(&self, class: Class) -> bool {
        matches!(class, Class::Unknown) && !self.idempotent
    }

    pub(crate) const fn is_delivered(&self) -> bool {
        matches!(self.trial.outcome, Outcome::Delivered)
    }

    pub(crate) const fn exit(&self) -> Exit {
        match self.trial.outcome {
            Outcome::Delivered => Exit::Done,
            Outcome::Retry { class, .. } if self.is_open(class) => Exit::GaveUp(StopReason::UnknownOutcome),
            Outcome::Retry { .. } | Outcome::Unreachable { .. } => Exit::Failed,
            Outcome::Reject { .. } | Outcome::Disable { .. } => Exit::GaveUp(StopReason::Permanent),
            Outcome::Ambiguous { .. } => Exit::GaveUp(StopReason::UnknownOutcome),
        }
    }
}

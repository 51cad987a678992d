use futures_core::future::BoxFuture;

use super::{Delivery, Destination, Outcome};
use crate::{Message, secrecy::Secrecy};

/// How much of a payload is shown, in characters.
const SHOWN: usize = 500;

/// Writes every message to the log instead of sending it: to try an outbox out, or to see what would be sent.
///
/// One event of the level `INFO` and the target `redeliver::log` for each message, with the first 500 characters of its payload. It always
/// delivers. The payload is shown as it is; [`hiding`](Self::hiding) shows it without its secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log;

impl Log {
    /// The same, without what is to be seen by nobody.
    #[must_use]
    pub const fn hiding(secrecy: Secrecy) -> HidingLog {
        HidingLog { secrecy }
    }
}

/// As [`Log`], without what is to be seen by nobody.
#[derive(Clone, Debug)]
pub struct HidingLog {
    secrecy: Secrecy,
}

impl Destination for HidingLog {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let message = Message {
                payload: self.secrecy.hidden(&delivery.message.payload),
                ..delivery.message.clone()
            };
            let message = &message;
            Log.deliver(Delivery { message, ..delivery }).await
        })
    }

    fn kind(&self) -> &'static str {
        Log.kind()
    }
}

impl Destination for Log {
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            write(delivery);
            Outcome::Delivered
        })
    }

    fn kind(&self) -> &'static str {
        "log"
    }
}

fn write(Delivery { message, attempt, .. }: Delivery<'_>) {
    tracing::info!(
        target: "redeliver::log",
        id = %message.id,
        destination = %message.destination,
        key = message.key.as_deref(),
        attempt,
        bytes = message.payload.len(),
        payload = start(message.payload.as_bytes()),
        "message",
    );
}

/// The first characters; what is no text becomes `�`.
fn start(bytes: &[u8]) -> String {
    // No character is longer than four bytes, so the last one shown is whole.
    let bytes = &bytes[..bytes.len().min((SHOWN + 1) * 4)];
    String::from_utf8_lossy(bytes).chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_payload_is_cut_between_characters() {
        assert_eq!(start("🦀".repeat(SHOWN + 7).as_bytes()), "🦀".repeat(SHOWN));
        assert_eq!(start(&[0xff; 2000]), "\u{fffd}".repeat(SHOWN));
        assert_eq!(start(b""), "");
    }
}

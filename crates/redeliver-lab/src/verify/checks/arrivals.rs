//! What a destination sees: nothing that was rolled back, the right bytes at the right place, the same id every time.

use redeliver_outbox::MessageId;

use crate::verify::record::Records;

pub(in crate::verify) fn check(
    records: &mut Records,
    id: MessageId,
    destination: &str,
    payload: &str,
) -> Option<String> {
    if records.never.contains(payload) {
        return Some(format!("{payload} arrived, and its transaction was rolled back"));
    }
    let Some(message) = records.messages.get_mut(&id.number()) else {
        return Some(format!("message {id} arrived, and nobody committed it"));
    };
    if message.destination != destination {
        return Some(format!(
            "it arrived at {destination} instead of {}",
            message.destination
        ));
    }
    if !message.payloads.iter().any(|known| known == payload) {
        let inserted = message.payloads.first();
        return Some(format!(
            "it arrived as {payload}, and was inserted as {inserted:?}"
        ));
    }
    let first = *message.id.get_or_insert(id);
    (first != id).then(|| format!("it arrived as {id}, and as {first} before"))
}

//! Messages made of rows, into the outbox.

use super::{
    Position,
    step::{Step, Tally},
};
use crate::{
    NewMessage,
    desk::{Desk, Enqueued},
    store::{Result, StoreErrorKind},
};

/// All in one transaction; where the database takes only some of them, each by itself, up to the first that it refuses if that is `strict`.
pub(super) async fn insert(
    desk: &dyn Desk,
    places: Vec<Position>,
    messages: &[NewMessage],
    strict: bool,
    step: &mut Step,
) -> Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    match desk.enqueue(messages).await {
        Ok(done) => {
            done.iter().for_each(|done| count(*done, &mut step.tally));
            return Ok(());
        }
        Err(error) if error.kind() != StoreErrorKind::BadInput => return Err(error),
        Err(_) => {}
    }
    for (place, message) in places.into_iter().zip(messages) {
        match desk.enqueue(std::slice::from_ref(message)).await {
            Ok(done) => done.iter().for_each(|done| count(*done, &mut step.tally)),
            Err(error) if error.kind() == StoreErrorKind::BadInput => {
                step.refuse(place, error.to_string());
                if strict {
                    break;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

const fn count(done: Enqueued, tally: &mut Tally) {
    match done {
        Enqueued::New(_) => tally.inserted += 1,
        Enqueued::Duplicate(_) => tally.there_before += 1,
    }
}

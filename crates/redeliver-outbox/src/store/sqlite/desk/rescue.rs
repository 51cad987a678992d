//! Putting dead letters back, or giving them up.

use super::{Done, Session, audit, look};
use crate::{
    MessageId,
    desk::{Act, Filter},
    plants::{Plant, planted},
    store::desk::{self, chain::Said},
};

pub(super) fn redrive(
    session: &Session<'_>,
    filter: &Filter,
    at_most: usize,
    act: &Act,
) -> Done<Vec<MessageId>> {
    let letters = dead_letters(session, filter, at_most)?;
    for id in &letters {
        let now = session.now.as_millis();
        session.execute(include_str!("../sql/redrive.sql"), (id.number(), now))?;
        if planted(Plant::RedriveKeepsAttempts) {
            let kept = "UPDATE redeliver_outbox SET attempts = attempts + 1 WHERE number = ?1 AND last_attempt_at IS NOT NULL";
            session.execute(kept, [id.number()])?;
        }
        if !planted(Plant::RedriveLeavesDeadLetter) {
            session.execute(include_str!("../sql/remove_dead.sql"), [id.number()])?;
        }
    }
    if !planted(Plant::RedriveNotAudited) {
        audit::append_all(session, act, &Said::of_each("redrive", &letters, ""))?;
    }
    Ok(letters)
}

pub(super) fn discard(
    session: &Session<'_>,
    filter: &Filter,
    at_most: usize,
    act: &Act,
) -> Done<Vec<MessageId>> {
    let letters = dead_letters(session, filter, at_most)?;
    for id in &letters {
        let values = (id.number(), session.now.as_millis());
        session.execute(include_str!("../sql/discard.sql"), values)?;
        if !planted(Plant::DiscardLeavesLaneParked) {
            session.execute(include_str!("../sql/free_lane.sql"), values)?;
        }
    }
    if !planted(Plant::DiscardNotAudited) {
        audit::append_all(session, act, &Said::of_each("discard", &letters, ""))?;
    }
    Ok(letters)
}

/// The oldest of the dead letters that match and that nobody has given up.
fn dead_letters(session: &Session<'_>, filter: &Filter, at_most: usize) -> Done<Vec<MessageId>> {
    let Some((filter, page)) = desk::dead_letters(filter, at_most) else {
        return Ok(Vec::new());
    };
    let letters = look::list(session, &filter, page, false)?;
    Ok(letters.into_iter().map(|letter| letter.id).collect())
}

//! Putting dead letters back, or giving them up.

use super::{Done, Session, audit, look};
use crate::{
    MessageId,
    desk::{Act, Filter, Page, Seen},
    job::JobKind,
    plants::{Plant, planted},
    store::desk::{
        self,
        chain::Said,
        edit::{taken, unchanged},
    },
};

pub(super) fn rescue(
    session: &Session<'_>,
    way: JobKind,
    filter: &Filter,
    at_most: usize,
    act: &Act,
) -> Done<Vec<MessageId>> {
    let Some((filter, page)) = desk::dead_letters(filter, at_most) else {
        return Ok(Vec::new());
    };
    let letters = dead_letters(session, &filter, page)?;
    let letters = change(session, way, &letters)?;
    let unheard = match way {
        JobKind::Discard => Plant::DiscardNotAudited,
        _ => Plant::RedriveNotAudited,
    };
    if !planted(unheard) {
        audit::append_all(session, act, &Said::of_each(way.as_str(), &letters, ""))?;
    }
    Ok(letters)
}

/// One letter, if it is as it was seen.
pub(super) fn one(session: &Session<'_>, way: JobKind, id: MessageId, seen: Seen, act: &Act) -> Done<()> {
    let (filter, page) = desk::letter(id);
    let letters = look::list(session, &filter, page, false)?;
    let letter = letters.first().ok_or_else(|| taken(id))?;
    unchanged(Some(seen), letter.redrives, &audit::of_message(session, id)?)?;
    rescue(session, way, &filter, 1, act)?;
    Ok(())
}

/// Those that match, in the order of their numbers.
pub(super) fn dead_letters(session: &Session<'_>, filter: &Filter, page: Page) -> Done<Vec<MessageId>> {
    let letters = look::list(session, filter, page, false)?;
    Ok(letters.into_iter().map(|letter| letter.id).collect())
}

/// Changes those that can be, and says which.
pub(super) fn change(session: &Session<'_>, way: JobKind, letters: &[MessageId]) -> Done<Vec<MessageId>> {
    let mut changed = Vec::with_capacity(letters.len());
    for id in letters {
        let done = match way {
            JobKind::Discard => discard(session, *id)?,
            _ => redrive(session, *id)?,
        };
        changed.extend(done.then_some(*id));
    }
    Ok(changed)
}

fn redrive(session: &Session<'_>, id: MessageId) -> rusqlite::Result<bool> {
    let now = session.now.as_millis();
    let values = (id.number(), now, id.salt());
    if session.execute(include_str!("../sql/redrive.sql"), values)? == 0 {
        return Ok(false);
    }
    if planted(Plant::RedriveKeepsAttempts) {
        let kept = "UPDATE redeliver_outbox SET attempts = attempts + 1 WHERE number = ?1 AND last_attempt_at IS NOT NULL";
        session.execute(kept, [id.number()])?;
    }
    if !planted(Plant::RedriveLeavesDeadLetter) {
        session.execute(include_str!("../sql/remove_dead.sql"), (id.number(), id.salt()))?;
    }
    Ok(true)
}

fn discard(session: &Session<'_>, id: MessageId) -> rusqlite::Result<bool> {
    let (number, now) = (id.number(), session.now.as_millis());
    let discarded = session.execute(include_str!("../sql/discard.sql"), (number, now, id.salt()))?;
    if !planted(Plant::DiscardLeavesLaneParked) {
        session.execute(include_str!("../sql/free_lane.sql"), (number, now))?;
    }
    Ok(discarded > 0)
}

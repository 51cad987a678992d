//! Sending events of the history once more.

use super::{Done, Session, audit, row};
use crate::{
    MessageId, Timestamp,
    desk::{Act, Replay, Replayed},
    limits::REPLAY_BATCH,
    store::desk::replay::{candidate, check, choose, detail, oldest},
};

pub(super) fn replay(
    session: &Session<'_>,
    replay: &Replay,
    after: i64,
    act: Option<&Act>,
) -> Done<Replayed> {
    check(replay)?;
    let oldest = session
        .read(include_str!("../sql/oldest_event.sql"), [], oldest)?
        .pop();
    let values = (
        &replay.to,
        after,
        replay.since.as_millis(),
        replay.until.map(Timestamp::as_millis),
        row::limit(REPLAY_BATCH),
    );
    let candidates = session.read(include_str!("../sql/replay_candidates.sql"), values, candidate)?;
    let (events, replayed) = choose(replay, &candidates, oldest);
    if let Some(act) = act.filter(|_| !events.is_empty()) {
        for event in &events {
            let values = (event, &replay.to, MessageId::draw_salt(), session.now.as_millis());
            session.execute(include_str!("../sql/replay.sql"), values)?;
            let made = session.transaction.last_insert_rowid();
            session.execute(include_str!("../sql/note_replay.sql"), (event, &replay.to, made))?;
        }
        let detail = detail(replay, &events, replayed.messages);
        audit::append(session, act, "replay", None, &detail)?;
    }
    Ok(replayed)
}

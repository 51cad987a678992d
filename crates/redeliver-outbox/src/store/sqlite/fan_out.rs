//! Writing that an event has become messages.

use super::connection::Session;
use crate::{
    MessageId,
    plants::{Plant, planted},
    store::{History, Settlement},
};

/// If the event is still there. In the order of the destinations, which their numbers keep.
pub(super) fn fan_out(
    session: &Session<'_>,
    settlement: &Settlement,
    destinations: &[String],
    history: History,
) -> rusqlite::Result<()> {
    let (number, salt) = (settlement.number(), settlement.id.salt());
    let event = (number, settlement.lease.shard, settlement.redrives, salt);
    let there: bool = session.row(include_str!("sql/is_event.sql"), event, |row| row.get(0))?;
    if !there {
        return Ok(());
    }
    let missed = usize::from(planted(Plant::EventMissesOne));
    for destination in destinations.iter().skip(missed) {
        session.execute(
            include_str!("sql/fan_out.sql"),
            (number, destination, MessageId::draw_salt()),
        )?;
        if history != History::Off {
            let made = session.transaction.last_insert_rowid();
            let values = (number, salt, destination, made);
            session.execute(include_str!("sql/note_fan_out.sql"), values)?;
        }
    }
    if history != History::Off {
        let values = (number, history == History::Full, session.now.as_millis());
        session.execute(include_str!("sql/settle_fanned_out.sql"), values)?;
    }
    if !planted(Plant::EventStays) {
        session.execute(include_str!("sql/remove.sql"), [number])?;
    }
    Ok(())
}

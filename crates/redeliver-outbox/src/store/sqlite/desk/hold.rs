//! Holding a destination, and letting it go on.

use super::{Done, Session, audit};
use crate::{
    Held, Hold, NewHold, Timestamp,
    desk::{Act, WorkerRecord},
    store::desk::{hold, records},
};

pub(in crate::store::sqlite) fn begin(session: &Session<'_>, new: &NewHold, act: &Act) -> Done<Held> {
    hold::check(&new.destination)?;
    let values = (
        &new.destination,
        new.cause.kind().as_str(),
        new.cause.as_str(),
        &new.detail,
        &act.who,
        session.now.as_millis(),
    );
    let begun = session.execute(include_str!("../sql/hold.sql"), values)? > 0;
    if begun {
        let detail = hold::audited(&new.destination, new.cause);
        audit::append(session, act, hold::action(new.cause), None, &detail)?;
    }
    let hold = hold::of(all(session)?, &new.destination).ok_or_else(hold::gone)?;
    Ok(Held { hold, new: begun })
}

pub(super) fn end(
    session: &Session<'_>,
    destination: &str,
    seen: Option<Timestamp>,
    act: &Act,
) -> Done<Option<Hold>> {
    hold::check(destination)?;
    let Some(held) = hold::of(all(session)?, destination) else {
        return Ok(None);
    };
    hold::unchanged(&held, seen)?;
    session.execute(include_str!("../sql/resume.sql"), [destination])?;
    audit::append(
        session,
        act,
        "resume",
        None,
        &hold::audited(destination, held.cause),
    )?;
    Ok(Some(held))
}

pub(in crate::store::sqlite) fn all(session: &Session<'_>) -> Done<Vec<Hold>> {
    session.read(include_str!("../sql/holds.sql"), [], records::hold)
}

pub(super) fn workers(session: &Session<'_>) -> Done<Vec<WorkerRecord>> {
    let now = [session.now.as_millis()];
    session.read(include_str!("../sql/workers.sql"), now, records::worker)
}

//! Mending a dead letter.

use super::{Done, Session, audit, look, rescue};
use crate::{
    Payload,
    desk::{Act, Edit, MessageRef},
    job::JobKind,
    store::desk::{
        self,
        edit::{check, editable, mend, unchanged},
    },
};

pub(super) fn edit(session: &Session<'_>, message: MessageRef, edit: &Edit, act: &Act) -> Done<()> {
    check(edit)?;
    let found = editable(look::one(session, message)?)?;
    let number = found.id.number();
    unchanged(edit.seen, found.redrives, &audit::of_message(session, found.id)?)?;
    let Some(letter) = look::kept(session, found.id)? else {
        return Ok(());
    };
    let mended = mend(edit, letter);
    let (text, binary) = mended.payload.columns();
    let (original_text, original_binary) = mended.original.as_ref().map_or((None, None), Payload::columns);
    let values = (
        number,
        original_text,
        original_binary,
        text,
        binary,
        &edit.content_type,
        &edit.headers,
        &edit.destination,
        session.now.as_millis(),
        &mended.fingerprint,
        found.id.salt(),
    );
    session.execute(include_str!("../sql/edit.sql"), values)?;
    if mended.moves {
        session.execute(
            include_str!("../sql/free_lane.sql"),
            (number, session.now.as_millis()),
        )?;
    }
    audit::append(session, act, "edit", Some(found.id), &mended.detail)?;
    if edit.redrive {
        let (letter, _) = desk::letter(found.id);
        rescue::rescue(session, JobKind::Redrive, &letter, 1, act)?;
    }
    Ok(())
}

//! Mending a dead letter.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, audit, look, rescue};
use crate::{
    Payload,
    desk::{Act, Edit, MessageRef},
    job::JobKind,
    store::desk::{
        self,
        edit::{check, editable, mend, taken, unchanged},
    },
};

pub(super) async fn edit(inner: &Inner, message: MessageRef, edit: &Edit, act: &Act) -> Result<()> {
    check(edit)?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let found = editable(look::one(&session, message).await?)?;
    let (number, salt) = (found.id.number(), found.id.salt());
    let numbers = [number];
    let locking: [Parameter<'_>; 1] = [(&numbers.as_slice(), Type::INT8_ARRAY)];
    // Locked, so that it is neither put back nor edited by somebody else meanwhile; then looked at again.
    let locked = session
        .query(include_str!("../sql/lock_dead.sql"), &locking)
        .await?;
    if locked.is_empty() {
        return Err(taken(found.id));
    }
    if edit.seen.is_some() {
        let redrives = editable(look::one(&session, message).await?)?.redrives;
        unchanged(edit.seen, redrives, &audit::of_message(&session, found.id).await?)?;
    }
    let letter = look::kept(&session, found.id).await?;
    let mended = mend(edit, letter.ok_or_else(|| taken(found.id))?);
    let (text, binary) = mended.payload.columns();
    let (original_text, original_binary) = mended.original.as_ref().map_or((None, None), Payload::columns);
    let parameters: [Parameter<'_>; 10] = [
        (&number, Type::INT8),
        (&original_text, Type::TEXT),
        (&original_binary, Type::BYTEA),
        (&text, Type::TEXT),
        (&binary, Type::BYTEA),
        (&edit.content_type, Type::TEXT),
        (&edit.headers, Type::TEXT),
        (&edit.destination, Type::TEXT),
        (&mended.fingerprint, Type::TEXT),
        (&salt, Type::INT8),
    ];
    session
        .execute(include_str!("../sql/edit.sql"), &parameters)
        .await?;
    if mended.moves {
        session
            .execute(include_str!("../sql/free_lane.sql"), &locking)
            .await?;
    }
    audit::append(&session, act, "edit", Some(found.id), &mended.detail).await?;
    if edit.redrive {
        let (letter, _) = desk::letter(found.id);
        rescue::recorded(&session, JobKind::Redrive, &letter, &[found], act).await?;
    }
    session.commit().await?;
    session.closed();
    Ok(())
}

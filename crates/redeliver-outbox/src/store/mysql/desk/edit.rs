//! Mending a dead letter.

use mysql_async::{Params, Value};

use super::{MySqlStore, Work, audit, look, rescue, row};
use crate::{
    Payload,
    desk::{Act, Edit, MessageRef},
    job::JobKind,
    store::{
        Result,
        desk::{
            self,
            edit::{check, editable, mend, taken, unchanged},
        },
    },
};

pub(super) async fn edit(store: &MySqlStore, message: MessageRef, edit: &Edit, act: &Act) -> Result<()> {
    check(edit)?;
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let found = editable(look::one(&mut work, message).await?)?;
    // Locked, so that it is neither put back nor edited by somebody else meanwhile; then looked at again.
    if rescue::lock(&mut work, &[found.id]).await?.is_empty() {
        return Err(taken(found.id));
    }
    if edit.seen.is_some() {
        let redrives = editable(look::one(&mut work, message).await?)?.redrives;
        unchanged(
            edit.seen,
            redrives,
            &audit::of_message(&mut work, found.id).await?,
        )?;
    }
    let letter = look::kept(&mut work, found.id).await?;
    let mended = mend(edit, letter.ok_or_else(|| taken(found.id))?);
    let (text, binary) = mended.payload.columns();
    let (original_text, original_binary) = mended.original.as_ref().map_or((None, None), Payload::columns);
    let values: Vec<Value> = vec![
        original_text.into(),
        original_binary.into(),
        text.into(),
        binary.into(),
        edit.content_type.as_deref().into(),
        edit.headers.as_deref().into(),
        edit.destination.as_deref().into(),
        mended.fingerprint.as_deref().into(),
        found.id.number().into(),
        found.id.salt().into(),
    ];
    if mended.moves {
        // Before the row forgets which lane it was of.
        let head = (row::ids(&[found.id]),);
        work.run(include_str!("../sql/free_lane.sql"), head).await?;
    }
    work.run(include_str!("../sql/edit.sql"), Params::Positional(values))
        .await?;
    audit::append(&mut work, act, "edit", Some(found.id), &mended.detail).await?;
    if edit.redrive {
        let (letter, _) = desk::letter(found.id);
        rescue::recorded(&mut work, JobKind::Redrive, &letter, &[found.id], act).await?;
    }
    work.commit().await
}

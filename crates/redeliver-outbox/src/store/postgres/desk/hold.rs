//! Holding a destination, and letting it go on.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, audit};
use crate::{
    Held, Hold, NewHold, Timestamp,
    desk::{Act, WorkerRecord},
    store::desk::{hold, records},
};

pub(in crate::store::postgres) async fn begin(inner: &Inner, new: &NewHold, act: &Act) -> Result<Held> {
    hold::check(&new.destination)?;
    let mut session = inner.session().await?;
    let (kind, cause) = (new.cause.kind().as_str(), new.cause.as_str());
    let parameters: [Parameter<'_>; 5] = [
        (&new.destination, Type::TEXT),
        (&kind, Type::TEXT),
        (&cause, Type::TEXT),
        (&new.detail, Type::TEXT),
        (&act.who, Type::TEXT),
    ];
    session.opens();
    session.begin(Begin::Desk).await?;
    let begun = session
        .execute(include_str!("../sql/hold.sql"), &parameters)
        .await?
        > 0;
    if begun {
        let detail = hold::audited(&new.destination, new.cause);
        audit::append(&session, act, hold::action(new.cause), None, &detail).await?;
    }
    let hold = hold::of(all(&session).await?, &new.destination);
    session.commit().await?;
    session.closed();
    let hold = hold.ok_or_else(hold::gone)?;
    Ok(Held { hold, new: begun })
}

pub(super) async fn end(
    inner: &Inner,
    destination: &str,
    seen: Option<Timestamp>,
    act: &Act,
) -> Result<Option<Hold>> {
    hold::check(destination)?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    // Locked, so that it is not another one that ends.
    let parameters: [Parameter<'_>; 1] = [(&destination, Type::TEXT)];
    session
        .query(include_str!("../sql/lock_hold.sql"), &parameters)
        .await?;
    let mut held = hold::of(all(&session).await?, destination);
    if let Some(hold) = &held {
        hold::unchanged(hold, seen)?;
        let ended = session
            .execute(include_str!("../sql/resume.sql"), &parameters)
            .await?;
        // None was there to lock, and somebody else has ended the one that came.
        if ended > 0 {
            let detail = hold::audited(destination, hold.cause);
            audit::append(&session, act, "resume", None, &detail).await?;
        } else {
            held = None;
        }
    }
    session.commit().await?;
    session.closed();
    Ok(held)
}

pub(in crate::store::postgres) async fn all(session: &Session<'_>) -> Result<Vec<Hold>> {
    session
        .read(include_str!("../sql/holds.sql"), &[], records::hold)
        .await
}

pub(super) async fn workers(session: &Session<'_>) -> Result<Vec<WorkerRecord>> {
    session
        .read(include_str!("../sql/workers.sql"), &[], records::worker)
        .await
}

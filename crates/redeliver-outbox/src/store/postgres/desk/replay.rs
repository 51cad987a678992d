//! Sending events of the history once more.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, audit, value};
use crate::{
    MessageId,
    desk::{Act, Replay, Replayed},
    limits::REPLAY_BATCH,
    store::desk::replay::{candidate, check, choose, detail, oldest},
};

pub(super) async fn replay(
    inner: &Inner,
    replay: &Replay,
    after: i64,
    act: Option<&Act>,
) -> Result<Replayed> {
    check(replay)?;
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Desk).await?;
    let statement = include_str!("../sql/oldest_event.sql");
    let oldest = session.read(statement, &[], oldest).await?.pop();
    let (since, until) = (value::Time(replay.since), replay.until.map(value::Time));
    let limit = value::limit(REPLAY_BATCH);
    let parameters: [Parameter<'_>; 5] = [
        (&replay.to, Type::TEXT),
        (&after, Type::INT8),
        (&since, Type::TIMESTAMPTZ),
        (&until, Type::TIMESTAMPTZ),
        (&limit, Type::INT8),
    ];
    let statement = include_str!("../sql/replay_candidates.sql");
    let candidates = session.read(statement, &parameters, candidate).await?;
    let (events, mut replayed) = choose(replay, &candidates, oldest);
    if let Some(act) = act.filter(|_| !events.is_empty()) {
        let salts: Vec<i64> = events.iter().map(|_| MessageId::draw_salt()).collect();
        let parameters: [Parameter<'_>; 3] = [
            (&events, Type::INT8_ARRAY),
            (&salts, Type::INT8_ARRAY),
            (&replay.to, Type::TEXT),
        ];
        let made = session
            .execute(include_str!("../sql/replay.sql"), &parameters)
            .await?;
        // Another replay may have been quicker with some.
        replayed.there_before += replayed.messages.saturating_sub(made);
        replayed.messages = made;
        audit::append(&session, act, "replay", None, &detail(replay, &events, made)).await?;
    }
    session.commit().await?;
    session.closed();
    Ok(replayed)
}

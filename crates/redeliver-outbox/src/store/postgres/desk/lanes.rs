//! Lanes that stand or wait.

use tokio_postgres::types::Type;

use super::{Begin, Inner, Parameter, Result, Session, value};
use crate::{
    desk::StandingLane,
    limits::BLOCKED_ROWS,
    store::desk::overview::{self, Counted, Lane},
};

pub(super) async fn lanes(inner: &Inner, limit: usize) -> Result<Vec<StandingLane>> {
    let mut session = inner.session().await?;
    session.opens();
    session.begin(Begin::Look).await?;
    let (rows, limit) = (value::limit(BLOCKED_ROWS), value::limit(limit));
    let bounds: [Parameter<'_>; 2] = [(&rows, Type::INT8), (&limit, Type::INT8)];
    let statement = include_str!("../sql/lanes_parked.sql");
    let mut lanes = session.read(statement, &bounds[1..], overview::parked).await?;
    let statement = include_str!("../sql/lanes_blocked.sql");
    lanes.extend(session.read(statement, &bounds, overview::blocked).await?);
    let (counted, asked) = depths(&session, &lanes).await?;
    session.commit().await?;
    session.closed();
    Ok(overview::with_depths(lanes, &counted, asked))
}

async fn depths(session: &Session<'_>, lanes: &[Lane]) -> Result<(Vec<Counted>, usize)> {
    let beginnings = overview::beginnings(lanes);
    let asked = overview::rows_of_each(beginnings.len());
    let (shards, numbers): (Vec<i16>, Vec<i64>) = beginnings
        .into_iter()
        .map(|(shard, number)| (value::shard(shard), number))
        .unzip();
    let named: Vec<_> = lanes.iter().map(Lane::named).collect();
    let listed: Vec<i16> = named.iter().map(|(shard, _)| value::shard(*shard)).collect();
    let destinations: Vec<&str> = named.iter().map(|(_, lane)| lane.destination.as_str()).collect();
    let keys: Vec<&str> = named.iter().map(|(_, lane)| lane.key.as_str()).collect();
    let rows = value::limit(asked);
    let parameters: [Parameter<'_>; 6] = [
        (&listed, Type::INT2_ARRAY),
        (&destinations, Type::TEXT_ARRAY),
        (&keys, Type::TEXT_ARRAY),
        (&shards, Type::INT2_ARRAY),
        (&numbers, Type::INT8_ARRAY),
        (&rows, Type::INT8),
    ];
    let statement = include_str!("../sql/lane_depths.sql");
    let counted = session.read(statement, &parameters, overview::counted).await?;
    Ok((counted, asked))
}

//! Who lives, and who owns what.

use futures_util::future::{try_join, try_join3};
use tokio_postgres::types::Type;

use super::{
    Inner, Result,
    desk::hold,
    row::{self, get, shard, time},
    session::{Begin, Parameter},
    value::{self, Time},
};
use crate::store::{Beat, Claimed, Lease, Left, Membership, WorkerId};
use crate::{Timestamp, live};

pub(super) async fn beat(inner: &Inner, beat: &Beat) -> Result<Membership> {
    // Tables can be migrated or restored while a relay runs.
    inner.check_again();
    let session = inner.session().await?;
    let lease = value::wait_millis(beat.lease);
    let in_flight = value::attempt(beat.in_flight);
    let figures = live::written(&beat.destinations);
    let worker: Parameter<'_> = (&beat.worker.0, Type::TEXT);
    session
        .execute(
            include_str!("sql/beat.sql"),
            &[
                worker.clone(),
                (&lease, Type::INT8),
                (&in_flight, Type::INT4),
                (&figures, Type::TEXT),
            ],
        )
        .await?;
    let membership = [worker];
    let (row, holds) = try_join(
        session.one(include_str!("sql/membership.sql"), &membership),
        hold::all(&session),
    )
    .await?;
    let now = time(&row, 0)?;
    let shards: Vec<i16> = get::<Option<_>>(&row, 3)?.unwrap_or_default();
    let epochs: Vec<i64> = get::<Option<_>>(&row, 4)?.unwrap_or_default();
    let owned = shards
        .into_iter()
        .zip(epochs)
        .map(|(shard, epoch)| Lease {
            shard: shard.cast_unsigned(),
            epoch,
        })
        .collect();
    let number = |column| get::<i64>(&row, column).map(|count| usize::try_from(count).unwrap_or(0));
    Ok(Membership {
        now,
        workers: number(1)?,
        shards: number(2)?,
        owned,
        claimable: number(5)?,
        next_expiry: get::<Option<Time>>(&row, 6)?.map(|until| until.0.since(now)),
        holds,
    })
}

pub(super) async fn claim(
    inner: &Inner,
    worker: &WorkerId,
    at_most: usize,
    window: u32,
) -> Result<Vec<Claimed>> {
    let mut session = inner.session().await?;
    let (limit, window) = (value::limit(at_most), value::attempt(window));
    session.opens();
    session.begin(Begin::Write).await?;
    let taken = session
        .query(
            include_str!("sql/claim.sql"),
            &[
                (&worker.0, Type::TEXT),
                (&limit, Type::INT8),
                (&window, Type::INT4),
            ],
        )
        .await?;
    let mut claimed = Vec::with_capacity(taken.len());
    for row in &taken {
        let left = match (get(row, 2)?, value::count(get(row, 3)?)) {
            (true, _) => Left::Clean,
            (false, window) => Left::Crashed { window },
        };
        claimed.push(Claimed {
            lease: Lease {
                shard: shard(row, 0)?,
                epoch: get(row, 1)?,
            },
            left,
            highest: 0,
            parked: Vec::new(),
        });
    }
    claimed.sort_by_key(|claimed| claimed.lease.shard);
    // The claim's own snapshot may be older than the last settle of the owner before. Only now are the shards' rows locked: no settle
    // of that owner is under way, and none that waits for the lock will be taken. So these statements, each with a snapshot of its
    // own, see everything that it has ever settled.
    let shards: Vec<i16> = claimed
        .iter()
        .map(|claimed| value::shard(claimed.lease.shard))
        .collect();
    let parameters: [Parameter<'_>; 1] = [(&shards, Type::INT2_ARRAY)];
    // Forgotten first: what is let go on in between is not told as standing still, and stays to be told as resumed.
    let (_, highest, parked) = try_join3(
        session.execute(include_str!("sql/forget_resumed.sql"), &parameters),
        session.query(include_str!("sql/highest.sql"), &parameters),
        session.query(include_str!("sql/parked.sql"), &parameters),
    )
    .await?;
    session.commit().await?;
    session.closed();

    let place =
        |claimed: &[Claimed], shard: u16| claimed.binary_search_by_key(&shard, |claimed| claimed.lease.shard);
    for row in &highest {
        if let Ok(at) = place(&claimed, shard(row, 0)?) {
            claimed[at].highest = get(row, 1)?;
        }
    }
    for row in &parked {
        let (shard, lane) = row::parked(row)?;
        if let Ok(at) = place(&claimed, shard) {
            claimed[at].parked.push(lane);
        }
    }
    Ok(claimed)
}

pub(super) async fn release(inner: &Inner, worker: &WorkerId, leases: &[Lease], clean: bool) -> Result<()> {
    let session = inner.session().await?;
    let shards: Vec<i16> = leases.iter().map(|lease| value::shard(lease.shard)).collect();
    let epochs: Vec<i64> = leases.iter().map(|lease| lease.epoch).collect();
    session
        .execute(
            include_str!("sql/release.sql"),
            &[
                (&worker.0, Type::TEXT),
                (&shards, Type::INT2_ARRAY),
                (&epochs, Type::INT8_ARRAY),
                (&clean, Type::BOOL),
            ],
        )
        .await?;
    Ok(())
}

pub(super) async fn unpark(
    inner: &Inner,
    shards: &[u16],
    destination: &str,
    at_most: usize,
) -> Result<usize> {
    let of = (&destination as _, Type::TEXT);
    put_back(inner, include_str!("sql/unpark.sql"), shards, of, at_most).await
}

pub(super) async fn unpark_others(
    inner: &Inner,
    shards: &[u16],
    known: &[String],
    at_most: usize,
) -> Result<usize> {
    let of = (&known as _, Type::TEXT_ARRAY);
    put_back(inner, include_str!("sql/unpark_others.sql"), shards, of, at_most).await
}

/// Makes due what was put away in these shards for the destinations that the statement means.
async fn put_back(
    inner: &Inner,
    statement: &str,
    shards: &[u16],
    of: Parameter<'_>,
    at_most: usize,
) -> Result<usize> {
    let mut session = inner.session().await?;
    let shards: Vec<i16> = shards.iter().copied().map(value::shard).collect();
    let (parked, limit) = (Time(Timestamp::PARKED), value::limit(at_most));
    session.opens();
    session.begin(Begin::Write).await?;
    let parameters = [
        (&shards as _, Type::INT2_ARRAY),
        (&parked as _, Type::TIMESTAMPTZ),
        of,
        (&limit as _, Type::INT8),
    ];
    let count = session.execute(statement, &parameters).await?;
    session.commit().await?;
    session.closed();
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

pub(super) async fn leave(inner: &Inner, worker: &WorkerId) -> Result<()> {
    let session = inner.session().await?;
    session
        .execute(include_str!("sql/leave.sql"), &[(&worker.0, Type::TEXT)])
        .await?;
    Ok(())
}

//! Who is alive, and who owns which shard.

use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};

use mysql_async::{Params, Value};

use super::{MySqlStore, Work, desk::hold, row};
use crate::store::{
    Beat, Claimed, Lease, Left, Membership, ParkedLane, Result, WorkerId, columns::Known as _,
    schema::not_migrated,
};
use crate::{Timestamp, live};

pub(super) async fn beat(store: &MySqlStore, beat: &Beat) -> Result<Membership> {
    // The tables may have been migrated or restored since the last beat.
    store.fits.store(false, Ordering::Relaxed);
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let worker = beat.worker.0.as_str();
    let lease = row::delay(beat.lease);
    let figures = live::written(&beat.destinations);
    work.run(
        include_str!("sql/beat.sql"),
        (worker, lease, beat.in_flight, figures),
    )
    .await?;
    let owned = work.rows(include_str!("sql/owned.sql"), (worker,)).await?;
    let mut figures = work
        .row(include_str!("sql/membership.sql"), (worker,))
        .await?
        .ok_or_else(not_migrated)?;
    let membership = Membership {
        now: figures.known_time()?,
        workers: figures.take()?,
        shards: figures.take()?,
        claimable: figures.take()?,
        next_expiry: figures.take::<Option<u64>>()?.map(Duration::from_millis),
        owned: owned
            .into_iter()
            .map(|mut row| {
                Ok(Lease {
                    shard: row.take()?,
                    epoch: row.take()?,
                })
            })
            .collect::<Result<_>>()?,
        holds: hold::all(&mut work).await?,
    };
    work.commit().await?;
    Ok(membership)
}

/// What the owner before left is read in the same transaction, while the shards' rows are locked, and before it is committed. A settle
/// of that owner holds the same row's lock to its end: one that was under way made us pass the shard over, and a later one waits for us
/// and is refused, so what is read here is its last word. Had it been read after the commit, a connection lost in between would leave
/// this worker the owner of shards that it knows nothing of.
pub(super) async fn claim(
    store: &MySqlStore,
    worker: &WorkerId,
    at_most: usize,
    window: u32,
) -> Result<Vec<Claimed>> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    // Nobody is called by no name.
    let mut values: Vec<Value> = vec![Value::NULL];
    for mut row in work
        .rows(include_str!("sql/lock_gone.sql"), (worker.0.as_str(),))
        .await?
    {
        values.push(row.take::<String>()?.into());
    }
    let sql = include_str!("sql/claimable.sql").replace("{gone}", &vec!["?"; values.len()].join(", "));
    values.push(worker.0.as_str().into());
    values.push(at_most.min(1 << 16).into());
    let free = work.rows(&sql, Params::Positional(values)).await?;
    let mut claimed = BTreeMap::new();
    for mut row in free {
        let (shard, epoch, clean, held) = (row.take::<u16>()?, row.take::<i64>()?, row.take()?, row.take()?);
        let left = if clean {
            Left::Clean
        } else {
            Left::Crashed { window: held }
        };
        let lease = Lease {
            shard,
            epoch: epoch + 1,
        };
        let taken = Claimed {
            lease,
            left,
            highest: 0,
            parked: Vec::new(),
        };
        claimed.insert(shard, taken);
    }
    if claimed.is_empty() {
        work.abandon().await?;
        return Ok(Vec::new());
    }
    let shards: Vec<u16> = claimed.keys().copied().collect();
    let places = row::places(shards.len());
    let mut values: Vec<Value> = vec![worker.0.as_str().into(), window.into()];
    values.extend(row::padded(&shards));
    work.run(
        &include_str!("sql/claim.sql").replace("{shards}", &places),
        Params::Positional(values),
    )
    .await?;
    inherit(&mut work, &shards, &mut claimed).await?;
    work.commit().await?;
    Ok(claimed.into_values().collect())
}

async fn inherit(work: &mut Work<'_>, shards: &[u16], claimed: &mut BTreeMap<u16, Claimed>) -> Result<()> {
    for (shard, lane) in parked(work, shards).await? {
        if let Some(claimed) = claimed.get_mut(&shard) {
            claimed.parked.push(lane);
        }
    }
    for claimed in claimed.values_mut() {
        let shard = claimed.lease.shard;
        if let Some(mut row) = work.row(include_str!("sql/highest.sql"), (shard, shard)).await? {
            claimed.highest = row.take()?;
        }
    }
    Ok(())
}

/// The parked lanes of these shards.
pub(super) async fn parked(work: &mut Work<'_>, shards: &[u16]) -> Result<Vec<(u16, ParkedLane)>> {
    if shards.is_empty() {
        return Ok(Vec::new());
    }
    let sql = include_str!("sql/parked.sql").replace("{shards}", &row::places(shards.len()));
    let rows = work.rows(&sql, Params::Positional(row::padded(shards))).await?;
    let lanes = rows.into_iter().map(|mut row| {
        let (shard, head) = (row.take()?, row.number()?);
        Ok((
            shard,
            ParkedLane {
                lane: row.lane()?,
                head,
            },
        ))
    });
    lanes.collect()
}

pub(super) async fn release(
    store: &MySqlStore,
    worker: &WorkerId,
    leases: &[Lease],
    clean: bool,
) -> Result<()> {
    let mut leases = leases.to_vec();
    leases.sort_unstable();
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    for lease in leases {
        let values = (clean, lease.shard, worker.0.as_str(), lease.epoch);
        work.run(include_str!("sql/release.sql"), values).await?;
    }
    work.commit().await
}

pub(super) async fn unpark(
    store: &MySqlStore,
    shards: &[u16],
    destination: &str,
    at_most: usize,
) -> Result<usize> {
    if shards.is_empty() {
        return Ok(0);
    }
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let sql = include_str!("sql/unpark.sql").replace("{shards}", &row::places(shards.len()));
    let mut values = row::padded(shards);
    values.push(row::datetime(Timestamp::PARKED).into());
    values.push(destination.into());
    values.push(at_most.into());
    let count = work.run(&sql, Params::Positional(values)).await?;
    work.commit().await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

pub(super) async fn unpark_others(
    store: &MySqlStore,
    shards: &[u16],
    known: &[String],
    at_most: usize,
) -> Result<usize> {
    if shards.is_empty() {
        return Ok(0);
    }
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    let sql = include_str!("sql/unpark_others.sql")
        .replace("{shards}", &row::places(shards.len()))
        .replace("{known}", &row::places(known.len()));
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let mut values = row::padded(shards);
    values.push(row::datetime(Timestamp::PARKED).into());
    values.extend(row::padded(&names));
    if names.is_empty() {
        // There is no empty list after IN; in this one is no name.
        values.push(Value::NULL);
    }
    values.push(at_most.into());
    let count = work.run(&sql, Params::Positional(values)).await?;
    work.commit().await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

pub(super) async fn leave(store: &MySqlStore, worker: &WorkerId) -> Result<()> {
    let mut connection = store.connection().await?;
    let mut work = Work::begin(store, &mut connection).await?;
    // One that has not released everything stays known, so that its shards are free at once: an unknown owner counts as gone only after a
    // lease. Its shards are not written to, because a settle may hold them.
    if work
        .run(include_str!("sql/leave.sql"), (worker.0.as_str(),))
        .await?
        == 0
    {
        work.run(include_str!("sql/end_lease.sql"), (worker.0.as_str(),))
            .await?;
    }
    work.commit().await
}

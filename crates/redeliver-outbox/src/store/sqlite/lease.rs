//! Who lives, and whose the shards are.

use super::{
    connection::{Done, Session},
    desk::hold,
    row,
};
use crate::{
    Timestamp, live,
    plants::{Plant, planted},
    store::{Beat, Claimed, Lease, Left, Membership, ParkedLane, WorkerId, columns::Known as _},
};

pub(super) fn beat(session: &Session<'_>, beat: &Beat) -> Done<Membership> {
    let now = session.now.as_millis();
    let lease_until = session.now.plus(beat.lease).as_millis();
    let worker = &beat.worker.0;
    session.execute(
        include_str!("sql/beat.sql"),
        (
            worker,
            now,
            lease_until,
            beat.in_flight,
            live::written(&beat.destinations),
        ),
    )?;
    let owned = session.rows(include_str!("sql/owned.sql"), [worker], |row| {
        Ok(Lease {
            shard: row.get(0)?,
            epoch: row.get(1)?,
        })
    })?;
    let holds = hold::all(session)?;
    let membership = session.row(include_str!("sql/membership.sql"), (worker, now), |row| {
        let next_expiry: Option<i64> = row.get(3)?;
        Ok(Membership {
            now: session.now,
            workers: row::count(row, 0)?,
            shards: row::count(row, 1)?,
            owned,
            claimable: row::count(row, 2)?,
            // A lease holds through its last millisecond.
            next_expiry: next_expiry
                .map(|end| Timestamp::from_millis(end.saturating_add(1)).since(session.now)),
            holds,
        })
    })?;
    Ok(membership)
}

pub(super) fn claim(
    session: &Session<'_>,
    worker: &WorkerId,
    at_most: usize,
    window: u32,
) -> Done<Vec<Claimed>> {
    let now = session.now.as_millis();
    let free = session.rows(
        include_str!("sql/claimable.sql"),
        (
            &worker.0,
            if planted(Plant::LiveLeaseTaken) {
                i64::MAX
            } else {
                now
            },
            row::limit(at_most),
        ),
        |row| {
            let left = if row.get(2)? || planted(Plant::CrashTakenForClean) {
                Left::Clean
            } else {
                Left::Crashed { window: row.get(3)? }
            };
            let epoch: i64 = row.get(1)?;
            let lease = Lease {
                shard: row.get(0)?,
                epoch: epoch + i64::from(!planted(Plant::EpochNotBumped)),
            };
            Ok((lease, left, row.get(4)?))
        },
    )?;
    let mut claimed = Vec::with_capacity(free.len());
    for (lease, left, highest) in free {
        session.execute(
            include_str!("sql/claim.sql"),
            (lease.shard, &worker.0, lease.epoch, window, now),
        )?;
        claimed.push(Claimed {
            lease,
            left,
            highest,
            parked: parked(session, lease.shard)?,
        });
    }
    Ok(claimed)
}

pub(super) fn parked(session: &Session<'_>, shard: u16) -> Done<Vec<ParkedLane>> {
    session.read(include_str!("sql/parked.sql"), [shard], |row| {
        Ok(ParkedLane {
            lane: row.lane()?,
            head: row.number()?,
        })
    })
}

pub(super) fn release(session: &Session<'_>, worker: &WorkerId, leases: &[Lease], clean: bool) -> Done<()> {
    if planted(Plant::NothingReleased) {
        return Ok(());
    }
    for lease in leases {
        session.execute(
            include_str!("sql/release.sql"),
            (lease.shard, &worker.0, lease.epoch, clean),
        )?;
    }
    Ok(())
}

pub(super) fn unpark(
    session: &Session<'_>,
    shards: &[u16],
    destination: &str,
    at_most: usize,
) -> Done<usize> {
    let values = (
        session.now.as_millis(),
        Timestamp::PARKED.as_millis(),
        destination,
        format!("{shards:?}"),
        row::limit(at_most),
    );
    Ok(session.execute(include_str!("sql/unpark.sql"), values)?)
}

pub(super) fn unpark_others(
    session: &Session<'_>,
    shards: &[u16],
    known: &[String],
    at_most: usize,
) -> Done<usize> {
    let values = (
        session.now.as_millis(),
        Timestamp::PARKED.as_millis(),
        serde_json::Value::from(known).to_string(),
        format!("{shards:?}"),
        row::limit(at_most),
    );
    Ok(session.execute(include_str!("sql/unpark_others.sql"), values)?)
}

pub(super) fn leave(session: &Session<'_>, worker: &WorkerId) -> Done<()> {
    session.execute(include_str!("sql/leave.sql"), [&worker.0])?;
    session.execute(include_str!("sql/leave_shards.sql"), [&worker.0])?;
    Ok(())
}

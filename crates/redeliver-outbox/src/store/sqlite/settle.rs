//! Writing what became of messages. Row by row in one transaction: there is no server to spare round trips to.

use std::collections::{BTreeSet, HashMap};

use rusqlite::OptionalExtension as _;

use super::{
    connection::{Done, Session},
    fan_out::fan_out,
    row::text,
};
use crate::{
    Fingerprint, Timestamp,
    limits::error_text,
    millis_up,
    plants::{Plant, planted},
    store::{AfterDeath, Attempted, History, INTERRUPTED, Settled, Settlement, Until, Verdict, WorkerId},
};

pub(super) fn settle(
    session: &Session<'_>,
    worker: &WorkerId,
    settlements: &[Settlement],
    history: History,
) -> Done<Settled> {
    // The transaction holds the only write lock: what is owned here is owned until it ends.
    let owned: HashMap<u16, i64> = session
        .rows(include_str!("sql/owned.sql"), [&worker.0], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .into_iter()
        .collect();
    let mut stale = BTreeSet::new();
    let mut sorted: Vec<&Settlement> = settlements.iter().collect();
    // Messages that are made of events have their numbers in the order of the events.
    sorted.sort_by_key(|settlement| settlement.number());
    for settlement in sorted {
        let current = owned.get(&settlement.lease.shard) == Some(&settlement.lease.epoch);
        if current || planted(Plant::NoFence) {
            if settlement.verdict.can_be() {
                write(session, worker, settlement, history)?;
            }
        } else {
            stale.insert(settlement.lease.shard);
        }
    }
    if planted(Plant::StaleNotTold) {
        stale.clear();
    }
    Ok(Settled {
        stale: stale.into_iter().collect(),
    })
}

/// One row, which its guard may find elsewhere or further on: then it was settled before.
fn write(
    session: &Session<'_>,
    worker: &WorkerId,
    settlement: &Settlement,
    history: History,
) -> rusqlite::Result<()> {
    match &settlement.verdict {
        Verdict::Delivered(attempted) => deliver(session, settlement, attempted, history),
        Verdict::Retry { attempted, wait } => {
            let (now, error) = (session.now.as_millis(), error_text(&attempted.error));
            let due = if planted(Plant::RetryAtOnce) {
                session.now
            } else {
                session.now.plus(*wait)
            };
            if planted(Plant::DeleteOnFailure) {
                session.execute(include_str!("sql/remove.sql"), [settlement.number()])?;
            }
            let values = (
                settlement.number(),
                settlement.lease.shard,
                attempted.attempt - u32::from(planted(Plant::AttemptsNotCounted)),
                due.as_millis(),
                now,
                error,
                millis_up(*wait),
                settlement.redrives,
                settlement.id.salt(),
            );
            let written = session.execute(include_str!("sql/settle_retry.sql"), values)? > 0;
            if written && !planted(Plant::FailureNotLogged) {
                log(session, worker, settlement.number(), &Log::of(attempted))?;
            }
            Ok(())
        }
        Verdict::Dead { .. } => bury(session, worker, settlement),
        Verdict::FannedOut { destinations } => fan_out(session, settlement, destinations, history),
        Verdict::Postponed(until) => {
            let until_when = match until {
                Until::At(time) => *time,
                Until::After(wait) => session.now.plus(*wait),
                Until::Recovered => Timestamp::PARKED,
            };
            let values = (
                settlement.number(),
                settlement.lease.shard,
                until_when.as_millis(),
                settlement.redrives,
                settlement.id.salt(),
                *until == Until::Recovered,
            );
            if !planted(Plant::PostponementForgotten) {
                session.execute(include_str!("sql/settle_postponed.sql"), values)?;
            }
            Ok(())
        }
        Verdict::Counted { attempt } => {
            let now = session.now.as_millis();
            let values = (
                settlement.number(),
                settlement.lease.shard,
                attempt,
                now,
                settlement.redrives,
                settlement.id.salt(),
            );
            let written = session.execute(include_str!("sql/settle_counted.sql"), values)? > 0;
            if written && !planted(Plant::InterruptionNotLogged) {
                log(session, worker, settlement.number(), &Log::begun(*attempt))?;
            }
            Ok(())
        }
        Verdict::Uncounted { attempt } => {
            let number = settlement.number();
            let values = (
                number,
                settlement.lease.shard,
                attempt,
                settlement.redrives,
                settlement.id.salt(),
            );
            if session.execute(include_str!("sql/settle_uncounted.sql"), values)? > 0 {
                let values = (number, attempt, settlement.redrives, settlement.id.salt());
                session.execute(include_str!("sql/forget_begun.sql"), values)?;
            }
            Ok(())
        }
    }
}

fn deliver(
    session: &Session<'_>,
    settlement: &Settlement,
    attempted: &Attempted,
    history: History,
) -> rusqlite::Result<()> {
    let (number, shard) = (settlement.number(), settlement.lease.shard);
    let there = if planted(Plant::HistoryForgotten) {
        1
    } else if history == History::Off {
        let values = (
            number,
            shard,
            attempted.attempt,
            settlement.redrives,
            settlement.id.salt(),
        );
        session.execute(include_str!("sql/settle_forgotten.sql"), values)?
    } else {
        let values = (
            number,
            shard,
            attempted.attempt,
            session.now.as_millis(),
            millis_up(attempted.took),
            settlement.redrives,
            history == History::Full,
            settlement.id.salt(),
        );
        session.execute(include_str!("sql/settle_delivered.sql"), values)?
    };
    if there == 0 {
        return Ok(());
    }
    if history == History::Off {
        session.execute(include_str!("sql/remove_attempts.sql"), [number])?;
    } else {
        session.execute(include_str!("sql/remove.sql"), [number])?;
        session.execute(
            include_str!("sql/forget_interrupted.sql"),
            (number, attempted.attempt),
        )?;
    }
    if attempted.resumes_lane {
        session.execute(include_str!("sql/resume_lane.sql"), (shard, number))?;
    }
    Ok(())
}

fn bury(session: &Session<'_>, worker: &WorkerId, settlement: &Settlement) -> rusqlite::Result<()> {
    let Verdict::Dead {
        attempted,
        reason,
        error,
        lane,
    } = &settlement.verdict
    else {
        return Ok(());
    };
    let (number, shard) = (settlement.number(), settlement.lease.shard);
    let now = session.now.as_millis();
    let error = error_text(error);
    let destination: Option<String> = session
        .row(include_str!("sql/destinations_of.sql"), [number], |row| {
            text(row, 0)
        })
        .optional()?
        .flatten();
    let fingerprint = Fingerprint::of(&destination.unwrap_or_default(), reason.as_str(), &error);
    let values = (
        number,
        shard,
        attempted.as_ref().map(|attempted| attempted.attempt),
        now,
        error,
        reason.as_str(),
        *lane == AfterDeath::Gap,
        settlement.redrives,
        settlement.id.salt(),
        fingerprint.column(),
    );
    let deleted = planted(Plant::DeadLetterDeleted);
    if !deleted && session.execute(include_str!("sql/settle_dead.sql"), values)? == 0 {
        return Ok(());
    }
    if let Some(attempted) = attempted {
        log(session, worker, number, &Log::of(attempted))?;
    }
    match lane {
        AfterDeath::Park => session.execute(include_str!("sql/park_lane.sql"), (number, now))?,
        // The head of a parked lane may die again where lanes no longer stand still for it.
        AfterDeath::Gap | AfterDeath::None => {
            session.execute(include_str!("sql/resume_lane.sql"), (shard, number))?
        }
    };
    if !planted(Plant::DeadLetterStaysLive) {
        session.execute(include_str!("sql/remove.sql"), [number])?;
    }
    Ok(())
}

/// A line of the log of attempts.
struct Log<'a> {
    attempt: u32,
    took_ms: Option<i64>,
    class: &'a str,
    error: String,
}

impl<'a> Log<'a> {
    fn of(attempted: &'a Attempted) -> Self {
        Self {
            attempt: attempted.attempt,
            took_ms: Some(millis_up(attempted.took)),
            class: attempted.class,
            error: error_text(&attempted.error),
        }
    }

    fn begun(attempt: u32) -> Self {
        Self {
            attempt,
            took_ms: None,
            class: "interrupted",
            error: INTERRUPTED.to_owned(),
        }
    }
}

fn log(session: &Session<'_>, worker: &WorkerId, number: i64, log: &Log<'_>) -> rusqlite::Result<()> {
    let values = (
        number,
        log.attempt,
        session.now.as_millis(),
        log.took_ms,
        log.class,
        &log.error,
        &worker.0,
    );
    session.execute(include_str!("sql/log_attempt.sql"), values)?;
    Ok(())
}

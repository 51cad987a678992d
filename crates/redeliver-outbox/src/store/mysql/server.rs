//! Which server a connection has reached, and what that means for reading from it.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use redeliver::Moment;

use super::Work;
use crate::{
    Timestamp,
    store::{Result, StoreError, StoreErrorKind, columns::Known as _},
};

/// Two answers about the same start of a server are less than this apart, unless the machine stalled between two statements; then
/// everything is read once more for nothing.
const ROUNDING: Duration = Duration::from_secs(1);
/// Servers that are met in turns within this time are behind one address.
const IN_TURNS: Duration = Duration::from_secs(60);

/// One start of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// Since when it runs, to about a second.
    at: Timestamp,
    /// Its address and files, and what it drew when it started.
    mark: String,
}

impl Start {
    /// Whether it is the same start of the same server.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.mark == other.mark && self.at.since(other.at) < ROUNDING && other.at.since(self.at) < ROUNDING
    }

    /// As a connection remembers it.
    fn written(&self) -> String {
        format!("{} {}", self.at.as_millis(), self.mark)
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        let (at, mark) = text.split_once(' ')?;
        Some(Self {
            at: Timestamp::from_millis(at.parse().ok()?),
            mark: mark.to_owned(),
        })
    }
}

/// What a server says of itself.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) start: Start,
    pub(super) read_only: bool,
    /// Set where other servers write to the same tables: their transactions are not on this one's list.
    pub(super) cluster: Option<&'static str>,
}

/// Asks the server that the connection has reached.
pub(super) async fn server(work: &mut Work<'_>) -> Result<Server> {
    let failed = |error| work.store.failed(error);
    let status = "SHOW GLOBAL STATUS LIKE 'Uptime'";
    let uptime: Option<(String, i64)> = work.transaction.query_first(status).await.map_err(failed)?;
    let seconds = uptime.map_or(0, |(_, seconds)| seconds);
    let variables =
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'group_replication_single_primary_mode')";
    let variables: Vec<(String, String)> = work.transaction.query(variables).await.map_err(failed)?;
    let mut row = work
        .row(include_str!("sql/server.sql"), ())
        .await?
        .ok_or_else(|| StoreError::new(StoreErrorKind::Other, "the server does not say which one it is"))?;
    let now = row.known_time()?;
    Ok(Server {
        start: Start {
            at: Timestamp::from_millis(now.as_millis().saturating_sub(seconds.saturating_mul(1000))),
            mark: row.take()?,
        },
        read_only: row.take()?,
        cluster: variables.iter().find_map(|(name, value)| cluster(name, value)),
    })
}

fn cluster(variable: &str, value: &str) -> Option<&'static str> {
    match (variable, value) {
        ("wsrep_on", "ON") => Some("Galera"),
        ("group_replication_single_primary_mode", "OFF") => Some("Group Replication with several primaries"),
        _ => None,
    }
}

/// Lets the connection remember which server it has reached.
pub(super) async fn remember(work: &mut Work<'_>, start: &Start) -> Result<()> {
    work.run("SET @redeliver_server = ?", (start.written(),)).await?;
    Ok(())
}

/// The servers that a reader has met.
#[derive(Clone, Debug, Default)]
pub(super) struct Met(Vec<Meeting>);

#[derive(Clone, Debug)]
struct Meeting {
    start: Start,
    first: Moment,
    last: Moment,
}

/// What it means that a read has reached this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// The first one, or the same as before.
    Same,
    /// Another one, or one that was started again: commits may be lost.
    Another,
    /// One of several behind the same address.
    InTurns,
}

impl Met {
    pub(super) fn meet(&mut self, start: &Start, now: Moment) -> Reached {
        let latest = self.0.iter().max_by_key(|meeting| meeting.last);
        let changed = latest.is_some_and(|latest| !latest.start.is(start));
        let known = self.0.iter().position(|meeting| meeting.start.is(start));
        let Some(place) = known else {
            self.0.retain(|meeting| now.since(meeting.last) < IN_TURNS);
            let start = start.clone();
            self.0.push(Meeting {
                start,
                first: now,
                last: now,
            });
            return if changed { Reached::Another } else { Reached::Same };
        };
        let first = self.0[place].first;
        let in_turns = |meeting: &Meeting| meeting.last > first && now.since(meeting.last) < IN_TURNS;
        let others = self.0.iter().enumerate().filter(|(index, _)| *index != place);
        let in_turns = others.map(|(_, meeting)| meeting).any(in_turns);
        self.0[place].last = now;
        match (in_turns, changed) {
            (true, _) => Reached::InTurns,
            (false, true) => Reached::Another,
            (false, false) => Reached::Same,
        }
    }
}

pub(super) fn read_only() -> StoreError {
    let what = "the address leads to a server that is read-only, a replica perhaps";
    StoreError::new(StoreErrorKind::ReadOnly, what)
        .next("connect to the primary server, and not through a proxy that sends reads to replicas")
}

pub(super) fn in_turns() -> StoreError {
    let what =
        "connections to the address reach different servers in turns, which would lose or repeat messages";
    StoreError::new(StoreErrorKind::Unsupported, what)
        .next("connect to one server, and not through a proxy that spreads connections")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(at: i64, mark: &str) -> Start {
        Start {
            at: Timestamp::from_millis(at),
            mark: mark.to_owned(),
        }
    }

    fn after(seconds: u64) -> Moment {
        Moment::ZERO.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_connection_remembers_a_start() {
        let a = start(
            1_794_787_200_123,
            "host/3306/1//var/lib/my sql//9d3d-02fc00000001",
        );
        assert_eq!(Start::read(&a.written()), Some(a));
        assert_eq!(Start::read("soon"), None);
    }

    #[test]
    fn a_failover_within_the_same_second_is_noticed() {
        let mut met = Met::default();
        assert_eq!(met.meet(&start(1000, "a"), after(0)), Reached::Same);
        assert_eq!(met.meet(&start(1900, "a"), after(1)), Reached::Same);
        assert_eq!(met.meet(&start(1000, "b"), after(2)), Reached::Another);
        assert_eq!(met.meet(&start(1000, "b"), after(3)), Reached::Same);
        // Started again, at another second.
        assert_eq!(met.meet(&start(9000, "b"), after(4)), Reached::Another);
        // Back to the first, long after.
        assert_eq!(met.meet(&start(1000, "a"), after(400)), Reached::Another);
        assert_eq!(met.meet(&start(1000, "a"), after(401)), Reached::Same);
    }

    #[test]
    fn servers_behind_one_address_are_noticed() {
        let (mut met, a, b) = (Met::default(), start(1000, "a"), start(5000, "b"));
        assert_eq!(met.meet(&a, after(0)), Reached::Same);
        assert_eq!(met.meet(&b, after(1)), Reached::Another);
        for second in 2..6 {
            let reached = if second % 2 == 0 { &a } else { &b };
            assert_eq!(met.meet(reached, after(second)), Reached::InTurns);
        }
        // Until it is one alone for a while.
        assert_eq!(met.meet(&a, after(30)), Reached::InTurns);
        assert_eq!(met.meet(&a, after(66)), Reached::Same);
    }

    #[test]
    fn clusters_with_several_writers_are_known() {
        assert_eq!(cluster("wsrep_on", "ON"), Some("Galera"));
        assert_eq!(cluster("wsrep_on", "OFF"), None);
        assert_eq!(cluster("group_replication_single_primary_mode", "ON"), None);
        assert!(cluster("group_replication_single_primary_mode", "OFF").is_some());
    }
}

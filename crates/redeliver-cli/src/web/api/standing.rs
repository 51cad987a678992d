//! What stands, what comes, and what it takes.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::{
    Timestamp,
    desk::{Known, Outlook, Standing, StandingLane, Storage},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{problem::Problem, site::Site};

/// The most lanes of each kind that are told.
const LANES: usize = 200;

/// A lane that does not go on by itself, or not now.
#[derive(Serialize, ToSchema)]
struct LaneForm<'a> {
    destination: &'a str,
    key: &'a str,
    /// held: an operator parked it; parked: it stands still for a dead letter, and somebody has to act; blocked: its head waits for its next
    /// attempt.
    standing: &'static str,
    /// The message that it waits for, or that died in it while it was held.
    head: Option<String>,
    /// How many live messages are in it, as far as was counted.
    depth: u64,
    /// Whether there may be more.
    or_more: bool,
    /// Since when it is held or parked, or when the head of a blocked one was inserted.
    since: String,
    /// Why the head of a parked one was quarantined.
    reason: Option<&'static str>,
    /// Who parked a held one.
    who: Option<&'a str>,
    /// Why.
    why: Option<&'a str>,
    /// How often the head of a blocked one was attempted.
    attempts: Option<u32>,
    next_attempt_at: Option<String>,
    error: Option<&'a str>,
}

impl<'a> LaneForm<'a> {
    fn of(lane: &'a StandingLane) -> Self {
        let form = Self {
            destination: &lane.lane.destination,
            key: &lane.lane.key,
            standing: "parked",
            head: lane.head.map(|head| head.to_string()),
            depth: lane.depth.messages,
            or_more: lane.depth.or_more,
            since: String::new(),
            reason: None,
            who: None,
            why: None,
            attempts: None,
            next_attempt_at: None,
            error: None,
        };
        match &lane.standing {
            Standing::Parked { reason, since } => Self {
                since: since.to_string(),
                reason: reason.map(|reason| reason.as_str()),
                ..form
            },
            Standing::Held { who, why, since } => Self {
                standing: "held",
                since: since.to_string(),
                who: Some(who),
                why: Some(why),
                ..form
            },
            Standing::Blocked {
                attempts,
                next_attempt_at,
                error,
                oldest,
            } => Self {
                standing: "blocked",
                since: oldest.to_string(),
                attempts: Some(*attempts),
                next_attempt_at: Some(next_attempt_at.to_string()),
                error: Some(error),
                ..form
            },
        }
    }
}

#[derive(Serialize, ToSchema)]
struct LanesForm<'a> {
    items: Vec<LaneForm<'a>>,
}

/// What comes due within a day.
#[derive(Serialize, ToSchema)]
struct OutlookForm<'a> {
    now: String,
    overdue: u64,
    /// How many come due in each of the next 96 quarters of an hour.
    quarters: &'a [u64],
    beyond: u64,
    put_away: u64,
}

impl<'a> OutlookForm<'a> {
    fn of(outlook: &'a Outlook) -> Self {
        Self {
            now: outlook.now.to_string(),
            overdue: outlook.overdue,
            quarters: &outlook.buckets,
            beyond: outlook.beyond,
            put_away: outlook.put_away,
        }
    }
}

/// One table.
#[derive(Serialize, ToSchema)]
struct TableForm<'a> {
    name: &'a str,
    rows: u64,
    /// exactly, roughly, at_most or at_least: how well the number of rows is known.
    known: &'static str,
    bytes: Option<u64>,
    dead_rows: Option<u64>,
    vacuumed_at: Option<String>,
    analyzed_at: Option<String>,
}

/// A transaction, or something like it, that keeps dead rows from being removed.
#[derive(Serialize, ToSchema)]
struct HolderForm<'a> {
    kind: &'a str,
    process: Option<i64>,
    state: &'a str,
    application: &'a str,
    age_ms: Option<u64>,
}

/// How much room everything takes.
#[derive(Serialize, ToSchema)]
struct StorageForm<'a> {
    tables: Vec<TableForm<'a>>,
    database_bytes: Option<u64>,
    wal_bytes: Option<u64>,
    free_bytes: Option<u64>,
    unpurged: Option<u64>,
    held_back_by: Vec<HolderForm<'a>>,
}

impl<'a> StorageForm<'a> {
    fn of(storage: &'a Storage) -> Self {
        let millis = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
        let tables = storage.tables.iter().map(|table| TableForm {
            name: &table.name,
            rows: table.rows,
            known: match table.known {
                Known::Exactly => "exactly",
                Known::Roughly => "roughly",
                Known::AtMost => "at_most",
                Known::AtLeast => "at_least",
            },
            bytes: table.bytes,
            dead_rows: table.dead_rows,
            vacuumed_at: text(table.vacuumed_at),
            analyzed_at: text(table.analyzed_at),
        });
        let holders = storage.held_back_by.iter().map(|holder| HolderForm {
            kind: &holder.kind,
            process: holder.process,
            state: &holder.state,
            application: &holder.application,
            age_ms: holder.age.map(millis),
        });
        Self {
            tables: tables.collect(),
            database_bytes: storage.database_bytes,
            wal_bytes: storage.wal_bytes,
            free_bytes: storage.free_bytes,
            unpurged: storage.unpurged,
            held_back_by: holders.collect(),
        }
    }
}

/// Lanes that stand or wait, those that need somebody first
#[utoipa::path(get, path = "/api/v1/lanes", tag = "operations",
    responses((status = 200, body = LanesForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn lanes(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let lanes = site.desk.lanes(LANES).await?;
    let items = lanes.iter().map(LaneForm::of).collect();
    Ok(Json(LanesForm { items }).into_response())
}

/// What comes due within a day, by quarters of an hour
#[utoipa::path(get, path = "/api/v1/outlook", tag = "operations",
    responses((status = 200, body = OutlookForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn outlook(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let outlook = site.desk.outlook().await?;
    Ok(Json(OutlookForm::of(&outlook)).into_response())
}

/// How much room everything takes, and what keeps dead rows from being removed
#[utoipa::path(get, path = "/api/v1/storage", tag = "operations",
    responses((status = 200, body = StorageForm), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn storage(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let storage = site.desk.storage().await?;
    Ok(Json(StorageForm::of(&storage)).into_response())
}

//! What comes, and what it takes.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use redeliver_outbox::{
    Timestamp,
    desk::{Known, Outlook, Storage},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{problem::Problem, site::Site};

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

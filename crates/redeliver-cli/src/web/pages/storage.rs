//! How much room everything takes, and what keeps it from being given back.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use redeliver_outbox::{
    Timestamp,
    desk::{Finding, Grade, Holder, Known, Storage, TableStorage},
};

use super::{
    frame::{Answered, Frame, STORAGE, Visitor, page as answer},
    picture::Share,
    words::{Chip, Prose, When, about, bytes, freshness, grouped},
};
use crate::{readable, web::site::Site};

/// One table.
#[derive(Debug)]
struct Row {
    name: String,
    rows: String,
    /// How well that is known, in words.
    known: &'static str,
    bytes: String,
    share: Share,
    dead: String,
    vacuumed: Option<When>,
    analyzed: Option<When>,
}

/// Something that keeps dead rows.
#[derive(Debug)]
struct Keeper {
    what: String,
    state: String,
    application: String,
    age: String,
}

/// What a look at the database's health found.
#[derive(Debug)]
struct Found {
    chip: Chip,
    what: Prose,
    next: Prose,
}

#[derive(Debug, Template)]
#[template(path = "storage.html", blocks = ["live"])]
struct StoragePage {
    frame: Frame,
    counting: bool,
    freshness: String,
    tiles: Vec<(&'static str, String, &'static str)>,
    rows: Vec<Row>,
    keepers: Vec<Keeper>,
    /// Whether the database tells how large each table is.
    tells_sizes: bool,
    /// Whether the database tells how many rows are dead.
    tells_dead: bool,
}

pub(super) async fn page(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let counted = site.storage().await?;
    let nothing = Storage::default();
    let storage = counted.as_ref().map_or(&nothing, |storage| &*storage.value);
    let now = Timestamp::wall();
    let largest = storage
        .tables
        .iter()
        .filter_map(|table| table.bytes)
        .max()
        .unwrap_or(0);
    let page = StoragePage {
        frame: Frame::new("Storage", STORAGE, &site, &visitor),
        counting: counted.is_none(),
        freshness: counted.as_ref().map_or(String::new(), freshness),
        tiles: tiles(storage),
        rows: storage
            .tables
            .iter()
            .map(|table| row(table, largest, now))
            .collect(),
        keepers: storage.held_back_by.iter().map(keeper).collect(),
        tells_sizes: largest > 0,
        tells_dead: storage.tables.iter().any(|table| table.dead_rows.is_some()),
    };
    Ok(answer(&visitor, &page, &page.as_live()))
}

fn tiles(storage: &Storage) -> Vec<(&'static str, String, &'static str)> {
    let sized = [
        ("Database", storage.database_bytes, "with whatever else is in it"),
        (
            "Write-ahead log",
            storage.wal_bytes,
            "changes on their way into the file",
        ),
        ("Free", storage.free_bytes, "for new rows, within the files"),
    ];
    let unpurged = storage
        .unpurged
        .map(|count| ("Not purged yet", grouped(count), "changes in the history list"));
    sized
        .into_iter()
        .filter_map(|(name, size, means)| Some((name, bytes(size?), means)))
        .chain(unpurged)
        .collect()
}

fn row(table: &TableStorage, largest: u64, now: Timestamp) -> Row {
    let (sign, known) = match table.known {
        Known::Exactly => ("", "counted"),
        Known::Roughly => ("≈", "as the database guesses"),
        Known::AtMost => ("≤", "not more than that"),
        Known::AtLeast => ("≥", "not fewer than that"),
    };
    Row {
        name: readable::line(&table.name, 80),
        rows: format!("{sign}{}", grouped(table.rows)),
        known,
        bytes: table.bytes.map_or("–".to_owned(), bytes),
        share: Share::of(table.bytes.unwrap_or(0), largest),
        dead: table.dead_rows.map_or("–".to_owned(), grouped),
        vacuumed: table.vacuumed_at.map(|time| When::of(time, now)),
        analyzed: table.analyzed_at.map(|time| When::of(time, now)),
    }
}

fn keeper(holder: &Holder) -> Keeper {
    let process = holder
        .process
        .map_or(String::new(), |process| format!(" {process}"));
    Keeper {
        what: format!("{}{process}", readable::line(&holder.kind, 40)),
        state: readable::line(&holder.state, 80),
        application: readable::line(&holder.application, 80),
        age: holder.age.map_or("–".to_owned(), about),
    }
}

#[derive(Debug, Template)]
#[template(path = "examined.html", blocks = ["live"])]
struct Examined {
    frame: Frame,
    counting: bool,
    freshness: String,
    found: Vec<Found>,
}

/// What `redeliver doctor` finds in the database.
pub(super) async fn examine(State(site): State<Arc<Site>>, visitor: Visitor) -> Answered {
    let examined = site.health().await?;
    let findings = examined.iter().flat_map(|examined| examined.value.iter());
    let page = Examined {
        frame: Frame::new("The database's health", STORAGE, &site, &visitor),
        counting: examined.is_none(),
        freshness: examined.as_ref().map_or(String::new(), freshness),
        found: findings.map(found).collect(),
    };
    Ok(answer(&visitor, &page, &page.as_live()))
}

fn found(finding: &Finding) -> Found {
    Found {
        chip: match finding.grade {
            Grade::Good => Chip::new("good", "✓", "good"),
            Grade::Advice => Chip::new("warn", "!", "advice"),
            Grade::Problem => Chip::new("bad", "✕", "problem"),
        },
        what: Prose::of(&finding.what),
        next: Prose::of(&finding.next),
    }
}

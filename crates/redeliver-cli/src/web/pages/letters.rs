//! What is done to many dead letters: which, how many, a sample, and only then.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::StatusCode};
use redeliver_outbox::{
    Timestamp,
    desk::{Filter, Page},
};

use super::{
    acting::Acting,
    done::Done,
    fields::Fields,
    frame::{Answered, Frame, ISSUES, Visitor, shown},
    messages::Row,
    narrowing::Narrowing,
    words::{counted, grouped},
};
use crate::web::{problem::Problem, site::Site};

/// So many are changed in one transaction.
const BATCH: usize = 500;
/// So many are shown before something is done to all.
const SAMPLE: usize = 5;

#[derive(Debug, Template)]
#[template(path = "letters.html")]
struct Letters {
    frame: Frame,
    /// `redrive` or `discard`.
    act: &'static str,
    title: &'static str,
    sentence: &'static str,
    button: String,
    count: u64,
    letters: String,
    chosen: Vec<(String, String)>,
    pairs: Vec<(String, String)>,
    rows: Vec<Row>,
    more: Option<String>,
    reason_required: bool,
    back: String,
}

/// What can be done to many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Redrive,
    Discard,
}

pub(super) async fn ask_redrive(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    ask(&site, &visitor, &query, Deed::Redrive).await
}

pub(super) async fn ask_discard(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    ask(&site, &visitor, &query, Deed::Discard).await
}

/// What was chosen. Something that is not understood must not come to mean all.
pub(super) fn chosen(fields: &Fields) -> Result<Narrowing, Problem> {
    let narrowing = Narrowing::of(fields);
    match narrowing.wrong.first() {
        Some(wrong) => Err(Problem::bad_request(format!("nothing was done: {wrong}"))),
        None if narrowing.is_empty() => Err(Problem::bad_request(
            "which dead letters? Choose some in the list, or narrow it; to mean all of them, narrow it by their status",
        )),
        None => Ok(narrowing),
    }
}

async fn ask(site: &Site, visitor: &Visitor, query: &Fields, deed: Deed) -> Answered {
    let narrowing = chosen(query)?;
    let filter = narrowing.dead();
    let count = site.desk.count(&filter).await?;
    let look = Page {
        after: None,
        limit: SAMPLE,
        newest_first: false,
        until: None,
    };
    let records = site.desk.list(&filter, look, false).await?;
    let now = Timestamp::wall();
    let letters = counted(count, "dead letter", "dead letters");
    let page = Letters {
        frame: Frame::new(deed.title(), ISSUES, site, visitor),
        act: deed.word(),
        title: deed.title(),
        sentence: deed.sentence(),
        button: format!("{} {letters}", deed.verb()),
        count,
        letters,
        chosen: narrowing.chosen("/messages"),
        pairs: narrowing.pairs().to_vec(),
        more: count
            .checked_sub(records.len() as u64)
            .filter(|more| *more > 0)
            .map(grouped),
        rows: records.iter().map(|record| Row::of(record, now)).collect(),
        reason_required: deed == Deed::Discard,
        back: narrowing.address("/messages"),
    };
    Ok(shown(StatusCode::OK, &page))
}

impl Deed {
    const fn word(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Discard => "discard",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Redrive => "Redrive",
            Self::Discard => "Discard",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Redrive => "Redrive dead letters",
            Self::Discard => "Discard dead letters",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Redrive => {
                "They are put back: pending, no attempts, due now. A parked lane goes on with them."
            }
            Self::Discard => {
                "They are given up. Their rows stay, marked, until their retention is over; a parked lane goes on without them."
            }
        }
    }
}

pub(super) async fn redrive(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    act(&site, &acting, Deed::Redrive).await
}

pub(super) async fn discard(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    act(&site, &acting, Deed::Discard).await
}

/// At most as many as were confirmed, the oldest first: what died meanwhile was not looked at.
async fn act(site: &Site, acting: &Acting, deed: Deed) -> Answered {
    let filter = chosen(&acting.fields)?.dead();
    let act = match deed {
        Deed::Redrive => acting.act(),
        Deed::Discard => acting.act_with_reason()?,
    };
    let confirmed = acting
        .fields
        .get("confirmed")
        .and_then(|count| count.parse::<usize>().ok());
    let Some(confirmed) = confirmed else {
        return Err(
            Problem::bad_request("nothing was done: the form does not say how many were confirmed").into(),
        );
    };
    let mut done = 0;
    while done < confirmed {
        let batch = BATCH.min(confirmed - done);
        let changed = change(site, deed, &filter, batch, &act).await?;
        if changed == 0 {
            break;
        }
        done += changed;
    }
    let told = match deed {
        Deed::Redrive => Done::Redriven,
        Deed::Discard => Done::Discarded,
    };
    Ok(acting.went(&told.at("/issues", done as u64)))
}

async fn change(
    site: &Site,
    deed: Deed,
    filter: &Filter,
    at_most: usize,
    act: &redeliver_outbox::desk::Act,
) -> redeliver_outbox::store::Result<usize> {
    let changed = match deed {
        Deed::Redrive => site.desk.redrive(filter, at_most, act).await?,
        Deed::Discard => site.desk.discard(filter, at_most, act).await?,
    };
    Ok(changed.len())
}

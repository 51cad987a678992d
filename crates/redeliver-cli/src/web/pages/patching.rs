//! Mending many dead letters in the same way: what would change in some of them first, then in all.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::StatusCode};
use redeliver_outbox::{
    Payload,
    desk::{Edit, MessageRef, Page, Record},
    patched,
    secrecy::Secrecy,
};
use serde_json::{Map, Value};

use super::{
    acting::Acting,
    done::Done,
    fields::Fields,
    frame::{Answered, Frame, ISSUES, Visitor, shown},
    letters::chosen,
    message,
    messages::{Choice, destinations},
    narrowing::Narrowing,
    payload::{Compared, compared},
    words::counted,
};
use crate::{
    readable,
    web::{problem::Problem, site::Site},
};

/// The most that are patched at a time: each is an edit of its own in the audit trail.
const MOST: u64 = 1_000;
/// So many are read at a time.
const BATCH: usize = 50;
/// So many are shown before all are changed.
const SAMPLE: usize = 3;

/// What a patch would do to one of them.
#[derive(Debug)]
struct Sample {
    number: i64,
    href: String,
    /// None if it cannot be patched.
    lines: Option<Vec<Compared>>,
    moves: Option<String>,
    unchanged: bool,
}

#[derive(Debug, Template)]
#[template(path = "patching.html")]
struct Patching {
    frame: Frame,
    count: u64,
    letters: String,
    chosen: Vec<(String, String)>,
    pairs: Vec<(String, String)>,
    patch: String,
    destinations: Vec<Choice>,
    why: String,
    wrong: Option<String>,
    samples: Vec<Sample>,
    previewed: bool,
    too_many: bool,
    back: String,
}

/// What is to be changed in each.
#[derive(Debug, Default)]
struct Change {
    patch: Map<String, Value>,
    destination: Option<String>,
}

impl Change {
    fn of(fields: &Fields) -> Result<Self, String> {
        let destination = fields.get("new_destination").map(str::to_owned);
        let text = fields.get("patch").unwrap_or("{}");
        let patch: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| format!("The patch is no JSON object ({error})."))?;
        match patch.is_empty() && destination.is_none() {
            true => {
                Err("The patch changes nothing: name at least one field, or another destination.".to_owned())
            }
            false => Ok(Self { patch, destination }),
        }
    }

    /// What it changes in this one; none if its payload is no JSON, so that nothing can be done to it.
    fn edit(&self, record: &Record) -> Option<Edit> {
        let before = record.payload.as_ref().and_then(Payload::as_text);
        let payload = match self.patch.is_empty() {
            true => None,
            false => {
                let before = before?;
                let after = patched(before, &self.patch)?;
                let same = patched(before, &Map::new()).is_some_and(|same| same == after);
                // Where some of it is hidden, the desk does what the patch says.
                let after = match record.hidden {
                    Some(_) => Value::Object(self.patch.clone()).to_string(),
                    None => after,
                };
                (!same).then(|| Payload::from(after))
            }
        };
        let moves = self
            .destination
            .as_ref()
            .filter(|new| **new != record.destination);
        Some(Edit {
            payload,
            destination: moves.cloned(),
            ..Edit::default()
        })
    }

    fn sample(&self, record: &Record, secrecy: &Secrecy) -> Sample {
        let edit = self.edit(record);
        let unchanged = edit.as_ref().is_some_and(|edit| *edit == Edit::default());
        let moves = edit
            .as_ref()
            .and_then(|edit| edit.destination.as_ref())
            .map(|new| {
                format!(
                    "{} → {}",
                    readable::line(&record.destination, 60),
                    readable::line(new, 60)
                )
            });
        Sample {
            number: record.id.number(),
            href: message::address(record.id),
            lines: edit.map(|edit| match (&record.payload, &edit.payload) {
                (Some(before), Some(after)) => {
                    compared(before, &secrecy.seen_after(before, after)).unwrap_or_default()
                }
                _ => Vec::new(),
            }),
            moves,
            unchanged,
        }
    }
}

pub(super) async fn ask(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    let narrowing = chosen(&query)?;
    let page = patching(&site, &visitor, &narrowing, &Fields::default()).await?;
    Ok(shown(StatusCode::OK, &page))
}

async fn patching(
    site: &Site,
    visitor: &Visitor,
    narrowing: &Narrowing,
    fields: &Fields,
) -> Result<Patching, Problem> {
    let count = site.desk.count(&narrowing.dead()).await?;
    Ok(Patching {
        frame: Frame::new("Patch dead letters", ISSUES, site, visitor),
        count,
        letters: counted(count, "dead letter", "dead letters"),
        chosen: narrowing.chosen("/messages"),
        pairs: narrowing.pairs().to_vec(),
        patch: fields.exact("patch").unwrap_or("{\n  \n}").to_owned(),
        destinations: destinations(site, fields.get("new_destination").unwrap_or_default()),
        why: readable::line(fields.get("why").unwrap_or_default(), 400),
        wrong: None,
        samples: Vec::new(),
        previewed: false,
        too_many: count > MOST,
        back: narrowing.address("/messages"),
    })
}

/// Shows what would change in some of them; or changes all.
pub(super) async fn save(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    let fields = &acting.fields;
    let narrowing = chosen(fields)?;
    let change = Change::of(fields);
    if let (Some("save"), Ok(change)) = (fields.get("step"), &change) {
        return all(&site, &acting, &narrowing, change).await;
    }
    let mut page = patching(&site, &acting.visitor, &narrowing, fields).await?;
    match change {
        Ok(change) => {
            let records = site
                .desk
                .list(&narrowing.dead(), look(None, SAMPLE), true)
                .await?;
            let sample = |record: &Record| {
                let secrecy = site
                    .about
                    .routes
                    .secrecy(&record.destination, record.topic.as_deref());
                change.sample(record, &secrecy)
            };
            page.samples = records.iter().map(sample).collect();
            page.previewed = true;
        }
        Err(wrong) => page.wrong = Some(wrong),
    }
    let status = if page.wrong.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    Ok(shown(status, &page))
}

const fn look(after: Option<i64>, limit: usize) -> Page {
    Page {
        after,
        limit,
        newest_first: false,
        until: None,
    }
}

async fn all(site: &Site, acting: &Acting, narrowing: &Narrowing, change: &Change) -> Answered {
    let filter = narrowing.dead();
    let confirmed = acting
        .fields
        .get("confirmed")
        .and_then(|count| count.parse::<u64>().ok())
        .unwrap_or(0);
    if confirmed > MOST {
        let detail = format!("nothing was done: at most {MOST} are patched at a time; narrow them first");
        return Err(Problem::bad_request(detail).into());
    }
    let act = acting.act();
    let (mut looked_at, mut edited, mut after) = (0, 0, None);
    while looked_at < confirmed {
        let records = site.desk.list(&filter, look(after, BATCH), true).await?;
        let Some(last) = records.last() else { break };
        after = Some(last.id.number());
        for record in records
            .iter()
            .take(usize::try_from(confirmed - looked_at).unwrap_or(BATCH))
        {
            looked_at += 1;
            match change.edit(record) {
                Some(edit) if edit != Edit::default() => {
                    site.desk.edit(MessageRef::Id(record.id), &edit, &act).await?;
                    edited += 1;
                }
                _ => {}
            }
        }
    }
    let done = if edited == 0 {
        Done::Unchanged
    } else {
        Done::Edited
    };
    Ok(acting.went(&done.at(&narrowing.address("/messages"), edited)))
}

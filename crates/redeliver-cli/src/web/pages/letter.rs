//! What is done to one dead letter: put back, given up, mended.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use redeliver_outbox::{
    Payload,
    desk::{Detail, Edit, MessageRef},
    job::JobKind,
    limits,
    secrecy::{Hidden, Secrecy},
    state::Status,
};

use super::{
    acting::{Acting, stale, version},
    done::Done,
    frame::{Answered, Frame, MESSAGES, Visitor, shown},
    line_ends,
    message::{self, found},
    messages::{Choice, destinations},
    payload::{Compared, Shown, compared, pretty},
    words::Chip,
};
use crate::{
    commands::outbox::{dead::check_moved, payload::is_broken_json},
    readable,
    web::{problem::Problem, site::Site},
};

/// The most bytes of a payload that are edited in a page: a form makes three of some bytes.
const EDITABLE: usize = 512 << 10;

/// The type of a payload that has none of its own.
const JSON: &str = "application/json";

pub(super) async fn redrive(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let detail = found(&site, &name).await?;
    if let Some(stale) = stale(&acting, &site, &detail) {
        return Ok(stale);
    }
    let id = detail.record.id;
    let (way, seen) = (JobKind::Redrive, detail.seen());
    site.desk.rescue(way, id, seen, &acting.act()).await?;
    Ok(acting.went(&Done::Redriven.at(&message::address(id), 1)))
}

pub(super) async fn discard(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let act = acting.act_with_reason()?;
    let detail = found(&site, &name).await?;
    if let Some(stale) = stale(&acting, &site, &detail) {
        return Ok(stale);
    }
    let id = detail.record.id;
    let (way, seen) = (JobKind::Discard, detail.seen());
    site.desk.rescue(way, id, seen, &act).await?;
    Ok(acting.went(&Done::Discarded.at(&message::address(id), 1)))
}

#[derive(Debug, Template)]
#[template(path = "edit.html")]
struct EditPage {
    frame: Frame,
    number: i64,
    href: String,
    chip: Chip,
    version: String,
    payload: String,
    content_type: String,
    destinations: Vec<Choice>,
    why: String,
    /// How the payload looks to whom it is hidden from; none if it is not.
    hidden: Option<Secret>,
    /// What is wrong with what was given.
    wrong: Option<String>,
    /// How it would differ; none before it was asked for.
    preview: Option<Preview>,
}

/// A payload of which not all is shown.
#[derive(Debug)]
struct Secret {
    shown: Shown,
    whole: bool,
}

/// What an edit would change.
#[derive(Debug)]
struct Preview {
    /// None if it is too long to compare.
    lines: Option<Vec<Compared>>,
    other: Vec<String>,
    nothing: bool,
}

/// A dead letter whose payload a page can hold.
fn editable(detail: &Detail) -> Result<&str, Problem> {
    let record = &detail.record;
    let number = record.id.number();
    if record.status != Status::DeadLettered {
        let detail = format!("message {number} is no dead letter, and only those are changed");
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    match record.hidden {
        // What is given takes the place of what nobody sees, or is merged into it.
        Some(Hidden { whole: true, .. }) => return Ok(""),
        Some(Hidden { whole: false, .. }) => return Ok("{}"),
        None => {}
    }
    let payload = record
        .payload
        .as_ref()
        .filter(|payload| payload.len() <= EDITABLE);
    payload.and_then(Payload::as_text).ok_or_else(|| {
        Problem::bad_request(format!(
            "the payload of message {number} is no text, or too long for a page; `redeliver dead edit {number} --payload @FILE` changes it"
        ))
    })
}

pub(super) async fn edit(
    State(site): State<Arc<Site>>,
    visitor: Visitor,
    Path(name): Path<String>,
) -> Answered {
    let detail = found(&site, &name).await?;
    let text = editable(&detail)?;
    let text = laid_out(text).unwrap_or_else(|| text.to_owned());
    let record = &detail.record;
    let content_type = record.content_type.clone().unwrap_or_default();
    let page = edit_page(&site, &visitor, &detail, text, content_type, &record.destination);
    Ok(shown(StatusCode::OK, &page))
}

fn edit_page(
    site: &Site,
    visitor: &Visitor,
    detail: &Detail,
    payload: String,
    content_type: String,
    destination: &str,
) -> EditPage {
    let record = &detail.record;
    EditPage {
        frame: Frame::new(
            format!("Edit message {}", record.id.number()),
            MESSAGES,
            site,
            visitor,
        ),
        number: record.id.number(),
        href: message::address(record.id),
        chip: Chip::of(record.status),
        version: version(detail),
        payload,
        content_type,
        destinations: destinations(site, destination),
        why: String::new(),
        hidden: record
            .hidden
            .zip(record.payload.as_ref())
            .map(|(hidden, payload)| Secret {
                shown: Shown::of(payload),
                whole: hidden.whole,
            }),
        wrong: None,
        preview: None,
    }
}

/// Shows what would change; or changes it, and perhaps puts it back too.
pub(super) async fn save(
    State(site): State<Arc<Site>>,
    Path(name): Path<String>,
    acting: Acting,
) -> Answered {
    let detail = found(&site, &name).await?;
    if let Some(stale) = stale(&acting, &site, &detail) {
        return Ok(stale);
    }
    let before = editable(&detail)?;
    let record = &detail.record;
    let fields = &acting.fields;
    // A browser ends lines in its own way.
    let given = line_ends::plain(fields.exact("payload").unwrap_or_default());
    // Left empty, it is what the field shows then.
    let content_type = fields.get("content_type").unwrap_or(JSON);
    let destination = fields.get("to").unwrap_or(&record.destination);
    let edit = changes(&detail, before, &given, content_type, destination)?;
    let nothing = edit
        == Edit {
            seen: edit.seen,
            ..Edit::default()
        };
    let moved = check_moved(&site.about.routes, edit.destination.as_deref());
    let wrong = refused(&edit, &detail).or(moved.err().map(|error| error.to_string()));
    if let (Some("save" | "save-and-redrive"), None) = (fields.get("step"), &wrong) {
        return kept(&site, &acting, &detail, &edit, nothing).await;
    }
    let mut page = edit_page(
        &site,
        &acting.visitor,
        &detail,
        given,
        content_type.to_owned(),
        destination,
    );
    page.why = readable::line(acting.why(), 400);
    let secrecy = record.secrecy(&site.about.routes);
    page.preview = wrong
        .is_none()
        .then(|| preview(&detail, &edit, nothing, &secrecy));
    let status = if wrong.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    page.wrong = wrong;
    Ok(shown(status, &page))
}

/// JSON as it is laid out for reading and for writing; none if it would be more than a page can send back.
fn laid_out(text: &str) -> Option<String> {
    pretty(text).filter(|laid_out| laid_out.len() <= EDITABLE)
}

/// Only what is different. A payload that was only laid out for reading is not, nor one whose lines a browser ended in its own way.
fn changes(
    detail: &Detail,
    before: &str,
    given: &str,
    content_type: &str,
    destination: &str,
) -> Result<Edit, Problem> {
    let record = &detail.record;
    let same =
        given == line_ends::plain(before) || laid_out(before).is_some_and(|laid_out| laid_out == given);
    let differs = |new: &str, old: &str| (new != old).then(|| new.to_owned());
    let payload = match same {
        true => None,
        false => Some(line_ends::like(before, given).ok_or_else(|| {
            let number = record.id.number();
            Problem::bad_request(format!(
                "nothing was done: lines of the payload end in several ways, which a browser does not keep; \
                 `redeliver dead edit {number} --payload @FILE` does"
            ))
        })?),
    };
    let kept = record.content_type.as_deref().filter(|kind| !kind.is_empty());
    Ok(Edit {
        payload: payload.map(Payload::from),
        content_type: differs(content_type, kept.unwrap_or(JSON)),
        headers: None,
        destination: differs(destination, &record.destination),
        seen: Some(detail.seen()),
        redrive: false,
    })
}

/// Why it would be quarantined again at once.
fn refused(edit: &Edit, detail: &Detail) -> Option<String> {
    let record = &detail.record;
    let content_type = edit.content_type.as_deref().or(record.content_type.as_deref());
    let content_type = content_type.filter(|kind| !kind.is_empty());
    let payload = edit.payload.as_ref()?;
    if is_broken_json(payload, content_type) {
        let what = serde_json::from_slice::<serde::de::IgnoredAny>(payload.as_bytes()).err();
        let what = what.map_or(String::new(), |error| format!(" ({error})"));
        return Some(format!(
            "This is no JSON, which its content type says it is{what}: mend it, or give another content type."
        ));
    }
    (payload.len() > limits::PAYLOAD_LIMIT).then(|| {
        format!(
            "It has {} bytes; at most {} are allowed.",
            payload.len(),
            limits::PAYLOAD_LIMIT
        )
    })
}

fn preview(detail: &Detail, edit: &Edit, nothing: bool, secrecy: &Secrecy) -> Preview {
    let record = &detail.record;
    let changed = |name: &str, old: &str, new: &Option<String>| {
        let new = new.as_ref()?;
        Some(format!(
            "{name}: {} → {}",
            readable::line(old, 80),
            readable::line(new, 80)
        ))
    };
    let old_type = record.content_type.as_deref().unwrap_or(JSON);
    let other = [
        changed("Destination", &record.destination, &edit.destination),
        changed("Content type", old_type, &edit.content_type),
    ];
    Preview {
        lines: match (&record.payload, &edit.payload) {
            (Some(before), Some(after)) => compared(before, &secrecy.seen_after(before, after)),
            _ => Some(Vec::new()),
        },
        other: other.into_iter().flatten().collect(),
        nothing,
    }
}

async fn kept(site: &Site, acting: &Acting, detail: &Detail, edit: &Edit, nothing: bool) -> Answered {
    let (id, act) = (detail.record.id, acting.act());
    let here = message::address(id);
    let redrive = acting.fields.get("step") == Some("save-and-redrive");
    let edit = Edit {
        redrive,
        ..edit.clone()
    };
    match (nothing, redrive) {
        (true, true) => {
            let seen = detail.seen();
            site.desk.rescue(JobKind::Redrive, id, seen, &act).await?;
        }
        (true, false) => {}
        (false, _) => site.desk.edit(MessageRef::Id(id), &edit, &act).await?,
    }
    let done = match (nothing, redrive) {
        (_, true) => Done::Redriven,
        (true, false) => Done::Unchanged,
        (false, false) => Done::Edited,
    };
    Ok(acting.went(&done.at(&here, 1)))
}

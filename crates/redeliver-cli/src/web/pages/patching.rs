//! Mending many dead letters in the same way: what would change in some of them first, then in all.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::StatusCode};
use redeliver_outbox::{
    desk::{Patch, Record, Refused, Sight},
    destination::Routes,
    limits::PATCH_LIMIT,
};
use serde_json::json;

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
    words::{Chip, counted},
};
use crate::{
    commands::outbox::dead::{check_moved, patch_note},
    readable,
    web::{problem::Problem, site::Site},
};

/// What a patch would do to one of them.
#[derive(Debug)]
struct Sample {
    number: i64,
    href: String,
    lines: Vec<Compared>,
    moves: Option<String>,
    /// Why nothing would change, if nothing would.
    note: Option<&'static str>,
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
    /// What was looked at, if it was.
    previewed: Option<Previewed>,
    most: u64,
    back: String,
}

/// What a preview was of: what is kept must be what was shown.
#[derive(Debug)]
struct Previewed {
    seen: String,
    change: String,
}

/// One that was not patched.
#[derive(Debug)]
struct Left {
    number: i64,
    href: String,
    chip: Option<Chip>,
    what: String,
}

#[derive(Debug, Template)]
#[template(path = "patched.html")]
struct Told {
    frame: Frame,
    /// How many were changed, in words.
    edited: String,
    unchanged: Option<String>,
    left: Vec<Left>,
    back: String,
}

/// What is to be changed in each.
fn change(fields: &Fields, routes: &Routes) -> Result<Patch, String> {
    let text = fields.get("patch").unwrap_or("{}");
    let patch = Patch {
        fields: serde_json::from_str(text)
            .map_err(|error| format!("The patch is no JSON object ({error})."))?,
        destination: fields.get("new_destination").map(str::to_owned),
    };
    check_moved(routes, patch.destination.as_deref()).map_err(|error| error.to_string())?;
    match patch.is_empty() {
        true => Err("The patch changes nothing: name at least one field, or another destination.".to_owned()),
        false => Ok(patch),
    }
}

/// The same in a form that can be compared, whatever a browser makes of the ends of lines.
fn words(patch: &Patch) -> String {
    json!([patch.fields, patch.destination]).to_string()
}

fn sample(patch: &Patch, record: &Record, routes: &Routes) -> Sample {
    let edit = patch.shown(record, &record.secrecy(routes));
    let note = patch_note(record, edit.as_ref());
    let edit = edit.unwrap_or_default();
    let moves = edit.destination.as_ref().map(|new| {
        let (old, new) = (readable::line(&record.destination, 60), readable::line(new, 60));
        format!("{old} → {new}")
    });
    Sample {
        number: record.id.number(),
        href: message::address(record.id),
        lines: match (&record.payload, &edit.payload) {
            (Some(before), Some(after)) => compared(before, after).unwrap_or_default(),
            _ => Vec::new(),
        },
        moves,
        note,
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
        previewed: None,
        most: PATCH_LIMIT as u64,
        back: narrowing.address("/messages"),
    })
}

/// Shows what would change in some of them; or changes all that are still as they were shown.
pub(super) async fn save(State(site): State<Arc<Site>>, acting: Acting) -> Answered {
    let fields = &acting.fields;
    let narrowing = chosen(fields)?;
    let change = change(fields, &site.about.routes);
    // Whoever changes the patch after the look has another look first.
    let shown_before = |patch: &Patch| fields.exact("previewed") == Some(words(patch).as_str());
    if let (Some("save"), Ok(patch)) = (fields.get("step"), &change)
        && shown_before(patch)
    {
        return keep(&site, &acting, &narrowing, patch).await;
    }
    let mut page = patching(&site, &acting.visitor, &narrowing, fields).await?;
    match change {
        Ok(patch) => {
            let preview = site.desk.preview_patch(&narrowing.dead(), None).await?;
            page.samples = preview
                .sample
                .iter()
                .map(|letter| sample(&patch, letter, &site.about.routes))
                .collect();
            page.previewed = Some(Previewed {
                seen: preview.sight.to_string(),
                change: words(&patch),
            });
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

async fn keep(site: &Site, acting: &Acting, narrowing: &Narrowing, patch: &Patch) -> Answered {
    let seen = acting.fields.get("seen").unwrap_or_default();
    let sight: Sight = seen
        .parse()
        .map_err(|wrong| Problem::bad_request(format!("nothing was done: what was seen {wrong}")))?;
    let patched = site.desk.patch(patch, &sight, &acting.act()).await?;
    let (edited, back) = (patched.edited.len() as u64, narrowing.address("/messages"));
    if patched.refused.is_empty() {
        let done = match edited {
            0 => Done::Unchanged,
            _ => Done::Edited,
        };
        return Ok(acting.went(&done.at(&back, edited)));
    }
    let left = |refused: &Refused| Left {
        number: refused.number,
        href: format!("/messages/{}", refused.number),
        chip: refused.status.map(Chip::of),
        what: readable::line(&refused.what, 400),
    };
    let unchanged = patched.unchanged.len() as u64;
    let page = Told {
        frame: Frame::new("Patch dead letters", ISSUES, site, &acting.visitor),
        edited: counted(edited, "dead letter", "dead letters"),
        unchanged: (unchanged > 0).then(|| counted(unchanged, "was so already", "were so already")),
        left: patched.refused.iter().map(left).collect(),
        back,
    };
    let status = match edited {
        0 => StatusCode::CONFLICT,
        _ => StatusCode::OK,
    };
    Ok(shown(status, &page))
}

//! A search for what is rare goes on piece by piece: each is answered at once, and leads to the next.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::StatusCode};
use redeliver_outbox::desk::Searched;

use super::{
    fields::Fields,
    frame::{Answered, Frame, MESSAGES, Visitor, shown},
    messages::{PAGE, PATIENCE, Row, look, number, rows},
    narrowing::Narrowing,
    words::grouped,
};
use crate::web::site::Site;

/// After so many pieces somebody is asked whether to go on.
const PIECES: usize = 200;

/// How far a search for what is rare has come.
#[derive(Debug)]
pub(super) struct Looking {
    pub(super) words: String,
    /// Where the next piece is, if the page goes on by itself.
    pub(super) further: Option<String>,
    /// The page that goes on from here.
    pub(super) older: Option<String>,
    pub(super) link: &'static str,
}

/// What was found before this piece.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    found: usize,
    pieces: usize,
}

impl Looking {
    /// None if there is nothing to say: the page is full, or everything was looked at and something is there.
    pub(super) fn of(narrowing: &Narrowing, searched: &Searched, before: Before) -> Option<Self> {
        let found = before.found + searched.records.len();
        let older = searched.next.map(|next| narrowing.further("/messages", next));
        if searched.complete || found >= PAGE {
            let words = match found {
                0 => "Nothing matches: every message was looked at.",
                _ if searched.complete => "That is all: every message was looked at.",
                _ => "There may be more.",
            };
            return (before.pieces > 0).then(|| Self {
                words: words.to_owned(),
                further: None,
                older,
                link: "Older →",
            });
        }
        let next = searched.next?;
        let pieces = before.pieces + 1;
        let further = narrowing.further("/messages/further", next);
        let goes_on = pieces < PIECES;
        let said = if goes_on { "Looking" } else { "Looked" };
        Some(Self {
            words: format!(
                "{said} further: it is rare, and is not above number {}.",
                grouped(next.unsigned_abs())
            ),
            further: goes_on.then(|| format!("{further}&found={found}&pieces={pieces}")),
            older,
            link: "Look from here",
        })
    }
}

/// More rows of a page whose search goes on.
#[derive(Debug, Template)]
#[template(path = "message_piece.html")]
struct Piece {
    frame: Frame,
    rows: Vec<Row>,
    looking: Option<Looking>,
    workable: bool,
    slim: bool,
}

/// What a page asks for that has not found enough yet.
pub(super) async fn further(State(site): State<Arc<Site>>, visitor: Visitor, query: Fields) -> Answered {
    let narrowing = Narrowing::of(&query);
    let counted = |name| number(&query, name).map_or(0, |count: usize| count.min(PIECES));
    let before = Before {
        found: counted("found").min(PAGE - 1),
        pieces: counted("pieces").max(1),
    };
    let page = look(number(&query, "after"), PAGE - before.found);
    let searched = site.desk.search(&narrowing.filter, page, PATIENCE).await?;
    let piece = Piece {
        rows: rows(&searched),
        looking: Looking::of(&narrowing, &searched, before),
        workable: narrowing.only_dead(),
        slim: false,
        frame: Frame::new("Messages", MESSAGES, &site, &visitor),
    };
    Ok(shown(StatusCode::OK, &piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(query: &str, searched: &Searched, before: Before) -> Option<Looking> {
        Looking::of(&Narrowing::of(&Fields::of(query)), searched, before)
    }

    #[test]
    fn a_search_goes_on_until_it_has_found_enough_or_seen_everything() {
        let unfinished = Searched {
            next: Some(7000),
            ..Searched::default()
        };
        let looking = said("q=rare", &unfinished, Before::default()).unwrap();
        assert_eq!(
            looking.further.as_deref(),
            Some("/messages/further?q=rare&after=7000&found=0&pieces=1")
        );
        assert_eq!(looking.older.as_deref(), Some("/messages?q=rare&after=7000"));
        let tired = Before {
            found: 3,
            pieces: PIECES - 1,
        };
        assert_eq!(said("q=rare", &unfinished, tired).unwrap().further, None);
        let whole = Searched {
            complete: true,
            ..Searched::default()
        };
        assert!(said("q=rare", &whole, Before::default()).is_none());
        let later = Before { found: 0, pieces: 4 };
        assert!(
            said("q=rare", &whole, later)
                .unwrap()
                .words
                .starts_with("Nothing matches")
        );
    }
}

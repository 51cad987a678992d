//! What is around every page, and who looks at it.

use std::{convert::Infallible, sync::Arc};

use askama::Template;
use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
    response::{Html, IntoResponse, Response},
};
use redeliver_outbox::store::StoreError;

use super::{done::Done, fields::Fields, words::grouped};
use crate::web::{assets, cookies, guard::Caller, problem::Problem, site::Site};

/// The cookie with the colours that somebody chose.
pub(super) const THEME: &str = "redeliver_theme";
/// The cookie with the name that somebody gave, where no tokens are asked for.
pub(super) const NAME: &str = "redeliver_name";

/// An entry of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// Behind `g`, as a shortcut.
    pub(super) letter: &'static str,
    /// What its picture is drawn with.
    pub(super) icon: &'static str,
}

macro_rules! entries {
    ($($constant:ident = $name:literal, $path:literal, $letter:literal, $icon:literal;)*) => {
        $(pub(super) const $constant: Entry = Entry { name: $name, path: $path, letter: $letter, icon: $icon };)*
        const ENTRIES: &[Entry] = &[$($constant),*];
    };
}

entries! {
    OVERVIEW = "Overview", "/", "o", "M2 9h3l2-6 3 11 2-5h2";
    DESTINATIONS = "Destinations", "/destinations", "d", "M2 3h12v4H2zM2 9h12v4H2zM5 5h.1M5 11h.1";
    MESSAGES = "Messages", "/messages", "m", "M2 3.5h12v9H2zM2 4.5l6 4.5 6-4.5";
    ISSUES = "Dead letters", "/issues", "i", "M8 2l6.5 11.5h-13zM8 6.5v3.2M8 11.5v.1";
    LANES = "Lanes", "/lanes", "l", "M2 4h8M2 8h11M2 12h6M12 2.5v3M15 6.5v3M10 10.5v3";
    JOBS = "Jobs", "/jobs", "j", "M13.5 8a5.5 5.5 0 1 1-2-4.2M13.7 1.8v2.6h-2.6M8 5v3l2 1.5";
    WORKERS = "Workers", "/workers", "w", "M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14";
    STORAGE = "Storage", "/storage", "s", "M2.5 4c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2";
    AUDIT = "Audit", "/audit", "a", "M3.5 1.5h9v13h-9zM6 5h4M6 8h4M6 11h2";
}

/// Which colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Light, Self::Dark]
            .into_iter()
            .find(|theme| theme.as_str() == name)
    }
}

/// Somebody who looks at a page.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    pub(super) caller: Caller,
    pub(super) theme: Option<Theme>,
    /// As they call themselves.
    pub(super) name: String,
    /// The path and the query of the page.
    pub(super) here: String,
    /// Whether only the piece that changes is asked for.
    pub(super) again: bool,
    done: Option<String>,
}

impl FromRequestParts<Arc<Site>> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, site).await?;
        let Ok(query) = Fields::from_request_parts(parts, site).await;
        let headers = &parts.headers;
        let name = cookies::named(headers, NAME).map_or(String::new(), super::address::decoded);
        Ok(Self {
            caller,
            theme: cookies::named(headers, THEME).and_then(Theme::named),
            name: crate::readable::line(&name, 80),
            here: parts
                .uri
                .path_and_query()
                .map_or_else(|| "/".to_owned(), |here| here.as_str().to_owned()),
            again: headers.contains_key("hx-request"),
            done: Done::told(&query),
        })
    }
}

/// The query of a page.
impl<S: Sync> FromRequestParts<S> for Fields {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts.uri.query().unwrap_or_default()))
    }
}

/// What is around every page.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) title: String,
    /// The entry of the navigation that it belongs to.
    pub(super) current: &'static str,
    pub(super) database: String,
    pub(super) visitor: Option<Visitor>,
    /// How many dead letters there were when they were last counted.
    pub(super) dead: Option<u64>,
    /// Whether nobody is asked for a token, so that people may say who they are.
    pub(super) open: bool,
}

impl Frame {
    pub(super) fn new(title: impl Into<String>, entry: Entry, site: &Site, visitor: &Visitor) -> Self {
        Self {
            title: title.into(),
            current: entry.path,
            database: site.about.database.clone(),
            visitor: Some(visitor.clone()),
            dead: site.last_status().map(|status| status.value.total.dead),
            open: site.guard.is_open(),
        }
    }

    /// Around a page for whoever has not come in.
    pub(super) fn bare(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            current: "",
            database: String::new(),
            visitor: None,
            dead: None,
            open: false,
        }
    }

    pub(super) fn asset(&self, name: &str) -> String {
        assets::address(name)
    }

    pub(super) fn entries(&self) -> &'static [Entry] {
        ENTRIES
    }

    pub(super) fn badge(&self, entry: &Entry) -> Option<String> {
        let dead = self.dead.filter(|dead| *dead > 0 && *entry == ISSUES)?;
        Some(grouped(dead))
    }

    pub(super) fn theme(&self) -> Option<&'static str> {
        Some(self.visitor.as_ref()?.theme?.as_str())
    }

    /// The path of this page with its query.
    pub(super) fn here(&self) -> &str {
        self.visitor.as_ref().map_or("/", |visitor| &visitor.here)
    }

    /// What was done just before.
    pub(super) fn done(&self) -> Option<&str> {
        self.visitor.as_ref()?.done.as_deref()
    }

    pub(super) fn may_operate(&self) -> bool {
        self.visitor
            .as_ref()
            .is_some_and(|visitor| visitor.caller.may_operate())
    }

    /// By which name the audit trail will know them, if they are known by a token.
    pub(super) fn known_as(&self) -> Option<&str> {
        self.visitor.as_ref()?.caller.name.as_deref()
    }

    /// The name that they gave.
    pub(super) fn given_name(&self) -> &str {
        self.visitor.as_ref().map_or("", |visitor| &visitor.name)
    }
}

/// A page as it is sent. A template that fails says so, and nothing of it is shown.
pub(super) fn shown(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(page) => (status, Html(page)).into_response(),
        Err(error) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The whole page, or the piece of it that changes for whoever has the rest.
pub(super) fn page(visitor: &Visitor, whole: &impl Template, live: &impl Template) -> Response {
    match visitor.again {
        true => shown(StatusCode::OK, live),
        false => shown(StatusCode::OK, whole),
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    frame: Frame,
    problem: &'a Problem,
}

/// A page that says what went wrong.
pub(in crate::web) fn problem(problem: &Problem) -> Response {
    let frame = Frame::bare(problem.title());
    shown(problem.status(), &ProblemPage { frame, problem })
}

/// What went wrong, told as a page.
#[derive(Debug)]
pub(super) struct Wrong(Problem);

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        problem(&self.0)
    }
}

impl From<Problem> for Wrong {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<StoreError> for Wrong {
    fn from(error: StoreError) -> Self {
        Self(error.into())
    }
}

/// A page, or what went wrong.
pub(super) type Answered = Result<Response, Wrong>;

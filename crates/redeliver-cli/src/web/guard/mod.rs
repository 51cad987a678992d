//! Who may come in: to which name, from which page, with which token.

mod caller;
mod hosts;
mod sessions;

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header, uri::PathAndQuery},
    middleware::Next,
    response::{IntoResponse as _, Redirect, Response},
};
use redeliver_outbox::config::{Role, ServerSettings, Token};

pub(crate) use self::caller::{Caller, sentence};
pub(super) use self::sessions::{COOKIE, SESSION_FOR};
use self::{hosts::Hosts, sessions::Sessions};
use super::{
    pages,
    problem::{self, Problem},
    site::Site,
};

/// What is open to everybody: whether it lives, the way in, and what the way in looks like.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/login", "/assets/"];

/// What changes nothing but what a browser remembers: whoever may look may do it.
const OWN_AFFAIR: [&str; 2] = ["/logout", "/preferences"];

/// The doorkeeper.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Hosts,
    tokens: Vec<Token>,
    sessions: Arc<Sessions>,
}

impl Guard {
    pub(crate) fn new(settings: &ServerSettings) -> Self {
        Self {
            hosts: Hosts::new(&settings.hosts),
            tokens: settings.tokens.clone(),
            sessions: Arc::default(),
        }
    }

    /// One by other settings. Who is known by a cookie stays known unless the tokens are others now.
    pub(crate) fn renewed(&self, settings: &ServerSettings) -> Self {
        let mut guard = Self::new(settings);
        if guard.tokens == self.tokens {
            guard.sessions = Arc::clone(&self.sessions);
        }
        guard
    }

    /// Whether nobody is asked who they are.
    pub(crate) fn is_open(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whose secret this is. Every token is compared, and each in the same time, so that how long it takes tells nothing.
    pub(super) fn known(&self, secret: &str) -> Option<Caller> {
        self.tokens
            .iter()
            .filter(|token| caller::same(token.secret.as_bytes(), secret.as_bytes()))
            .fold(None, |_, token| Some(Caller::of(token)))
    }

    /// A session for somebody who showed a token, by the name of a cookie.
    pub(super) fn admit(&self, caller: Caller) -> Option<String> {
        self.sessions.begin(caller)
    }

    /// Ends the session that these headers name.
    pub(super) fn dismiss(&self, headers: &HeaderMap) {
        if let Some(session) = sessions::named(headers) {
            self.sessions.end(session);
        }
    }

    fn caller(&self, headers: &HeaderMap) -> Option<Caller> {
        if self.is_open() {
            return Some(Caller::anybody());
        }
        match headers.get(header::AUTHORIZATION) {
            Some(value) => {
                let value = value.to_str().ok()?;
                let (scheme, secret) = value.split_once(' ')?;
                scheme
                    .eq_ignore_ascii_case("bearer")
                    .then(|| self.known(secret.trim()))
                    .flatten()
            }
            None => self.sessions.of(sessions::named(headers)?),
        }
    }

    fn look(&self, request: &Request) -> Result<Option<Caller>, Problem> {
        let headers = request.headers();
        let host = self.hosts.check(request)?;
        let changes = changes(request.method());
        if changes {
            hosts::same_origin(headers, host)?;
        }
        let path = request.uri().path();
        let caller = self.caller(headers);
        if OPEN
            .iter()
            .any(|open| path == *open || open.ends_with('/') && path.starts_with(open))
        {
            return Ok(caller);
        }
        let Some(caller) = caller else {
            let detail = match wants_page(path) {
                true => {
                    "your session is over: sign in again in another tab, then come back to this one and send the form again"
                }
                false => "this needs a token: send `Authorization: Bearer …` with one of [server.tokens]",
            };
            return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
        };
        if changes && caller.role < Role::Operate && !OWN_AFFAIR.contains(&path) {
            let name = caller.name.as_deref().unwrap_or_default();
            let detail = format!("the token {name:?} may look, and not change anything");
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        Ok(Some(caller))
    }
}

fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

/// Whether it is what an operator does, who wants to see it in the figures at once. Those who only insert must not make everything be counted
/// anew for each message.
fn is_act(request: &Request) -> bool {
    let path = request.uri().path();
    changes(request.method()) && !OWN_AFFAIR.contains(&path) && path != "/login" && path != "/api/v1/messages"
}

/// Whether the answer at this path is a page for a person.
pub(super) fn wants_page(path: &str) -> bool {
    !(path.starts_with("/api/") || path == "/metrics" || path == "/healthz" || path == "/readyz")
}

/// Stands before every route.
pub(super) async fn check(State(site): State<Arc<Site>>, mut request: Request, next: Next) -> Response {
    match site.guard.look(&request) {
        Ok(caller) => {
            let acts = caller.is_some() && is_act(&request);
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller);
            }
            let response = next.run(request).await;
            let status = response.status();
            if acts && (status.is_success() || status.is_redirection()) {
                site.changed();
            }
            response
        }
        Err(problem) => {
            let path = request.uri().path();
            let asks = *request.method() == Method::GET && problem.status() == StatusCode::UNAUTHORIZED;
            match asks && wants_page(path) {
                true => {
                    let to = request.uri().path_and_query();
                    Redirect::to(&pages::way_in(to.map_or("/", PathAndQuery::as_str))).into_response()
                }
                false => problem::answer(problem, path),
            }
        }
    }
}

//! Tokens of OAuth 2 client credentials: fetched when there is none, kept until shortly before they end.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, PROXY_AUTHORIZATION},
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use redeliver::{Moment, address::printable, cause, clock};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{auth::bearer, failure::Failure, network::Connections, target};

/// The longest answer of a token endpoint that is read. Tokens that list somebody's groups grow to several kilobytes.
const LARGEST: usize = 64 << 10;
/// A token is not used this shortly before its end: it has to arrive while it lives.
const MARGIN: Duration = Duration::from_secs(30);

pub(super) struct Tokens {
    url: Uri,
    origin: String,
    authorization: HeaderValue,
    form: String,
    /// Whoever holds the lock fetches, and the others wait for what comes of it.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    /// When the last fetch failed, and why.
    failed: Option<(Moment, String)>,
}

struct Token {
    header: HeaderValue,
    /// None if its issuer does not say.
    until: Option<Moment>,
}

impl Tokens {
    pub(super) fn new(url: Uri, origin: String, authorization: HeaderValue, form: String) -> Self {
        Self {
            url,
            origin,
            authorization,
            form,
            state: Mutex::default(),
        }
    }

    /// Who issues them.
    pub(super) const fn url(&self) -> &Uri {
        &self.url
    }

    /// Scheme, host and port of who issues them.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The header with a token that lives and is not this one, which was refused.
    pub(super) async fn header(
        &self,
        connections: &Connections,
        refused: Option<&HeaderValue>,
    ) -> Result<HeaderValue, String> {
        let asked = clock::now();
        let mut state = self.state.lock().await;
        if let Some(token) = &state.token
            && Some(&token.header) != refused
            && token.until.is_none_or(|until| clock::now() < until)
        {
            return Ok(token.header.clone());
        }
        if let Some((when, reason)) = &state.failed
            && *when >= asked
        {
            return Err(reason.clone());
        }
        match self.fetch(connections).await {
            Ok(token) => {
                let header = token.header.clone();
                *state = State {
                    token: Some(token),
                    failed: None,
                };
                Ok(header)
            }
            Err(rule) => {
                let reason = format!("no token from {}: {rule}", self.origin);
                state.failed = Some((clock::now(), reason.clone()));
                Err(reason)
            }
        }
    }

    async fn fetch(&self, connections: &Connections) -> Result<Token, String> {
        let mut request = Request::new(Full::new(Bytes::from(self.form.clone())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target::path(&self.url);
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.authorization.clone());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-www-form-urlencoded"),
        );
        // A proxy that reads the requests to a plain URL reads these too.
        let proxy = connections
            .reader
            .as_ref()
            .filter(|_| self.url.scheme_str() == Some("http"));
        if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.clone()) {
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        let asked = clock::now();
        // It is idle for much longer than a connection is kept.
        let pool = connections.pool.to(self.url.clone());
        let told = |failure: Failure| printable(&cause::root(failure.error()));
        let mut connection = pool.connect().await.map_err(told)?;
        match connection.send(&pool.place, request).await {
            Ok(answer) => read(answer, asked).await,
            Err(unanswered) => Err(told(connection.broken(*unanswered))),
        }
    }
}

async fn read(answer: Response<Incoming>, asked: Moment) -> Result<Token, String> {
    let (head, body) = answer.into_parts();
    let body = Limited::new(body, LARGEST).collect().await;
    let body: Value = match body {
        Ok(body) => serde_json::from_slice(&body.to_bytes()).unwrap_or_default(),
        Err(error) if head.status == StatusCode::OK => return Err(printable(&error.to_string())),
        Err(_) => Value::Null,
    };
    if head.status != StatusCode::OK {
        return Err(refusal(head.status, &body));
    }
    let token = body["access_token"]
        .as_str()
        .ok_or("the answer is no JSON object with an access_token")?;
    if let Some(kind) = body["token_type"].as_str()
        && !kind.eq_ignore_ascii_case("bearer")
    {
        return Err("the token is of another type than bearer".to_owned());
    }
    Ok(Token {
        header: bearer(token)?,
        until: lifetime(&body["expires_in"]).map(|lifetime| {
            let margin = MARGIN.min(lifetime / 10);
            asked.plus(lifetime - margin)
        }),
    })
}

/// Of what a token endpoint answers, only the code of the error is told: its words may repeat what it was sent.
fn refusal(status: StatusCode, body: &Value) -> String {
    let plain =
        |code: &&str| code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let code = body["error"].as_str().filter(plain);
    let code = code.map_or(String::new(), |code| format!(" ({code})"));
    let hint = match status.as_u16() {
        400 | 401 | 403 => "; check client_id, client_secret, scope and audience",
        _ => "",
    };
    format!("{status}{code}{hint}")
}

/// Seconds, which some write in quotes.
fn lifetime(seconds: &Value) -> Option<Duration> {
    let seconds = match seconds {
        Value::String(text) => text.parse().ok()?,
        other => other.as_u64()?,
    };
    Some(Duration::from_secs(seconds))
}

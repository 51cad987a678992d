//! Who we are to the receiver.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;

use super::{
    InvalidHttp,
    builder::{address, invalid},
    oauth::Tokens,
    template::percent,
};

/// A client that gets its tokens with OAuth 2 client credentials. No part of it is shown anywhere.
///
/// ```
/// use redeliver_outbox::destination::{ClientCredentials, Http};
///
/// let client = ClientCredentials::new("https://login.example.com/token", "shop", "…").scope("orders:write");
/// let http = Http::to("https://billing.example.com/events").oauth2(client).build()?;
/// # Ok::<(), redeliver_outbox::destination::InvalidHttp>(())
/// ```
#[derive(Clone)]
pub struct ClientCredentials {
    token_url: String,
    client_id: String,
    client_secret: String,
    scope: Option<String>,
    audience: Option<String>,
}

impl ClientCredentials {
    /// A client of this id and secret, who gets tokens there.
    #[must_use]
    pub fn new(
        token_url: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
    ) -> Self {
        Self {
            token_url: token_url.into(),
            client_id: client_id.into(),
            client_secret: client_secret.into(),
            scope: None,
            audience: None,
        }
    }

    /// What the tokens are to allow, with spaces in between.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Whom the tokens are for, where the token endpoint asks for it.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audience = Some(audience.into());
        self
    }
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials").finish_non_exhaustive()
    }
}

/// What a builder was told.
pub(super) enum Auth {
    Bearer(String),
    Basic { user: String, password: String },
    Oauth2(ClientCredentials),
}

/// What proves who we are: the same with every request, or a token that is fetched.
pub(super) enum Proof {
    Fixed(HeaderValue),
    Tokens(Box<Tokens>),
}

impl Auth {
    pub(super) fn proof(self) -> Result<Proof, InvalidHttp> {
        match self {
            Self::Bearer(token) => bearer(&token).map(Proof::Fixed),
            Self::Basic { user, password } => basic(&user, &password).map(Proof::Fixed),
            Self::Oauth2(client) => tokens(&client).map(|tokens| Proof::Tokens(Box::new(tokens))),
        }
        .map_err(|rule| invalid("auth", rule))
    }
}

/// The header for a token, which is one word.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, String> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(
            "the bearer token is empty, or holds a space or a character that no header may".to_owned(),
        );
    }
    secret(format!("Bearer {token}"))
}

fn basic(user: &str, password: &str) -> Result<HeaderValue, String> {
    if user.contains(':') {
        return Err("basic: a user's name must not hold a colon, which ends it".to_owned());
    }
    if user.contains(char::is_control) || password.contains(char::is_control) {
        return Err("basic: the user or the password holds a control character".to_owned());
    }
    secret(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn secret(text: String) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::try_from(text).map_err(|error| error.to_string())?;
    value.set_sensitive(true);
    Ok(value)
}

fn tokens(client: &ClientCredentials) -> Result<Tokens, String> {
    let (url, origin) = address(&client.token_url).map_err(|error| format!("token_url: {}", error.rule))?;
    if client.client_id.is_empty() || client.client_secret.is_empty() {
        return Err("client_id and client_secret must not be empty".to_owned());
    }
    let encoded = |text: &str| {
        let mut encoded = Vec::new();
        percent(&mut encoded, text);
        String::from_utf8_lossy(&encoded).into_owned()
    };
    let mut form = "grant_type=client_credentials".to_owned();
    for (name, value) in [("scope", &client.scope), ("audience", &client.audience)] {
        if let Some(value) = value {
            form = format!("{form}&{name}={}", encoded(value));
        }
    }
    let authorization = basic(&encoded(&client.client_id), &encoded(&client.client_secret))?;
    Ok(Tokens::new(url, origin, authorization, form))
}

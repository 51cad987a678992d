use std::fmt;

use http::Uri;
use redeliver::{address::shown, classify::StatusTable};

use super::{
    ClientCredentials, Http, Reading,
    auth::Auth,
    cloudevents,
    network::Network,
    shape::{self, Asked},
};

/// An HTTP destination that is still to be built. Made by [`Http::to`].
pub struct HttpBuilder {
    url: String,
    statuses: StatusTable,
    idempotent: bool,
    pub(super) network: Network,
    asked: Asked,
}

/// Why there can be no such HTTP destination. No header's value and no password is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct InvalidHttp {
    /// Which of its settings is wrong: `url`, `headers`, `ca`, `client_certificate`, `client_key`, `proxy`, `http2`, `webhook`, `method`,
    /// `body`, `auth`, `cloudevents`.
    pub field: &'static str,
    /// What is wrong with it, and what is allowed.
    pub rule: String,
}

pub(super) fn invalid(field: &'static str, rule: impl Into<String>) -> InvalidHttp {
    let rule = rule.into();
    InvalidHttp { field, rule }
}

impl HttpBuilder {
    pub(super) const fn new(url: String) -> Self {
        Self {
            url,
            statuses: StatusTable::DEFAULT,
            idempotent: false,
            network: Network::new(),
            asked: Asked::NOTHING,
        }
    }

    /// One more header on every request. The value may be a template, and may be a secret: it is in no error, no log and no `Debug`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.asked.headers.push((name.into(), value.into()));
        self
    }

    /// Which statuses are worth a retry.
    #[must_use]
    pub const fn statuses(mut self, statuses: StatusTable) -> Self {
        self.statuses = statuses;
        self
    }

    /// Whether the endpoint bears the same message twice, as [`Route::idempotent`](crate::destination::Route::idempotent) says it to the
    /// relay. Then a gateway's 502 or 504 only asks for fewer requests; if not, and unless this is said, the message may have arrived, and
    /// so it may with any other 5xx but 503, whatever its `Retry-After` asks for.
    #[must_use]
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// One more secret that signs every request as Standard Webhooks has it: `whsec_…` (HMAC-SHA256) or `whsk_…` (ed25519). While secrets
    /// are rotated there are two: each signs, and the receiver may know either.
    #[must_use]
    pub fn webhook_secret(mut self, secret: impl Into<String>) -> Self {
        self.asked.secrets.push(secret.into());
        self
    }

    /// Proves who we are with a token.
    #[must_use]
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        self.asked.auth = Some(Auth::Bearer(token.into()));
        self
    }

    /// Proves who we are with a name and a password.
    #[must_use]
    pub fn basic(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        let (user, password) = (user.into(), password.into());
        self.asked.auth = Some(Auth::Basic { user, password });
        self
    }

    /// Proves who we are with tokens that are fetched with client credentials. A token is kept until shortly before its end; one that is
    /// answered with 401 is replaced once, and the request sent again.
    #[must_use]
    pub fn oauth2(mut self, client: ClientCredentials) -> Self {
        self.asked.auth = Some(Auth::Oauth2(client));
        self
    }

    /// Sends each message as a CloudEvent 1.0, `structured` (all of it in the body) or `binary` (the payload in the body, the rest in headers).
    /// Its id is the message's, its time that of the insert, its subject the key; `source` and `kind`, its type, are templates.
    #[must_use]
    pub fn cloudevents(
        mut self,
        mode: impl Into<String>,
        source: impl Into<String>,
        kind: impl Into<String>,
    ) -> Self {
        self.asked.events = Some(cloudevents::Asked {
            mode: mode.into(),
            source: source.into(),
            kind: kind.into(),
        });
        self
    }

    /// `PUT`, `PATCH` or `DELETE` instead of `POST`.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.asked.method = method.into();
        self
    }

    /// A template of what is sent instead of the payload: JSON, unless the header `content-type` says otherwise.
    ///
    /// ```
    /// use redeliver_outbox::destination::Http;
    ///
    /// let chat = Http::to("https://chat.example.com/rooms/{{key}}/messages")
    ///     .body(r#"{"text": "Order {{payload.order.id}} was paid", "total": {{payload.total}}}"#)
    ///     .build()?;
    /// # Ok::<(), redeliver_outbox::destination::InvalidHttp>(())
    /// ```
    #[must_use]
    pub fn body(mut self, template: impl Into<String>) -> Self {
        self.asked.body = Some(template.into());
        self
    }

    /// The destination.
    ///
    /// # Errors
    /// A URL that cannot be called or that is private and may not be, a header that cannot be sent, a certificate, key or proxy that is none,
    /// a secret that cannot sign, a template that is none.
    pub fn build(self) -> Result<Http, InvalidHttp> {
        let (target, origin) = shape::goal(&self.url)?;
        let base = target.base().clone();
        let (shape, tokens) = shape::of(self.asked, target)?;
        if let Some(tokens) = &tokens {
            self.network.may_go_to("auth", tokens.url())?;
        }
        Ok(Http {
            connections: self.network.to(&base)?,
            origin,
            shape,
            tokens,
            reading: Reading {
                statuses: self.statuses,
                idempotent: self.idempotent,
            },
        })
    }
}

impl fmt::Debug for HttpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBuilder")
            .field("url", &without_path(&self.url))
            .field("headers", &self.asked.headers.len())
            .finish_non_exhaustive()
    }
}

/// The URL, and its scheme, host and port.
pub(super) fn address(text: &str) -> Result<(Uri, String), InvalidHttp> {
    let wrong = |rule: &str| invalid("url", format!("{:?} {rule}", without_path(text)));
    let text = text.trim();
    let scheme = text
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    // What is no URL may be anything, and is not shown: a token in the wrong variable is one.
    if !scheme.is_some_and(|scheme| scheme == "http" || scheme == "https") {
        return Err(invalid("url", "must start with http:// or https://"));
    }
    let url: Uri = text
        .parse()
        .map_err(|error| invalid("url", format!("is no URL: {error}")))?;
    let Some(authority) = url.authority() else {
        return Err(wrong("has no host"));
    };
    if authority.as_str().contains('@') {
        let rule = "must not contain a user or a password; they belong into auth";
        return Err(wrong(rule));
    }
    if authority.host().is_empty() {
        return Err(wrong("has no host"));
    }
    // A port that is there but no number would silently become the scheme's own.
    let port = &authority.as_str()[authority.host().len()..];
    if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
        return Err(wrong("has a port that is none: 1 to 65535 are"));
    }
    let scheme = url.scheme_str().unwrap_or_default();
    let origin = format!("{scheme}://{authority}");
    Ok((url, origin))
}

/// As much of a URL as may be shown. With many services the path is the secret.
pub(super) fn without_path(text: &str) -> String {
    let shown = shown(text);
    let host = shown.find("://").map_or(0, |scheme| scheme + "://".len());
    match shown[host..].find('/') {
        Some(path) if host + path + 1 < shown.len() => format!("{}/…", &shown[..host + path]),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_called_is_refused_without_its_secrets() {
        for (text, rule) in [
            ("example.com/x", "must start with http:// or https://"),
            ("/x", "must start with http:// or https://"),
            ("ftp://example.com", "must start with http:// or https://"),
            (
                "user:hunter2@example.com/x",
                "must start with http:// or https://",
            ),
            (
                "https://user:hunter2@example.com/hunter2?key=hunter2",
                "they belong into auth",
            ),
            ("https://hunter2@example.com", "they belong into auth"),
            ("http://user:hunter2@exa mple.com/", "invalid uri character"),
            ("http://", "is no URL"),
            ("http://example.com:99999/?token=hunter2", "port"),
            ("http://example.com:0/", "port"),
            ("http://example.com:/", "port"),
            ("", "must start with http:// or https://"),
        ] {
            let error = Http::to(text).build().unwrap_err().to_string();
            assert!(error.contains(rule), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{text}: {error}");
            assert!(!error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (text, origin) in [
            ("https://api.example.com/orders/7?a=b", "https://api.example.com"),
            (" HTTP://127.0.0.1:8080 ", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/x", "http://[::1]:8080"),
            ("http://[::1]", "http://[::1]"),
        ] {
            assert_eq!(
                Http::to(text).allow_private(true).build().unwrap().origin,
                origin,
                "{text}"
            );
        }
    }

    #[test]
    fn no_secret_is_shown_anywhere() {
        let builder = Http::to("https://example.com/hunter2?key=hunter2").header("Authorization", "hunter2");
        let http = builder.build().unwrap();
        let shown = format!("{http:?}");
        assert_eq!(
            shown,
            r#"Http { origin: "https://example.com", headers: ["authorization"], .. }"#
        );
        let wrong = Http::to("https://example.com/").header("x-key", "hunter2\r\nx: y");
        assert!(!format!("{wrong:?}").contains("hunter2"));
        let error = wrong.build().unwrap_err().to_string();
        assert!(error.contains("x-key") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn what_frames_a_request_cannot_be_configured() {
        for name in [
            "Content-Length",
            "host",
            "Transfer-Encoding",
            "idempotency-key",
            "a b",
        ] {
            let error = Http::to("http://example.com")
                .header(name, "1")
                .build()
                .unwrap_err();
            assert_eq!(error.field, "headers", "{error}");
        }
    }

    #[test]
    fn a_secret_that_cannot_sign_is_refused_and_not_shown() {
        let good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        for (text, words) in [
            ("hunter2", "secret 2 must begin with whsec_"),
            ("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", "cannot sign"),
        ] {
            let builder = Http::to("http://example.com")
                .webhook_secret(good)
                .webhook_secret(text);
            assert!(!format!("{builder:?}").contains(text));
            let error = builder.build().unwrap_err();
            assert_eq!(error.field, "webhook");
            assert!(
                error.rule.contains(words) && !error.rule.contains(text),
                "{error}"
            );
        }
        let header = Http::to("http://example.com").header("Webhook-Id", "7");
        assert!(header.build().is_ok(), "nobody signs");
        let header = Http::to("http://example.com")
            .header("Webhook-Id", "7")
            .webhook_secret(good);
        assert_eq!(header.build().unwrap_err().field, "headers");
    }
}

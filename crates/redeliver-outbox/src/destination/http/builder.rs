use std::{fmt, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use redeliver::{address::shown, classify::StatusTable};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};

use super::{super::headers, Http, connect};

/// How long a connection may take, unless the configuration says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP destination that is still to be built. Made by [`Http::to`].
pub struct HttpBuilder {
    url: String,
    headers: Vec<(String, String)>,
    statuses: StatusTable,
    connect_timeout: Duration,
    authorities: Vec<Vec<u8>>,
}

/// Why there can be no such HTTP destination. No header's value and no password is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct InvalidHttp {
    /// Which of its settings is wrong: `url`, `headers`, `ca`.
    pub field: &'static str,
    /// What is wrong with it, and what is allowed.
    pub rule: String,
}

fn invalid(field: &'static str, rule: impl Into<String>) -> InvalidHttp {
    let rule = rule.into();
    InvalidHttp { field, rule }
}

impl HttpBuilder {
    pub(super) const fn new(url: String) -> Self {
        Self {
            url,
            headers: Vec::new(),
            statuses: StatusTable::DEFAULT,
            connect_timeout: CONNECT_TIMEOUT,
            authorities: Vec::new(),
        }
    }

    /// One more header on every request. The value may be a secret: it is in no error, no log and no `Debug`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Which statuses are worth a retry.
    #[must_use]
    pub const fn statuses(mut self, statuses: StatusTable) -> Self {
        self.statuses = statuses;
        self
    }

    /// How long a connection may take, TLS included; 10 seconds if nothing is said.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// One more certificate authority to trust, as PEM.
    #[must_use]
    pub fn certificate_authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.authorities.push(pem.into());
        self
    }

    /// The destination.
    ///
    /// # Errors
    /// A URL that cannot be called, a header that cannot be sent, an authority that is no certificate.
    pub fn build(self) -> Result<Http, InvalidHttp> {
        let (url, origin) = target(&self.url)?;
        let client = connect::client(trusted(&self.authorities)?, self.connect_timeout)
            .map_err(|error| invalid("ca", format!("TLS cannot be set up: {error}")))?;
        Ok(Http {
            client,
            url,
            origin,
            fixed: fixed(self.headers)?,
            statuses: self.statuses,
        })
    }
}

impl fmt::Debug for HttpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBuilder")
            .field("url", &without_path(&self.url))
            .field("headers", &self.headers.len())
            .finish_non_exhaustive()
    }
}

/// The URL, and its scheme, host and port.
fn target(text: &str) -> Result<(Uri, String), InvalidHttp> {
    let wrong = |rule: &str| invalid("url", format!("{:?} {rule}", without_path(text)));
    let text = text.trim();
    let scheme = text
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    if !scheme.is_some_and(|scheme| scheme == "http" || scheme == "https") {
        return Err(wrong("must start with http:// or https://"));
    }
    let url: Uri = text
        .parse()
        .map_err(|error| wrong(&format!("is no URL: {error}")))?;
    let Some(authority) = url.authority() else {
        return Err(wrong("has no host"));
    };
    if authority.as_str().contains('@') {
        let rule = "must not contain a user or a password; send them as an authorization header";
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
fn without_path(text: &str) -> String {
    let shown = shown(text);
    let host = shown.find("://").map_or(0, |scheme| scheme + "://".len());
    match shown[host..].find('/') {
        Some(path) if host + path + 1 < shown.len() => format!("{}/…", &shown[..host + path]),
        _ => shown,
    }
}

fn fixed(headers: Vec<(String, String)>) -> Result<HeaderMap, InvalidHttp> {
    let mut fixed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let known = HeaderName::try_from(&name)
            .map_err(|_| invalid("headers", format!("{name:?} is no name that HTTP allows")))?;
        headers::check_name(known.as_str()).map_err(|rule| invalid("headers", rule))?;
        let visible = value
            .bytes()
            .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
        let value = HeaderValue::try_from(value)
            .ok()
            .filter(|_| visible)
            .ok_or_else(|| {
                let rule = "holds a character that no header may: only visible ASCII, spaces and tabs";
                invalid("headers", format!("the value of {name} {rule}"))
            });
        let mut value = value?;
        value.set_sensitive(true);
        fixed.insert(known, value);
    }
    Ok(fixed)
}

fn trusted(authorities: &[Vec<u8>]) -> Result<RootCertStore, InvalidHttp> {
    let mut roots = RootCertStore::empty();
    for pem in authorities {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| invalid("ca", format!("is no PEM: {error}")))?;
            roots.add(certificate).map_err(|error| {
                invalid("ca", format!("holds a certificate that cannot be used: {error}"))
            })?;
        }
        if roots.len() == before {
            return Err(invalid(
                "ca",
                "holds no certificate; it is PEM, and begins with -----BEGIN CERTIFICATE-----",
            ));
        }
    }
    Ok(roots)
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
                "authorization header",
            ),
            ("https://hunter2@example.com", "authorization header"),
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
            assert_eq!(Http::to(text).build().unwrap().origin, origin, "{text}");
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
    fn an_authority_is_a_certificate() {
        for pem in [
            "",
            "certificate",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            let built = Http::to("https://example.com").certificate_authority(pem).build();
            assert_eq!(built.unwrap_err().field, "ca", "{pem}");
        }
    }
}

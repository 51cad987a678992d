//! What an HTTP destination says of its connections.

use std::time::Duration;

use http::Uri;

use super::{
    HttpBuilder,
    builder::{InvalidHttp, invalid, without_path},
    connect::Way,
    dial::{self, Dialer, Lookup},
    guard::Guard,
    pool::Pool,
    proxy::Proxy,
    tls::{Certificates, Tls},
};

/// How long a connection may take, unless the configuration says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Network {
    connect_timeout: Duration,
    certificates: Certificates,
    guard: Guard,
    lookup: Option<Lookup>,
    proxy: Option<String>,
    http2: Option<bool>,
}

impl Network {
    pub(super) const fn new() -> Self {
        Self {
            connect_timeout: CONNECT_TIMEOUT,
            certificates: Certificates::NONE,
            guard: Guard::ON,
            lookup: None,
            proxy: None,
            http2: None,
        }
    }
}

/// Where connections go and how.
impl HttpBuilder {
    /// How long a connection may take, TLS included; 10 seconds if nothing is said.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.network.connect_timeout = timeout;
        self
    }

    /// One more certificate authority to trust, as PEM.
    #[must_use]
    pub fn certificate_authority(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.network.certificates.authorities.push(pem.into());
        self
    }

    /// The certificate by which the relay shows who it is, as PEM, with those that lead from it to an authority. It needs its
    /// [`client_key`](Self::client_key).
    #[must_use]
    pub fn client_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.network.certificates.client_certificate = Some(pem.into());
        self
    }

    /// The key of the [`client_certificate`](Self::client_certificate), as PEM. It is in no error, no log and no `Debug`.
    #[must_use]
    pub fn client_key(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.network.certificates.client_key = Some(pem.into());
        self
    }

    /// Whether it may be in a private network or on this machine; if nothing is said, it may not.
    ///
    /// A URL that comes from a customer could otherwise make the relay talk to what only the relay can reach. The address is checked each
    /// time a connection is made, whatever the name was when it was configured.
    #[must_use]
    pub const fn allow_private(mut self, allow: bool) -> Self {
        self.network.guard = if allow { Guard::OFF } else { Guard::ON };
        self
    }

    /// Goes through an HTTP proxy, `http://host:port` or `http://user:password@host:port`: by CONNECT to `https://`, with the whole URL to
    /// `http://`.
    ///
    /// The proxy looks names up, not the relay. Without [`allow_private`](Self::allow_private), the relay still refuses private addresses and
    /// `localhost` in the URL, but where a name leads is the proxy's to check. The proxy itself may be anywhere.
    #[must_use]
    pub fn proxy(mut self, proxy: impl Into<String>) -> Self {
        self.network.proxy = Some(proxy.into());
        self
    }

    /// Whether HTTP/2 is spoken. If nothing is said, the server of an `https://` URL chooses, and `http://` is HTTP/1.1. `true` speaks nothing
    /// else, over `http://` without asking first; `false` speaks HTTP/1.1 only.
    #[must_use]
    pub const fn http2(mut self, http2: bool) -> Self {
        self.network.http2 = Some(http2);
        self
    }

    /// Names by another way, and another opinion on what is private.
    #[cfg(test)]
    pub(super) fn found_by(mut self, lookup: Lookup, guard: Guard) -> Self {
        self.network.lookup = Some(lookup);
        self.network.guard = guard;
        self
    }
}

/// Everything that connections to one URL need.
pub(super) struct Connections {
    pub(super) pool: Pool,
    pub(super) way: Way,
    pub(super) tls: Box<Tls>,
    /// The proxy that reads the requests themselves, and not only where they go.
    pub(super) reader: Option<Proxy>,
    /// Whether nothing but HTTP/2 is spoken.
    pub(super) http2: bool,
}

impl Network {
    /// Whether a URL that the setting `field` names is not one that must not be called.
    pub(super) fn may_go_to(&self, field: &'static str, url: &Uri) -> Result<(), InvalidHttp> {
        self.guard
            .host(url.host().unwrap_or_default())
            .map_err(|problem| invalid(field, format!("{:?} {problem}", without_path(&url.to_string()))))
    }

    pub(super) fn to(self, url: &Uri) -> Result<Connections, InvalidHttp> {
        self.may_go_to("url", url)?;
        let plain = url.scheme_str() == Some("http");
        if plain && self.certificates.are_mutual() {
            let rule = "is shown to nobody: only a url that begins with https:// has certificates";
            return Err(invalid("client_certificate", rule));
        }
        let proxy = self.proxy.as_deref().map(Proxy::parse).transpose()?;
        let http2 = self.http2 == Some(true);
        if plain && http2 && proxy.is_some() {
            let rule = "cannot be true with a proxy, unless the url begins with https://";
            return Err(invalid("http2", rule));
        }
        let reader = proxy.clone().filter(|_| plain);
        let way = Way {
            http2: self.http2,
            limit: self.connect_timeout,
            dialer: Dialer::new(self.lookup.unwrap_or_else(dial::system), self.guard, proxy),
        };
        let tls = self.certificates.tls()?;
        Ok(Connections {
            pool: Pool::new(url.clone(), way.clone().connector(tls.config.clone()), http2),
            way,
            tls: Box::new(tls),
            reader,
            http2,
        })
    }
}

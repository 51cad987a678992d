//! The way through an HTTP proxy.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, Uri};
use redeliver::address::{printable, shown};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::builder::{InvalidHttp, invalid};

/// The longest answer to CONNECT that is read, in bytes.
const LONGEST: usize = 8 << 10;

/// A proxy, and what it wants to know of whoever uses it.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) address: Uri,
    pub(super) authorization: Option<HeaderValue>,
}

impl Proxy {
    /// Reads `http://host:port` or `http://user:password@host:port`.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidHttp> {
        let wrong = |rule: &str| invalid("proxy", format!("{:?} {rule}", shown(text)));
        // What is no URL may be anything, and is not shown.
        let Some(rest) = text.trim().strip_prefix("http://") else {
            let rule = "must look like http://host:port; to a proxy there is no TLS";
            return Err(invalid("proxy", rule));
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        let address = Uri::try_from(format!("http://{host}")).map_err(|_| {
            let rule = "must look like http://host:port or http://user:password@host:port";
            invalid("proxy", rule)
        })?;
        if address.path() != "/" || address.query().is_some() {
            return Err(wrong("must have no path: http://host:port"));
        }
        if address.port_u16().is_none_or(|port| port == 0) {
            return Err(wrong(
                "must name a port from 1 to 65535, such as http://host:3128",
            ));
        }
        let authorization =
            user.map(|user| basic(user).ok_or_else(|| wrong("has a user or a password that cannot be sent")));
        let authorization = authorization.transpose()?;
        Ok(Self {
            address,
            authorization,
        })
    }

    /// Asks for a way to this host and port. What is said through `stream` after it, is said to them.
    pub(super) async fn open(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
        host: &str,
    ) -> Result<(), String> {
        let mut request = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n").into_bytes();
        if let Some(authorization) = &self.authorization {
            request.extend_from_slice(b"proxy-authorization: ");
            request.extend_from_slice(authorization.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        let broken = |error| format!("the connection to {self} broke: {error}");
        stream.write_all(&request).await.map_err(broken)?;
        let mut answer = Vec::new();
        let end = loop {
            if let Some(end) = answer.windows(4).position(|end| end == b"\r\n\r\n") {
                break end + 4;
            }
            if answer.len() >= LONGEST {
                return Err(format!("{self} answers at too great a length"));
            }
            if stream.read_buf(&mut answer).await.map_err(broken)? == 0 {
                return Err(format!("{self} closed the connection instead of opening a way"));
            }
        };
        let line = String::from_utf8_lossy(answer.split(|byte| *byte == b'\r').next().unwrap_or_default());
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
        match status {
            // Whoever is behind it speaks only when spoken to.
            Some("200") if answer.len() == end => Ok(()),
            Some("200") => Err(format!("{self} says more than that the way is open")),
            Some("407") => Err(self.wants_a_password()),
            _ => Err(format!("{self} opens no way to {host}: {}", printable(&line))),
        }
    }

    pub(super) fn wants_a_password(&self) -> String {
        match self.authorization {
            None => format!(
                "{self} wants a user and a password; proxy = \"http://user:password@host:port\" has them"
            ),
            Some(_) => format!("{self} does not take the user and the password that proxy names"),
        }
    }
}

/// A user and a password, percent-encoded as in a URL, as the header that carries them.
fn basic(user: &str) -> Option<HeaderValue> {
    let decoded = decode(user)?;
    let with_colon = if decoded.contains(&b':') {
        decoded
    } else {
        [&decoded[..], b":"].concat()
    };
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(with_colon))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digit = |byte: u8| {
                    char::from(byte)
                        .to_digit(16)
                        .and_then(|digit| u8::try_from(digit).ok())
                };
                digit(bytes.next()?)? << 4 | digit(bytes.next()?)?
            }
            byte => byte,
        });
    }
    Some(decoded)
}

/// Without its user and password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self
            .address
            .authority()
            .map_or("", |authority| authority.as_str());
        write!(f, "the proxy http://{host}")
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_an_address_and_perhaps_a_user() {
        for (text, address, authorization) in [
            ("http://proxy.example:3128", "http://proxy.example:3128/", None),
            (" http://10.0.0.1:8080/ ", "http://10.0.0.1:8080/", None),
            ("http://[::1]:8080", "http://[::1]:8080/", None),
            (
                "http://shop:a:b@proxy.example:1",
                "http://proxy.example:1/",
                Some("shop:a:b"),
            ),
            (
                "http://shop:p%40ss@proxy.example:1",
                "http://proxy.example:1/",
                Some("shop:p@ss"),
            ),
            (
                "http://shop@proxy.example:1",
                "http://proxy.example:1/",
                Some("shop:"),
            ),
        ] {
            let proxy = Proxy::parse(text.trim()).unwrap();
            assert_eq!(proxy.address.to_string(), address, "{text}");
            let expected = authorization.map(|plain| format!("Basic {}", STANDARD.encode(plain)));
            assert_eq!(
                proxy
                    .authorization
                    .map(|value| value.to_str().unwrap().to_owned()),
                expected
            );
        }
    }

    #[test]
    fn what_is_no_proxy_is_told_without_its_password() {
        for (text, words) in [
            ("proxy.example:3128", "must look like"),
            ("https://user:hunter2@proxy.example:3128", "there is no TLS"),
            ("socks5://user:hunter2@proxy.example:1080", "must look like"),
            ("http://user:hunter2@proxy.example", "must name a port"),
            ("http://user:hunter2@proxy.example:0", "must name a port"),
            ("http://user:hunter2@proxy.example:3128/path", "must have no path"),
            ("http://user:hunter2%zz@proxy.example:3128", "cannot be sent"),
            ("http://user:hunter2@pro xy:3128", "must look like"),
            ("http://", "must look like"),
        ] {
            let error = Proxy::parse(text).unwrap_err();
            assert_eq!(error.field, "proxy");
            assert!(
                error.rule.contains(words) && !error.rule.contains("hunter2"),
                "{error}"
            );
        }
        let proxy = Proxy::parse("http://user:hunter2@proxy.example:3128").unwrap();
        assert_eq!(format!("{proxy:?}"), "the proxy http://proxy.example:3128");
    }
}

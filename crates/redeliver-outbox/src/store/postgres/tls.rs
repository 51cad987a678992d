//! The database URL, and what its `sslmode` means.

use std::sync::Arc;

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Result, StoreError, StoreErrorKind};

pub(crate) fn configure(url: &str) -> Result<(Config, MakeRustlsConnect)> {
    let mut wanted = Wanted::default();
    let rest = wanted.take_from(url)?;
    let mut config: Config = rest.parse().map_err(|_| {
        // The driver's own words may repeat parts of the URL, a password among them.
        refuse("the database URL cannot be understood")
    })?;
    config.ssl_mode(wanted.mode);
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::new(StoreErrorKind::Other, "TLS cannot be set up").caused_by(error))?;
    let client = if wanted.verified {
        let roots = wanted.roots()?;
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    Ok((config, MakeRustlsConnect::new(client)))
}

fn refuse(what: impl Into<std::borrow::Cow<'static, str>>) -> StoreError {
    StoreError::new(StoreErrorKind::BadInput, what)
        .next("write it like postgres://user:password@host:5432/database?sslmode=verify-full")
}

/// What the driver leaves to us.
struct Wanted {
    mode: SslMode,
    verified: bool,
    roots: Option<String>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            mode: SslMode::Prefer,
            verified: false,
            roots: None,
        }
    }
}

impl Wanted {
    /// The URL without the parameters that are understood here.
    fn take_from(&mut self, url: &str) -> Result<String> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(refuse(
                "the database URL does not begin with postgres:// or postgresql://",
            ));
        }
        let Some((place, query)) = url.split_once('?') else {
            return Ok(url.to_owned());
        };
        let mut rest = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", mode)) => self.mode(mode)?,
                Some(("sslrootcert", path)) => self.roots = Some(decode(path)?),
                _ => rest.push(parameter),
            }
        }
        Ok(if rest.is_empty() {
            place.to_owned()
        } else {
            format!("{place}?{}", rest.join("&"))
        })
    }

    fn mode(&mut self, mode: &str) -> Result<()> {
        (self.mode, self.verified) = match mode {
            "disable" => (SslMode::Disable, false),
            "allow" | "prefer" => (SslMode::Prefer, false),
            "require" => (SslMode::Require, false),
            "verify-ca" | "verify-full" => (SslMode::Require, true),
            other => {
                let shown: String = other.chars().take(40).collect();
                return Err(refuse(format!(
                    "the database URL's sslmode {shown:?} is none of disable, prefer, require, verify-full"
                )));
            }
        };
        Ok(())
    }

    fn roots(&self) -> Result<RootCertStore> {
        let Some(path) = &self.roots else {
            return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
        };
        let unreadable = |error: String| {
            let what = format!("the certificates in {path} cannot be used: {error}");
            StoreError::new(StoreErrorKind::BadInput, what)
                .next("name a PEM file with the certificate of the authority in sslrootcert")
        };
        let mut roots = RootCertStore::empty();
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| unreadable(error.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| unreadable(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(unreadable("there are none".to_owned()));
        }
        Ok(roots)
    }
}

/// `%2F` and the like.
fn decode(text: &str) -> Result<String> {
    let broken = || refuse("the database URL's sslrootcert is no path");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (hex, after) = rest.split_at_checked(2).ok_or_else(broken)?;
        let hex = std::str::from_utf8(hex).map_err(|_| broken())?;
        bytes.push(u8::from_str_radix(hex, 16).map_err(|_| broken())?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| broken())
}

/// Any certificate at all, as libpq takes it under `prefer` and `require`: nobody can listen in, but anybody can be the server.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sslmode_means_what_libpq_means_by_it() {
        for (mode, expected) in [
            ("", (SslMode::Prefer, false)),
            ("?sslmode=disable", (SslMode::Disable, false)),
            ("?sslmode=require&connect_timeout=3", (SslMode::Require, false)),
            ("?connect_timeout=3&sslmode=verify-full", (SslMode::Require, true)),
        ] {
            let mut wanted = Wanted::default();
            let rest = wanted.take_from(&format!("postgres://u@h/d{mode}")).unwrap();
            assert_eq!((wanted.mode, wanted.verified), expected, "{mode}");
            assert!(!rest.contains("sslmode"), "{rest}");
            assert_eq!(
                rest.contains("connect_timeout=3"),
                mode.contains("connect"),
                "{rest}"
            );
        }
    }

    #[test]
    fn a_bad_url_is_refused_without_repeating_a_secret() {
        for url in [
            "mysql://u:hunter2@h/d",
            "postgres://u:hunter2@h:port/d",
            "postgres://u:hunter2@h/d?sslmode=yes",
            "postgres://u:hunter2@h/d?sslmode=verify-full&sslrootcert=%2Fno%2Fsuch.pem",
            "postgres://u:hunter2@h/d?sslrootcert=%zz&sslmode=verify-full",
            "postgres://u:hunter2@h/d?hunter2=hunter2",
        ] {
            let error = configure(url).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadInput, "{url}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }
}

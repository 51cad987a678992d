//! Whom a destination trusts, and who it is itself.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    client::WebPkiServerVerifier,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use super::builder::{InvalidHttp, invalid};

/// What was said of certificates, as PEM.
pub(super) struct Certificates {
    pub(super) authorities: Vec<Vec<u8>>,
    pub(super) client_certificate: Option<Vec<u8>>,
    pub(super) client_key: Option<Vec<u8>>,
}

impl Certificates {
    pub(super) const NONE: Self = Self {
        authorities: Vec::new(),
        client_certificate: None,
        client_key: None,
    };

    /// Trusts the usual authorities and those that were named, and shows the client's own certificate if there is one.
    pub(super) fn tls(&self) -> Result<Tls, InvalidHttp> {
        let mut roots = trusted(&self.authorities)?;
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let provider = Arc::new(ring::default_provider());
        let unusable =
            |error: &dyn std::fmt::Display| invalid("ca", format!("TLS cannot be set up: {error}"));
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(&error))?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_webpki_verifier(Arc::clone(&verifier));
        let (config, shown) = match (&self.client_certificate, &self.client_key) {
            (None, None) => (config.with_no_client_auth(), None),
            (Some(_), None) => {
                let rule = "is of no use without its client_key";
                return Err(invalid("client_certificate", rule));
            }
            (None, Some(_)) => {
                let rule = "is of no use without its client_certificate";
                return Err(invalid("client_key", rule));
            }
            (Some(certificate), Some(key)) => {
                let chain = chain(certificate)?;
                let shown = chain.first().cloned();
                let config = config
                    .with_client_auth_cert(chain, private(key)?)
                    .map_err(|error| {
                        let rule = "is no key that can be used, or is not the one of client_certificate";
                        invalid("client_key", format!("{rule}: {error}"))
                    })?;
                (config, shown)
            }
        };
        Ok(Tls {
            config,
            verifier,
            shown,
        })
    }

    /// Whether a client's certificate is among them.
    pub(super) const fn are_mutual(&self) -> bool {
        self.client_certificate.is_some() || self.client_key.is_some()
    }
}

/// How connections are encrypted.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) config: ClientConfig,
    /// Who says whether a server's certificate is trusted.
    pub(super) verifier: Arc<WebPkiServerVerifier>,
    /// The client's own certificate.
    pub(super) shown: Option<CertificateDer<'static>>,
}

const NO_CERTIFICATE: &str = "holds no certificate; it is PEM, and begins with -----BEGIN CERTIFICATE-----";

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
            return Err(invalid("ca", NO_CERTIFICATE));
        }
    }
    Ok(roots)
}

/// The client's certificate, and those that lead from it to an authority.
fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, InvalidHttp> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| invalid("client_certificate", format!("is no PEM: {error}")))?;
    match chain.is_empty() {
        true => Err(invalid("client_certificate", NO_CERTIFICATE)),
        false => Ok(chain),
    }
}

/// Nothing of it is in the error.
fn private(pem: &[u8]) -> Result<PrivateKeyDer<'static>, InvalidHttp> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| {
        let rule =
            "holds no private key; it is PEM, begins with -----BEGIN PRIVATE KEY----- and is not encrypted";
        invalid("client_key", rule)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Http;

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

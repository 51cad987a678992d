//! Who looks at certificates while a destination is looked at.

use std::sync::{Arc, OnceLock};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error as Tls, SignatureScheme,
    client::{
        Resumption, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::tls;

/// Remembers a certificate that may be refused: who refuses it does not say whose it was.
#[derive(Debug)]
pub(super) struct Witness {
    verifier: Arc<WebPkiServerVerifier>,
    seen: OnceLock<CertificateDer<'static>>,
}

impl Witness {
    /// The same TLS, and who sees what is shown.
    pub(super) fn of(tls: &tls::Tls) -> (Arc<Self>, ClientConfig) {
        let witness = Arc::new(Self {
            verifier: Arc::clone(&tls.verifier),
            seen: OnceLock::new(),
        });
        let mut config = tls.config.clone();
        // A session that goes on from another one shows no certificate.
        config.resumption = Resumption::disabled();
        let verifier: Arc<dyn ServerCertVerifier> = Arc::<Self>::clone(&witness);
        config.dangerous().set_certificate_verifier(verifier);
        (witness, config)
    }

    /// The server's certificate, whether it was accepted or not.
    pub(super) fn seen(&self) -> Option<&CertificateDer<'static>> {
        self.seen.get()
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Tls> {
        self.seen.get_or_init(|| certificate.clone().into_owned());
        self.verifier
            .verify_server_cert(certificate, others, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Tls> {
        self.verifier
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Tls> {
        self.verifier
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

//! The certificate of a proxy, and the certificate authority that its clients trust. Both are made for one proxy.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::error::Error;

/// The TLS configuration towards clients.
pub(crate) struct Identity {
    /// The certificate of the authority, as PEM.
    pub authority: String,
    /// The configuration of the server.
    pub server: Arc<ServerConfig>,
}

impl Identity {
    /// Returns a new identity for 127.0.0.1. The certificates of the authority and the server differ, because
    /// clients reject one certificate for both.
    ///
    /// # Errors
    ///
    /// A key or a certificate cannot be made.
    pub(crate) fn new() -> Result<Identity, Error> {
        let (authority, certificate, key) = made().map_err(|error| Error::Certificate(error.to_string()))?;
        let key = PrivateKeyDer::try_from(key.serialize_der());
        let key = key.map_err(|why| Error::Certificate(why.to_owned()))?;
        let server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key)
            });
        let mut server = server.map_err(|error| Error::Certificate(error.to_string()))?;
        // HTTP/1.1 has one connection for each request in progress, so that one can be cut without the
        // others.
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Identity { authority, server: Arc::new(server) })
    }
}

/// The time for which a certificate is valid. A proxy lives as long as a run; clocks may differ by some minutes.
const VALID: Duration = Duration::from_secs(30 * 24 * 3600);
const SKEW: Duration = Duration::from_secs(3600);

fn short_lived(mut params: CertificateParams) -> CertificateParams {
    let now = SystemTime::now();
    params.not_before = (now - SKEW).into();
    params.not_after = (now + VALID).into();
    params
}

/// Returns the authority as PEM, the certificate that it has signed, and the key of that certificate.
fn made() -> Result<(String, rcgen::Certificate, KeyPair), rcgen::Error> {
    let mut of_authority = short_lived(CertificateParams::default());
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    of_authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate()?;
    let authority = of_authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(of_authority, authority_key);
    let mut of_server =
        short_lived(CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?);
    of_server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = of_server.signed_by(&key, &issuer)?;
    Ok((authority, certificate, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_valid_for_some_weeks() {
        let params = short_lived(CertificateParams::default());
        let days = (params.not_after - params.not_before).whole_days();
        assert!((29..=31).contains(&days), "{days} days");
        let now = SystemTime::now();
        assert!(params.not_before < now && params.not_after > now);
    }
}

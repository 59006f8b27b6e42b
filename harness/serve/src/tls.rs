//! TLS under HTTP: with certificates from files, or with those of an authority that is made for the purpose.
//!
//! [`Tls::accept`] is a layer of [`HttpServer::serve_over`](crate::HttpServer::serve_over). HTTP/1.1 alone is offered: it
//! has one connection for each request in progress, so that one can be cut without the others.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// The time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time for which a certificate that is made here is valid. Its server lives as long as a run.
const VALID: Duration = Duration::from_secs(30 * 24 * 3600);
/// Clocks may differ by some minutes.
const SKEW: Duration = Duration::from_secs(3600);

/// A certificate that cannot be used. The messages quote no file.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read, or has something else.
    #[error("cannot use {}: {why}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A key or a certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Made(String),
}

/// The certificate of a server, with its key.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// Reads a chain of certificates, and the key of the first one, as PEM.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or the two do not fit together.
    pub fn read(certificates: &Path, key: &Path) -> Result<Tls, TlsError> {
        let failed = |path: &Path, why: String| TlsError::File { path: path.to_owned(), why };
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(certificates).and_then(|chain| chain.collect());
        let chain = chain.map_err(|error| failed(certificates, error.to_string()))?;
        if chain.is_empty() {
            return Err(failed(certificates, "it has no certificate in PEM".to_owned()));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, error.to_string()))?;
        Tls::of(chain, private).map_err(|why| failed(certificates, why))
    }

    fn of(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Tls, String> {
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| error.to_string())?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }

    /// The connection behind the handshake; none if that fails or takes too long. A client that does not trust the
    /// server closes the connection.
    pub async fn accept(self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let _ = stream.set_nodelay(true);
        timeout(HANDSHAKE, self.0.accept(stream)).await.ok()?.ok()
    }
}

/// A certificate authority that clients can trust. Its key is in memory only.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Makes an authority.
    ///
    /// # Errors
    ///
    /// The operating system provides no random numbers.
    pub fn new() -> Result<Authority, TlsError> {
        let made = || {
            let mut params = short_lived(CertificateParams::default());
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            let key = KeyPair::generate()?;
            let pem = params.self_signed(&key)?.pem();
            Ok(Authority { issuer: Issuer::new(params, key), pem })
        };
        made().map_err(|error: rcgen::Error| TlsError::Made(error.to_string()))
    }

    /// The certificate of the authority, as PEM.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Makes a certificate for a server on this machine. Clients reject one certificate for both.
    ///
    /// # Errors
    ///
    /// The operating system provides no random numbers.
    pub fn certificate(&self) -> Result<Tls, TlsError> {
        let made = || {
            let mut params =
                short_lived(CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok((certificate.der().clone(), key))
        };
        let (certificate, key) = made().map_err(|error: rcgen::Error| TlsError::Made(error.to_string()))?;
        let key = PrivateKeyDer::try_from(key.serialize_der());
        let key = key.map_err(|why| TlsError::Made(why.to_owned()))?;
        Tls::of(vec![certificate], key).map_err(TlsError::Made)
    }
}

fn short_lived(mut params: CertificateParams) -> CertificateParams {
    let now = SystemTime::now();
    params.not_before = (now - SKEW).into();
    params.not_after = (now + VALID).into();
    params
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

    /// Writes a certificate and its key.
    fn written(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (file, key) = (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        std::fs::write(&file, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        (file, key)
    }

    #[test]
    fn a_wrong_certificate_or_key_is_named_and_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let ((file, key), (_, other)) = (written(folder.path(), "tls"), written(folder.path(), "other"));
        Tls::read(&file, &key).unwrap();
        let (noise, none) = (folder.path().join("noise"), folder.path().join("none"));
        std::fs::write(&noise, "SECRET").unwrap();
        for (certificates, key, named) in [
            (&noise, &key, "noise"),
            (&file, &noise, "noise"),
            (&none, &key, "none"),
            (&file, &other, "tls.crt"),
        ] {
            let error = Tls::read(certificates, key).unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains("SECRET"), "{error}");
        }
    }
}

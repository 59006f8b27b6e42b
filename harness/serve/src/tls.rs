//! TLS under HTTP: with certificates from files, or with those of an authority that is made for the purpose.
//!
//! [`Tls::accept`] is a layer of [`HttpServer::serve_over`](crate::HttpServer::serve_over). HTTP/1.1 alone is offered: it
//! has one connection for each request in progress, so that one can be cut without the others.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustix::fs::OFlags;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::server::TlsStream;
use x509_parser::parse_x509_certificate;

/// The time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time for which a certificate that is made here is valid. Its server lives as long as a run.
const VALID: Duration = Duration::from_secs(30 * 24 * 3600);
/// The maximum size of a file in bytes. A Secret has at most 1 MiB.
const MAX_FILE: u64 = 1 << 20;
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

/// The certificate of a server, with its key. It can be renewed while the server runs: the next handshake has the new
/// one.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    current: Arc<Current>,
    /// The files of the certificate and the key, unless they were made here.
    files: Option<Arc<Files>>,
}

/// The certificate of the next handshake.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl Current {
    fn replace(&self, certified: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(certified);
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// The files of a certificate, and their times when they were read.
struct Files {
    certificates: PathBuf,
    key: PathBuf,
    read: Mutex<[Option<SystemTime>; 2]>,
}

impl Files {
    /// The times of the last change. Links are followed: Kubernetes replaces the link to a folder.
    fn times(&self) -> [Option<SystemTime>; 2] {
        [&self.certificates, &self.key].map(|file| std::fs::metadata(file).and_then(|it| it.modified()).ok())
    }

    fn certified(&self) -> Result<CertifiedKey, TlsError> {
        let failed = |path: &Path, why: String| TlsError::File { path: path.to_owned(), why };
        let bytes = |path: &Path| read_file(path).map_err(|error| failed(path, error.to_string()));
        let (certificates, key) = (bytes(&self.certificates)?, bytes(&self.key)?);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificates).collect();
        let chain = chain.map_err(|error| failed(&self.certificates, error.to_string()))?;
        if chain.is_empty() {
            return Err(failed(&self.certificates, "it has no certificate in PEM".to_owned()));
        }
        let private = PrivateKeyDer::from_pem_slice(&key);
        let private = private.map_err(|error| failed(&self.key, error.to_string()))?;
        certified(chain, private).map_err(|why| failed(&self.certificates, why))
    }
}

/// Reads a file that may have become something else meanwhile: a pipe would block the server, and a device has no end.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_FILE {
        true => Err(io::Error::other(format!("it is larger than {} KiB", MAX_FILE >> 10))),
        false => Ok(bytes),
    }
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, String> {
    CertifiedKey::from_der(chain, key, &default_provider()).map_err(|error| error.to_string())
}

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
        let mut files =
            Files { certificates: certificates.to_owned(), key: key.to_owned(), read: Mutex::default() };
        files.read = Mutex::new(files.times());
        let tls = Tls::of(files.certified()?).map_err(TlsError::Made)?;
        Ok(Tls { files: Some(Arc::new(files)), ..tls })
    }

    /// Reads the files again if they have changed. Returns true if the server has another certificate now. A server
    /// that runs for weeks calls this from time to time.
    ///
    /// # Errors
    ///
    /// The new files cannot be used, for example as only one of the two is written yet. The server keeps the certificate
    /// that it has, and the error comes once for each change.
    pub fn read_again(&self) -> Result<bool, TlsError> {
        let Some(files) = &self.files else { return Ok(false) };
        let mut read = files.read.lock().unwrap_or_else(PoisonError::into_inner);
        let times = files.times();
        if *read == times {
            return Ok(false);
        }
        *read = times;
        self.current.replace(files.certified()?);
        Ok(true)
    }

    /// The reason why clients that verify the certificate refuse it now: it has expired, or is not valid yet. `None` if
    /// it is valid.
    #[must_use]
    pub fn why_invalid_now(&self) -> Option<&'static str> {
        let certified = Arc::clone(&self.current.0.read().unwrap_or_else(PoisonError::into_inner));
        let (_, certificate) = parse_x509_certificate(certified.cert.first()?).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs().cast_signed();
        let validity = certificate.validity();
        if now > validity.not_after.timestamp() {
            return Some("it has expired");
        }
        (now < validity.not_before.timestamp()).then_some("it is not valid yet")
    }

    fn of(certified: CertifiedKey) -> Result<Tls, String> {
        let current = Arc::new(Current(RwLock::new(Arc::new(certified))));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::<Current>::clone(&current));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), current, files: None })
    }

    /// The connection behind the handshake; none if that fails or takes too long. A client that does not trust the
    /// server closes the connection.
    pub async fn accept(self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let _ = stream.set_nodelay(true);
        timeout(HANDSHAKE, self.acceptor.accept(stream)).await.ok()?.ok()
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
            let mut params = short_lived(CertificateParams::default(), "jobcheck authority");
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
        Tls::of(self.certified()?).map_err(TlsError::Made)
    }

    /// Gives a server another certificate of this authority.
    ///
    /// # Errors
    ///
    /// The operating system provides no random numbers.
    pub fn renew(&self, tls: &Tls) -> Result<(), TlsError> {
        tls.current.replace(self.certified()?);
        Ok(())
    }

    fn certified(&self) -> Result<CertifiedKey, TlsError> {
        let made = || {
            let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
            let mut params = short_lived(CertificateParams::new(names)?, "jobcheck server");
            params.use_authority_key_identifier_extension = true;
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok((certificate.der().clone(), key))
        };
        let (certificate, key) = made().map_err(|error: rcgen::Error| TlsError::Made(error.to_string()))?;
        let key = PrivateKeyDer::try_from(key.serialize_der());
        let key = key.map_err(|why| TlsError::Made(why.to_owned()))?;
        certified(vec![certificate], key).map_err(TlsError::Made)
    }
}

/// OpenSSL takes a certificate whose issuer has the name of its subject for self-signed, so that names differ.
fn short_lived(mut params: CertificateParams, name: &str) -> CertificateParams {
    params.distinguished_name.push(DnType::CommonName, name);
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
        let params = short_lived(CertificateParams::default(), "x");
        let days = (params.not_after - params.not_before).whole_days();
        assert!((29..=31).contains(&days), "{days} days");
        let now = SystemTime::now();
        assert!(params.not_before < now && params.not_after > now);
    }

    #[test]
    fn a_pipe_a_device_and_a_large_file_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (_, key) = written(folder.path(), "tls");
        let (pipe, large) = (folder.path().join("pipe"), folder.path().join("large"));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        File::create(&large).unwrap().set_len(MAX_FILE + 1).unwrap();
        for (file, why) in [
            (&*pipe, "regular file"),
            (Path::new("/dev/zero"), "regular file"),
            (&large, "larger than 1024 KiB"),
        ] {
            let error = Tls::read(file, &key).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_valid_now_is_recognised() {
        let now = SystemTime::now();
        let day = Duration::from_secs(86_400);
        for (from, to, expected) in [
            (now - day, now + day, None),
            (now - 2 * day, now - day, Some("it has expired")),
            (now + day, now + 2 * day, Some("it is not valid yet")),
        ] {
            let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
            (params.not_before, params.not_after) = (from.into(), to.into());
            let key = KeyPair::generate().unwrap();
            let certificate = params.self_signed(&key).unwrap();
            let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
            let tls = Tls::of(certified(vec![certificate.der().clone()], key).unwrap()).unwrap();
            assert_eq!(tls.why_invalid_now(), expected);
        }
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

    /// The certificate that a client is shown which trusts these roots.
    async fn shown(tls: &Tls, roots: &[CertificateDer<'static>]) -> CertificateDer<'static> {
        use tokio_rustls::TlsConnector;
        use tokio_rustls::rustls::pki_types::ServerName;
        use tokio_rustls::rustls::{ClientConfig, RootCertStore};

        let mut store = RootCertStore::empty();
        roots.iter().for_each(|root| store.add(root.clone()).unwrap());
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(store)
            .with_no_client_auth();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let server = tokio::spawn(tls.clone().accept(accepted));
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let client = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        assert!(server.await.unwrap().is_some());
        client.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
    }

    /// Sets the time of the last change, so that the test does not depend on the resolution of the file system.
    fn changed_at(file: &Path, seconds: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
    }

    #[tokio::test]
    async fn a_renewed_file_is_used_without_a_restart_and_a_wrong_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (file, key) = written(folder.path(), "tls");
        let (next_file, next_key) = written(folder.path(), "next");
        let read = |file: &Path| CertificateDer::from_pem_file(file).unwrap();
        let roots = [read(&file), read(&next_file)];
        let tls = Tls::read(&file, &key).unwrap();
        assert!(!tls.read_again().unwrap());
        assert_eq!(shown(&tls, &roots).await, roots[0]);

        // The certificate is written before its key.
        std::fs::copy(&next_file, &file).unwrap();
        changed_at(&file, 1);
        let error = tls.read_again().unwrap_err().to_string();
        assert!(error.contains("tls.crt"), "{error}");
        assert!(!tls.read_again().unwrap(), "the error came twice");
        assert_eq!(shown(&tls, &roots).await, roots[0]);

        std::fs::copy(&next_key, &key).unwrap();
        changed_at(&key, 2);
        assert!(tls.read_again().unwrap());
        assert_eq!(shown(&tls, &roots).await, roots[1]);
    }

    #[tokio::test]
    async fn an_authority_renews_the_certificate_of_a_server() {
        let authority = Authority::new().unwrap();
        let roots = [CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()];
        let tls = authority.certificate().unwrap();
        let first = shown(&tls, &roots).await;
        let names = |name: &[u8]| first.windows(name.len()).any(|part| part == name);
        assert!(
            names(b"jobcheck authority") && names(b"jobcheck server"),
            "issuer and subject are not told apart"
        );
        authority.renew(&tls).unwrap();
        assert_ne!(shown(&tls, &roots).await, first);
    }
}

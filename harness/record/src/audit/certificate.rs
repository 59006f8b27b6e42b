//! The certificate of an audit webhook that runs for weeks.

use std::time::Duration;

use jobcheck_serve::tls::Tls;
use tokio::time::Instant;

use crate::Notice;

/// The interval at which the validity is looked at.
const INTERVAL: Duration = Duration::from_secs(60);

/// A certificate that is renewed in its files, and whose validity ends.
pub(super) struct Certificate {
    tls: Tls,
    looked: Option<Instant>,
    is_reported: bool,
}

impl Certificate {
    pub(super) fn new(tls: Tls) -> Certificate {
        Certificate { tls, looked: None, is_reported: false }
    }

    /// Uses a renewed certificate. Reports it, why the new one is not used, and once that the current one is not valid.
    pub(super) fn look(&mut self, notify: &mut dyn FnMut(Notice<'_>)) {
        match self.tls.read_again() {
            Ok(false) => {}
            Ok(true) => {
                notify(Notice::Note("the webhook has read its renewed certificate".to_owned()));
                (self.looked, self.is_reported) = (None, false);
            }
            Err(error) => notify(Notice::Note(format!("the webhook keeps its certificate: {error}"))),
        }
        if self.looked.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.looked = Some(Instant::now());
        if let Some(why) = self.tls.why_invalid_now().filter(|_| !self.is_reported) {
            self.is_reported = true;
            notify(Notice::Note(format!("API servers refuse the certificate of the webhook: {why}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::SystemTime;

    use super::*;

    /// Writes a certificate that is valid until then.
    fn write(folder: &Path, until: SystemTime) {
        let mut params = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.not_before = (SystemTime::now() - Duration::from_secs(3 * 86_400)).into();
        params.not_after = until.into();
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(folder.join("tls.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_certificate_is_reported_once_until_it_is_renewed() {
        let (folder, day) = (tempfile::tempdir().unwrap(), Duration::from_secs(86_400));
        write(folder.path(), SystemTime::now() - day);
        let [file, key] = ["tls.crt", "tls.key"].map(|name| folder.path().join(name));
        let mut certificate = Certificate::new(Tls::read(&file, &key).unwrap());
        let mut notes = Vec::new();
        let mut look = |certificate: &mut Certificate| {
            certificate.look(&mut |notice| {
                if let Notice::Note(text) = notice {
                    notes.push(text);
                }
            });
        };
        look(&mut certificate);
        tokio::time::advance(2 * INTERVAL).await;
        look(&mut certificate);
        write(folder.path(), SystemTime::now() + day);
        // The resolution of times is some milliseconds, and the test is faster.
        let file = std::fs::File::options().write(true).open(&file).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        look(&mut certificate);
        let expected = [
            "API servers refuse the certificate of the webhook: it has expired",
            "the webhook has read its renewed certificate",
        ];
        assert_eq!(notes, expected);
    }
}

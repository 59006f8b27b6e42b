//! The API server behind the proxy, and the accounts with which it is asked.

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::request::Parts;
use http::{HeaderMap, Response};
use jobcheck_cluster::told;
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::Error;
use crate::request::text;

/// Bytes of the token of a proxy.
const TOKEN: usize = 16;
/// Headers that are about one connection, and not about the request; the length is that of the body that is sent.
const OF_CONNECTIONS: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "content-length",
];

/// The API server.
pub(crate) struct Upstream {
    own: Client,
    bare: Client,
    token: String,
}

impl Upstream {
    /// Looks whether it is there.
    ///
    /// # Errors
    ///
    /// It is not, or the configuration cannot be used.
    pub(crate) async fn new(mut config: Config) -> Result<Upstream, Error> {
        // Whoever sent a request is to know what became of it.
        config.default_retry = false;
        config.read_timeout = None;
        let url = config.cluster_url.to_string();
        let client = |config: Config| Client::try_from(config).map_err(|error| Error::Client(told(&error)));
        let own = client(config.clone())?;
        config.auth_info = AuthInfo::default();
        let bare = client(config)?;
        if let Err(error) = own.apiserver_version().await {
            return Err(Error::Upstream { url, why: told(&error) });
        }
        Ok(Upstream { own, bare, token: token()? })
    }

    /// What clients of the proxy show: they act as the account of the configuration then.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Who may ask: whoever has the token of the proxy, and whoever has another one, which the API server will judge.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Option<Account<'_>> {
        let token = text(headers, AUTHORIZATION).strip_prefix("Bearer ")?;
        let is_own = token == self.token;
        Some(Account { client: if is_own { &self.own } else { &self.bare }, is_own })
    }
}

/// As whom a request is sent.
#[derive(Clone, Copy)]
pub(crate) struct Account<'a> {
    client: &'a Client,
    is_own: bool,
}

impl Account<'_> {
    /// Sends a request.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub(crate) async fn send(&self, mut parts: Parts, body: Bytes) -> Result<Response<Body>, kube::Error> {
        OF_CONNECTIONS.iter().for_each(|name| drop(parts.headers.remove(*name)));
        parts.headers.remove(HOST);
        if self.is_own {
            parts.headers.remove(AUTHORIZATION);
        }
        parts.version = http::Version::HTTP_11;
        parts.extensions.clear();
        let body = if body.is_empty() { Body::empty() } else { Body::from(body.to_vec()) };
        let mut answer = self.client.send(http::Request::from_parts(parts, body)).await?;
        OF_CONNECTIONS.iter().for_each(|name| drop(answer.headers_mut().remove(*name)));
        Ok(answer)
    }
}

fn token() -> Result<String, Error> {
    let mut bytes = [0; TOKEN];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::Certificate("the operating system gives no randomness".to_owned()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

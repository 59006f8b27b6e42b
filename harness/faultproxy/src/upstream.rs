//! The API server behind the proxy, and the accounts for requests to it.

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::request::Parts;
use http::{HeaderMap, Response};
use jobcheck_access::with_causes;
use jobcheck_cluster::token;
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};

use crate::error::Error;
use crate::request::text;

/// The headers that concern one connection and not the request. The length is set for the body that is sent.
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
    /// Connects to the API server.
    ///
    /// # Errors
    ///
    /// The API server does not respond, or the configuration is invalid.
    pub(crate) async fn new(mut config: Config) -> Result<Upstream, Error> {
        // A retry would hide from the sender how a request was handled.
        config.default_retry = false;
        config.read_timeout = None;
        let url = config.cluster_url.to_string();
        let client =
            |config: Config| Client::try_from(config).map_err(|error| Error::Client(with_causes(&error)));
        let own = client(config.clone())?;
        config.auth_info = AuthInfo::default();
        let bare = client(config)?;
        if let Err(error) = own.apiserver_version().await {
            return Err(Error::Upstream { url, why: with_causes(&error) });
        }
        let token = token().map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Upstream { own, bare, token })
    }

    /// The token with which clients of the proxy act as the account of the configuration.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The account of a request. A client with the proxy's token acts as the account of the configuration. Any
    /// other token is passed on. `None`: no token.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Option<Account<'_>> {
        let token = text(headers, AUTHORIZATION).strip_prefix("Bearer ")?;
        let is_own = token == self.token;
        Some(Account { client: if is_own { &self.own } else { &self.bare }, is_own })
    }
}

/// The account with which a request is sent.
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
    /// There is no response.
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

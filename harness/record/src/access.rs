//! Access to a cluster by a kubeconfig.

use std::path::PathBuf;

use jobcheck_access::{EventLimit, patiently, with_causes};
use kube::client::ClientBuilder;
use kube::{Client, Config};
use serde::{Deserialize, Serialize};

/// The kubeconfig and the context with which a cluster is reached, as in kubectl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// `--kubeconfig`. `None`: `$KUBECONFIG`, `~/.kube/config`, or the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`. `None`: the current context.
    pub context: Option<String>,
}

impl Access {
    /// The client configuration from the kubeconfig.
    ///
    /// # Errors
    ///
    /// The kubeconfig is missing or invalid, or the cluster is behind a proxy.
    pub async fn config(&self) -> Result<Config, String> {
        jobcheck_access::config(self.kubeconfig.as_deref(), self.context.as_deref()).await
    }

    /// Returns a client that never retries: a creation whose response was an error may have been carried out.
    ///
    /// # Errors
    ///
    /// The kubeconfig is missing or invalid.
    pub async fn client(&self) -> Result<Client, String> {
        let mut config = self.config().await?;
        config.default_retry = false;
        let builder = ClientBuilder::try_from(config).map_err(|error| with_causes(&error))?;
        Ok(builder.with_layer(&EventLimit).build())
    }
}

/// Returns the minor version of an API server, such as `1.36`. If the server is overloaded, it is asked again for a
/// minute, and `waiting` receives the reason each time.
///
/// # Errors
///
/// The API server does not respond.
pub async fn version(client: &Client, waiting: impl FnMut(&str)) -> Result<String, String> {
    let version =
        patiently(|| client.apiserver_version(), waiting).await.map_err(|error| error.to_string())?;
    // Some clusters report `36+`.
    let minor: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    Ok(format!("{}.{minor}", version.major))
}

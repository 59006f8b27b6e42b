//! Access to a cluster by a kubeconfig.

use std::path::PathBuf;

use jobcheck_cluster::with_causes;
use kube::config::{KubeConfigOptions, Kubeconfig};
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
    /// The kubeconfig is missing or invalid.
    pub async fn config(&self) -> Result<Config, String> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        match &self.kubeconfig {
            Some(path) => match Kubeconfig::read_from(path) {
                Ok(file) => {
                    Config::from_custom_kubeconfig(file, &options).await.map_err(|it| with_causes(&it))
                }
                Err(error) => Err(with_causes(&error)),
            },
            None if self.context.is_some() => {
                Config::from_kubeconfig(&options).await.map_err(|error| with_causes(&error))
            }
            None => Config::infer().await.map_err(|error| with_causes(&error)),
        }
    }

    /// Returns a client that never retries: a creation whose response was an error may have been carried out.
    ///
    /// # Errors
    ///
    /// The kubeconfig is missing or invalid.
    pub async fn client(&self) -> Result<Client, String> {
        let mut config = self.config().await?;
        config.default_retry = false;
        Client::try_from(config).map_err(|error| with_causes(&error))
    }
}

/// Returns the minor version of an API server, such as `1.36`.
///
/// # Errors
///
/// The API server does not respond.
pub async fn version(client: &Client) -> Result<String, String> {
    let version = client.apiserver_version().await.map_err(|error| with_causes(&error))?;
    // Some clusters report `36+`.
    let minor: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    Ok(format!("{}.{minor}", version.major))
}

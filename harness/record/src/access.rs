//! The way to a cluster.

use std::path::PathBuf;

use jobcheck_cluster::told;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};

/// The way to a cluster, as kubectl takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// `--kubeconfig`; else `$KUBECONFIG`, `~/.kube/config`, and the service account of the pod.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`; else the current one.
    pub context: Option<String>,
}

impl Access {
    /// What the kubeconfig says.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not there.
    pub async fn config(&self) -> Result<Config, String> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        match &self.kubeconfig {
            Some(path) => match Kubeconfig::read_from(path) {
                Ok(file) => Config::from_custom_kubeconfig(file, &options).await.map_err(|it| told(&it)),
                Err(error) => Err(told(&error)),
            },
            None if self.context.is_some() => {
                Config::from_kubeconfig(&options).await.map_err(|error| told(&error))
            }
            None => Config::infer().await.map_err(|error| told(&error)),
        }
    }

    /// A client. It sends each request once: a creation that was answered with an error may have been carried out.
    ///
    /// # Errors
    ///
    /// Why there is none: what is wrong with the kubeconfig.
    pub async fn client(&self) -> Result<Client, String> {
        let mut config = self.config().await?;
        config.default_retry = false;
        Client::try_from(config).map_err(|error| told(&error))
    }
}

/// The minor version of an API server, such as `1.36`.
///
/// # Errors
///
/// It does not answer.
pub async fn version(client: &Client) -> Result<String, String> {
    let version = client.apiserver_version().await.map_err(|error| told(&error))?;
    // Some clusters say 36+.
    let minor: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    Ok(format!("{}.{minor}", version.major))
}

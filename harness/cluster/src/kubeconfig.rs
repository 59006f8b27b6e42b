//! The kubeconfig of a local API server.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{
    AuthInfo, Cluster, Context, Kubeconfig as File, NamedAuthInfo, NamedCluster, NamedContext,
};

use crate::error::Error;
use crate::files;

/// The facts from which a client reaches an API server as one user.
#[derive(Clone, Copy, Debug)]
pub struct Kubeconfig<'a> {
    /// The name of the cluster and of the context.
    pub cluster: &'a str,
    /// The name of the user.
    pub user: &'a str,
    /// The URL of the API server, such as `https://127.0.0.1:41234`.
    pub server: &'a str,
    /// The certificates to trust, as PEM. `None`: those of the system.
    pub authority: Option<&'a [u8]>,
    /// The bearer token. `None`: the user shows no credentials.
    pub token: Option<&'a str>,
}

/// The kubeconfig for the users of a cluster, in the folder of the cluster.
#[must_use]
pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}

impl Kubeconfig<'_> {
    /// The text of the file: JSON, which every reader of YAML reads too.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`], if the JSON cannot be written.
    pub fn text(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(&self.file());
        text.map(|text| text + "\n")
            .map_err(|error| Error::Internal(format!("a kubeconfig cannot be written as JSON: {error}")))
    }

    fn file(&self) -> File {
        let cluster = Cluster {
            server: Some(self.server.to_owned()),
            certificate_authority_data: self.authority.map(|it| STANDARD.encode(it)),
            ..Cluster::default()
        };
        let user = AuthInfo { token: self.token.map(|it| it.to_owned().into()), ..AuthInfo::default() };
        let context = Context {
            cluster: self.cluster.to_owned(),
            user: Some(self.user.to_owned()),
            ..Context::default()
        };
        let name = || self.cluster.to_owned();
        File {
            api_version: Some("v1".to_owned()),
            kind: Some("Config".to_owned()),
            clusters: vec![NamedCluster { name: name(), cluster: Some(cluster), ..NamedCluster::default() }],
            auth_infos: vec![NamedAuthInfo {
                name: self.user.to_owned(),
                auth_info: Some(user),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext { name: name(), context: Some(context), ..NamedContext::default() }],
            current_context: Some(name()),
            ..File::default()
        }
    }

    /// Writes the file. A comment names the version of Kubernetes, for a person who reads it.
    pub(crate) fn write(&self, path: &Path, kubernetes: &str) -> Result<(), Error> {
        files::write(path, format!("# Kubernetes {kubernetes}\n{}", self.text()?).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_can_be_read_as_a_kubeconfig() {
        let written = Kubeconfig {
            cluster: "here",
            user: "admin",
            server: "https://127.0.0.1:1",
            authority: Some(b"PEM"),
            token: Some("secret"),
        };
        let file = File::from_yaml(&format!("# a comment\n{}", written.text().unwrap())).unwrap();
        assert_eq!(file.current_context.as_deref(), Some("here"));
        let cluster = file.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:1"));
        assert_eq!(cluster.certificate_authority_data.as_deref(), Some("UEVN"));
        assert!(written.text().unwrap().contains("\"token\": \"secret\""));
    }
}

//! The kubeconfig of a cluster.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::Error;
use crate::files;
use crate::name::Name;

/// Who a kubeconfig is for, and what it says.
pub(crate) struct Kubeconfig<'a> {
    /// The cluster.
    pub cluster: &'a Name,
    /// The version of Kubernetes, for whoever reads the file.
    pub kubernetes: &'a str,
    /// The user, as the API server knows it.
    pub user: &'a str,
    /// `https://127.0.0.1:41234`.
    pub server: &'a str,
    /// Certificates to trust, as PEM.
    pub authority: Option<&'a [u8]>,
    /// The bearer token.
    pub token: Option<&'a str>,
}

/// The file of the cluster's users, in its folder.
#[must_use]
pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}

impl Kubeconfig<'_> {
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        files::write(path, self.text().as_bytes())
    }

    fn text(&self) -> String {
        let Kubeconfig { cluster, kubernetes, user, server, authority, token } = self;
        let line = |key: &str, value: &str| format!("    {key}: {value}\n");
        let authority = authority.map(|it| line("certificate-authority-data", &STANDARD.encode(it)));
        let authority = authority.unwrap_or_default();
        let user_is = match token {
            Some(token) => format!("  user:\n{}", line("token", token)),
            None => "  user: {}\n".to_owned(),
        };
        format!(
            "# Kubernetes {kubernetes}\napiVersion: v1\nkind: Config\nclusters:\n- name: jobcheck-{cluster}\n  cluster:\n    \
             server: {server}\n{authority}users:\n- name: {user}\n{user_is}contexts:\n- name: jobcheck-{cluster}\n  context:\n    \
             cluster: jobcheck-{cluster}\n    user: {user}\ncurrent-context: jobcheck-{cluster}\n"
        )
    }
}

//! The configuration of a client.

use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use secrecy::{ExposeSecret, SecretString};

use crate::error::with_causes;
use crate::proxy;

/// The maximum size of a kubeconfig in bytes. etcd would not store a larger object, either.
const MAX_SIZE: u64 = 16 << 20;

/// Loads the configuration of a client, as kubectl does: from a file; or from `$KUBECONFIG`, `~/.kube/config`, or the
/// service account of the pod. Without a context, the current context of the file is used.
///
/// # Errors
///
/// There is no configuration, it is invalid, or the cluster is behind a proxy.
pub async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, String> {
    match kubeconfig {
        Some(path) => check(path, "the kubeconfig")?,
        None => of_environment().iter().try_for_each(|path| check(path, "the kubeconfig"))?,
    }
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| with_causes(&error))?;
            check_files(&file)?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|error| with_causes(&error))?
        }
        None => {
            // Without a file, this is a pod, whose service account is used.
            Kubeconfig::read().map_or(Ok(()), |file| check_files(&file))?;
            let config = match context {
                Some(_) => Config::from_kubeconfig(&options).await.map_err(|error| with_causes(&error)),
                None => Config::infer().await.map_err(|error| with_causes(&error)),
            };
            config?
        }
    };
    proxy::take_out(&mut config)?;
    trim_token(&mut config)?;
    Ok(config)
}

/// Removes the line break behind a token, as editors write it. The client library panics at a token that is no header.
fn trim_token(config: &mut Config) -> Result<(), String> {
    let Some(token) = &config.auth_info.token else { return Ok(()) };
    let trimmed = token.expose_secret().trim();
    if !trimmed.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(
            "the token of the kubeconfig has spaces, line breaks, or other than ASCII characters".to_owned()
        );
    }
    config.auth_info.token = Some(SecretString::from(trimmed));
    Ok(())
}

/// The address of an API server for messages: without the password and the query, which may be secret.
#[must_use]
pub fn shown_address(config: &Config) -> String {
    let url = &config.cluster_url;
    let (scheme, host) = (url.scheme_str().unwrap_or("https"), url.host().unwrap_or_default());
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}{}", url.path())
}

/// The files that are read by default, whether they exist or not.
fn of_environment() -> Vec<PathBuf> {
    match std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => std::env::split_paths(&list).collect(),
        None => std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    }
}

/// Checks the files that a kubeconfig names.
fn check_files(kubeconfig: &Kubeconfig) -> Result<(), String> {
    let users = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    let of_users = users.flat_map(|user| {
        [
            (&user.token_file, "the tokenFile"),
            (&user.client_certificate, "the client-certificate"),
            (&user.client_key, "the client-key"),
        ]
    });
    let clusters = kubeconfig.clusters.iter().filter_map(|cluster| cluster.cluster.as_ref());
    let of_clusters = clusters.map(|cluster| (&cluster.certificate_authority, "the certificate-authority"));
    let mut files = of_users.chain(of_clusters).filter_map(|(file, what)| Some((file.as_ref()?, what)));
    files.try_for_each(|(file, what)| check(Path::new(file), what))
}

/// Refuses what would be read without an end, and without regard to signals. A pipe is permitted, as kubectl does.
fn check(path: &Path, what: &str) -> Result<(), String> {
    // The reader names what is missing.
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    if metadata.is_file() && metadata.len() > MAX_SIZE {
        return Err(format!("{what} is larger than {} MiB", MAX_SIZE >> 20));
    }
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_char_device(&metadata.file_type()) {
        return Err(format!("{what} is a device"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    async fn of(text: &str) -> Result<Config, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        config(Some(file.path()), None).await
    }

    fn with(server: &str, token: &str) -> String {
        format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: \"{server}\"}}}}]\nusers: [{{name: u, user: {{token: \"{token}\"}}}}]\n"
        )
    }

    #[tokio::test]
    async fn a_token_may_end_in_a_line_break_and_another_one_is_an_error() {
        let config = of(&with("https://127.0.0.1:1", "abc\\n")).await.unwrap();
        assert_eq!(config.auth_info.token.as_ref().unwrap().expose_secret(), "abc");
        kube::client::ClientBuilder::try_from(config).map(drop).unwrap();
        for token in ["SECRET TOK", "SECRET\\nTOK", "SECRET\\u00e9"] {
            let error = of(&with("https://127.0.0.1:1", token)).await.unwrap_err();
            assert!(error.contains("the token of the kubeconfig") && !error.contains("SECRET"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_shown_address_has_no_secret() {
        let config = of(&with("https://user:SECRET@127.0.0.1:1/x?token=SECRET", "t")).await.unwrap();
        assert_eq!(shown_address(&config), "https://127.0.0.1:1/x");
    }

    #[tokio::test]
    async fn a_malformed_kubeconfig_is_located_and_not_quoted() {
        for (text, place) in [
            ("apiVersion: v1\nusers: [{name: u, user: {token: SECRETTOK\n", "line "),
            ("apiVersion: v1\nusers:\n- name: u\n  user: SECRETTOK\n", "line 4, column 9"),
            ("clusters: SECRETTOK", "line 1, column 11"),
            ("users:\n- name: u\n  user: {token: [SECRETTOK]}\n", "line 3, column "),
        ] {
            let error = of(text).await.unwrap_err();
            assert!(error.contains(place) && !error.contains("SECRET"), "{text}: {error}");
        }
    }

    #[tokio::test]
    async fn a_device_and_a_huge_file_are_no_kubeconfig() {
        let error = config(Some(Path::new("/dev/zero")), None).await.unwrap_err();
        assert!(error.contains("a device"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        let error = config(Some(file.path()), None).await.unwrap_err();
        assert!(error.contains("larger than 16 MiB"), "{error}");
    }

    #[tokio::test]
    async fn a_device_is_neither_a_token_nor_a_certificate() {
        for (user, cluster, what) in [
            ("tokenFile: /dev/zero", "", "the tokenFile is a device"),
            ("client-certificate: /dev/zero", "", "the client-certificate is a device"),
            ("client-key: /dev/zero", "", "the client-key is a device"),
            ("", ", certificate-authority: /dev/zero", "the certificate-authority is a device"),
        ] {
            let text = format!(
                "current-context: c\n\
                 clusters: [{{name: c, cluster: {{server: 'https://a.example'{cluster}}}}}]\n\
                 contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
                 users: [{{name: u, user: {{{user}}}}}]\n"
            );
            let error = of(&text).await.unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }

    #[tokio::test]
    async fn a_proxy_of_the_kubeconfig_is_an_error_without_its_password() {
        let text = "\
            current-context: c\n\
            clusters: [{name: c, cluster: {server: 'https://a.example', proxy-url: 'http://me:SECRET@proxy:3128'}}]\n\
            contexts: [{name: c, context: {cluster: c, user: u}}]\n\
            users: [{name: u, user: {}}]\n";
        let error = of(text).await.unwrap_err();
        assert!(error.contains("proxy:3128") && !error.contains("SECRET"), "{error}");
    }
}

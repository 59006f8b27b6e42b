//! Asking components whether they are well, as their clients would.

use std::fs;
use std::path::Path;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::{Client, Config};

use crate::error::told;
use crate::state::Endpoint;

/// The file in a cluster's folder with the administrator's token, where there is one.
pub(crate) const TOKEN: &str = "admin.token";

/// An answer that has not come by then is none.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks; the error is what was answered, or why nothing was.
pub(crate) async fn ask(folder: &Path, endpoint: &Endpoint) -> Result<(), String> {
    let asked = async {
        let client = client(folder, endpoint)?;
        let request = http::Request::get(&endpoint.path).body(Vec::new()).map_err(|error| told(&error))?;
        client.request_text(request).await.map(drop).map_err(|error| answered(&error))
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

fn client(folder: &Path, endpoint: &Endpoint) -> Result<Client, String> {
    let mut config = Config::new(endpoint.server.parse().map_err(|error| told(&error))?);
    config.default_retry = false;
    config.root_cert_file = endpoint.authority.as_ref().map(|file| folder.join(file));
    if let Ok(token) = fs::read_to_string(folder.join(TOKEN)) {
        config.auth_info.token = Some(token.into());
    }
    let builder = ClientBuilder::try_from(config).map_err(|error| told(&error))?;
    Ok(builder.build())
}

/// What was answered: the checks that fail, of a server that lists all.
fn answered(error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else { return told(error) };
    let failing: Vec<&str> = status.message.lines().filter_map(failing_check).collect();
    match (&failing[..], status.message.lines().next()) {
        ([], first) => format!("{} {}", status.code, first.unwrap_or_default()),
        (_, _) => format!("not yet: {}", failing.join(", ")),
    }
}

/// The check of a line such as `[-]etcd failed: reason withheld`.
fn failing_check(line: &str) -> Option<&str> {
    line.strip_prefix("[-]")?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn what_fails_is_told_in_short() {
        let answer =
            |message: &str| answered(&kube::Error::Api(Status::failure(message, "").with_code(500).boxed()));
        let checks = "[+]ping ok\n[-]etcd failed: reason withheld\n[-]rbac/bootstrap-roles failed\nreadyz check failed";
        assert_eq!(answer(checks), "not yet: etcd, rbac/bootstrap-roles");
        assert_eq!(answer("Unauthorized"), "500 Unauthorized");
    }
}

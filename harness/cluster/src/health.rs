//! Health checks of components over HTTPS.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jobcheck_access::with_causes;
use kube::client::ClientBuilder;
use kube::{Client, Config};

use crate::state::Endpoint;

/// The file in a cluster's folder with the administrator's token, if there is one.
pub(crate) const TOKEN: &str = "admin.token";

/// The time in which a component must respond.
const PATIENCE: Duration = Duration::from_secs(5);

/// Checks an endpoint. The error is the response, or the reason why there is none.
pub(crate) async fn ask(folder: &Path, endpoint: &Endpoint) -> Result<(), String> {
    let asked = async {
        let client = client(folder, endpoint)?;
        let request =
            http::Request::get(&endpoint.path).body(Vec::new()).map_err(|error| with_causes(&error))?;
        client.request_text(request).await.map(drop).map_err(|error| answered(&error))
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no response within {} s", PATIENCE.as_secs())),
    }
}

fn client(folder: &Path, endpoint: &Endpoint) -> Result<Client, String> {
    let mut config = Config::new(endpoint.server.parse().map_err(|error| with_causes(&error))?);
    config.default_retry = false;
    config.root_cert_file = endpoint.authority.as_ref().map(|file| folder.join(file));
    if let Ok(token) = fs::read_to_string(folder.join(TOKEN)) {
        config.auth_info.token = Some(token.into());
    }
    let builder = ClientBuilder::try_from(config).map_err(|error| with_causes(&error))?;
    Ok(builder.build())
}

/// The failing checks in a response that lists all checks, or the error itself.
fn answered(error: &kube::Error) -> String {
    let kube::Error::Api(status) = error else { return with_causes(error) };
    let failing: Vec<&str> = status.message.lines().filter_map(failing_check).collect();
    match (&failing[..], status.message.lines().next()) {
        ([], first) => format!("{} {}", status.code, first.unwrap_or_default()),
        (_, _) => format!("not yet: {}", failing.join(", ")),
    }
}

/// The name of the check in a line such as `[-]etcd failed: reason withheld`.
fn failing_check(line: &str) -> Option<&str> {
    line.strip_prefix("[-]")?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn only_failing_checks_are_reported() {
        let answer =
            |message: &str| answered(&kube::Error::Api(Status::failure(message, "").with_code(500).boxed()));
        let checks = "[+]ping ok\n[-]etcd failed: reason withheld\n[-]rbac/bootstrap-roles failed\nreadyz check failed";
        assert_eq!(answer(checks), "not yet: etcd, rbac/bootstrap-roles");
        assert_eq!(answer("Unauthorized"), "500 Unauthorized");
    }
}

//! Texts of errors, without the secrets that some libraries quote.

use std::error::Error;
use std::iter::successors;

use kube::client::AuthError;
use kube::config::KubeconfigError;

/// The text of an error with all its causes, which often have the actual reason.
///
/// Kubeconfigs, tokens, and the output of credential plugins are not quoted.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let chain = || successors(Some(error), |&error| error.source());
    // The text of an error often contains that of its cause.
    let replaced: Vec<(String, String)> =
        chain().filter_map(|error| Some((error.to_string(), harmless(error)?))).collect();
    let clean = |error: &(dyn Error + 'static)| {
        replaced.iter().fold(error.to_string(), |text, (secret, harmless)| text.replace(secret, harmless))
    };
    let mut text = String::new();
    for error in chain() {
        let more = clean(error);
        if text.is_empty() {
            text = more;
        } else if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        // The causes of such an error are what it quotes.
        if harmless(error).is_some() {
            break;
        }
    }
    text
}

/// The text in place of that of an error that quotes secrets. `None` for other errors.
fn harmless(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(KubeconfigError::Parse(error)) = error.downcast_ref() {
        let place = error.location().map(|it| format!(" at line {}, column {}", it.line(), it.column()));
        let place = place.unwrap_or_default();
        return Some(format!("the kubeconfig is not valid YAML, or a field has another type{place}"));
    }
    match error.downcast_ref()? {
        AuthError::AuthExecRun { out, .. } => {
            Some(format!("the credential plugin of the kubeconfig failed ({})", out.status))
        }
        AuthError::AuthExecParse(_) => {
            Some("the credential plugin of the kubeconfig printed no valid ExecCredential".to_owned())
        }
        AuthError::ParseTokenKey(_) => {
            Some("the credential plugin of the kubeconfig printed no valid token".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{ExitStatus, Output};

    use super::*;

    fn failed_plugin() -> AuthError {
        let out = Output {
            status: ExitStatus::from_raw(256),
            stdout: b"SECRETTOKEN".to_vec(),
            stderr: b"SECRETPASSWORD".to_vec(),
        };
        AuthError::AuthExecRun { cmd: "KEY=SECRETKEY plugin".to_owned(), out: Box::new(out) }
    }

    #[test]
    fn the_output_of_a_plugin_is_not_quoted() {
        let direct = with_causes(&kube::Error::Auth(failed_plugin()));
        assert_eq!(direct, "auth error: the credential plugin of the kubeconfig failed (exit status: 1)");
        let nested = with_causes(&kube::Error::Service(Box::new(failed_plugin())));
        assert!(nested.contains("failed (exit status: 1)") && !nested.contains("SECRET"), "{nested}");
    }

    #[test]
    fn other_errors_are_shown_with_their_causes() {
        let refused = std::io::Error::other("connection refused");
        let text = with_causes(&kube::Error::ReadEvents(refused));
        assert_eq!(text, "Error reading events stream: connection refused");
    }
}

//! The conversion of kube client errors to failures.

use jobcheck_access::{is_too_long, with_causes};
use jobcheck_controller::answer::Failure;

use super::fence::FenceClosed;

/// Classifies an error of a kube client.
#[must_use]
pub fn of_kube(error: &kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => Failure::from_status(status),
        kube::Error::Service(source) => from_transport(source.as_ref()),
        // These errors occur before a request is sent.
        kube::Error::BuildRequest(_) | kube::Error::Auth(_) | kube::Error::HttpError(_) => {
            Failure::NotSent(with_causes(error))
        }
        // The watch cannot get past the event, but a list can.
        _ if is_too_long(error) => Failure::Expired(with_causes(error)),
        _ => Failure::Ambiguous(with_causes(error)),
    }
}

fn from_transport(error: &(dyn std::error::Error + 'static)) -> Failure {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(FenceClosed { sent }) = error.downcast_ref() {
            let message = error.to_string();
            return if *sent { Failure::Ambiguous(message) } else { Failure::NotSent(message) };
        }
        cause = error.source();
    }
    Failure::Ambiguous(with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: serde_json::Value) -> Failure {
        of_kube(&kube::Error::Api(Box::new(serde_json::from_value(json).unwrap())))
    }

    #[test]
    fn responses_are_classified_by_code_and_reason() {
        let of = |code: u16, reason: &str| {
            status(serde_json::json!({"status": "Failure", "code": code, "reason": reason, "message": "m"}))
        };
        let m = || "m".to_owned();
        assert_eq!(of(404, "NotFound"), Failure::NotFound(m()));
        assert_eq!(of(409, "Conflict"), Failure::Conflict(m()));
        assert_eq!(of(409, "AlreadyExists"), Failure::AlreadyExists(m()));
        assert_eq!(of(410, "Expired"), Failure::Expired(m()));
        assert_eq!(of(422, "Invalid"), Failure::Refused { code: 422, message: m() });
        assert_eq!(of(403, "Forbidden"), Failure::Refused { code: 403, message: m() });
        assert_eq!(of(429, "TooManyRequests"), Failure::Throttled(m()));
        for code in [500, 503, 504] {
            assert!(of(code, "InternalError").is_ambiguous(), "{code}");
        }
    }

    /// PC-12.
    #[test]
    fn a_terminating_namespace_is_recognised_by_its_cause() {
        let failure = status(serde_json::json!({
            "status": "Failure", "code": 403, "reason": "Forbidden", "message": "m",
            "details": {"causes": [{"reason": "NamespaceTerminating", "message": "x", "field": "metadata.namespace"}]},
        }));
        assert_eq!(failure, Failure::NamespaceTerminating("m".to_owned()));
    }

    #[test]
    fn an_event_without_end_needs_a_list() {
        let endless = std::io::Error::other(jobcheck_access::EventTooLong);
        let failure = of_kube(&kube::Error::ReadEvents(endless));
        assert!(matches!(&failure, Failure::Expired(why) if why.contains("longer than 16 MiB")), "{failure}");
    }

    #[test]
    fn the_output_of_a_credential_plugin_is_not_quoted() {
        let out = std::process::Command::new("sh").args(["-c", "echo SECRET >&2; exit 3"]).output().unwrap();
        let plugin =
            || kube::client::AuthError::AuthExecRun { cmd: "sh".to_owned(), out: Box::new(out.clone()) };
        for error in [kube::Error::Auth(plugin()), kube::Error::Service(Box::new(plugin()))] {
            let text = of_kube(&error).to_string();
            assert!(text.contains("plugin") && text.contains('3') && !text.contains("SECRET"), "{text}");
        }
    }

    #[test]
    fn a_request_stopped_by_a_closed_fence_was_not_sent() {
        let service = |sent| kube::Error::Service(Box::new(FenceClosed { sent }));
        assert!(matches!(of_kube(&service(false)), Failure::NotSent(_)));
        assert!(of_kube(&service(true)).is_ambiguous());
        let broken = kube::Error::Service("connection reset".into());
        assert_eq!(of_kube(&broken), Failure::Ambiguous("connection reset".to_owned()));
    }
}

//! The conversion of kube client errors to failures.

use super::fence::FenceClosed;
use crate::answer::Failure;

impl Failure {
    /// Classifies an error of a kube client.
    #[must_use]
    pub fn from_kube(error: &kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) => Failure::from_status(status),
            kube::Error::Service(source) => from_transport(source.as_ref()),
            // These errors occur before a request is sent.
            kube::Error::BuildRequest(_) | kube::Error::Auth(_) | kube::Error::HttpError(_) => {
                Failure::NotSent(error.to_string())
            }
            _ => Failure::Ambiguous(error_chain(error)),
        }
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
    Failure::Ambiguous(error_chain(error))
}

/// The message of an error, with the messages of its causes.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some libraries repeat the cause in their message.
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: serde_json::Value) -> Failure {
        Failure::from_kube(&kube::Error::Api(Box::new(serde_json::from_value(json).unwrap())))
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
    fn a_request_stopped_by_a_closed_fence_was_not_sent() {
        let service = |sent| kube::Error::Service(Box::new(FenceClosed { sent }));
        assert!(matches!(Failure::from_kube(&service(false)), Failure::NotSent(_)));
        assert!(Failure::from_kube(&service(true)).is_ambiguous());
        let broken = kube::Error::Service("connection reset".into());
        assert_eq!(Failure::from_kube(&broken), Failure::Ambiguous("connection reset".to_owned()));
    }
}

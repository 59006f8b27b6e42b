//! Versions that an API server refuses.

use kube::core::Status;

/// The HTTP status of a version that was compacted.
const GONE: u16 = 410;
/// The cause, and the message, of a version that etcd does not have yet.
const AHEAD: [&str; 2] = ["ResourceVersionTooLarge", "Too large resource version"];

/// Returns true if the API server refuses to begin a list or a watch at the requested version.
///
/// Either etcd has compacted that version, or it does not have it yet: etcd was restored or replaced. In both cases a list
/// without a version shows what is stored.
#[must_use]
pub fn refuses_version(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let [cause, message] = AHEAD;
    status.code == GONE || causes.into_iter().any(|it| it.reason == cause) || status.message.contains(message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_is_refused_if_it_is_too_old_or_too_new() {
        let refuses = |status| refuses_version(&serde_json::from_value::<Status>(status).unwrap());
        let causes = json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "m"}]});
        assert!(refuses(json!({"code": 410})));
        assert!(refuses(json!({"code": 504, "message": "m", "details": causes})));
        assert!(refuses(
            json!({"code": 504, "message": "Timeout: Too large resource version: 9, current: 5"})
        ));
        assert!(!refuses(json!({"code": 504, "message": "Timeout"})));
    }
}

//! Refusals: `metav1.Status` with code, reason, and message as kube-apiserver writes them.

use serde_json::{Map, Value, json};

use crate::resource::{Resource, qualified};

/// The refusal of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP code.
    pub code: u16,
    /// `reason`. Empty if there is none.
    pub reason: &'static str,
    /// `message`.
    pub message: String,
    /// `details`, if there are any.
    pub details: Option<Value>,
    /// `metadata.continue`: the token to continue an expired list.
    pub resume: Option<String>,
}

/// An error in one field (`field.Error`).
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The path of the field, such as `status.completionTime`.
    pub field: String,
    /// The kind of error.
    pub problem: Problem,
    /// The explanation.
    pub detail: String,
}

/// The kinds of errors in a field (`field.ErrorType`).
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// A value is missing.
    Required,
    /// A value is invalid.
    Invalid(Value),
    /// The error concerns no single value.
    Unfit,
    /// A value occurs twice.
    Duplicate(Value),
    /// A value names an object that does not exist.
    NotFound(Value),
    /// A value is not one of the supported values.
    NotSupported(Value),
    /// A value is not allowed here.
    Forbidden,
    /// A list is too long. The number is its length.
    TooMany(usize),
    /// A text is too long.
    TooLong,
}

impl Problem {
    /// The reason of the cause in a Status.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Problem::Required => "FieldValueRequired",
            Problem::Invalid(_) | Problem::Unfit => "FieldValueInvalid",
            Problem::Duplicate(_) => "FieldValueDuplicate",
            Problem::NotFound(_) => "FieldValueNotFound",
            Problem::NotSupported(_) => "FieldValueNotSupported",
            Problem::Forbidden => "FieldValueForbidden",
            Problem::TooMany(_) => "FieldValueTooMany",
            Problem::TooLong => "FieldValueTooLong",
        }
    }

    fn words(&self) -> String {
        match self {
            Problem::Required => "Required value".to_owned(),
            Problem::Invalid(value) => format!("Invalid value: {}", shown(value)),
            Problem::Unfit => "Invalid value".to_owned(),
            Problem::Duplicate(value) => format!("Duplicate value: {}", shown(value)),
            Problem::NotFound(value) => format!("Not found: {}", shown(value)),
            Problem::NotSupported(value) => format!("Unsupported value: {}", shown(value)),
            Problem::Forbidden => "Forbidden".to_owned(),
            Problem::TooMany(count) => format!("Too many: {count}"),
            Problem::TooLong => "Too long".to_owned(),
        }
    }
}

/// A value as messages show it. Go prints an absent pointer as `null`, and a string in quotes.
fn shown(value: &Value) -> String {
    value.to_string()
}

impl FieldError {
    /// Returns an error of the kind [`Problem::Invalid`].
    #[must_use]
    pub fn invalid(field: impl Into<String>, value: Value, detail: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), problem: Problem::Invalid(value), detail: detail.into() }
    }

    /// Returns an error of the kind [`Problem::Required`].
    #[must_use]
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), problem: Problem::Required, detail: detail.into() }
    }

    /// Returns an error of the kind [`Problem::Forbidden`].
    #[must_use]
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), problem: Problem::Forbidden, detail: detail.into() }
    }

    /// Returns an error of the kind [`Problem::NotSupported`].
    #[must_use]
    pub fn unsupported(field: impl Into<String>, value: Value, supported: &[&str]) -> FieldError {
        let list: Vec<String> = supported.iter().map(|text| format!("\"{text}\"")).collect();
        FieldError {
            field: field.into(),
            problem: Problem::NotSupported(value),
            detail: format!("supported values: {}", list.join(", ")),
        }
    }

    fn body(&self) -> String {
        let words = self.problem.words();
        if self.detail.is_empty() { words } else { format!("{words}: {}", self.detail) }
    }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { code, reason, message: message.into(), details: None, resume: None }
    }

    fn about(self, resource: Resource, name: &str) -> ApiError {
        let facts = resource.facts();
        ApiError { details: Some(details(name, facts.group, facts.plural)), ..self }
    }

    /// 400 with this message.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> ApiError {
        ApiError::new(400, "BadRequest", message)
    }

    /// 401: the request has no known user.
    #[must_use]
    pub fn unauthorized() -> ApiError {
        ApiError::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403 for a request on an object.
    #[must_use]
    pub fn forbidden(resource: Resource, name: &str, why: &str) -> ApiError {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
        ApiError::new(403, "Forbidden", message).about(resource, name)
    }

    /// 403: the request names another host than this machine.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn other_host() -> ApiError {
        let why = "this server is for this machine only: use its address as the host";
        ApiError::new(403, "Forbidden", why.to_owned())
    }

    /// 404 for an object.
    #[must_use]
    pub fn not_found(resource: Resource, name: &str) -> ApiError {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        ApiError::new(404, "NotFound", message).about(resource, name)
    }

    /// 404 for a path.
    #[must_use]
    pub fn no_such_path() -> ApiError {
        ApiError {
            details: Some(json!({})),
            ..ApiError::new(404, "NotFound", "the server could not find the requested resource")
        }
    }

    /// 405: the method is not allowed.
    #[must_use]
    pub fn method_not_allowed() -> ApiError {
        ApiError {
            details: Some(json!({})),
            ..ApiError::new(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )
        }
    }

    /// 406: the response is not available in the requested form.
    #[must_use]
    pub fn not_acceptable(accepted: &str) -> ApiError {
        let message = format!("only the following media types are accepted: {accepted}");
        ApiError::new(406, "NotAcceptable", message)
    }

    /// 409: an object of this name exists.
    #[must_use]
    pub fn already_exists(resource: Resource, name: &str) -> ApiError {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        ApiError::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// 409: the object does not satisfy a precondition of the request.
    #[must_use]
    pub fn conflict(resource: Resource, name: &str, why: &str) -> ApiError {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        ApiError::new(409, "Conflict", message).about(resource, name)
    }

    /// 409: the object was modified (optimistic concurrency).
    #[must_use]
    pub fn modified(resource: Resource, name: &str) -> ApiError {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        ApiError::conflict(resource, name, why)
    }

    /// 410: the version was compacted.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> ApiError {
        ApiError::new(410, "Expired", message)
    }

    /// 413: the body is too large.
    #[must_use]
    pub fn too_large(limit: usize) -> ApiError {
        let message = format!("Request entity too large: limit is {limit}");
        ApiError::new(413, "RequestEntityTooLarge", message)
    }

    /// 415: the media type of the body is not supported.
    #[must_use]
    pub fn unsupported_media(accepted: &str) -> ApiError {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        ApiError::new(415, "UnsupportedMediaType", message)
    }

    /// 422: the object is invalid.
    #[must_use]
    pub fn invalid(kind: &str, group: &str, name: &str, errors: &[FieldError]) -> ApiError {
        let each: Vec<String> =
            errors.iter().map(|error| format!("{}: {}", error.field, error.body())).collect();
        let list = match &each[..] {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| json!({"reason": error.problem.reason(), "message": error.body(), "field": error.field}))
            .collect();
        let mut details = details(name, group, kind);
        details["causes"] = Value::Array(causes);
        let message = format!("{} \"{name}\" is invalid: {list}", qualified(kind, group));
        ApiError { details: Some(details), ..ApiError::new(422, "Invalid", message) }
    }

    /// 429, with the number of seconds after which the client may retry.
    #[must_use]
    pub fn too_many_requests(seconds: u32) -> ApiError {
        let message = "the server has received too many requests and has asked us to try again later";
        ApiError {
            details: Some(json!({"retryAfterSeconds": seconds})),
            ..ApiError::new(429, "TooManyRequests", message)
        }
    }

    /// 500: an internal error.
    #[must_use]
    pub fn internal(message: &str) -> ApiError {
        let error = ApiError::new(500, "InternalError", format!("Internal error occurred: {message}"));
        ApiError { details: Some(json!({"causes": [{"message": message}]})), ..error }
    }

    /// 500: the stored objects take all the space, in the words of etcd.
    #[must_use]
    pub fn no_space() -> ApiError {
        ApiError::new(500, "", "etcdserver: mvcc: database space exceeded")
    }

    /// 504: the request timed out, and may or may not have been carried out.
    #[must_use]
    pub fn timeout(message: &str) -> ApiError {
        ApiError::new(504, "Timeout", format!("Timeout: {message}"))
    }

    /// 504: the version does not exist yet.
    #[must_use]
    pub fn too_large_version(asked: u64, current: u64) -> ApiError {
        let words = "Too large resource version";
        let causes = json!([{"reason": "ResourceVersionTooLarge", "message": words}]);
        ApiError {
            details: Some(json!({"causes": causes, "retryAfterSeconds": 1})),
            ..ApiError::timeout(&format!("{words}: {asked}, current: {current}"))
        }
    }

    /// The `metav1.Status`.
    #[must_use]
    pub fn status(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(resume) = &self.resume {
            metadata.insert("continue".to_owned(), json!(resume));
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

fn details(name: &str, group: &str, kind: &str) -> Value {
    let mut details = Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            details.insert(key.to_owned(), json!(value));
        }
    }
    Value::Object(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_upstreams() {
        let one = FieldError::invalid("status.ready", json!(2), "cannot set more ready pods than active");
        let error = ApiError::invalid("Job", "batch", "x", std::slice::from_ref(&one));
        assert_eq!(
            error.message,
            "Job.batch \"x\" is invalid: status.ready: Invalid value: 2: cannot set more ready pods than active"
        );
        let both = ApiError::invalid("Job", "batch", "x", &[one, FieldError::required("a.b", "")]);
        assert!(both.message.ends_with("active, a.b: Required value]"), "{}", both.message);
        let status = both.status();
        assert_eq!(status["details"]["causes"][1]["reason"], "FieldValueRequired");
        assert_eq!((&status["code"], &status["details"]["kind"]), (&json!(422), &json!("Job")));
        assert_eq!(
            ApiError::modified(Resource::Jobs, "x").message,
            "Operation cannot be fulfilled on jobs.batch \"x\": the object has been modified; please apply your \
             changes to the latest version and try again"
        );
    }
}

//! Entries of Cloud Logging that hold a `google.cloud.audit.AuditLog`, as GKE writes them: converted into audit events.
//!
//! The pages are "Understand audit logs" and "LogEntry" of Cloud Logging, and "Audit policy" of GKE.
//!
//! | audit event | entry |
//! | --- | --- |
//! | `verb`, `objectRef` | `methodName` such as `io.k8s.batch.v1.jobs.status.update`, and `resourceName` |
//! | `user`, `userAgent` | `authenticationInfo.principalEmail`, `requestMetadata.callerSuppliedUserAgent` |
//! | `sourceIPs` | `requestMetadata.callerIp` |
//! | `requestObject`, `responseObject` | `request`, `response`, without their `@type` |
//! | `responseStatus` | `code` of a `Status` in `response`, else `status` (a `google.rpc.Code`) |
//! | `auditID` | `operation.id`, else `insertId` |
//! | `requestReceivedTimestamp` | `timestamp` |
//! | `stageTimestamp` | not there: a second later, at most `receiveTimestamp` |

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::envelope::{Fields, word};
use crate::error::{Defect, Problem, quoted};
use crate::form::AUDIT_VERSION;
use crate::time::{format_micros, parse_micros};

const SECOND: i64 = 1_000_000;
/// The field that an `AuditLog` adds to a body.
const TYPE: &str = "@type";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditLog<'a> {
    service_name: Option<String>,
    method_name: Option<String>,
    resource_name: Option<String>,
    #[serde(default)]
    authentication_info: AuthenticationInfo,
    #[serde(default)]
    request_metadata: RequestMetadata,
    #[serde(default)]
    status: RpcStatus,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationInfo {
    principal_email: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestMetadata {
    caller_supplied_user_agent: Option<String>,
    caller_ip: Option<String>,
}

#[derive(Default, Deserialize)]
struct RpcStatus {
    code: Option<i64>,
    message: Option<String>,
}

#[derive(Default, Deserialize)]
struct Operation {
    id: Option<String>,
}

#[derive(Default, Deserialize)]
struct Answer {
    kind: Option<String>,
    code: Option<i64>,
    metadata: Option<AnswerMetadata>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerMetadata {
    resource_version: Option<String>,
}

impl Answer {
    fn is_status(&self) -> bool {
        self.kind.as_deref() == Some("Status")
    }

    /// A created object without a version was not stored: the query, which no entry shows, asked for a dry run.
    fn is_dry_run(&self, verb: &str) -> bool {
        let version = self.metadata.as_ref().and_then(|metadata| metadata.resource_version.as_ref());
        verb == "create" && !self.is_status() && self.kind.is_some() && version.is_none()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    kind: &'static str,
    api_version: &'static str,
    level: &'static str,
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: &'static str,
    #[serde(rename = "requestURI", skip_serializing_if = "str::is_empty")]
    request_uri: &'static str,
    verb: &'a str,
    user: User,
    user_agent: String,
    #[serde(rename = "sourceIPs", skip_serializing_if = "Vec::is_empty")]
    source_ips: Vec<String>,
    object_ref: ObjectRef<'a>,
    response_status: RpcStatusOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_object: Option<Cow<'a, RawValue>>,
    request_received_timestamp: String,
    stage_timestamp: String,
}

#[derive(Serialize)]
struct User {
    username: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef<'a> {
    api_group: &'a str,
    resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    subresource: &'a str,
    namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

#[derive(Serialize)]
struct RpcStatusOut {
    code: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// The audit event of an entry; `None` for an entry of another service, or of another resource than Jobs and Pods.
pub(crate) fn event(entry: &Fields<'_>, payload: &RawValue) -> Result<Option<String>, Defect> {
    let log: AuditLog = serde_json::from_str(payload.get())?;
    if log.service_name.as_deref().is_some_and(|name| name != "k8s.io") {
        return Ok(None);
    }
    let method = needed(log.method_name.as_deref(), "protoPayload.methodName")?;
    let Some(method) = Method::parse(method) else { return Ok(None) };
    let (namespace, name) = target(log.resource_name.as_deref().unwrap_or_default());
    let user = needed(log.authentication_info.principal_email.as_deref(), "principalEmail")?;
    let received = time(entry, "timestamp")?;
    let done =
        time(entry, "receiveTimestamp").map_or(received + SECOND, |logged| logged.min(received + SECOND));
    let operation: Option<Operation> =
        entry.get("operation").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let answer: Answer =
        log.response.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let event = Event {
        kind: "Event",
        api_version: AUDIT_VERSION,
        level: level(&log, method.verb),
        audit_id: operation.and_then(|it| it.id).unwrap_or_else(|| word(entry, "insertId")),
        stage: "ResponseComplete",
        request_uri: if answer.is_dry_run(method.verb) { "?dryRun=All" } else { "" },
        verb: method.verb,
        user: User { username: user.to_owned() },
        user_agent: log.request_metadata.caller_supplied_user_agent.unwrap_or_default(),
        source_ips: log.request_metadata.caller_ip.into_iter().collect(),
        object_ref: ObjectRef {
            api_group: method.group,
            resource: method.resource,
            subresource: method.subresource,
            namespace,
            name,
        },
        response_status: RpcStatusOut {
            code: code(&log.status, &answer, method.verb)?,
            message: log.status.message.clone(),
        },
        request_object: log.request.map(untyped).transpose()?,
        response_object: log.response.map(untyped).transpose()?,
        request_received_timestamp: format_micros(received).unwrap_or_default(),
        stage_timestamp: format_micros(done.max(received)).unwrap_or_default(),
    };
    Ok(Some(serde_json::to_string(&event)?))
}

/// A body as the client or the API server has sent it. An `AuditLog` adds the type of its encoding to the fields of an object.
fn untyped(body: &RawValue) -> Result<Cow<'_, RawValue>, Defect> {
    if !body.get().contains(TYPE) {
        return Ok(Cow::Borrowed(body));
    }
    let Ok(mut fields) = serde_json::from_str::<Fields<'_>>(body.get()) else {
        return Ok(Cow::Borrowed(body));
    };
    fields.remove(TYPE);
    Ok(Cow::Owned(serde_json::value::to_raw_value(&fields)?))
}

/// The level of the recording. A deletion may have its options in a query, which no entry shows: without a body, what was
/// asked is unknown.
fn level(log: &AuditLog<'_>, verb: &str) -> &'static str {
    match (log.request, log.response) {
        (None, _) if matches!(verb, "delete" | "deletecollection") => "Metadata",
        (_, Some(_)) => "RequestResponse",
        (Some(_), None) => "Request",
        (None, None) => "Metadata",
    }
}

/// A `methodName`: `io.k8s.GROUP.VERSION.RESOURCE[.SUBRESOURCE].VERB`.
struct Method<'a> {
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    verb: &'a str,
}

impl Method<'_> {
    /// Returns `None` for other resources than Jobs and Pods.
    fn parse(name: &str) -> Option<Method<'_>> {
        let (group, rest) = match name.strip_prefix("io.k8s.")?.split_once('.')? {
            ("core", rest) => ("", rest),
            other => other,
        };
        let parts: Vec<&str> = rest.split('.').collect();
        let (resource, subresource, verb) = match *parts {
            ["v1", resource, verb] => (resource, "", verb),
            ["v1", resource, subresource, verb] => (resource, subresource, verb),
            _ => return None,
        };
        let is_known = matches!((group, resource), ("batch", "jobs") | ("", "pods"));
        is_known.then_some(Method { group, resource, subresource, verb })
    }
}

/// Namespace and name in a `resourceName`: `GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME[/SUBRESOURCE]`.
fn target(resource_name: &str) -> (&str, &str) {
    let mut parts = resource_name.split('/').skip_while(|part| *part != "namespaces").skip(1);
    let namespace = parts.next().unwrap_or_default();
    (namespace, parts.nth(1).unwrap_or_default())
}

/// The HTTP status of a response.
fn code(status: &RpcStatus, answer: &Answer, verb: &str) -> Result<i64, Problem> {
    if let Some(code) = answer.code.filter(|_| answer.is_status()) {
        return Ok(code);
    }
    Ok(match status.code.unwrap_or(0) {
        0 if verb == "create" => 201,
        0 => 200,
        3 => 422,
        4 => 504,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        9 => 412,
        13 => 500,
        14 => 503,
        16 => 401,
        other => return Err(Problem::field("status.code of an entry, a google.rpc.Code", other.to_string())),
    })
}

fn needed<'t>(text: Option<&'t str>, field: &str) -> Result<&'t str, Problem> {
    text.ok_or_else(|| Problem::missing(format!("{field} of an entry of Cloud Logging")))
}

fn time(entry: &Fields<'_>, field: &str) -> Result<i64, Problem> {
    let expected = || format!("{field} of an entry of Cloud Logging, an RFC 3339 time");
    if !entry.contains_key(field) {
        return Err(Problem::missing(expected()));
    }
    let text = word(entry, field);
    parse_micros(&text).ok_or_else(|| Problem::field(expected(), quoted(&text)))
}

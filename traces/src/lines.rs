//! The lines of the native format, as they are read and written.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::cursor::{Cursor, object, small, text};
use crate::error::{Defect, Problem, detail_of, quoted};
use crate::form::mixed;
use crate::native::{FORMAT, Header, VERSION, Version};
use crate::object::Object;
use crate::owned::{OwnedRecord, OwnedRequest, ResponseOutline, range};
use crate::parsed::{Parsed, SkipReason};
use crate::record::{Form, Resource};
use crate::request::{Interval, Level, Verb};
use crate::text::{Spans, Text};
use crate::time::parse_micros;
use crate::watch;

/// A line of any type. One field names the type; a header has `format`.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Line<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub format: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub version: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Text<'a>>,
    #[serde(deserialize_with = "scalars", skip_serializing_if = "BTreeMap::is_empty")]
    pub assume: BTreeMap<String, String>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub producer: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestLine<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedLine<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Object<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Object<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Object<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Object<'a>>,
}

/// `request`: a write with its response.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RequestLine<'a> {
    #[serde(borrow)]
    pub received: Option<Text<'a>>,
    #[serde(borrow)]
    pub done: Option<Text<'a>>,
    #[serde(borrow)]
    pub level: Option<Text<'a>>,
    #[serde(borrow)]
    pub user: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub address: Option<Text<'a>>,
    #[serde(borrow)]
    pub verb: Option<Text<'a>>,
    pub resource: Option<Resource>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<Text<'a>>,
    #[serde(borrow)]
    pub namespace: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Text<'a>>,
    pub code: Option<u16>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub message: Option<Text<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub patch_type: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Text<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub request: Option<Object<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub response: Option<Object<'a>>,
}

/// `watched`: a watch event.
#[derive(Deserialize, Serialize)]
pub(crate) struct WatchedLine<'a> {
    #[serde(default, with = "crate::time::optional", skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub object: Object<'a>,
}

impl<'a> RequestLine<'a> {
    /// Reads a line that holds a request and nothing else, in the fast way. `None`: it is another line, or it has a shape
    /// that only serde_json reads.
    fn skim(document: &'a str) -> Option<RequestLine<'a>> {
        let mut found = None;
        let mut cursor = Cursor::new(document);
        cursor.members(|key, value| match key {
            "request" if found.is_none() => {
                found = Some(RequestLine::members(value)?);
                Some(())
            }
            _ => None,
        })?;
        found.filter(|_| cursor.is_over())
    }

    fn members(cursor: &mut Cursor<'a>) -> Option<RequestLine<'a>> {
        let mut line = RequestLine::default();
        cursor.members(|key, value| match key {
            "received" => text(&mut line.received, value),
            "done" => text(&mut line.done, value),
            "level" => text(&mut line.level, value),
            "user" => text(&mut line.user, value),
            "agent" => text(&mut line.agent, value),
            "address" => text(&mut line.address, value),
            "verb" => text(&mut line.verb, value),
            "resource" => small(&mut line.resource, value),
            "subresource" => text(&mut line.subresource, value),
            "namespace" => text(&mut line.namespace, value),
            "name" => text(&mut line.name, value),
            "uid" => text(&mut line.uid, value),
            "code" => small(&mut line.code, value),
            "reason" => text(&mut line.reason, value),
            "message" => text(&mut line.message, value),
            "dryRun" => None,
            "patchType" => text(&mut line.patch_type, value),
            "propagationPolicy" => text(&mut line.propagation_policy, value),
            "request" => object(&mut line.request, value),
            "response" => object(&mut line.response, value),
            _ => value.value().map(|_| ()),
        })?;
        Some(line)
    }
}

/// Reads one document of a trace with this version in its header.
pub(crate) fn parse(document: &str, version: Version) -> Result<Parsed, Defect> {
    if let Some(request) = RequestLine::skim(document) {
        return request_of(document, &request);
    }
    let line: Line = serde_json::from_str(document)?;
    if let Some(format) = &line.format {
        return header(document, format.as_str(), &line);
    }
    if let Some(request) = &line.request {
        return request_of(document, request);
    }
    if let Some(watched) = &line.watched {
        return watch::event_of(document, watched.kind.as_str(), watched.at, watched.object);
    }
    match rare_line(&line) {
        Some(Ok(held)) => Ok(Parsed::Record(held)),
        // A newer minor version may have other types of lines, and other kinds in the known types.
        None | Some(Err(_)) if version > VERSION => Ok(Parsed::Skipped(SkipReason::Unknown)),
        Some(Err(defect)) => Err(defect),
        None => Err(mixed(Form::Native, document).into()),
    }
}

/// The rare types of lines, which are stored without spans.
fn rare_line(line: &Line<'_>) -> Option<Result<OwnedRecord, Defect>> {
    fn read<T: for<'de> Deserialize<'de>>(
        what: &str,
        raw: Object<'_>,
        hold: fn(Box<T>) -> OwnedRecord,
    ) -> Result<OwnedRecord, Defect> {
        let value = serde_json::from_str(raw.text());
        let value = value.map_err(|error| Problem::field(format!("a native {what}"), detail_of(&error)))?;
        Ok(hold(Box::new(value)))
    }
    if let Some(raw) = line.mark {
        return Some(read("mark", raw, OwnedRecord::Mark));
    }
    if let Some(raw) = line.fault {
        return Some(read("fault", raw, OwnedRecord::Fault));
    }
    if let Some(raw) = line.observed {
        return Some(read("observation", raw, OwnedRecord::Observed));
    }
    line.expected.map(|raw| read("expectation", raw, OwnedRecord::Expected))
}

fn header(document: &str, format: &str, line: &Line<'_>) -> Result<Parsed, Defect> {
    if format != FORMAT {
        return Err(mixed(Form::Native, document).into());
    }
    let expected = "version of a native trace, such as \"1.0\"";
    let text = line.version.as_ref().ok_or_else(|| Problem::missing(expected))?.as_str();
    let version = Version::parse(text).ok_or_else(|| Problem::field(expected, quoted(text)))?;
    if version.major != VERSION.major {
        let advice = if version.major > VERSION.major {
            "it was written by a newer jobcheck; read it with that one"
        } else {
            "it was written by an older jobcheck; record it again"
        };
        let supported = VERSION.major;
        return Err(Problem::Version { supported, found: version.to_string(), advice }.into());
    }
    let own = |text: &Option<Text>| text.as_ref().map(|text| text.as_str().to_owned());
    Ok(Parsed::Record(OwnedRecord::Header(Box::new(Header {
        version,
        kubernetes: own(&line.kubernetes),
        assume: line.assume.clone(),
        producer: own(&line.producer),
    }))))
}

fn request_of(document: &str, line: &RequestLine<'_>) -> Result<Parsed, Defect> {
    let absent = |field: &str| Problem::missing(format!("{field} of a recorded request"));
    let resource = line.resource.ok_or_else(|| absent("resource"))?;
    let code = line.code.ok_or_else(|| absent("code"))?;
    let received = time(line.received.as_ref(), "received")?;
    let done = time(line.done.as_ref(), "done")?.max(received);
    let response = line.response;
    let verb = word(line.verb.as_ref(), "verb", Verb::named)?;
    let outline = ResponseOutline::of(resource, code, line.dry_run, verb, response)?;
    let spans = Spans(document);
    Ok(Parsed::Record(OwnedRecord::Request(Box::new(OwnedRequest {
        id: None,
        interval: Interval { received, done },
        level: word(line.level.as_ref(), "level", Level::named)?,
        user: spans.text(Some(line.user.as_ref().ok_or_else(|| absent("user"))?)),
        agent: spans.text(line.agent.as_ref()),
        address: spans.text(line.address.as_ref()),
        verb,
        resource,
        subresource: spans.text(line.subresource.as_ref()),
        namespace: spans.text(line.namespace.as_ref()),
        name: spans.text(outline.name(line.name.as_ref())),
        uid: spans.optional(outline.uid(line.uid.as_ref())),
        code,
        reason: spans.optional(outline.reason(line.reason.as_ref())),
        message: spans.optional(outline.message(line.message.as_ref())),
        dry_run: line.dry_run,
        patch_type: spans.optional(line.patch_type.as_ref()),
        propagation_policy: spans.optional(line.propagation_policy.as_ref()),
        version: outline.version,
        request: line.request.map(|object| range(document, object)),
        answer: outline.answer,
        response: response.map(|object| range(document, object)),
    }))))
}

fn word<T>(text: Option<&Text<'_>>, field: &str, named: fn(&str) -> Option<T>) -> Result<T, Problem> {
    let expected = || format!("{field} of a recorded request");
    let text = text.ok_or_else(|| Problem::missing(expected()))?.as_str();
    named(text).ok_or_else(|| Problem::field(expected(), quoted(text)))
}

fn time(text: Option<&Text<'_>>, field: &str) -> Result<i64, Problem> {
    let expected = || format!("{field} of a recorded request, an RFC 3339 time");
    let text = text.ok_or_else(|| Problem::missing(expected()))?;
    parse_micros(text.as_str()).ok_or_else(|| Problem::field(expected(), quoted(text.as_str())))
}

/// Reads a map of constants. Each value is a number, a boolean, or a string.
pub(crate) fn scalars<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Scalar {
        Text(String),
        Number(serde_json::Number),
        Bool(bool),
    }
    let map = BTreeMap::<String, Scalar>::deserialize(deserializer)?;
    let text = |scalar| match scalar {
        Scalar::Text(text) => text,
        Scalar::Number(number) => number.to_string(),
        Scalar::Bool(bool) => bool.to_string(),
    };
    Ok(map.into_iter().map(|(name, value)| (name, text(value))).collect())
}

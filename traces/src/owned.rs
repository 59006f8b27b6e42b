//! Records without borrowed text: positions in a document take its place.

use std::ops::Range;

use crate::error::{Defect, Problem, detail_of, quoted};
use crate::native::{Expected, Fault, Header, Mark, Observed};
use crate::object::{Answer, Metadata, Object, Outline};
use crate::record::{Body, Resource, WatchKind, Watched};
use crate::request::{Actor, Interval, Level, Request, Subresource, Verb, is_success};
use crate::text::{Span, Spans, Text};

/// A record without its place.
#[derive(Debug)]
pub(crate) enum OwnedRecord {
    Header(Box<Header>),
    Request(Box<OwnedRequest>),
    Watched(Box<OwnedWatched>),
    Mark(Box<Mark>),
    Fault(Box<Fault>),
    Observed(Box<Observed>),
    Expected(Box<Expected>),
}

/// A [`Request`] in the form of positions.
#[derive(Debug)]
pub(crate) struct OwnedRequest {
    pub id: Option<Span>,
    pub interval: Interval,
    pub level: Level,
    pub user: Span,
    pub agent: Span,
    pub address: Span,
    pub verb: Verb,
    pub resource: Resource,
    pub subresource: Span,
    pub namespace: Span,
    pub name: Span,
    pub uid: Option<Span>,
    pub code: u16,
    pub reason: Option<Span>,
    pub message: Option<Span>,
    pub dry_run: bool,
    pub patch_type: Option<Span>,
    pub propagation_policy: Option<Span>,
    pub version: Option<u64>,
    pub request: Option<Range<usize>>,
    pub answer: Answer,
    pub response: Option<Range<usize>>,
}

/// A [`Watched`] in the form of positions.
#[derive(Debug)]
pub(crate) struct OwnedWatched {
    pub kind: WatchKind,
    pub resource: Resource,
    pub namespace: Span,
    pub name: Span,
    pub uid: Span,
    pub version: u64,
    pub at: Option<i64>,
    pub object: Range<usize>,
}

impl OwnedRecord {
    /// The record, borrowed from the document that it was read from.
    pub(crate) fn view<'a>(&'a self, document: &'a str) -> Body<'a> {
        match self {
            OwnedRecord::Header(header) => Body::Header(header),
            OwnedRecord::Request(request) => Body::Request(request.view(document)),
            OwnedRecord::Watched(watched) => Body::Watched(watched.view(document)),
            OwnedRecord::Mark(mark) => Body::Mark(mark),
            OwnedRecord::Fault(fault) => Body::Fault(fault),
            OwnedRecord::Observed(observed) => Body::Observed(observed),
            OwnedRecord::Expected(expected) => Body::Expected(expected),
        }
    }

    /// The time of the record, by the clock of the recorded server, in microseconds since the epoch.
    pub(crate) fn time(&self) -> Option<i64> {
        match self {
            OwnedRecord::Request(request) => Some(request.interval.done),
            OwnedRecord::Watched(watched) => watched.at,
            OwnedRecord::Mark(mark) => mark.at,
            OwnedRecord::Fault(fault) => fault.at,
            OwnedRecord::Observed(observed) => observed.at,
            OwnedRecord::Header(_) | OwnedRecord::Expected(_) => None,
        }
    }

    /// The `resourceVersion` in the record.
    pub(crate) fn version(&self) -> Option<u64> {
        match self {
            OwnedRecord::Request(request) => request.version,
            OwnedRecord::Watched(watched) => Some(watched.version),
            OwnedRecord::Header(_)
            | OwnedRecord::Mark(_)
            | OwnedRecord::Fault(_)
            | OwnedRecord::Observed(_)
            | OwnedRecord::Expected(_) => None,
        }
    }
}

impl OwnedRequest {
    fn view<'a>(&'a self, document: &'a str) -> Request<'a> {
        let optional = |span: &'a Option<Span>| span.as_ref().map(|span| span.get(document));
        Request {
            id: optional(&self.id),
            interval: self.interval,
            level: self.level,
            actor: Actor {
                user: self.user.get(document),
                agent: self.agent.get(document),
                address: self.address.get(document),
            },
            verb: self.verb,
            resource: self.resource,
            subresource: Subresource::named(self.subresource.get(document)),
            namespace: self.namespace.get(document),
            name: self.name.get(document),
            uid: optional(&self.uid),
            code: self.code,
            reason: optional(&self.reason),
            message: optional(&self.message),
            dry_run: self.dry_run,
            patch_type: optional(&self.patch_type),
            propagation_policy: optional(&self.propagation_policy),
            version: self.version,
            request: self.request.as_ref().map(|range| object(document, range)),
            answer: self.answer,
            response: self.response.as_ref().map(|range| object(document, range)),
        }
    }
}

impl OwnedWatched {
    /// Reads the metadata of a watched object. Returns `None` for an object that is neither a Job nor a Pod.
    pub(crate) fn of(
        document: &str,
        kind: WatchKind,
        at: Option<i64>,
        object: Object<'_>,
    ) -> Result<Option<OwnedWatched>, Defect> {
        let outline = outline(object)?;
        if outline.kind.is_empty() {
            return Err(Problem::missing("kind of a watched object").into());
        }
        let Some(resource) = Resource::of_object(&outline.api_version, &outline.kind) else {
            return Ok(None);
        };
        let what = format!("metadata of a watched {}", outline.kind);
        let metadata = outline.metadata.ok_or_else(|| Problem::missing(what))?;
        let (uid, version) = identity(&metadata)?;
        let spans = Spans(document);
        Ok(Some(OwnedWatched {
            kind,
            resource,
            uid: spans.text(Some(uid)),
            version,
            at,
            namespace: spans.text(metadata.namespace.as_ref()),
            name: spans.text(metadata.name.as_ref()),
            object: range(document, object),
        }))
    }

    fn view<'a>(&'a self, document: &'a str) -> Watched<'a> {
        Watched {
            kind: self.kind,
            resource: self.resource,
            namespace: self.namespace.get(document),
            name: self.name.get(document),
            uid: self.uid.get(document),
            version: self.version,
            at: self.at,
            object: object(document, &self.object),
        }
    }
}

/// The outline of a response body.
#[derive(Debug)]
pub(crate) struct ResponseOutline<'a> {
    pub answer: Answer,
    pub outline: Outline<'a>,
    pub version: Option<u64>,
}

impl<'a> ResponseOutline<'a> {
    /// Reads the outline of a response. The response to a successful write must contain a UID and a version.
    pub(crate) fn of(
        resource: Resource,
        code: u16,
        dry_run: bool,
        verb: Verb,
        response: Option<Object<'a>>,
    ) -> Result<ResponseOutline<'a>, Defect> {
        let Some(response) = response.filter(|object| object.text().starts_with('{')) else {
            let answer = if response.is_some() { Answer::Other } else { Answer::Absent };
            return Ok(ResponseOutline { answer, outline: Outline::default(), version: None });
        };
        let outline = outline(response)?;
        let answer = match &*outline.kind {
            "Status" => Answer::Status,
            "PartialObjectMetadata" => Answer::Metadata,
            kind if Resource::of_object(&outline.api_version, kind) == Some(resource) => Answer::Whole,
            _ => Answer::Other,
        };
        let is_stored = is_success(code) && !dry_run;
        let version = match (answer, &outline.metadata) {
            (Answer::Whole, None) if is_stored => {
                return Err(Problem::missing("metadata of the response").into());
            }
            // A DELETE that finds the object gone returns it without a version. From Kubernetes 1.38 on, so does a write that removes
            // the last finalizer.
            (Answer::Whole, Some(metadata))
                if metadata.resource_version.is_none() && (verb == Verb::Delete || metadata.is_removed) =>
            {
                None
            }
            (Answer::Whole, Some(metadata)) if is_stored => Some(identity(metadata)?.1),
            (Answer::Whole | Answer::Metadata, Some(metadata)) => {
                metadata.resource_version.as_ref().map(|text| version(text.as_str())).transpose()?
            }
            _ => None,
        };
        Ok(ResponseOutline { answer, outline, version })
    }
}

impl<'a> ResponseOutline<'a> {
    /// Name of the object: of the request; with `generateName`, of the response.
    pub(crate) fn name<'t>(&'t self, requested: Option<&'t Text<'a>>) -> Option<&'t Text<'a>> {
        requested.filter(|name| !name.as_str().is_empty()).or_else(|| self.stored()?.name.as_ref())
    }

    /// UID of the object: of the response, otherwise of the request.
    pub(crate) fn uid<'t>(&'t self, requested: Option<&'t Text<'a>>) -> Option<&'t Text<'a>> {
        self.stored().and_then(|metadata| metadata.uid.as_ref()).or(requested)
    }

    /// `reason` of a refusal.
    pub(crate) fn reason<'t>(&'t self, status: Option<&'t Text<'a>>) -> Option<&'t Text<'a>> {
        status.or_else(|| self.outline.reason.as_ref().filter(|_| self.answer == Answer::Status))
    }

    /// `message` of a refusal.
    pub(crate) fn message<'t>(&'t self, status: Option<&'t Text<'a>>) -> Option<&'t Text<'a>> {
        status.or_else(|| self.outline.message.as_ref().filter(|_| self.answer == Answer::Status))
    }

    /// Metadata of the requested object.
    fn stored(&self) -> Option<&Metadata<'a>> {
        let is_object = matches!(self.answer, Answer::Whole | Answer::Metadata);
        self.outline.metadata.as_ref().filter(|_| is_object)
    }
}

/// Returns `false` for a text in the place of an object. Azure Monitor writes `"skipped-too-big-size-object"` there.
pub(crate) fn is_recorded(object: Object<'_>) -> bool {
    !object.text().starts_with('"')
}

fn outline(object: Object<'_>) -> Result<Outline<'_>, Problem> {
    Outline::of(object).map_err(|error| Problem::field("an API object", detail_of(&error)))
}

fn identity<'m, 'a>(metadata: &'m Metadata<'a>) -> Result<(&'m Text<'a>, u64), Problem> {
    let uid = metadata.uid.as_ref().filter(|uid| !uid.as_str().is_empty());
    let uid = uid.ok_or_else(|| Problem::missing("metadata.uid"))?;
    let text =
        metadata.resource_version.as_ref().ok_or_else(|| Problem::missing("metadata.resourceVersion"))?;
    Ok((uid, version(text.as_str())?))
}

/// Reads a `resourceVersion`. It orders a trace, so it must be a decimal number.
fn version(text: &str) -> Result<u64, Problem> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| is_decimal)
        .ok_or_else(|| Problem::field("metadata.resourceVersion, a decimal number", quoted(text)))
}

/// The position of an object in its document.
pub(crate) fn range(document: &str, object: Object<'_>) -> Range<usize> {
    crate::text::part(document, object.text()).unwrap_or_default()
}

fn object<'a>(document: &'a str, range: &Range<usize>) -> Object<'a> {
    Object::from_checked(document.get(range.clone()).unwrap_or("null"))
}

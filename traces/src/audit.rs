//! Reads audit logs: `audit.k8s.io/v1` events, alone or in an `EventList`.

use serde::Deserialize;

use crate::cursor::{Cursor, object, small, text};
use crate::error::{Defect, Problem, quoted};
use crate::form::{AUDIT_VERSION, mixed};
use crate::object::Object;
use crate::owned::{OwnedRecord, OwnedRequest, ResponseOutline, is_recorded, range};
use crate::parsed::{Parsed, SkipReason};
use crate::record::{Form, Resource};
use crate::request::{Interval, Level, Verb};
use crate::text::{Spans, Text};
use crate::time::parse_micros;

pub(crate) mod lease;

/// The fields of an event that a [`crate::Request`] needs; `items` belongs to an `EventList`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Event<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow)]
    level: Option<Text<'a>>,
    #[serde(borrow)]
    stage: Option<Text<'a>>,
    #[serde(borrow, rename = "auditID")]
    audit_id: Option<Text<'a>>,
    #[serde(borrow, rename = "requestURI")]
    request_uri: Option<Text<'a>>,
    #[serde(borrow)]
    verb: Option<Text<'a>>,
    #[serde(borrow)]
    user: Option<User<'a>>,
    #[serde(borrow)]
    impersonated_user: Option<User<'a>>,
    #[serde(borrow)]
    user_agent: Option<Text<'a>>,
    /// The addresses that the request came from, the one of its sender first.
    #[serde(borrow, rename = "sourceIPs")]
    source_ips: Option<Object<'a>>,
    #[serde(borrow)]
    object_ref: Option<ObjectRef<'a>>,
    #[serde(borrow)]
    response_status: Option<Status<'a>>,
    #[serde(borrow)]
    request_object: Option<Object<'a>>,
    #[serde(borrow)]
    response_object: Option<Object<'a>>,
    #[serde(borrow)]
    annotations: Option<Annotations<'a>>,
    #[serde(borrow)]
    request_received_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    stage_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    items: Option<Vec<Object<'a>>>,
}

#[derive(Deserialize)]
struct User<'a> {
    #[serde(borrow)]
    username: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef<'a> {
    #[serde(borrow)]
    resource: Option<Text<'a>>,
    #[serde(borrow)]
    api_group: Option<Text<'a>>,
    #[serde(borrow)]
    subresource: Option<Text<'a>>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    uid: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
struct Status<'a> {
    code: Option<i64>,
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
struct Annotations<'a> {
    /// "true" if the API server has omitted both bodies because of their size.
    #[serde(borrow, rename = "audit.k8s.io/truncated")]
    truncated: Option<Text<'a>>,
}

/// The parameters of a request that stand in its query, or in the body of a DELETE.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeleteOptions<'a> {
    #[serde(borrow)]
    propagation_policy: Option<Text<'a>>,
    #[serde(borrow)]
    dry_run: Option<Vec<Text<'a>>>,
}

/// The body of an eviction.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Eviction<'a> {
    #[serde(borrow)]
    delete_options: Option<DeleteOptions<'a>>,
}

impl<'a> Event<'a> {
    fn is_eviction(&self) -> bool {
        self.subresource() == "eviction"
    }

    /// The subresource; empty for the object itself.
    fn subresource(&self) -> &str {
        self.object_ref.as_ref().map_or("", |it| plain(it.subresource.as_ref()))
    }

    /// The user who sent the request. With impersonation, the impersonated user, whose permissions apply.
    fn sender(&self) -> Option<&Text<'a>> {
        self.impersonated_user.as_ref().or(self.user.as_ref())?.username.as_ref()
    }

    /// The HTTP status of the response.
    fn code(&self) -> Result<u16, Problem> {
        code(self.response_status.as_ref().and_then(|status| status.code))
    }

    /// The address of the sender. Nothing else rests on it, so an unusual form of it is no error.
    fn address(&self) -> Option<Text<'a>> {
        let addresses: Vec<Text<'a>> = serde_json::from_str(self.source_ips?.text()).ok()?;
        addresses.into_iter().next()
    }

    /// Reads an event, in the fast way if it is possible.
    fn read(item: &'a str) -> serde_json::Result<Event<'a>> {
        Event::skim(item).map_or_else(|| serde_json::from_str(item), Ok)
    }

    /// Reads an event as [`Event::read`] does. `None`: it has a shape that only serde_json reads.
    fn skim(item: &'a str) -> Option<Event<'a>> {
        let mut event = Event::default();
        let mut cursor = Cursor::new(item);
        cursor.members(|key, value| match key {
            "kind" => text(&mut event.kind, value),
            "apiVersion" => text(&mut event.api_version, value),
            "level" => text(&mut event.level, value),
            "stage" => text(&mut event.stage, value),
            "auditID" => text(&mut event.audit_id, value),
            "requestURI" => text(&mut event.request_uri, value),
            "verb" => text(&mut event.verb, value),
            "user" => small(&mut event.user, value),
            "impersonatedUser" => small(&mut event.impersonated_user, value),
            "userAgent" => text(&mut event.user_agent, value),
            "sourceIPs" => object(&mut event.source_ips, value),
            "objectRef" => small(&mut event.object_ref, value),
            "responseStatus" => small(&mut event.response_status, value),
            "requestObject" => object(&mut event.request_object, value),
            "responseObject" => object(&mut event.response_object, value),
            "annotations" => small(&mut event.annotations, value),
            "requestReceivedTimestamp" => text(&mut event.request_received_timestamp, value),
            "stageTimestamp" => text(&mut event.stage_timestamp, value),
            "items" => None,
            _ => value.value().map(|_| ()),
        })?;
        cursor.is_over().then_some(event)
    }
}

/// Reads one document, or one item of an `EventList` in `document`.
pub(crate) fn parse(document: &str, item: &str, is_listed: bool) -> Result<Parsed, Defect> {
    let event = Event::read(item)?;
    match (plain(event.kind.as_ref()), plain(event.api_version.as_ref())) {
        ("Event", AUDIT_VERSION) => {}
        ("EventList", AUDIT_VERSION) if !is_listed => {
            let items = event.items.unwrap_or_default();
            return Ok(Parsed::List(items.iter().map(|item| range(document, *item)).collect()));
        }
        // An `EventList` states the kind of its items once.
        ("", "") if is_listed => {}
        _ => return Err(mixed(Form::Audit, item).into()),
    }
    match relevance(&event)? {
        Ok((verb, resource)) => request(document, &event, verb, resource),
        Err(SkipReason::Resource) => Ok(match lease::new_leader(&event)? {
            Some(mark) => Parsed::Record(OwnedRecord::Mark(Box::new(mark))),
            None => Parsed::Skipped(SkipReason::Resource),
        }),
        Err(why) => Ok(Parsed::Skipped(why)),
    }
}

/// The verb and the resource of a finished write to a Job or a Pod; otherwise the reason for skipping the
/// event.
fn relevance(event: &Event<'_>) -> Result<Result<(Verb, Resource), SkipReason>, Problem> {
    match required(event.stage.as_ref(), "stage of an audit event")? {
        // The API server panics, also, if a connection breaks while it responds. The code is 500 then, and the write may have
        // been stored.
        "ResponseComplete" | "Panic" => {}
        "RequestReceived" | "ResponseStarted" => return Ok(Err(SkipReason::Stage)),
        other => return Err(Problem::field("stage of an audit event", quoted(other))),
    }
    // Requests without a resource, such as `/healthz`, have no `objectRef`.
    let Some(target) = &event.object_ref else { return Ok(Err(SkipReason::Resource)) };
    let name = plain(target.resource.as_ref());
    let Some(resource) = Resource::of(plain(target.api_group.as_ref()), name) else {
        return Ok(Err(SkipReason::Resource));
    };
    // The API server passes these requests on, whatever their verb. They change no object.
    if matches!(plain(target.subresource.as_ref()), "proxy" | "exec" | "attach" | "portforward") {
        return Ok(Err(SkipReason::Read));
    }
    let verb = required(event.verb.as_ref(), "verb of an audit event")?;
    Ok(Verb::named(verb).map(|verb| (verb, resource)).ok_or(SkipReason::Read))
}

fn request(document: &str, event: &Event<'_>, verb: Verb, resource: Resource) -> Result<Parsed, Defect> {
    let Some(level) = level(event)? else { return Ok(Parsed::Skipped(SkipReason::Level)) };
    let target = event.object_ref.as_ref();
    let status = event.response_status.as_ref();
    let code = event.code()?;
    let verb = if creates(event, verb, resource, code) { Verb::Create } else { verb };
    let options = DeleteOptions::of(event, verb);
    let response = event.response_object.filter(|object| is_recorded(*object));
    let sent = event.request_object.filter(|object| is_recorded(*object));
    let level = match stores_a_body(event, verb, code) {
        _ if is_truncated(event) => Level::Metadata,
        true if sent.is_none() => Level::Metadata,
        true if response.is_none() => level.min(Level::Request),
        _ => level,
    };
    let outline = ResponseOutline::of(resource, code, options.is_dry_run(), verb, response)?;
    let spans = Spans(document);
    Ok(Parsed::Record(OwnedRecord::Request(Box::new(OwnedRequest {
        id: spans.optional(event.audit_id.as_ref()),
        interval: interval(event)?,
        level,
        user: spans
            .text(Some(event.sender().ok_or_else(|| Problem::missing("user.username of an audit event"))?)),
        agent: spans.text(event.user_agent.as_ref()),
        address: spans.text(event.address().as_ref()),
        verb,
        resource,
        subresource: spans.text(target.and_then(|target| target.subresource.as_ref())),
        namespace: spans.text(target.and_then(|target| target.namespace.as_ref())),
        name: spans.text(outline.name(target.and_then(|target| target.name.as_ref()))),
        uid: spans.optional(outline.uid(target.and_then(|target| target.uid.as_ref()))),
        code,
        reason: spans.optional(outline.reason(status.and_then(|status| status.reason.as_ref()))),
        message: spans.optional(outline.message(status.and_then(|status| status.message.as_ref()))),
        dry_run: options.is_dry_run(),
        patch_type: None,
        propagation_policy: spans.optional(options.propagation_policy.as_ref()),
        version: outline.version,
        request: sent.map(|object| range(document, object)),
        answer: outline.answer,
        response: response.map(|object| range(document, object)),
    }))))
}

/// Returns true if the API server has omitted both bodies because of their size, whatever the level says. They are unknown, and not
/// absent.
fn is_truncated(event: &Event<'_>) -> bool {
    plain(event.annotations.as_ref().and_then(|it| it.truncated.as_ref())) == "true"
}

/// Returns true if a request has created its object. Server-side apply, which names its field manager, creates an object that
/// does not exist.
fn creates(event: &Event<'_>, verb: Verb, resource: Resource, code: u16) -> bool {
    let is_apply = resource == Resource::Jobs || plain(event.request_uri.as_ref()).contains("fieldManager=");
    verb == Verb::Patch && code == 201 && event.subresource().is_empty() && is_apply
}

/// Returns true if a request has a body that became the object of the response. If one of them is missing, it was omitted.
fn stores_a_body(event: &Event<'_>, verb: Verb, code: u16) -> bool {
    matches!(verb, Verb::Create | Verb::Update | Verb::Patch)
        && matches!(code, 200 | 201)
        && matches!(event.subresource(), "" | "status")
}

/// The level of an event; `None` for level `None`, which records nothing.
fn level(event: &Event<'_>) -> Result<Option<Level>, Problem> {
    let word = required(event.level.as_ref(), "level of an audit event")?;
    if word == "None" {
        return Ok(None);
    }
    Level::named(word).map(Some).ok_or_else(|| Problem::field("level of an audit event", quoted(word)))
}

fn code(code: Option<i64>) -> Result<u16, Problem> {
    let expected = "responseStatus.code of an audit event";
    let code = code.ok_or_else(|| Problem::missing(expected))?;
    u16::try_from(code).map_err(|_| Problem::field(expected, code.to_string()))
}

fn interval(event: &Event<'_>) -> Result<Interval, Problem> {
    let received = time(event.request_received_timestamp.as_ref(), "requestReceivedTimestamp")?;
    let done = time(event.stage_timestamp.as_ref(), "stageTimestamp")?;
    Ok(Interval { received, done: done.max(received) })
}

fn time(text: Option<&Text<'_>>, field: &str) -> Result<i64, Problem> {
    let expected = || format!("{field} of an audit event, an RFC 3339 time");
    let text = text.ok_or_else(|| Problem::missing(expected()))?;
    parse_micros(text.as_str()).ok_or_else(|| Problem::field(expected(), quoted(text.as_str())))
}

fn required<'t>(text: Option<&'t Text<'_>>, expected: &str) -> Result<&'t str, Problem> {
    text.map(Text::as_str).ok_or_else(|| Problem::missing(expected))
}

/// The text; empty if it is absent.
fn plain<'t>(text: Option<&'t Text<'_>>) -> &'t str {
    text.map(Text::as_str).unwrap_or_default()
}

impl<'a> DeleteOptions<'a> {
    /// Reads the query or, for a DELETE with a body, the body alone, as the API server does. A body of another type yields no
    /// parameters: the response shows how the API server understood it.
    fn of(event: &'a Event<'_>, verb: Verb) -> DeleteOptions<'a> {
        let query = plain(event.request_uri.as_ref()).split_once('?').map_or("", |(_, query)| query);
        let in_query = |name: &str| {
            let pairs = form_urlencoded::parse(query.as_bytes());
            pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| Text(value))
        };
        let of_query = || DeleteOptions {
            propagation_policy: in_query("propagationPolicy"),
            dry_run: in_query("dryRun").map(|word| vec![word]),
        };
        match (verb, event.request_object.filter(|body| is_recorded(*body))) {
            (Verb::Delete | Verb::DeleteCollection, Some(body)) => body.read().unwrap_or_default(),
            (Verb::Create, Some(body)) if event.is_eviction() => {
                let eviction = body.read::<Eviction<'_>>().unwrap_or_default();
                let dry_run = eviction.delete_options.and_then(|options| options.dry_run);
                DeleteOptions { dry_run: dry_run.or_else(|| of_query().dry_run), ..DeleteOptions::default() }
            }
            _ => of_query(),
        }
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run.iter().flatten().any(|word| word.as_str() == "All")
    }
}

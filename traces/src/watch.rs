//! Watch streams: `{"type","object"}` events.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Defect, Problem, quoted};
use crate::form::mixed;
use crate::held::{Held, HeldWatched};
use crate::native::{Mark, MarkKind};
use crate::object::{Object, Outline};
use crate::parsed::{Parsed, Why};
use crate::record::{Form, WatchKind};
use crate::text::Text;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

/// Reads one document.
pub(crate) fn parse(document: &str) -> Result<Parsed, Defect> {
    let event: Event = serde_json::from_str(document)?;
    let (Some(kind), Some(object)) = (event.kind, event.object) else {
        return Err(mixed(Form::Watch, document).into());
    };
    event_of(document, kind.as_str(), None, Object::from_raw(object))
}

/// A watch event of any form of trace.
pub(crate) fn event_of(
    document: &str,
    kind: &str,
    at: Option<i64>,
    object: Object<'_>,
) -> Result<Parsed, Defect> {
    match kind {
        "BOOKMARK" => return Ok(Parsed::Skipped(Why::Bookmark)),
        "ERROR" => return Ok(Parsed::Held(Held::Mark(Box::new(gap(at, object))))),
        _ => {}
    }
    let expected = "type of a watch event (ADDED, MODIFIED, DELETED, BOOKMARK or ERROR)";
    let kind = WatchKind::named(kind).ok_or_else(|| Problem::field(expected, quoted(kind)))?;
    let watched = HeldWatched::of(document, kind, at, object)?;
    Ok(watched
        .map_or(Parsed::Skipped(Why::Resource), |watched| Parsed::Held(Held::Watched(Box::new(watched)))))
}

/// After an error (410 above all) a watch begins anew and has missed what was between.
fn gap(at: Option<i64>, status: Object<'_>) -> Mark {
    let outline = Outline::of(status).unwrap_or_default();
    let text = outline.message.or(outline.reason).map(|text| text.as_str().to_owned());
    Mark {
        at,
        kind: MarkKind::Gap { resource: None, reason: text.unwrap_or_else(|| "watch error".to_owned()) },
    }
}

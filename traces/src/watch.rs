//! Reads watch streams: `{"type","object"}` events.

use serde::Deserialize;

use crate::cursor::{Cursor, object, text};
use crate::error::{Defect, Problem, quoted};
use crate::form::mixed;
use crate::native::{Mark, MarkKind};
use crate::object::{Object, Outline};
use crate::owned::{OwnedRecord, OwnedWatched};
use crate::parsed::{Parsed, SkipReason};
use crate::record::{Form, WatchKind};
use crate::text::Text;

#[derive(Default, Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    object: Option<Object<'a>>,
}

impl<'a> Event<'a> {
    /// Reads an event in the fast way. `None`: it has a shape that only serde_json reads.
    fn skim(document: &'a str) -> Option<Event<'a>> {
        let mut event = Event::default();
        let mut cursor = Cursor::new(document);
        cursor.members(|key, value| match key {
            "type" => text(&mut event.kind, value),
            "object" => object(&mut event.object, value),
            _ => value.value().map(|_| ()),
        })?;
        cursor.is_over().then_some(event)
    }
}

/// Reads one document.
pub(crate) fn parse(document: &str) -> Result<Parsed, Defect> {
    let event = Event::skim(document).map_or_else(|| serde_json::from_str(document), Ok)?;
    let (Some(kind), Some(object)) = (event.kind, event.object) else {
        return Err(mixed(Form::Watch, document).into());
    };
    event_of(document, kind.as_str(), None, object)
}

/// Reads a watch event in a trace of any form.
pub(crate) fn event_of(
    document: &str,
    kind: &str,
    at: Option<i64>,
    object: Object<'_>,
) -> Result<Parsed, Defect> {
    match kind {
        "BOOKMARK" => return Ok(Parsed::Skipped(SkipReason::Bookmark)),
        "ERROR" => return Ok(Parsed::Record(OwnedRecord::Mark(Box::new(gap(at, object))))),
        _ => {}
    }
    let expected = "type of a watch event (ADDED, MODIFIED, DELETED, BOOKMARK or ERROR)";
    let kind = WatchKind::named(kind).ok_or_else(|| Problem::field(expected, quoted(kind)))?;
    let watched = OwnedWatched::of(document, kind, at, object)?;
    Ok(watched.map_or(Parsed::Skipped(SkipReason::Resource), |watched| {
        Parsed::Record(OwnedRecord::Watched(Box::new(watched)))
    }))
}

/// After an error, such as 410, a watch begins again and has missed the writes between.
fn gap(at: Option<i64>, status: Object<'_>) -> Mark {
    let outline = Outline::of(status).unwrap_or_default();
    let text = outline.message.or(outline.reason).map(|text| text.as_str().to_owned());
    Mark {
        at,
        kind: MarkKind::Gap {
            resource: None,
            reason: text.unwrap_or_else(|| "watch error".to_owned()),
            gone: Vec::new(),
        },
    }
}

//! The form of responses to one request.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::lines::EventLines;
use super::media::Form;
use super::service::bytes;
use super::table;
use crate::request::List;
use crate::resource::Resource;
use crate::watch::WatchEvent;

/// The form of responses to one request.
pub(super) struct Show {
    pub(super) form: Form,
    pub(super) include_object: String,
    pub(super) resource: Resource,
}

impl Show {
    /// A whole list.
    pub(super) fn list(&self, now: Timestamp, list: &List) -> Vec<u8> {
        match self.form {
            Form::Object => bytes(list),
            Form::Table => bytes(&table::of_list(now, list, &self.include_object)),
            Form::Metadata => bytes(&table::metadata_list(list)),
        }
    }

    /// The text before the items of a list, and the text behind them, from a list without items.
    pub(super) fn around(&self, now: Timestamp, empty: &List) -> (Vec<u8>, Vec<u8>) {
        let mut head = self.list(now, empty);
        let items: &[u8] = if self.form == Form::Table { b"\"rows\":[" } else { b"\"items\":[" };
        let at = head.windows(items.len()).position(|part| part == items).expect("a list has items");
        let tail = head.split_off(at + items.len());
        (head, tail)
    }

    /// An item of a list.
    pub(super) fn item(&self, lines: &EventLines, now: Timestamp, object: &Arc<Value>) -> Bytes {
        match self.form {
            Form::Object => lines.item(object),
            Form::Table => bytes(&table::row(now, self.resource, object, &self.include_object)).into(),
            Form::Metadata => bytes(&table::metadata_of(object)).into(),
        }
    }

    /// An object, or a Status.
    pub(super) fn object(&self, lines: &EventLines, now: Timestamp, object: &Arc<Value>) -> Bytes {
        let is_status = object["kind"] == "Status";
        match self.form {
            Form::Table if !is_status => {
                bytes(&table::of_objects(now, self.resource, &[object], &self.include_object)).into()
            }
            Form::Metadata if !is_status => bytes(&table::metadata_of(object)).into(),
            Form::Object | Form::Table | Form::Metadata => lines.object(object),
        }
    }

    /// An event of a watch.
    pub(super) fn event(&self, now: Timestamp, event: &WatchEvent, first: bool) -> Vec<u8> {
        let shown = match (self.form, event.kind) {
            (Form::Object, _) | (_, "ERROR") => return event.json(),
            (Form::Table, _) => {
                table::of_event(now, self.resource, &event.object, &self.include_object, first)
            }
            (Form::Metadata, _) => table::metadata_of(&event.object),
        };
        bytes(&json!({"type": event.kind, "object": shown}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::held::Held;

    #[test]
    fn a_list_in_pieces_is_the_whole_list() {
        let pod = |name: &str| {
            let metadata = json!({"name": name, "resourceVersion": "3", "annotations": {"a": "\"items\":["}});
            Arc::new(
                json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {}, "status": {}}),
            )
        };
        let items = vec![pod("a"), pod("b")];
        let list =
            List { resource: Resource::Pods, items, revision: 7, resume: "t".into(), remaining: Some(2) };
        let (now, lines) = (Timestamp::UNIX_EPOCH, EventLines::new(Held::at_most(0)));
        for form in [Form::Object, Form::Table, Form::Metadata] {
            let show = Show { form, include_object: "Object".into(), resource: Resource::Pods };
            let (mut text, tail) = show.around(now, &List { items: Vec::new(), ..list.clone() });
            let items: Vec<Bytes> = list.items.iter().map(|item| show.item(&lines, now, item)).collect();
            text.extend(items.join(&b','));
            text.extend(tail);
            assert_eq!(String::from_utf8(text).unwrap(), String::from_utf8(show.list(now, &list)).unwrap());
        }
    }
}

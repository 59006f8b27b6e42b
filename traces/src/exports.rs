//! Rows of an export of Splunk, and whether the last ones are missing.
//!
//! The rows of a search are objects, one after the other ("Export data using the Splunk REST API", Splunk):
//!
//! | member | meaning |
//! | --- | --- |
//! | `result` | the row; none in a set without rows |
//! | `preview` | the row is of a search that still runs. All rows of the set come again |
//! | `lastrow` | the last row of its set |
//!
//! A search writes sets of previews, and then the final set. A search in real time, or one that was cut, has no final set.

use crate::envelope::Fields;

/// The members of a row beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// It is no final row.
    pub is_preview: bool,
    is_last: bool,
}

impl Row {
    /// The row with these fields; `None` if they are of something else.
    pub(crate) fn of(fields: &Fields<'_>) -> Option<Row> {
        let flag = |name: &str| serde_json::from_str::<bool>(fields.get(name)?.get()).ok();
        let (is_preview, is_last) = (flag("preview")?, flag("lastrow"));
        let is_row = is_last.is_some() || fields.contains_key("result");
        is_row.then_some(Row { is_preview, is_last: is_last == Some(true) })
    }
}

/// The rows of an input so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exports {
    /// Nothing shows that a row is missing. Somebody may have chosen rows, so that a `lastrow` is not demanded.
    #[default]
    Whole,
    /// The last row is a preview.
    Preview,
    /// Final rows follow previews, and the last of them is missing.
    Begun,
}

impl Exports {
    /// Notes the next row.
    pub(crate) fn note(&mut self, row: Row) {
        *self = match *self {
            _ if row.is_preview => Exports::Preview,
            _ if row.is_last => Exports::Whole,
            Exports::Whole => Exports::Whole,
            Exports::Preview | Exports::Begun => Exports::Begun,
        };
    }

    /// The member that shows that rows are missing.
    pub(crate) fn lack(self) -> Option<String> {
        match self {
            Exports::Whole => None,
            Exports::Preview => Some("preview is true in its last row".to_owned()),
            Exports::Begun => Some("no row has lastrow behind the previews".to_owned()),
        }
    }
}

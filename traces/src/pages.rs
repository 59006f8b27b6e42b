//! The members beside a list that show that rows of it are missing.
//!
//! Log systems answer a query with *pages*. A page is an object with a list of rows, and with members about the query.
//! The pages of a query may follow each other in one file.

use std::collections::BTreeMap;

use serde_json::Value;

/// A path of members, with dots between them, and the values that show missing rows.
type Sign = (&'static str, fn(&Value) -> bool);

/// Signs that no other page takes back.
const SIGNS: [Sign; 8] = [
    // "get-query-results", AWS CLI Command Reference.
    ("status", is_unfinished),
    // "Search API", Elasticsearch and OpenSearch. A search of several clusters has `_clusters`.
    ("timed_out", is_true),
    ("terminated_early", is_true),
    ("_shards.failed", is_positive),
    ("_clusters.skipped", is_positive),
    ("_clusters.partial", is_positive),
    ("_clusters.failed", is_positive),
    // "Search endpoint descriptions", Splunk: the search still runs.
    ("preview", is_true),
];

/// Signs that another page follows. `nextForwardToken` is none: `get-log-events` has it behind the last event, too.
const MORE: [Sign; 5] = [
    // "filter-log-events" and "get-query-results", AWS CLI Command Reference. With `--max-items` it is `NextToken`.
    ("nextToken", is_text),
    ("NextToken", is_text),
    // The method `entries.list`, Cloud Logging.
    ("nextPageToken", is_text),
    // "Kubernetes API Concepts": a list that is retrieved in chunks.
    ("metadata.continue", is_text),
    ("metadata.remainingItemCount", is_positive),
];

/// Elasticsearch counts up to 10,000 hits, and writes `gte` if there may be more.
const RELATION: &str = "hits.total.relation";

/// The number of rows of all pages of a query.
const TOTALS: [&str; 3] = [
    "hits.total.value",
    // Elasticsearch before version 7.
    "hits.total",
    "statistics.recordsMatched",
];

/// The pages of an input so far.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    count: u64,
    /// The first sign that no other page takes back.
    lacks: Option<String>,
    /// A sign of the last page that another one follows.
    more: Option<String>,
    /// The totals, each with the number of rows in the pages that state it.
    totals: BTreeMap<(&'static str, u64), u64>,
}

impl Pages {
    /// Notes a page: its text without the rows, and their number. Text that is no JSON shows nothing.
    pub(crate) fn note(&mut self, page: &[u8], rows: u64) {
        let Ok(page) = serde_json::from_str::<Value>(&String::from_utf8_lossy(page)) else { return };
        self.count += 1;
        if self.lacks.is_none() {
            self.lacks = first(&SIGNS, &page).map(|(path, value)| format!("{path} is {}", plain(value)));
        }
        self.more = more(&page, rows);
        for path in TOTALS {
            if let Some(total) = at(&page, path).and_then(number) {
                *self.totals.entry((path, total)).or_default() += rows;
            }
        }
    }

    /// Adds the pages of a text that follows.
    pub(crate) fn join(&mut self, later: Pages) {
        if later.count > 0 {
            self.more = later.more;
        }
        self.count += later.count;
        self.lacks = self.lacks.take().or(later.lacks);
        for (total, rows) in later.totals {
            *self.totals.entry(total).or_default() += rows;
        }
    }

    /// The member that shows that rows are missing, with its value.
    pub(crate) fn lack(&self) -> Option<String> {
        let is_short = |((_, total), rows): &(&(&str, u64), &u64)| *rows < total;
        let short = self.totals.iter().find(is_short);
        let of_total =
            || short.map(|((path, total), rows)| format!("{path} is {total}, and the file has {rows} rows"));
        let of_more =
            || self.more.as_ref().map(|sign| format!("{sign}, and no other page follows in the file"));
        self.lacks.clone().or_else(of_total).or_else(of_more)
    }
}

/// The sign that another page follows this one.
fn more(page: &Value, rows: u64) -> Option<String> {
    if let Some((path, _)) = first(&MORE, page) {
        return Some(format!("{path} is set"));
    }
    // A page without rows is the end of a query in pages, whose total may be a lower bound.
    let is_bound = rows > 0 && at(page, RELATION).is_some_and(|relation| relation == "gte");
    is_bound.then(|| format!("{RELATION} is gte"))
}

/// The first member of a page that is such a sign.
fn first<'p>(signs: &[Sign], page: &'p Value) -> Option<(&'static str, &'p Value)> {
    let found =
        |(path, shows): &Sign| at(page, path).filter(|value| shows(value)).map(|value| (*path, value));
    signs.iter().find_map(found)
}

/// The member at a path.
fn at<'p>(page: &'p Value, path: &str) -> Option<&'p Value> {
    path.split('.').try_fold(page, |value, name| value.get(name))
}

/// Returns `true` for the states of a query of CloudWatch Logs Insights, apart from `Complete`. Other systems have a
/// `status` of other words.
fn is_unfinished(value: &Value) -> bool {
    let status = value.as_str().unwrap_or_default();
    matches!(status, "Running" | "Scheduled" | "Timeout" | "Failed" | "Cancelled" | "Unknown")
}

fn is_true(value: &Value) -> bool {
    value.as_bool() == Some(true)
}

fn is_positive(value: &Value) -> bool {
    number(value).is_some_and(|number| number > 0)
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

/// A number, without its decimals: CloudWatch Logs writes `18.0`.
fn number(value: &Value) -> Option<u64> {
    value.to_string().split('.').next()?.parse().ok()
}

/// A text without quotes, or another value as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

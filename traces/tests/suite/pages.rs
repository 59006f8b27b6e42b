//! Exports that state whether rows are missing.

use jobcheck_traces::Reader;
use serde_json::{Value, json};

use crate::{AUDIT, input};

fn events() -> Vec<Value> {
    AUDIT.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn texts(field: &str) -> Vec<Value> {
    AUDIT.lines().map(|line| json!({ field: line })).collect()
}

/// The statement of an input about missing rows. Its records are the same in each case.
fn lack(text: &str) -> Option<String> {
    let mut reader = Reader::open(&[input("trace", text)]);
    let mut records = 0;
    while reader.next().unwrap().is_some() {
        records += 1;
    }
    assert!(records > 0 && records % AUDIT.lines().count() == 0, "{records}: {text}");
    reader.files().next().and_then(|file| file.lack.clone())
}

/// An object with these members beside its list, with the list before, between, and behind them.
fn pages(members: &Value, list: &str, rows: Vec<Value>) -> Vec<String> {
    let rows = Value::from(rows).to_string();
    let text = members.to_string();
    let inner = &text[1..text.len() - 1];
    let comma = if inner.is_empty() { "" } else { "," };
    vec![
        format!("{{\"{list}\":{rows}{comma}{inner}}}"),
        format!("{{{inner}{comma}\"{list}\":{rows}}}"),
        format!("{{\n  {inner}{comma}\n  \"{list}\": {rows}\n}}\n"),
    ]
}

/// A search of Elasticsearch with these members, and with this total.
fn search(members: &Value, total: &Value) -> String {
    let hits: Vec<Value> = events().into_iter().map(|event| json!({ "_source": event })).collect();
    let mut page = members.clone();
    page["hits"] = json!({ "total": total, "hits": hits });
    page.to_string()
}

fn rows_of_insights() -> Vec<Value> {
    let row = |line| json!([{ "field": "@message", "value": line }]);
    AUDIT.lines().map(row).collect()
}

#[test]
fn a_query_of_insights_states_its_status_and_the_number_of_matches() {
    let cases = [
        (json!({ "status": "Complete" }), None),
        (json!({ "status": "Complete", "statistics": { "recordsMatched": 3.0 } }), None),
        (json!({ "status": "Running" }), Some("status is Running")),
        (json!({ "status": "Timeout", "statistics": {} }), Some("status is Timeout")),
        (json!({ "status": "Failed" }), Some("status is Failed")),
        (json!({ "status": "Cancelled" }), Some("status is Cancelled")),
        (json!({ "status": "Scheduled" }), Some("status is Scheduled")),
        (json!({ "status": "Unknown" }), Some("status is Unknown")),
        (
            json!({ "status": "Complete", "statistics": { "recordsMatched": 4.0 } }),
            Some("statistics.recordsMatched is 4, and the file has 3 rows"),
        ),
        (
            json!({ "status": "Complete", "nextToken": "eyJ" }),
            Some("nextToken is set, and no other page follows in the file"),
        ),
    ];
    for (members, expected) in cases {
        for text in pages(&members, "results", rows_of_insights()) {
            assert_eq!(lack(&text).as_deref(), expected, "{text}");
        }
    }
}

#[test]
fn a_search_of_elasticsearch_states_its_total_and_its_failures() {
    let exact = |total: u64| json!({ "value": total, "relation": "eq" });
    let whole =
        json!({ "took": 1, "timed_out": false, "_shards": { "total": 5, "failed": 0, "skipped": 1 } });
    let cases = [
        (whole.clone(), exact(3), None),
        (whole.clone(), json!(3), None),
        (whole.clone(), exact(18), Some("hits.total.value is 18, and the file has 3 rows")),
        (whole.clone(), json!(18), Some("hits.total is 18, and the file has 3 rows")),
        (
            whole,
            json!({ "value": 3, "relation": "gte" }),
            Some("hits.total.relation is gte, and no other page follows in the file"),
        ),
        (json!({ "timed_out": true }), exact(3), Some("timed_out is true")),
        (json!({ "terminated_early": true }), exact(3), Some("terminated_early is true")),
        (json!({ "_shards": { "failed": 1 } }), exact(3), Some("_shards.failed is 1")),
        (json!({ "_clusters": { "skipped": 2 } }), exact(3), Some("_clusters.skipped is 2")),
        (json!({ "_clusters": { "skipped": 0, "partial": 0, "failed": 0 } }), exact(3), None),
    ];
    for (members, total, expected) in cases {
        assert_eq!(lack(&search(&members, &total)).as_deref(), expected, "{members} {total}");
    }
}

#[test]
fn a_token_states_that_more_rows_follow() {
    let more = |member: &str| Some(format!("{member} is set, and no other page follows in the file"));
    let entries: Vec<Value> = AUDIT
        .lines()
        .map(|line| json!({ "logName": "projects/p/logs/audit", "textPayload": line }))
        .collect();
    let kubernetes = |metadata: Value| json!({ "kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": metadata });
    let cases = [
        // `aws logs filter-log-events`, and `get-log-events`, which has both tokens in each answer.
        ("events", json!({ "searchedLogStreams": [] }), texts("message"), None),
        ("events", json!({ "nextToken": "eyJ" }), texts("message"), more("nextToken")),
        ("events", json!({ "NextToken": "eyJ" }), texts("message"), more("NextToken")),
        ("events", json!({ "NextToken": null }), texts("message"), None),
        ("events", json!({ "nextForwardToken": "f/1", "nextBackwardToken": "b/1" }), texts("message"), None),
        ("entries", json!({}), entries.clone(), None),
        ("entries", json!({ "nextPageToken": "" }), entries.clone(), None),
        ("entries", json!({ "nextPageToken": "E" }), entries, more("nextPageToken")),
        ("items", kubernetes(json!({ "resourceVersion": "7", "continue": "" })), events(), None),
        ("items", kubernetes(json!({ "continue": "eyJ" })), events(), more("metadata.continue")),
        (
            "items",
            kubernetes(json!({ "remainingItemCount": 5 })),
            events(),
            more("metadata.remainingItemCount"),
        ),
    ];
    for (list, members, rows, expected) in cases {
        for text in pages(&members, list, rows) {
            assert_eq!(lack(&text), expected, "{text}");
        }
    }
}

#[test]
fn a_preview_of_splunk_is_a_part() {
    for (is_preview, expected) in [(false, None), (true, Some("preview is true"))] {
        let members = json!({ "init_offset": 0, "preview": is_preview });
        for text in pages(&members, "results", texts("_raw")) {
            assert_eq!(lack(&text).as_deref(), expected, "{text}");
        }
    }
}

/// Rows of an export of Splunk: each has one of these lines, and the last one `lastrow`.
fn rows_of_export(is_preview: bool, lines: &[&str]) -> Vec<Value> {
    let row = |(at, line): (usize, &&str)| {
        let mut row = json!({ "preview": is_preview, "offset": at, "result": { "_raw": line } });
        if at + 1 == lines.len() {
            row["lastrow"] = true.into();
        }
        row
    };
    lines.iter().enumerate().map(row).collect()
}

/// The number of records, of skipped previews, and the statement about missing rows.
fn read_export(rows: &[&[Value]]) -> (usize, u64, Option<String>) {
    let lines: Vec<String> = rows.concat().iter().map(Value::to_string).collect();
    let mut results = Vec::new();
    for text in [lines.join("\n"), format!("[{}]", lines.join(",\n"))] {
        let mut reader = Reader::open(&[input("trace", text)]);
        let mut records = 0;
        while reader.next().unwrap().is_some() {
            records += 1;
        }
        let file = reader.files().next().unwrap();
        results.push((records, file.skipped.previews, file.lack.clone()));
    }
    assert_eq!(results[0], results[1]);
    results.remove(0)
}

#[test]
fn previews_of_an_export_of_splunk_are_no_rows() {
    let lines: Vec<&str> = AUDIT.lines().collect();
    let (first, whole) = (rows_of_export(true, &lines[..1]), rows_of_export(true, &lines));
    let last = rows_of_export(false, &lines);
    let preview = || Some("preview is true in its last row".to_owned());
    let end = || Some("no row has lastrow behind the previews".to_owned());
    let marker = [json!({ "preview": false, "lastrow": true })];
    let no_marker = [json!({ "preview": true, "lastrow": true })];
    assert_eq!(read_export(&[&last]), (3, 0, None));
    assert_eq!(read_export(&[&last, &marker]), (3, 0, None));
    assert_eq!(read_export(&[&first, &whole, &last]), (3, 4, None));
    assert_eq!(read_export(&[&no_marker, &last]), (3, 1, None));
    // The search had not ended.
    assert_eq!(read_export(&[&first]), (0, 1, preview()));
    assert_eq!(read_export(&[&first, &whole]), (0, 4, preview()));
    // The file ends within the final rows.
    assert_eq!(read_export(&[&whole, &last[..2]]), (2, 3, end()));
    assert_eq!(read_export(&[&whole, &last[..2], &marker]), (2, 3, None));
    // Two exports: the second one had not ended.
    assert_eq!(read_export(&[&last, &first]), (3, 1, preview()));
    assert_eq!(read_export(&[&last, &last]), (6, 0, None));
    // The search has found nothing.
    assert_eq!(read_export(&[&whole, &marker]), (0, 3, None));
    // Rows of other searches are not looked into before they are final.
    let counts = [json!({ "preview": true, "offset": 0, "lastrow": true, "result": { "count": "62" } })];
    assert_eq!(read_export(&[&counts, &last]), (3, 1, None));
}

#[test]
fn rows_that_somebody_has_chosen_state_nothing() {
    let lines: Vec<&str> = AUDIT.lines().collect();
    let last = rows_of_export(false, &lines);
    assert_eq!(read_export(&[&last[..1]]), (1, 0, None));
}

#[test]
fn lists_without_members_of_their_own_state_nothing() {
    let cases = [
        AUDIT.to_owned(),
        Value::from(events()).to_string(),
        json!({ "messageType": "DATA_MESSAGE", "logEvents": texts("message") }).to_string(),
        // Members of the events are no members of the list.
        Value::from_iter(events().into_iter().map(|event| json!({ "_source": event, "status": "Running" })))
            .to_string(),
    ];
    for text in cases {
        assert_eq!(lack(&text), None, "{text}");
    }
}

#[test]
fn pages_of_one_file_are_one_result() {
    let with = |member: &str| json!({ "events": texts("message"), member: "eyJ" }).to_string();
    let last = json!({ "events": texts("message") }).to_string();
    let of_search = |total: u64| search(&json!({ "timed_out": false }), &json!({ "value": total }));
    let bound = search(&json!({}), &json!({ "value": 2, "relation": "gte" }));
    let end = json!({ "hits": { "total": { "value": 2, "relation": "gte" }, "hits": [] } }).to_string();
    let more = "nextToken is set, and no other page follows in the file";
    let cases = [
        ([with("nextToken"), last.clone()], None),
        ([last, with("nextToken")], Some(more)),
        ([of_search(6), of_search(6)], None),
        ([of_search(7), of_search(7)], Some("hits.total.value is 7, and the file has 6 rows")),
        // Two queries.
        ([of_search(4), of_search(3)], Some("hits.total.value is 4, and the file has 3 rows")),
        ([bound.clone(), end], None),
        ([bound.clone(), bound], Some("hits.total.relation is gte, and no other page follows in the file")),
        (
            [search(&json!({ "timed_out": true }), &json!(6)), search(&json!({}), &json!(6))],
            Some("timed_out is true"),
        ),
    ];
    for (pages, expected) in cases {
        assert_eq!(lack(&pages.join("\n")).as_deref(), expected);
        assert_eq!(lack(&format!("[{}]", pages.join(","))).as_deref(), expected);
        // As texts of another log.
        let texts: Vec<String> = pages.iter().map(|page| json!({ "MESSAGE": page }).to_string()).collect();
        assert_eq!(lack(&texts.join("\n")).as_deref(), expected);
    }
}

//! The order of records from several inputs.

use crate::{audited, input, summary, watched};

fn lines(lines: &[String]) -> String {
    lines.join("\n")
}

#[test]
fn rotated_audit_logs_are_merged_by_time_whatever_order_they_are_given_in() {
    let old = lines(&[audited("a", 1, 200, 5), audited("b", 3, 200, 9)]);
    let new = lines(&[audited("c", 4, 409, 0), audited("d", 2, 200, 7), audited("e", 5, 200, 10)]);
    // The line with the earlier time keeps its place in the file.
    let expected = ["a 200 @5", "b 200 @9", "c 409", "d 200 @7", "e 200 @10"];
    for inputs in [[input("old", &old), input("new", &new)], [input("new", &new), input("old", &old)]] {
        let result = summary(&inputs);
        let result: Vec<&str> = result.iter().map(|line| line.split_once('/').unwrap().1).collect();
        assert_eq!(result, expected);
    }
}

#[test]
fn equal_times_keep_the_order_of_the_inputs() {
    let result = summary(&[input("x", audited("a", 1, 200, 9)), input("y", audited("b", 1, 200, 8))]);
    assert_eq!(result, ["0:1 update jobs/a 200 @9", "1:1 update jobs/b 200 @8"]);
}

#[test]
fn watch_streams_are_merged_by_resource_version() {
    let jobs = lines(&[watched("ADDED", "a", 5), watched("MODIFIED", "a", 8), watched("MODIFIED", "a", 20)]);
    let pods = lines(&[watched("ADDED", "p", 7), watched("ADDED", "q", 6), watched("DELETED", "p", 9)]);
    assert_eq!(
        summary(&[input("pods", pods), input("jobs", jobs)]),
        [
            "1:1 ADDED a @5",
            "0:1 ADDED p @7",
            "0:2 ADDED q @6",
            "1:2 MODIFIED a @8",
            "0:3 DELETED p @9",
            "1:3 MODIFIED a @20"
        ]
    );
}

#[test]
fn a_write_comes_before_the_watch_event_that_shows_it() {
    let old = lines(&[audited("a", 1, 200, 5), audited("b", 2, 200, 7)]);
    let new = lines(&[audited("c", 3, 409, 0), audited("d", 4, 200, 9)]);
    let watch = lines(&[watched("ADDED", "w", 5), watched("ADDED", "w", 7), watched("ADDED", "w", 8)]);
    // The refusal has no version: it stays between its neighbours in time.
    assert_eq!(
        summary(&[input("watch", watch), input("new", new), input("old", old)]),
        [
            "2:1 update jobs/a 200 @5",
            "0:1 ADDED w @5",
            "2:2 update jobs/b 200 @7",
            "1:1 update jobs/c 409",
            "0:2 ADDED w @7",
            "0:3 ADDED w @8",
            "1:2 update jobs/d 200 @9",
        ]
    );
}

#[test]
fn a_native_trace_begins_with_its_header() {
    let native = concat!(
        r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#,
        "\n",
        r#"{"mark":{"at":"2026-11-21T00:00:02Z","kind":"end"}}"#
    );
    let audit = lines(&[audited("a", 1, 200, 5), audited("b", 3, 200, 7)]);
    assert_eq!(
        summary(&[input("audit", audit), input("native", native)]),
        ["1:1 header 1.0", "0:1 update jobs/a 200 @5", "1:2 End", "0:2 update jobs/b 200 @7"]
    );
}

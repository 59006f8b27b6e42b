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

#[test]
fn a_log_that_begins_with_its_newest_events_is_turned() {
    let one = |second: u32| audited(&format!("j{second}"), second, 200, u64::from(second) + 1);
    // All within a second of the first are looked at, up to a limit.
    let same: Vec<String> = (0..100).map(|number| audited("same", 30, 200, number + 50)).collect();
    let newest_first: Vec<String> =
        [31, 30].into_iter().map(one).chain(same).chain((1..20).rev().map(one)).collect();
    let expected = |file: &str| -> Vec<String> {
        let mut lines: Vec<String> = (1..20).map(|it| format!("update jobs/j{it} 200 @{}", it + 1)).collect();
        lines.extend((0..100).rev().map(|number| format!("update jobs/same 200 @{}", number + 50)));
        lines.extend([30, 31].map(|it| format!("update jobs/j{it} 200 @{}", it + 1)));
        lines.iter().map(|line| format!("{file} {line}")).collect()
    };
    let array = |events: &[String]| format!("[{}]", events.join(","));
    let without = |result: &[String], file: &str| -> Vec<String> {
        result.iter().map(|line| format!("{file} {}", line.split_once(' ').unwrap().1)).collect()
    };
    for text in [lines(&newest_first), array(&newest_first)] {
        assert_eq!(without(&summary(&[input("log", text)]), "x"), expected("x"));
    }
    // The places stay those of the file, and an error keeps its place behind the records before it.
    let damaged = format!("{}\n{{\n", lines(&newest_first[100..]));
    let result = summary(&[input("log", damaged)]);
    assert_eq!(result[0], "0:21 update jobs/j1 200 @2");
    assert!(result.last().unwrap().starts_with("log:22: expected the rest"), "{result:?}");
}

#[test]
fn the_order_of_files_and_of_lines_within_a_second_changes_no_more_than_that_order() {
    let events: Vec<String> =
        (0..40).map(|it| audited(&format!("j{it}"), it / 2, 200, u64::from(it) + 1)).collect();
    let swapped: Vec<String> =
        events.chunks(2).flat_map(|pair| pair.iter().rev().cloned().collect::<Vec<_>>()).collect();
    let (old, new) = swapped.split_at(20);
    let (odd, even): (Vec<_>, Vec<_>) = swapped.iter().cloned().enumerate().partition(|(at, _)| at % 2 == 1);
    let part = |of: &[(usize, String)]| of.iter().map(|it| it.1.clone()).collect::<Vec<_>>().join("\n");
    let times = |inputs: [jobcheck_traces::Input; 2]| -> Vec<u32> {
        let version = |line: &String| line.rsplit_once('@').unwrap().1.parse::<u32>().unwrap();
        summary(&inputs).iter().map(|line| (version(line) - 1) / 2).collect()
    };
    let sorted: Vec<u32> = (0..40).map(|it| it / 2).collect();
    assert_eq!(times([input("new", lines(new)), input("old", lines(old))]), sorted);
    assert_eq!(times([input("odd", part(&odd)), input("even", part(&even))]), sorted);
    assert_eq!(times([input("even", part(&even)), input("odd", part(&odd))]), sorted);
}

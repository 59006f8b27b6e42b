//! Damaged recordings: reading and judging any input ends without a panic, and every unreadable record is reported with
//! file and line.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use jobcheck_judge::validate::{Options, Summary, Validator};
use jobcheck_tests::corpus::folder;
use jobcheck_tests::envelopes::{in_parts, wrappings};
use jobcheck_traces::{Input, Problem, Reader};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// Small recordings of every kind; each has both forms.
const RECORDINGS: [&str; 12] = [
    "nonindexed-success",
    "backoff-limit-exceeded",
    "per-index-backoff",
    "success-policy",
    "pod-failure-policy-fail-job",
    "suspend-resume",
    "elastic-indexed",
    "job-deleted-orphan",
    "managed-by-mirror",
    "recreate-same-name",
    "adoption",
    "ttl-zero",
];

/// Names and lines.
static TRACES: LazyLock<Vec<(String, Vec<String>)>> = LazyLock::new(|| {
    let forms =
        RECORDINGS.iter().flat_map(|name| ["audit", "watch"].map(|form| format!("{name}.{form}.jsonl")));
    forms.map(|name| (name.clone(), lines_of(&folder().join("recordings").join(name)))).collect()
});

fn lines_of(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// The result of reading and judging an input.
struct Replayed {
    /// The lines of the reported errors; `None` for an error of the whole input.
    errors: Vec<Option<u64>>,
    summary: Summary,
}

/// The time limit for a damaged recording, on a slow machine in a debug build.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads and judges an input, and continues after every error.
fn replay(bytes: Vec<u8>) -> Replayed {
    let start = Instant::now();
    let most_lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let mut reader = Reader::open(&[Input::Bytes("damaged".to_owned(), bytes)]);
    let mut validator = Validator::new(Options::default());
    let mut errors = Vec::new();
    loop {
        match reader.next() {
            Ok(None) => break,
            Ok(Some(record)) => {
                if let Err(error) = validator.feed(&record) {
                    assert_eq!(error.place, record.place, "{}", error.problem);
                    assert!(!error.problem.is_empty());
                    errors.push(Some(error.place.line));
                }
            }
            Err(error) => {
                let whole = error.problem.is_emptiness()
                    || matches!(error.problem, Problem::Damaged { .. } | Problem::PackedCut { .. });
                assert!(error.line.is_some() || whole, "no line: {error}");
                assert!(error.to_string().starts_with("damaged"), "no file: {error}");
                errors.push(error.line);
            }
        }
    }
    for line in errors.iter().flatten() {
        assert!((1..=most_lines).contains(line), "there is no line {line}");
    }
    let summary = validator.finish();
    // Every value of a report can be displayed.
    for job in &summary.jobs {
        for violation in &job.violations {
            let _ = format!("{violation:?} {} {}", violation.broken.expected, violation.broken.found);
        }
        let _ = format!("{job:?}");
    }
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
    Replayed { errors, summary }
}

/// One edit of the bytes.
#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
}

fn damages() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<Index>().prop_map(Damage::Cut),
        (any::<Index>(), 1..=255_u8).prop_map(|(at, mask)| Damage::Flip(at, mask)),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(at, new)| Damage::Insert(at, new)),
        (any::<Index>(), 1..400_usize).prop_map(|(at, length)| Damage::Remove(at, length)),
        (any::<Index>(), 1..4000_usize).prop_map(|(at, length)| Damage::Repeat(at, length)),
    ]
}

fn damage(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    match damage {
        Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Damage::Flip(at, mask) => {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        Damage::Insert(at, new) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, new.iter().copied());
        }
        Damage::Remove(at, length) => {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.drain(at..end);
        }
        Damage::Repeat(at, length) => {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(end..end, piece);
        }
    }
}

/// One edit of the lines; it leaves every line readable.
#[derive(Clone, Debug)]
enum Shuffle {
    Drop(Index),
    Double(Index),
    Swap(Index, Index),
    Foreign(Index, Index, Index),
}

fn shuffles() -> impl Strategy<Value = Shuffle> {
    prop_oneof![
        any::<Index>().prop_map(Shuffle::Drop),
        any::<Index>().prop_map(Shuffle::Double),
        (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Shuffle::Swap(one, other)),
        (any::<Index>(), any::<Index>(), any::<Index>())
            .prop_map(|(at, from, line)| Shuffle::Foreign(at, from, line)),
    ]
}

fn shuffle(which: usize, lines: &mut Vec<String>, shuffle: &Shuffle) {
    if lines.is_empty() {
        return;
    }
    match shuffle {
        Shuffle::Drop(at) => {
            lines.remove(at.index(lines.len()));
        }
        Shuffle::Double(at) => {
            let at = at.index(lines.len());
            lines.insert(at, lines[at].clone());
        }
        Shuffle::Swap(one, other) => {
            let (one, other) = (one.index(lines.len()), other.index(lines.len()));
            lines.swap(one, other);
        }
        // A line of another recording of the same form: audit logs and watch streams take turns.
        Shuffle::Foreign(at, from, line) => {
            let (_, other) = &TRACES[from.index(TRACES.len()) / 2 * 2 + which % 2];
            let at = at.index(lines.len());
            lines.insert(at, other[line.index(other.len())].clone());
        }
    }
}

/// Replacements for a value; `None` removes it.
fn odd_values() -> impl Strategy<Value = Option<Value>> {
    let numbers = prop_oneof![
        Just(i64::MIN),
        Just(i64::MAX),
        Just(i64::from(i32::MIN)),
        Just(i64::from(i32::MAX)),
        -3..40_i64,
    ];
    let texts = prop_oneof![
        Just("".to_owned()),
        Just("9999-12-31T23:59:59Z".to_owned()),
        Just("0001-01-01T00:00:00Z".to_owned()),
        Just("-262143-01-01T00:00:00Z".to_owned()),
        Just("2026-11-21T00:28:30.999999999+14:00".to_owned()),
        Just("0-2147483647".to_owned()),
        Just("2147483646,2147483647,9223372036854775807".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("x".repeat(70_000)),
        ".{0,12}",
        Just("True".to_owned()),
        Just("Failed".to_owned()),
        Just("delete".to_owned()),
        Just("update".to_owned()),
    ];
    prop_oneof![
        2 => Just(None),
        3 => numbers.prop_map(|number| Some(json!(number))),
        3 => texts.prop_map(|text| Some(json!(text))),
        1 => any::<f64>().prop_map(|number| Some(json!(number))),
        1 => any::<bool>().prop_map(|flag| Some(json!(flag))),
        1 => Just(Some(Value::Null)),
        1 => Just(Some(json!([]))),
        1 => Just(Some(json!({}))),
        1 => Just(Some(json!([[[{"a": [null]}]]]))),
    ]
}

/// Pointers to everything within a value.
fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
    let mut enter = |key: String, inner: &Value| {
        let pointer = format!("{at}/{key}");
        pointers(inner, &pointer, into);
        into.push(pointer);
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, inner)| enter(key.replace('~', "~0").replace('/', "~1"), inner));
        }
        Value::Array(items) => items.iter().enumerate().for_each(|(at, inner)| enter(at.to_string(), inner)),
        _ => {}
    }
}

/// Replaces one value of a line, or removes it.
fn replace(line: &str, place: Index, new: Option<&Value>) -> String {
    let mut whole: Value = serde_json::from_str(line).unwrap();
    let mut all = Vec::new();
    pointers(&whole, "", &mut all);
    let pointer = place.get(&all);
    match new {
        Some(new) => *whole.pointer_mut(pointer).unwrap() = new.clone(),
        None => {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let key = key.replace("~1", "/").replace("~0", "~");
            match whole.pointer_mut(parent).unwrap() {
                Value::Object(members) => drop(members.remove(&key)),
                Value::Array(items) => drop(items.remove(key.parse().unwrap())),
                _ => unreachable!("a pointer leads through objects and lists"),
            }
        }
    }
    whole.to_string()
}

fn joined(lines: &[String]) -> Vec<u8> {
    let mut text = lines.join("\n");
    text.push('\n');
    text.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn damaged_bytes_end_in_a_verdict((which, edits) in (0..RECORDINGS.len() * 2, prop::collection::vec(damages(), 1..5))) {
        let mut bytes = joined(&TRACES[which].1);
        for edit in &edits {
            damage(&mut bytes, edit);
        }
        replay(bytes);
    }

    #[test]
    fn damaged_envelopes_end_in_a_verdict(
        which in 0..RECORDINGS.len() * 2,
        envelope in any::<Index>(),
        edits in prop::collection::vec(damages(), 0..5),
        in_parts_of in 1..3_000_usize,
    ) {
        let lines = &TRACES[which].1;
        let all = wrappings();
        let mut texts = [envelope.get(&all).around(lines), in_parts(lines, in_parts_of)].map(String::into_bytes);
        for bytes in &mut texts {
            for edit in &edits {
                damage(bytes, edit);
            }
            replay(bytes.clone());
        }
    }

    #[test]
    fn reordered_lines_are_judged((which, edits) in (0..RECORDINGS.len() * 2, prop::collection::vec(shuffles(), 1..8))) {
        let mut lines = TRACES[which].1.clone();
        for edit in &edits {
            shuffle(which, &mut lines, edit);
        }
        let errors = replay(if lines.is_empty() { Vec::new() } else { joined(&lines) }).errors;
        prop_assert!(lines.is_empty() || errors.is_empty(), "every line is as it was recorded: {errors:?}");
    }

    #[test]
    fn many_odd_values_end_in_a_verdict(
        which in 0..RECORDINGS.len() * 2,
        edits in prop::collection::vec((any::<Index>(), any::<Index>(), odd_values()), 1..12),
    ) {
        let mut lines = TRACES[which].1.clone();
        for (at, place, new) in &edits {
            let at = at.index(lines.len());
            if serde_json::from_str::<Value>(&lines[at]).is_ok_and(|line| line.as_object().is_some_and(|it| !it.is_empty())) {
                lines[at] = replace(&lines[at], *place, new.as_ref());
            }
        }
        replay(joined(&lines));
    }
}

/// Many replacements are valid values, or concern a field that nobody reads; the others are reported, at their own line.
#[test]
fn one_odd_value_is_reported_at_its_line() {
    const CASES: usize = 1000;
    let mut runner = TestRunner::deterministic();
    let strategy = (0..RECORDINGS.len() * 2, any::<Index>(), any::<Index>(), odd_values());
    let mut reported = 0;
    for _ in 0..CASES {
        let (which, at, place, new) = strategy.new_tree(&mut runner).unwrap().current();
        let mut lines = TRACES[which].1.clone();
        let at = at.index(lines.len());
        lines[at] = replace(&lines[at], place, new.as_ref());
        let errors = replay(joined(&lines)).errors;
        let damaged = Some(at as u64 + 1);
        assert!(errors.iter().all(|line| *line == damaged), "line {damaged:?} was damaged: {errors:?}");
        reported += usize::from(!errors.is_empty());
    }
    assert_eq!(reported, 434);
}

/// A broken writer may write the same odd value in the same field of every line.
#[test]
fn the_same_odd_value_in_every_line_ends_in_a_verdict() {
    let fields = [
        "active",
        "ready",
        "terminating",
        "succeeded",
        "failed",
        "startTime",
        "completionTime",
        "completedIndexes",
        "failedIndexes",
        "parallelism",
        "completions",
        "backoffLimit",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
        "generation",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "lastTransitionTime",
        "finishedAt",
        "restartCount",
        "exitCode",
        "uid",
        "name",
        "requestReceivedTimestamp",
        "stageTimestamp",
        "code",
        "phase",
        "reason",
        "batch.kubernetes.io/job-completion-index",
        "batch.kubernetes.io/job-index-failure-count",
    ];
    let values = [
        "-1",
        "0",
        "1",
        "2147483647",
        "-2147483648",
        "9223372036854775807",
        "\"\"",
        "\"0-2147483646\"",
        "\"1,0\"",
        "\"9999-12-31T23:59:59Z\"",
        "\"1970-01-01T00:00:00Z\"",
        "\"18446744073709551615\"",
        "\"2147483647\"",
        "null",
    ];
    // Every third trace: audit logs and watches alternate.
    for (name, lines) in TRACES.iter().step_by(3) {
        let text = lines.join("\n");
        for field in fields {
            for value in values {
                replay(everywhere(&text, field, value).into_bytes());
            }
        }
        assert!(!text.is_empty(), "{name}");
    }
}

/// Replaces the value of every member with this name, if it is a string or a number.
fn everywhere(text: &str, field: &str, value: &str) -> String {
    let key = format!("\"{field}\":");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&key) {
        let (before, after) = rest.split_at(at + key.len());
        let length = match after.as_bytes().first() {
            Some(b'"') => after[1..].find('"').map_or(0, |end| end + 2),
            Some(b'-' | b'0'..=b'9') => after.find([',', '}', ']']).unwrap_or(0),
            _ => 0,
        };
        out.push_str(before);
        out.push_str(if length > 0 { value } else { "" });
        rest = &after[length..];
    }
    out.push_str(rest);
    out
}

#[test]
fn deep_nesting_is_reported_at_its_line() {
    let (_, lines) = &TRACES[0];
    let mut reported = 0;
    let mut check = |damaged: &[String], parent: &str, field: &str, depth: usize| {
        let errors = replay(joined(damaged)).errors;
        assert!(errors.iter().all(|line| *line == Some(4)), "{parent}.{field} {depth}: {errors:?}");
        reported += usize::from(!errors.is_empty());
    };
    for depth in [100, 200, 5_000, 1_000_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        // In an ignored field, in fields that are read or digested, and as a document of its own.
        for field in ["managedFields", "finalizers", "template", "annotations", "conditions"] {
            let mut damaged = lines.clone();
            damaged[3] =
                lines[3].replacen("\"metadata\":{", &format!("\"metadata\":{{\"{field}\":{deep},"), 2);
            check(&damaged, "metadata", field, depth);
            damaged[3] = lines[3].replacen("\"spec\":{", &format!("\"spec\":{{\"{field}\":{deep},"), 2);
            check(&damaged, "spec", field, depth);
        }
        let mut damaged = lines.clone();
        damaged.insert(3, deep.clone());
        assert_eq!(replay(joined(&damaged)).errors, [Some(4)], "a line of {depth} brackets");
        damaged[3] = "[".repeat(depth);
        assert_eq!(replay(joined(&damaged)).errors, [Some(4)], "a line of {depth} open brackets");
    }
    assert_eq!(reported, 20);
}

#[test]
fn a_recording_twice_over_is_judged() {
    for (name, lines) in TRACES.iter() {
        let Replayed { errors, summary } = replay(joined(&[lines.clone(), lines.clone()].concat()));
        assert!(errors.is_empty(), "{name}: {errors:?}");
        assert!(!summary.jobs.is_empty(), "{name}");
    }
}

#[test]
fn an_index_text_as_long_as_an_object_may_be_is_judged() {
    let (_, lines) = TRACES.iter().find(|(name, _)| name == "success-policy.watch.jsonl").unwrap();
    let text: Vec<String> = (0..200_000).step_by(2).map(|index| index.to_string()).collect();
    for long in [text.join(","), "0-2147483646".to_owned(), ",".repeat(500_000), "0-1".repeat(100_000)] {
        let all = lines.join("\n");
        let completed = everywhere(&all, "completedIndexes", &format!("\"{long}\""));
        replay(everywhere(&completed, "completions", "2147483647").into_bytes());
        replay(everywhere(&all, "succeededIndexes", &format!("\"{long}\"")).into_bytes());
    }
}

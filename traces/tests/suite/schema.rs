//! The schema of the native format agrees with the reader, the writer, and the example on its page.

use serde_json::{Value, json};

use crate::native::as_native;
use crate::{AUDIT, WATCH, summary_of};

const SCHEMA: &str = include_str!("../../../docs/reference/schemas/trace-format.schema.json");
const PAGE: &str = include_str!("../../../docs/reference/trace-format.md");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// The example on the page.
fn example() -> &'static str {
    PAGE.split_once("```json\n").unwrap().1.split_once("```").unwrap().0
}

/// Returns `true` if a value satisfies a schema. Only the keywords in our schema are supported.
fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    schema.as_object().unwrap().iter().all(|(keyword, rule)| match keyword.as_str() {
        "$schema" | "$id" | "title" | "description" | "$defs" | "format" => true,
        "$ref" => {
            let target = root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
            fits(root, target, value)
        }
        "type" => match rule {
            Value::Array(names) => names.iter().any(|name| is_of_type(name, value)),
            name => is_of_type(name, value),
        },
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "required" => rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
        "properties" => rule
            .as_object()
            .unwrap()
            .iter()
            .all(|(name, rule)| value.get(name).is_none_or(|value| fits(root, rule, value))),
        "additionalProperties" => value.as_object().unwrap().values().all(|value| fits(root, rule, value)),
        "oneOf" => rule.as_array().unwrap().iter().filter(|rule| fits(root, rule, value)).count() == 1,
        other => panic!("this check does not know the keyword {other}"),
    })
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        other => panic!("this check does not know the type {other}"),
    }
}

fn line_fits(line: &str) -> bool {
    let schema = schema();
    fits(&schema, &schema, &serde_json::from_str(line).unwrap())
}

#[test]
fn the_documented_example_is_read_and_fits_the_schema() {
    assert!(example().lines().all(line_fits));
    assert_eq!(
        summary_of(example()),
        [
            "0:1 header 1.2",
            "0:2 Violates",
            "0:3 Start",
            "0:4 create jobs/sum 201 @293",
            "0:5 ADDED sum @293",
            "0:6 StaleRead",
            "0:7 observed @291",
            "0:8 update jobs/sum 409",
            "0:9 Restart { actor: \"job-controller\", assume: {\"JobManagedBy\": \"false\"} }",
            "0:10 End",
        ]
    );
}

#[test]
fn the_documented_example_is_what_the_writer_writes() {
    // The reader returns the header as a record, and the writer begins with one of its own.
    let written = as_native(example());
    assert_eq!(written.split_once('\n').unwrap().1, example());
}

#[test]
fn what_the_writer_writes_fits_the_schema() {
    for text in [AUDIT, WATCH] {
        let native = as_native(text);
        assert_eq!(native.lines().count(), 1 + text.lines().count());
        assert!(native.lines().all(line_fits));
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let request = |field: &str, value: Value| {
        let line = example().lines().find(|line| line.contains("\"request\"")).unwrap();
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["request"][field] = value;
        line.to_string()
    };
    let lines = [
        request("verb", json!("get")),
        request("resource", json!("cronjobs")),
        request("code", json!("201")),
        request("level", json!("All")),
        request("dryRun", json!("All")),
        r#"{"mark":{"kind":"gap"}}"#.to_owned(),
        r#"{"mark":{"kind":"eclipse"}}"#.to_owned(),
        r#"{"mark":{"kind":"restart"}}"#.to_owned(),
        r#"{"fault":{"kind":"unknown"}}"#.to_owned(),
        r#"{"observed":{"actor":"a","resource":"jobs","resourceVersion":7}}"#.to_owned(),
        r#"{"expected":{"verdict":"perhaps"}}"#.to_owned(),
        r#"{"watched":{"type":"SEEN","object":{}}}"#.to_owned(),
        r#"{"watched":{"type":"ADDED"}}"#.to_owned(),
        r#"{"weather":{}}"#.to_owned(),
    ];
    let header = example().lines().next().unwrap();
    for line in lines {
        assert!(!line_fits(&line), "the schema accepts {line}");
        let result = summary_of(format!("{header}\n{line}"));
        assert!(result[1].starts_with("trace:2: "), "the reader accepts {line}: {result:?}");
    }
}

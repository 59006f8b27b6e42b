//! Checks a report against a schema of `docs/`, with the few words of JSON Schema that it uses.

use serde_json::Value;

const REPLAY: &str = include_str!("../../../docs/reference/schemas/report.schema.json");
const CHECK: &str = include_str!("../../../docs/reference/schemas/check.schema.json");
const WALKS: &str = include_str!("../../../docs/reference/schemas/walks.schema.json");
const MUTANTS: &str = include_str!("../../../docs/reference/schemas/mutants.schema.json");
const RUN: &str = include_str!("../../../docs/reference/schemas/run.schema.json");
const VERIFY: &str = include_str!("../../../docs/reference/schemas/verify.schema.json");
const CLUSTER: &str = include_str!("../../../docs/reference/schemas/cluster.schema.json");
const FUZZ: &str = include_str!("../../../docs/reference/schemas/fuzz.schema.json");
const GENERATED: &str = include_str!("../../../docs/reference/schemas/generated.schema.json");
const RULE: &str = include_str!("../../../docs/reference/schemas/rule.schema.json");
const SCENARIO: &str = include_str!("../../../docs/reference/schemas/scenario.schema.json");

/// Panics where the report does not fit.
pub fn check(report: &Value) {
    let problems = problems(report);
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Where the report does not fit the schema of its kind.
pub fn problems(report: &Value) -> Vec<String> {
    let text = match report["kind"].as_str() {
        Some("CheckReport") => CHECK,
        Some("WalksReport") => WALKS,
        Some("MutantsReport") => MUTANTS,
        Some("RunReport") => RUN,
        Some("ClusterStatus") => CLUSTER,
        Some("FuzzReport") => FUZZ,
        Some("GeneratedReport") => GENERATED,
        Some("VerifyReport") => VERIFY,
        Some("RuleList") => RULE,
        Some("Scenario") => SCENARIO,
        _ => REPLAY,
    };
    let schema: Value = serde_json::from_str(text).unwrap();
    let mut problems = Vec::new();
    Checker { schema: &schema, problems: &mut problems }.check(&schema, report, "$");
    problems
}

struct Checker<'a> {
    schema: &'a Value,
    problems: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, rule: &Value, value: &Value, path: &str) {
        for (word, argument) in rule.as_object().unwrap() {
            match word.as_str() {
                "$ref" => {
                    let (file, pointer) = argument.as_str().unwrap().split_once('#').unwrap();
                    self.refer(file, pointer, value, path);
                }
                "type" => self.type_(argument, value, path),
                "enum" => {
                    self.holds(argument.as_array().unwrap().contains(value), path, "not one of the values")
                }
                "const" => self.holds(argument == value, path, "not the value"),
                "minimum" => {
                    let is_less = value.as_f64().is_some_and(|number| number < argument.as_f64().unwrap());
                    self.holds(!is_less, path, "too small");
                }
                "maximum" => {
                    let is_more = value.as_f64().is_some_and(|number| number > argument.as_f64().unwrap());
                    self.holds(!is_more, path, "too large");
                }
                "items" => {
                    for (position, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(argument, item, &format!("{path}[{position}]"));
                    }
                }
                "required" => {
                    for name in argument.as_array().unwrap().iter().filter_map(Value::as_str) {
                        let is_there = value.as_object().is_none_or(|object| object.contains_key(name));
                        self.holds(is_there, path, &format!("no {name}"));
                    }
                }
                "properties" | "additionalProperties" => {}
                "$schema" | "$id" | "$defs" | "title" | "description" => {}
                other => panic!("the checker does not know {other:?}"),
            }
        }
        self.members(rule, value, path);
    }

    /// A rule of the same schema, or of one beside it.
    fn refer(&mut self, file: &str, pointer: &str, value: &Value, path: &str) {
        let other: Value = match file {
            "" => return self.check(self.schema.pointer(pointer).unwrap(), value, path),
            "check.schema.json" => serde_json::from_str(CHECK).unwrap(),
            other => panic!("the checker does not know the schema {other:?}"),
        };
        let rule = other.pointer(pointer).unwrap();
        Checker { schema: &other, problems: self.problems }.check(rule, value, path);
    }

    fn members(&mut self, rule: &Value, value: &Value, path: &str) {
        for (name, member) in value.as_object().into_iter().flatten() {
            match (rule["properties"].get(name), &rule["additionalProperties"]) {
                (Some(rule), _) => self.check(rule, member, &format!("{path}.{name}")),
                (None, Value::Bool(false)) => self.holds(false, path, &format!("unexpected {name}")),
                (None, rule @ Value::Object(_)) => self.check(rule, member, &format!("{path}.{name}")),
                (None, _) => {}
            }
        }
    }

    fn type_(&mut self, types: &Value, value: &Value, path: &str) {
        let is = |name: &str| match name {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "null" => value.is_null(),
            other => panic!("the checker does not know the type {other:?}"),
        };
        let names: Vec<&str> = match types {
            Value::String(name) => vec![name],
            several => several.as_array().unwrap().iter().filter_map(Value::as_str).collect(),
        };
        self.holds(names.iter().any(|name| is(name)), path, &format!("not of type {}", names.join(" or ")));
    }

    fn holds(&mut self, holds: bool, path: &str, problem: &str) {
        if !holds {
            self.problems.push(format!("{path}: {problem}"));
        }
    }
}

//! Validates reports and scenarios against the published schemas of docs/reference/schemas.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::{Registry, Validator};
use serde_json::Value;

/// The schemas by their URIs.
static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/schemas");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let schemas = files.map(|file| {
        let schema: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let uri = schema["$id"].as_str().unwrap_or_else(|| panic!("{} has no $id", file.display()));
        (uri.to_owned(), schema)
    });
    schemas.collect()
});

/// The validator of each schema, by the `kind` of its documents.
static VALIDATORS: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let all = || SCHEMAS.iter().map(|(uri, schema)| (uri.as_str(), schema));
    let registry = all().fold(Registry::new(), |registry, (uri, schema)| registry.add(uri, schema).unwrap());
    let registry = registry.prepare().unwrap();
    let validators = all().filter_map(|(uri, schema)| {
        let options = jsonschema::options().with_registry(&registry);
        let validator = options.build(schema).unwrap_or_else(|error| panic!("{uri}: {error}"));
        Some((kind(schema)?.to_owned(), validator))
    });
    validators.collect()
});

/// The `kind` of the documents of a schema, which may be a reference to one of its definitions.
fn kind(schema: &Value) -> Option<&str> {
    let pointer = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#')).unwrap_or_default();
    let kind = &schema.pointer(pointer)?["properties"]["kind"];
    let kind = match kind["$ref"].as_str().and_then(|it| it.strip_prefix('#')) {
        Some(pointer) => schema.pointer(pointer)?,
        None => kind,
    };
    kind["const"].as_str().or_else(|| kind["enum"][0].as_str())
}

/// Panics if a document does not fit the schema of its kind.
pub fn check(document: &Value) {
    let problems = problems(document);
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The places at which a document does not fit the schema of its kind, each with the reason.
pub fn problems(document: &Value) -> Vec<String> {
    let kind = document["kind"].as_str().unwrap_or_default();
    let validator = VALIDATORS.get(kind).unwrap_or_else(|| panic!("no schema has the kind {kind:?}"));
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_schema_is_a_valid_schema() {
    assert!(SCHEMAS.len() >= 12, "{:?}", SCHEMAS.keys());
    for (uri, schema) in SCHEMAS.iter() {
        if let Err(error) = jsonschema::meta::validate(schema) {
            panic!("{uri}{}: {error}", error.instance_path());
        }
    }
    assert!(VALIDATORS.len() >= 11, "{:?}", VALIDATORS.keys());
}

/// A misspelt keyword is no error of JSON Schema: it is ignored.
#[test]
fn the_schemas_have_only_known_keywords() {
    const KNOWN: &[&str] = &[
        "$schema",
        "$id",
        "$defs",
        "$ref",
        "title",
        "description",
        "type",
        "enum",
        "const",
        "minimum",
        "maximum",
        "pattern",
        "format",
        "items",
        "minItems",
        "required",
        "properties",
        "additionalProperties",
        "oneOf",
        "anyOf",
        "default",
        "examples",
    ];
    fn visit(schema: &Value, at: &str) {
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            assert!(KNOWN.contains(&keyword.as_str()), "{at}: unknown keyword {keyword:?}");
            match keyword.as_str() {
                "properties" | "$defs" => {
                    let members = value.as_object().unwrap();
                    members.iter().for_each(|(name, schema)| visit(schema, &format!("{at}/{name}")));
                }
                "items" | "additionalProperties" => visit(value, at),
                "oneOf" | "anyOf" => value.as_array().unwrap().iter().for_each(|schema| visit(schema, at)),
                _ => {}
            }
        }
    }
    SCHEMAS.iter().for_each(|(uri, schema)| visit(schema, uri));
}

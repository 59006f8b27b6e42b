//! The format of scenarios: the published schema and the reader agree.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::run;
use crate::schema;

#[test]
fn every_scenario_of_the_library_fits_its_schema() {
    let entries = |folder: &str| {
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    for path in ["", "/defects", "/findings"]
        .into_iter()
        .flat_map(|it| entries(&format!("tests/scenarios{it}")))
        .filter(|path| path.is_file())
    {
        let mut scenario: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        schema::check(&scenario);
        if !scenario["steps"].is_array() {
            continue;
        }
        scenario["steps"][0]["waits"] = 1.into();
        assert_eq!(
            schema::problems(&scenario),
            ["/steps/0: Additional properties are not allowed ('waits' was unexpected)"]
        );
    }
}

/// An unknown field at each place, and the definition of the place in the schema.
const PLACES: &[(&str, &str)] = &[
    ("scenario", "zz: 1\n"),
    ("job", "jobs: [{zz: 1}]\n"),
    ("specExcerpt", "jobs: [{name: a, spec: {zz: 1}}]\n"),
    ("podSpec", "jobs: [{name: a, spec: {template: {spec: {zz: 1}}}}]\n"),
    ("failureRule", "jobs: [{name: a, spec: {podFailurePolicy: {rules: [{zz: 1}]}}}]\n"),
    ("exitCodes", "jobs: [{name: a, spec: {podFailurePolicy: {rules: [{onExitCodes: {zz: 1}}]}}}]\n"),
    ("successRule", "jobs: [{name: a, spec: {successPolicy: {rules: [{zz: 1}]}}}]\n"),
    ("podBefore", "podsBefore: [{zz: 1}]\n"),
    ("controller", "controller: {zz: 1}\n"),
    ("ttlController", "ttlController: {zz: 1}\n"),
    ("apiServer", "apiServer: {zz: 1}\n"),
    ("watches", "watches: {zz: 1}\n"),
    ("bounds", "bounds: {zz: 1}\n"),
    ("step", "steps: [{zz: 1}]\n"),
    ("podTarget", "steps: [{run: {zz: 1}}]\n"),
    ("failure", "steps: [{fail: {zz: 1}}]\n"),
    ("edit", "steps: [{edit: {zz: 1}}]\n"),
    ("templateEdit", "steps: [{edit: {template: {zz: 1}}}]\n"),
    ("templateMetadata", "steps: [{edit: {template: {metadata: {zz: 1}}}}]\n"),
    ("schedulingEdit", "steps: [{edit: {template: {spec: {zz: 1}}}}]\n"),
    ("jobMetadata", "jobs: [{name: a, metadata: {zz: 1}}]\n"),
    ("podDeletion", "steps: [{deletePod: {zz: 1}}]\n"),
    ("request", "steps: [{request: {zz: 1}}]\n"),
    ("heldRequest", "steps: [{heldRequest: {zz: 1}}]\n"),
    ("watch", "steps: [{hold: {zz: 1}}]\n"),
    ("deviation", "deviations: [{zz: 1}]\n"),
    ("crash", "steps: [{crash: {zz: 1}}]\n"),
    ("claims", "expect: [{zz: 1}]\n"),
    ("podClaims", "expect: [{pods: {zz: 1}}]\n"),
];

#[test]
fn the_schema_has_the_fields_that_the_reader_knows() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/reference/schemas/scenario.schema.json")).unwrap();
    for (definition, tail) in PLACES {
        let said = run(&[], tail).err;
        let (_, known) =
            said.split_once("expected one of ").or_else(|| said.split_once("expected ")).unwrap();
        let mut known: Vec<&str> = known.trim().split([',', ' ']).filter(|it| !it.is_empty()).collect();
        known.retain(|it| *it != "or");
        let mut known: Vec<&str> = known.iter().map(|it| it.trim_matches('`')).collect();
        known.sort_unstable();
        let published = schema["$defs"][definition]["properties"].as_object().unwrap();
        assert_eq!(published.keys().collect::<Vec<_>>(), known, "{definition}: {said}");
    }
}

//! The bill of materials is complete, and fits CycloneDX.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeSet;
use std::path::Path;

use jobcheck_sbom::sbom;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn texts<'a>(of: &'a Value, key: &str) -> Vec<&'a str> {
    of.as_array().unwrap().iter().map(|it| it[key].as_str().unwrap()).collect()
}

#[test]
fn each_component_has_an_identity_a_licence_and_a_checksum() {
    let bill = sbom(root(), false).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    assert_eq!(bill["metadata"]["component"]["name"], "jobcheck");
    let all = bill["components"].as_array().unwrap();
    assert!(all.len() > 150, "{}", all.len());
    for one in all {
        let name = one["name"].as_str().unwrap();
        assert!(one["licenses"][0]["expression"].as_str().is_some_and(|it| !it.contains('/')), "{one}");
        let checksum = one["hashes"][0]["content"].as_str().unwrap_or_default();
        assert!(name.starts_with("jobcheck-") || checksum.len() == 64, "{one}");
    }
}

/// The rules of the schema that ask for more than the form: references are unique, and name components.
#[test]
fn references_are_unique_and_lead_somewhere() {
    let bill = sbom(root(), false).unwrap();
    let refs = texts(&bill["components"], "bom-ref");
    let own = bill["metadata"]["component"]["bom-ref"].as_str().unwrap();
    let unique: BTreeSet<&str> = refs.iter().copied().chain([own]).collect();
    assert_eq!(unique.len(), refs.len() + 1);
    assert_eq!(texts(&bill["dependencies"], "ref").into_iter().collect::<BTreeSet<_>>(), unique);
    for one in bill["dependencies"].as_array().unwrap() {
        for other in one["dependsOn"].as_array().unwrap() {
            assert!(unique.contains(other.as_str().unwrap()), "{other}");
        }
    }
}

#[test]
fn dependencies_of_tests_are_no_part_of_the_program() {
    let bill = sbom(root(), false).unwrap();
    let names: BTreeSet<&str> = texts(&bill["components"], "name").into_iter().collect();
    assert!(names.contains("kube-client") && names.contains("jobcheck-judge"));
    for other in ["proptest", "jobcheck-site", "jobcheck-tests", "jobcheck-inputs", "jsonschema"] {
        assert!(!names.contains(other), "{other}");
    }
}

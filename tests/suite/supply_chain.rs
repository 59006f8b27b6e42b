//! Every dependency is from the registry, and has a licence that `deny.toml` allows.

use std::collections::BTreeSet;
use std::fs;

use jobcheck_tests::corpus::root;

use crate::tidy::metadata;

/// Returns the strings of a list in `deny.toml`.
fn listed(text: &str, key: &str) -> BTreeSet<String> {
    let start = text.find(&format!("\n{key} = [")).expect("deny.toml has the list");
    let list = text[start..].split(']').next().unwrap_or_default();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns true if the allowed licences satisfy an SPDX expression: all parts of an `AND`, and one part of each `OR`.
/// Parentheses and exceptions (`WITH`) are ignored.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let one = |name: &str| {
        let name = name.trim().trim_matches(|c| c == '(' || c == ')');
        allowed.contains(name.split(" WITH ").next().unwrap_or(name).trim())
    };
    expression.split(" AND ").all(|all| all.split(" OR ").any(one))
}

#[test]
fn every_dependency_has_an_allowed_licence_and_comes_from_the_registry() {
    let allowed = listed(&fs::read_to_string(root().join("deny.toml")).unwrap(), "allow");
    assert!(allowed.contains("MIT"), "{allowed:?}");
    let metadata = metadata();
    let (mut wrong, mut foreign) = (Vec::new(), 0);
    for package in metadata["packages"].as_array().unwrap() {
        let Some(source) = package["source"].as_str() else { continue };
        foreign += 1;
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or("none");
        if !is_met(licence, &allowed) {
            wrong.push(format!("{name} has the licence {licence}"));
        }
        if !source.starts_with("registry+") {
            wrong.push(format!("{name} comes from {source}"));
        }
    }
    assert!(wrong.is_empty() && foreign > 100, "of {foreign}: {wrong:#?}");
}

/// A licence that no dependency has must not be on the list.
#[test]
fn every_allowed_licence_is_needed() {
    let allowed = listed(&fs::read_to_string(root().join("deny.toml")).unwrap(), "allow");
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let needed = |licence: &String| {
        packages.iter().filter_map(|it| it["license"].as_str()).any(|it| it.contains(&**licence))
    };
    let unused: Vec<&String> = allowed.iter().filter(|it| !needed(it)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn a_licence_expression_is_met_by_one_of_its_alternatives() {
    let allowed: BTreeSet<String> = ["MIT".to_owned(), "ISC".to_owned()].into();
    assert!(is_met("MIT OR Apache-2.0", &allowed) && is_met("Apache-2.0/MIT", &allowed));
    assert!(is_met("MIT AND ISC", &allowed) && !is_met("MIT AND BSD-3-Clause", &allowed));
    assert!(is_met("(GPL-2.0 OR MIT) AND ISC", &allowed) && !is_met("GPL-2.0", &allowed));
}

/// Files beside the sources in a checkout, such as recordings, do not get into the build of the image.
#[test]
fn the_image_is_built_from_the_sources_alone() {
    let text = fs::read_to_string(root().join(".containerignore")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!((lines.first(), lines.last()), (Some(&"*"), Some(&"**/target")));
    let listed: BTreeSet<&str> = lines.iter().filter_map(|line| line.strip_prefix('!')).collect();
    let metadata = metadata();
    let members = metadata["packages"].as_array().unwrap().iter().filter(|it| it["source"].is_null());
    let folder = |package: &serde_json::Value| {
        let manifest = std::path::PathBuf::from(package["manifest_path"].as_str().unwrap());
        let inside = manifest.strip_prefix(root()).unwrap().to_owned();
        inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned()
    };
    let mut needed: BTreeSet<String> = members.map(folder).collect();
    // The texts of the requirements, the settings of the compiler, and the workspace.
    needed.extend(["docs", "rust-toolchain.toml", "Cargo.toml", "Cargo.lock"].map(str::to_owned));
    assert_eq!(listed, needed.iter().map(String::as_str).collect());
}

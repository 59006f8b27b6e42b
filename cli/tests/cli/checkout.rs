//! The whole of `jobcheck verify`, outside a checkout. It explores all default scopes of specification and controllers, so that
//! no other test does.
//!
//! It is in a file of its own because tests begin in the order of their names. This one computes for minutes, and those after it
//! mostly wait for control planes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::browser::Browser;
use crate::pages::is_plain;
use crate::readme::verify_sample;
use crate::schema;
use crate::support::{Folder, binary, finish};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("traces/corpus")
}

/// Scenarios and corpus are part of the binary. The extents are those in the README.
#[test]
fn nothing_is_missing_outside_a_checkout() {
    let folder = Folder::new();
    let run = finish(binary().current_dir(folder.path("")).args(["verify"]), b"");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("every part holds") && !run.out.contains("not run"), "{}", run.out);
    assert_eq!(extents(&run.out), extents(&verify_sample()));
    for part in ["recordings", "invalid"] {
        let files = fs::read_dir(corpus().join(part)).unwrap().count();
        assert!(run.out.contains(&format!("{files} traces")), "{part}: {}", run.out);
    }
    let report = folder.path("target/jobcheck");
    assert!(report.join("verify.json").is_file());
    let explored = ["specification.json", "shipped-controllers.json", "mirror-protocol.json"].map(|file| {
        let part = fs::read_to_string(report.join(file)).unwrap();
        serde_json::from_str::<Value>(&part).unwrap()
    });
    schema::check(&explored[1]);
    has_its_sizes(&explored);
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    for part in [
        "<title>every part holds</title>",
        "<a href=\"./shipped-controllers.json\">shipped controllers</a>",
        "States by depth, at most ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    if let Some(mut browser) = Browser::start("nothing_is_missing_outside_a_checkout") {
        is_plain(&mut browser, &report.join("index.html"));
    }
}

/// Compares the sizes of all scopes with the file `sizes.tsv`. A change of these numbers is a change of the specification, of
/// a process, of the environment, or of a bound. Explain it in the commit. `JOBCHECK_BLESS=1` accepts it.
fn has_its_sizes(explored: &[Value]) {
    let scopes = explored.iter().flat_map(|part| part["scopes"].as_array().unwrap());
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let columns = ["subject", "scope", "states", "depth", "rests"];
    let row = |scope: &Value| columns.map(|column| cell(&scope[column])).join("\t");
    let rows = [columns.join("\t")].into_iter().chain(scopes.map(row));
    let found: String = rows.map(|row| row + "\n").collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/sizes.tsv");
    if std::env::var_os("JOBCHECK_BLESS").is_some() {
        fs::write(&file, &found).unwrap();
    }
    let pinned = fs::read_to_string(&file).unwrap();
    let differs: Vec<_> = found.lines().filter(|row| !pinned.lines().any(|it| it == *row)).collect();
    assert!(differs.is_empty() && found.len() == pinned.len(), "{differs:#?}");
}

/// The rows of the table without their times.
fn extents(table: &str) -> Vec<String> {
    let rows = table.lines().skip(1).take(6).map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.map(|words| words[..words.len() - 2].join(" ")).collect()
}

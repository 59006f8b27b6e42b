//! The whole of `jobcheck verify`, outside a checkout.
//!
//! It is in a file of its own because tests begin in the order of their names. This one computes for minutes, and those after it
//! mostly wait for control planes.

use std::fs;
use std::path::{Path, PathBuf};

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
    for file in ["specification.json", "shipped-controllers.json", "mirror-protocol.json"] {
        assert!(report.join(file).is_file(), "{file}");
    }
    let part = fs::read_to_string(report.join("shipped-controllers.json")).unwrap();
    schema::check(&serde_json::from_str(&part).unwrap());
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

/// The rows of the table without their times.
fn extents(table: &str) -> Vec<String> {
    let rows = table.lines().skip(1).take(6).map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.map(|words| words[..words.len() - 2].join(" ")).collect()
}

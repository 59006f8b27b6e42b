//! `jobcheck verify`.

use std::fs;
use std::path::Path;

use crate::browser::Browser;
use crate::pages::is_plain;
use crate::schema;
use crate::support::{Folder, jobcheck, root};

/// Copies these files of the repository into a folder.
fn copy(folder: &Path, files: &[&str]) {
    fs::create_dir_all(folder).unwrap();
    for file in files {
        let from = root().join(file);
        fs::copy(&from, folder.join(from.file_name().unwrap())).unwrap();
    }
}

/// A part that does not hold, and a part that was not run, are named, and neither passes. Chosen parts alone are verified.
#[test]
fn a_part_that_is_wrong_or_missing_is_named_and_does_not_pass() {
    let folder = Folder::new();
    let (corpus, scenarios, report) =
        (folder.path("corpus"), folder.path("scenarios"), folder.path("report"));
    copy(&corpus.join("recordings"), &["traces/corpus/recordings/nonindexed-success.audit.jsonl"]);
    let invalid = "traces/corpus/invalid/FT-03--released-before-recorded.audit.jsonl";
    copy(&corpus.join("invalid"), &[invalid, "traces/corpus/recordings/nonindexed-success.audit.jsonl"]);
    let [corpus, scenarios, report] = [&corpus, &scenarios, &report].map(|path| path.to_str().unwrap());
    let verify = |chosen: &[&str]| {
        let args =
            ["verify", "--runs", "1", "--corpus", corpus, "--scenarios", scenarios, "--report", report];
        let parts = chosen.iter().flat_map(|part| ["--part", part]);
        jobcheck(args.into_iter().chain(["-ojson"]).chain(parts))
    };
    let run = verify(&["invalid-traces", "scenarios", "recordings"]);
    assert_eq!(run.code, 1, "{run:?}");
    schema::check(&run.json());
    let json = run.json();
    let parts: Vec<_> = json["parts"].as_array().unwrap().iter().map(|part| &part["exitCode"]).collect();
    assert_eq!(parts, [3, 0, 1], "{json}");
    assert!(json["parts"][0]["wrong"][0].as_str().unwrap().contains("--scenarios DIR"), "{json}");
    let wrong = json["parts"][2]["wrong"].as_array().unwrap();
    assert!(wrong.len() == 1 && wrong[0].as_str().unwrap().contains("nonindexed-success"), "{json}");
    for file in ["verify.json", "recordings.json", "invalid-traces.json"] {
        assert!(Path::new(report).join(file).is_file(), "{file}");
    }
    let page = fs::read_to_string(Path::new(report).join("index.html")).unwrap();
    for part in [
        "<title>not every chosen part holds</title>",
        "<a href=\"./recordings.json\">recordings</a>",
        "--scenarios DIR",
        "nonindexed-success.audit.jsonl",
    ] {
        assert!(page.contains(part), "{part}");
    }
    if let Some(mut browser) = Browser::start("a_part_that_is_wrong_or_missing_is_named") {
        is_plain(&mut browser, &Path::new(report).join("index.html"));
    }
    assert_eq!(verify(&["recordings"]).code, 0);
}

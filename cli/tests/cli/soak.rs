//! The example `soak`, for a short time: no Job is lost, and the samples are written.

use std::path::Path;

use crate::support::Folder;

#[path = "../../examples/soak/mod.rs"]
mod run;

#[tokio::test(flavor = "multi_thread")]
async fn cut_watches_and_other_disturbances_lose_no_job() {
    let folder = Folder::new();
    let report = folder.path("soak");
    let soak = run::Soak { jobs: 400, window: 60, report: report.clone() };
    let text = run::soak(Path::new(env!("CARGO_BIN_EXE_jobcheck")), &soak).await.unwrap();
    assert!(text.contains("400 Jobs in ") && text.contains("events of 400 Jobs"), "{text}");
    for process in ["controller 1", "controller 2", "record", "replay"] {
        assert!(text.contains(&format!("| {process} | ")), "{text}");
    }
    let rows = std::fs::read_to_string(report.with_extension("csv")).unwrap();
    assert!(rows.starts_with("jobs,seconds,controller 1 bytes,") && rows.lines().count() > 50, "{rows}");
    assert!(std::fs::read_to_string(report.with_extension("svg")).unwrap().contains("</svg>"));
}

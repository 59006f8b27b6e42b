//! The report on a trace does not depend on how many finished Jobs are kept as they are, and not as bytes.

use std::path::{Path, PathBuf};

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_tests::corpus::folder;
use jobcheck_traces::Input;
use serde_json::Value;

fn report(trace: &[Input], finished_at_hand: usize) -> Value {
    let judging =
        Judging { keeps_story: true, finished_at_hand: Some(finished_at_hand), ..Judging::default() };
    serde_json::to_value(judge(&[trace.to_vec()], &judging, &mut |_, _| {})).unwrap()
}

fn traces(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|it| it.to_str()) {
            _ if path.is_dir() => traces(&path, found),
            Some("jsonl" | "gz") => found.push(path),
            _ => {}
        }
    }
}

/// Each event unparks its Job, and parks it again if it is finished.
#[test]
fn jobs_that_are_parked_at_once_have_the_same_verdicts() {
    let mut paths = Vec::new();
    traces(&folder(), &mut paths);
    assert!(paths.len() > 500, "{}", paths.len());
    for path in paths {
        let trace = [Input::Path(path.clone())];
        assert!(report(&trace, 0) == report(&trace, usize::MAX), "{}", path.display());
    }
}

/// Many Jobs end, and what concerns all of them happens while they are parked.
#[test]
fn recordings_that_are_merged_have_the_same_verdicts() {
    for form in ["audit", "watch"] {
        let mut paths = Vec::new();
        traces(&folder().join("recordings"), &mut paths);
        paths.retain(|path| path.to_string_lossy().ends_with(&format!(".{form}.jsonl")));
        paths.sort();
        let all: Vec<Input> = paths.into_iter().map(Input::Path).collect();
        assert!(all.len() > 10, "{form}: {}", all.len());
        let whole = report(&all, usize::MAX);
        for room in [0, 1, 3] {
            assert!(report(&all, room) == whole, "{form}, {room} at hand");
        }
    }
}

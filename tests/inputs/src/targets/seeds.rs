//! Seeds: recordings of the corpus, scenarios, and envelopes of log systems.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

/// The files of a folder with this end of their names, and at most this size, sorted.
///
/// # Panics
///
/// The folder cannot be read: seeds are a part of the repository.
pub(super) fn files(folder: &str, end: &str, most: usize) -> Vec<Vec<u8>> {
    let folder = root().join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(end));
    paths.sort();
    let texts = paths.iter().filter_map(|path| fs::read(path).ok());
    texts.filter(|text| text.len() <= most).collect()
}

/// Small recordings of all forms.
pub(super) fn traces() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (folder, end, count) in [
        ("traces/corpus/recordings", ".audit.jsonl", 12),
        ("traces/corpus/recordings", ".watch.jsonl", 12),
        ("traces/corpus/known", ".jsonl", 10),
        ("traces/corpus/invalid", ".jsonl", 30),
        ("traces/corpus/invalid", ".native.jsonl", 10),
        ("traces/corpus/cases/wrong", ".jsonl", 20),
    ] {
        let all = files(folder, end, 90_000);
        let step = (all.len() / count).max(1);
        found.extend(all.into_iter().step_by(step));
    }
    found
}

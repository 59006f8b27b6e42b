//! The scenarios of `tests/scenarios` and the traces of `traces/corpus`, as they were when this binary was built.

use std::io::Read;
use std::sync::OnceLock;

use flate2::read::GzDecoder;

/// A file of the library.
#[derive(Debug)]
pub struct Entry {
    /// The path below `tests/scenarios` or `traces/corpus`, with the extension. An example is
    /// `invalid/FT-03--released-before-recorded.audit.jsonl`.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// The path without its extension, such as `defects/b18`.
    pub fn name(&self) -> &str {
        self.path.rsplit_once('.').map_or(&self.path, |(name, _)| name)
    }

    /// The content as text, for a scenario.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The scenarios, in the order of their paths.
pub fn scenarios() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| unpack(include_bytes!(concat!(env!("OUT_DIR"), "/scenarios.gz"))))
}

/// Returns the scenario with this name: `backoff-limit`, `defects/b18`, or `b18`. Returns the first if several have it.
pub fn scenario(name: &str) -> Option<&'static Entry> {
    let is_named = |entry: &&Entry| entry.name() == name || entry.name().rsplit('/').next() == Some(name);
    scenarios().iter().find(is_named)
}

/// The traces of a folder of the corpus, `recordings` or `invalid`, in the order of their paths.
pub fn traces(folder: &str) -> impl Iterator<Item = &'static Entry> {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    let all = ENTRIES.get_or_init(|| unpack(include_bytes!(concat!(env!("OUT_DIR"), "/corpus.gz"))));
    all.iter().filter(move |entry| entry.path.split('/').next() == Some(folder))
}

/// Reads an archive of the build script.
fn unpack(archive: &[u8]) -> Vec<Entry> {
    let mut bytes = Vec::new();
    GzDecoder::new(archive).read_to_end(&mut bytes).expect("the build script has packed it");
    let (mut entries, mut rest) = (Vec::new(), &bytes[..]);
    while !rest.is_empty() {
        let (path, after) = line(rest);
        let (length, after) = line(after);
        let (content, after) = after.split_at(length.parse().expect("the build script wrote a length"));
        entries.push(Entry { path, bytes: content.to_vec() });
        rest = after;
    }
    entries
}

/// Splits the first line from the rest.
fn line(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').expect("the build script wrote a line");
    (String::from_utf8_lossy(&bytes[..end]).into_owned(), &bytes[end + 1..])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// The folders whose files are packed.
    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn the_library_has_every_file_of_the_checkout_byte_for_byte() {
        let corpus = ["recordings", "invalid"].map(|folder| {
            let files = fs::read_dir(root().join("traces/corpus").join(folder)).unwrap().count();
            assert_eq!(traces(folder).count(), files, "{folder}");
            traces(folder)
        });
        for entry in corpus.into_iter().flatten() {
            assert_eq!(entry.bytes, fs::read(root().join("traces/corpus").join(&entry.path)).unwrap());
        }
        for entry in scenarios() {
            assert_eq!(entry.bytes, fs::read(root().join("tests/scenarios").join(&entry.path)).unwrap());
        }
        assert!(scenarios().is_sorted_by_key(|entry| &entry.path));
    }

    #[test]
    fn a_scenario_is_found_by_its_name_with_or_without_its_folder() {
        let path = |name: &str| scenario(name).map(|entry| entry.path.as_str());
        assert_eq!(path("backoff-limit"), Some("backoff-limit.yaml"));
        assert_eq!(path("defects/b18"), Some("defects/b18.yaml"));
        assert_eq!(path("b18"), Some("defects/b18.yaml"));
        assert_eq!(path("nothing-like-it"), None);
    }
}

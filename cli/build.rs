//! Packs the library of scenarios and the corpus of traces into the binary (`src/library.rs`), so that it needs no
//! checkout.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    // Links, so that the crate can be packed with what they lead to.
    let library = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("library");
    pack("scenarios", &library.join("scenarios"), &["."])?;
    pack("corpus", &library.join("corpus"), &["recordings", "invalid"])
}

/// Writes the files below these folders as `NAME.gz`: for each file a line with its path, a line with its length, and its
/// bytes.
fn pack(name: &str, root: &Path, folders: &[&str]) -> io::Result<()> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let mut archive = GzEncoder::new(File::create(out.join(format!("{name}.gz")))?, Compression::default());
    for folder in folders {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in files(&folder)? {
            let path = file.strip_prefix(root).unwrap_or(&file);
            let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            let bytes = fs::read(&file)?;
            writeln!(archive, "{}\n{}", parts.join("/").trim_start_matches("./"), bytes.len())?;
            archive.write_all(&bytes)?;
        }
    }
    archive.finish()?.flush()
}

/// The scenarios and traces below a folder, in the order of their paths.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut open, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "yaml" || it == "jsonl") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

//! Writes the site: `cargo run -p jobcheck-site -- [FOLDER]`, by default to `target/site`. Dead links are errors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = std::env::args_os().nth(1).map_or_else(|| root.join("target/site"), PathBuf::from);
    match write(&root, &out) {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            eprintln!("{}", problems.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{}: {error}", out.display());
            ExitCode::FAILURE
        }
    }
}

/// Writes and checks the site. Returns its problems.
fn write(root: &Path, out: &Path) -> std::io::Result<Vec<String>> {
    let built = jobcheck_site::build(root, out)?;
    let checked = jobcheck_site::links::check(out)?;
    let mut problems = built.problems;
    problems.extend(checked.problems);
    for page in jobcheck_site::not_listed(root)? {
        problems.push(format!("docs/SUMMARY.md does not list {page}"));
    }
    eprintln!(
        "{} pages, {} other files, {} links: open {}",
        built.pages,
        built.files,
        checked.links,
        out.join("index.html").display()
    );
    Ok(problems)
}

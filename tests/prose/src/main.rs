//! Lists the violations of the prose rules: `cargo run -p jobcheck-prose -- [PATH...]`, by default in the whole
//! workspace.
//!
//! Exit code 0 means no violations, 1 violations, and 2 that a file cannot be read.
#![expect(clippy::print_stdout, reason = "a tool prints what it finds")]

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let mut count = 0;
    for path in paths {
        let problems = jobcheck_prose::files(&path).and_then(|files| {
            files.iter().map(|file| jobcheck_prose::check(file)).collect::<Result<Vec<_>, _>>()
        });
        match problems {
            Ok(problems) => {
                for problem in problems.into_iter().flatten() {
                    println!("{problem}");
                    count += 1;
                }
            }
            Err(error) => {
                eprintln!("prose: {}: {error}", path.display());
                return ExitCode::from(2);
            }
        }
    }
    println!("{count} problems");
    ExitCode::from(u8::from(count > 0))
}

//! Prints the software bill of materials: `cargo run -p jobcheck-sbom > jobcheck.cdx.json`. With `--no-go`, Go is not asked.
#![expect(clippy::print_stdout, reason = "a tool prints what it finds")]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let go = !words.iter().any(|word| word == "--no-go");
    if words.iter().any(|word| word != "--no-go") {
        eprintln!("usage: jobcheck-sbom [--no-go]");
        return ExitCode::from(2);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    match jobcheck_sbom::sbom(root, go) {
        Ok(bill) => {
            println!("{bill:#}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("sbom: {problem}");
            ExitCode::from(4)
        }
    }
}

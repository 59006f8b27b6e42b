//! Makes the invalid traces: `cargo run -p jobcheck-tests --bin corpus [-- ID]`.
#![expect(clippy::print_stdout, reason = "a tool for people")]

use std::fs;
use std::process::ExitCode;

use jobcheck_tests::corpus::{cases, folder, make};

fn main() -> ExitCode {
    let only = std::env::args().nth(1);
    match write(only.as_deref()) {
        Ok(count) => {
            println!("{count} traces written to {}", folder().join("invalid").display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(only: Option<&str>) -> Result<usize, String> {
    let target = folder().join("invalid");
    fs::create_dir_all(&target).map_err(|error| error.to_string())?;
    let cases = cases()?;
    let wanted = cases.iter().filter(|case| only.is_none_or(|id| case.requirement == id));
    let mut count = 0;
    for case in wanted {
        fs::write(target.join(case.file_name()), make(case)?).map_err(|error| error.to_string())?;
        count += 1;
    }
    Ok(count)
}

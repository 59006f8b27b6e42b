//! Runs the shipped controllers, `record`, and `replay` for a long time on the embedded API server, and samples their
//! memory.
//!
//! ```text
//! cargo build --release -p jobcheck && cargo run --release -p jobcheck --example soak -- --jobs 1000000
//! ```
//!
//! Two replicas of the controllers compete for one Lease. The Jobs of a window live at the same time. A kubelet ends
//! their pods, some by a failure, and the TTL controller deletes finished Jobs. Meanwhile watches are cut, and the history
//! is compacted so that they expire (410). The token and the certificate are renewed, the Lease is stolen, and the clock of the
//! API server jumps.
//! `record` writes into `replay`, so that the judge sees all. Ctrl-C ends the run with a verdict on its Jobs so far.
//!
//! The run fails
//!
//! - if a Job is lost, or a process ends,
//! - if the judge finds a violation,
//! - if the memory of a process is not within 10 % of its value after the first tenth. The judge may keep 2 kB of each Job.
#![expect(clippy::print_stdout, reason = "a tool prints what it finds")]

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Parser;

#[path = "soak/mod.rs"]
mod run;

/// Run the controllers for a long time, and sample their memory.
#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    soak: run::Soak,
    /// The program; by default the one beside the folder of this example.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let own = std::env::current_exe()?;
    let beside = own.parent().and_then(Path::parent).map(|it| it.join("jobcheck"));
    let program = cli.program.or(beside).context("this program has no folder")?;
    ensure!(program.exists(), "{} is not there: build it first", program.display());
    print!("{}", run::soak(&program, &cli.soak).await?);
    Ok(())
}

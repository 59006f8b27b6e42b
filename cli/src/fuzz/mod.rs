//! `jobcheck fuzz`: random scenarios with the shipped or the built-in controllers.
//!
//! | module | content |
//! | --- | --- |
//! | `sim` | random scenarios on the embedded API server |
//! | `cluster` | random scenarios on a real control plane |
//! | `generated` | paths through the scopes of the model, on the embedded API server |

mod args;
#[cfg(feature = "cluster")]
mod cluster;
mod generated;
mod sim;

use anyhow::Context;
use jobcheck_judge::report::Exit;

pub use self::args::FuzzArgs;
use crate::global::Global;
use crate::parse::first_seed;
use crate::save::Folder;
use crate::text::of_path;
use crate::{check, output};

/// Runs random scenarios, and prints the report. Returns the exit code.
pub fn run(args: &FuzzArgs, global: &Global) -> Exit {
    if let Some(why) = args.mutant.and_then(check::not_in_the_plan).or_else(|| args.objection()) {
        output::error(why);
        return Exit::Unreadable;
    }
    let seed = first_seed(args.seed, global);
    if let Some(scopes) = &args.generated {
        return generated::run(args, scopes, seed, global);
    }
    #[cfg(feature = "cluster")]
    if args.target.is_real() {
        return cluster::run(args, seed, global);
    }
    sim::run(args, seed, global)
}

/// Writes the scenario and the trace of a run.
fn write(folder: Folder<'_>, seed: u64, scenario: &str, trace: &[u8]) -> anyhow::Result<()> {
    let directory = folder.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", of_path(directory)))?;
    let file = directory.join(format!("fuzz-{seed}.yaml"));
    jobcheck_traces::files::write(&file, scenario.as_bytes())
        .with_context(|| format!("cannot write {}", of_path(&file)))?;
    let trace = folder.write(&format!("fuzz-{seed}"), trace)?;
    for file in [file, trace] {
        output::note(format!("{} is written", of_path(&file)));
    }
    Ok(())
}

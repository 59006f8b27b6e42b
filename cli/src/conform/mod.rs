//! `jobcheck conform`: scenarios against a controller that is already running somewhere.
//!
//! | module | content |
//! | --- | --- |
//! | `args` | the arguments |
//! | `suite` | the profiles mirror, aggregate and field: `jobcheck_conform` |
//! | `executor` | the profiles executor and ttl: the library of scenarios, as in `jobcheck run --target external` |
//! | `setup` | the files of `--setup` and `--resource` |
//! | `results`, `text` | the report, its folder, and its text |

mod args;
mod executor;
mod results;
mod setup;
mod suite;
mod text;

use jobcheck_cluster::status::{self, Health};
use jobcheck_cluster::{Home, audit_log};
use jobcheck_judge::report::Exit;
use jobcheck_record::Access;

pub use self::args::ConformArgs;
use self::args::NamedCluster;
use crate::global::Global;
use crate::output;

/// Runs the scenarios, and prints the report. Returns the exit code.
pub fn run(args: &ConformArgs, global: &Global) -> Exit {
    if let Some(why) = args.objection() {
        output::error(why);
        return Exit::Unreadable;
    }
    let results = match args.profile.suite() {
        Some(profile) => suite::run(profile, args, global),
        None => executor::run(args, global),
    };
    match results {
        Ok(Some(report)) => {
            output::print_text(&text::render(&report, &args.out, global.quiet), report.exit())
        }
        Ok(None) => Exit::Conforms,
        Err((why, exit)) => {
            output::error_lines(why);
            exit
        }
    }
}

/// An error that ends the command, with its exit code.
type Failure = (String, Exit);

/// Access to a cluster of `jobcheck cluster up`, with its audit log, or by a context of the kubeconfig.
async fn access(
    named: &NamedCluster,
    args: &ConformArgs,
) -> Result<(Access, Option<std::path::PathBuf>), Failure> {
    let local = match named.name.parse() {
        Ok(name) => {
            let home = Home::find().map_err(|error| (error.to_string(), Exit::Environment))?;
            status::one(&home, &name).await
        }
        Err(_) => None,
    };
    match local {
        Some(local) if local.health == Health::Ready => {
            let log = Some(audit_log(&local.folder)).filter(|file| file.is_file());
            Ok((Access { kubeconfig: Some(local.kubeconfig), context: None }, log))
        }
        Some(local) => {
            let why = format!("the cluster {} is {}", named.name, local.health.word());
            Err((why, Exit::Environment))
        }
        None => {
            let (kubeconfig, context) = (args.kubeconfig.clone(), Some(named.name.clone()));
            Ok((Access { kubeconfig, context }, None))
        }
    }
}

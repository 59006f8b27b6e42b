//! `jobcheck conform`: scenarios against a controller that is already running somewhere.
//!
//! | module | content |
//! | --- | --- |
//! | `args` | the arguments |
//! | `suite` | the profiles mirror, aggregate and field: `jobcheck_conform` |
//! | `executor` | the profiles executor and ttl: the library of scenarios, as in `jobcheck run --target external` |
//! | `setup` | the files of `--setup` and `--resource` |
//! | `faults` | the proxy of `--faults`, and its kubeconfig |
//! | `results`, `text` | the report, its folder, and its text |

mod args;
mod executor;
mod faults;
mod results;
mod setup;
mod suite;
mod text;

use clap::ValueEnum;
use jobcheck_cluster::status::{self, Health};
use jobcheck_cluster::{Home, audit_log};
use jobcheck_judge::report::Exit;
use jobcheck_record::Access;
use jobcheck_report::profile::ProfileList;
use jobcheck_report::types::Outcome;
use jobcheck_report::{ConformanceReport, Scenario};
use jobcheck_spec::Req;

pub use self::args::ConformArgs;
use self::args::{NamedCluster, ProfileName};
use crate::global::Global;
use crate::output;
use crate::parse::{find, similar};
use crate::text::of_path;

/// Runs the scenarios, and prints the report. Returns the exit code.
pub fn run(args: &ConformArgs, global: &Global) -> Exit {
    if let Some(why) = args.objection() {
        output::error(why);
        return Exit::Unreadable;
    }
    if let Some(missing) = args.audit_logs.iter().find(|log| !log.is_file()) {
        output::error(format!("--audit-log {}: no such file, or no regular one", of_path(missing)));
        return Exit::Unreadable;
    }
    let results = match args.profile.suite() {
        Some(profile) => suite::run(profile, args, global),
        None => executor::run(args, global),
    };
    match results {
        Ok(Some(report)) => {
            output::print_text(&text::render(&report, &args.out, global.quiet), exit(&report))
        }
        Ok(None) => Exit::Conforms,
        Err((why, exit)) => {
            output::error_lines(why);
            exit
        }
    }
}

/// The exit code. If errors are all that the runs have shown, the suite could not do its part.
fn exit(report: &ConformanceReport) -> Exit {
    let outcomes = || report.scenarios.iter().map(|scenario| scenario.outcome);
    let shows_nothing = outcomes().all(|it| matches!(it, Outcome::Error | Outcome::Skip | Outcome::Disabled));
    // A user who interrupts a run gets what was done so far.
    let interrupted = jobcheck_conform::Error::Interrupted.to_string();
    let has_failed = |it: &Scenario| it.outcome == Outcome::Error && it.reason != interrupted;
    match report.exit() {
        Exit::Inconclusive if shows_nothing && report.scenarios.iter().any(has_failed) => Exit::Environment,
        exit => exit,
    }
}

/// The scenarios of the profile with this name, as a report has them; none if there is no such profile.
pub fn profile_list(name: &str) -> ProfileList {
    let known = ProfileName::value_variants().iter().find(|it| it.name() == name);
    let scenarios = known.map(|profile| match profile.suite() {
        Some(suite) => suite::listed(suite),
        None => executor::listed(*profile),
    });
    let version = if known.is_some() { results::PROFILE_VERSION } else { "" };
    ProfileList { version: version.to_owned(), scenarios: scenarios.unwrap_or_default() }
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

/// The scenarios that these ids name, with or without the profile, and those that aim at a requirement with such an id. All
/// of them without ids. `of`: the name of a scenario, and the requirements.
fn chosen<T>(
    profile: &str,
    mut all: Vec<T>,
    ids: &[String],
    of: impl for<'a> Fn(&'a T) -> (&'a str, &'a [Req]),
) -> Result<Vec<T>, String> {
    let short = |id: &str| id.strip_prefix(&format!("{profile}/")).unwrap_or(id).to_owned();
    let is_named = |scenario: &T, id: &str| {
        let ((name, aims), wanted) = (of(scenario), short(id));
        short(name) == wanted || find(&wanted).is_ok_and(|req| aims.contains(&req))
    };
    if let Some(id) = ids.iter().find(|id| !all.iter().any(|it| is_named(it, id))) {
        let hint = similar(id, all.iter().map(|it| of(it).0));
        return Err(format!("no scenario has the id {id:?} or aims at it{hint}; --list lists all"));
    }
    all.retain(|it| ids.is_empty() || ids.iter().any(|id| is_named(it, id)));
    Ok(all)
}

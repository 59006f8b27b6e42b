//! `jobcheck explore`: steps through a scope in the browser.
//!
//! stateright's Explorer does not serve here. It prints states as Rust values, offers steps without the verdict of the
//! specification, and cannot begin at a counterexample.

mod cycles;
mod server;
mod show;

use clap::Args;
use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::check::{Bounds, Outcome, explore, scopes as all_scopes};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes;
use jobcheck_explorer::scopes::reference::run_by_the_algorithm;
use jobcheck_judge::report::Exit;
use jobcheck_spec::Req;

use self::show::Explorer;
use crate::check::Subject;
use crate::output;
use crate::parse::{defect, guarded, unknown_scope};

/// Arguments of `jobcheck explore`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ExploreArgs {
    /// Scope to step through. `jobcheck check --list` lists all.
    #[arg(value_name = "SCOPE", required_unless_present = "mutant", conflicts_with = "mutant")]
    pub scope: Option<String>,
    /// Step through the counterexample of this known defect of the reference algorithm, such as B18.
    #[arg(long, value_name = "DEFECT", value_parser = defect)]
    pub mutant: Option<&'static Mutant>,
    /// Let this system manage the Jobs, and not the one of the scope.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "mutant")]
    pub subject: Option<Subject>,
    /// Switch off the guards of this requirement. The steps that it forbids are marked. Can be repeated.
    #[arg(long, value_name = "REQUIREMENT", value_parser = guarded)]
    pub without: Vec<Req>,
    /// Search for a counterexample, and begin at its end. The search explores at most 3,000,000 states.
    #[arg(long, conflicts_with = "mutant")]
    pub counterexample: bool,
    /// Listen at this address of this machine; port 0 is a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    pub address: std::net::SocketAddr,
}

const AFTER_HELP: &str = "\
The page shows the path so far, the state after it, and the enabled steps with
the verdict of the specification. It needs no network. Its address holds the
path, so that a path can be kept and shared. Ctrl-C ends the server.

If the counterexample is one to progress (a defect such as L1 or B04, or a scope
of a family progress), the page marks the beginning of the cycle and the step
that continues it, or the quiescent state in which the Job is unfinished.

Examples:
  jobcheck explore non-indexed
  jobcheck explore --mutant B18
  jobcheck explore non-indexed --without FT-03 --counterexample

Exit codes:
  0  the page was served until Ctrl-C; or --counterexample found none
  2  wrong usage, or no such scope or defect
  3  --counterexample was given, and the scope is too large for the search
  4  the address cannot be used, or the output cannot be written
  5  internal error: please report it";

/// The number of states that the search for a counterexample explores.
const MAX_STATES: usize = 3_000_000;

/// Parses an address of this machine. The page changes nothing, but other machines have no business with it.
fn loopback(text: &str) -> Result<std::net::SocketAddr, String> {
    let address: std::net::SocketAddr =
        text.parse().map_err(|_| format!("expected an address such as 127.0.0.1:8080, found {text:?}"))?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!("expected an address of this machine, such as 127.0.0.1:8080, found {text}"))
    }
}

/// Serves the page until Ctrl-C. Returns the exit code.
pub fn run(args: &ExploreArgs) -> Exit {
    let scope = match chosen(args) {
        Ok(scope) => scope,
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    let found = match counterexample(args, &scope) {
        Ok(found) => found,
        Err((message, exit)) => {
            output::note(message);
            return exit;
        }
    };
    let explorer = Explorer::new(scope, args.mutant, found.as_deref());
    server::serve(explorer, args.address)
}

fn chosen(args: &ExploreArgs) -> Result<Scope, String> {
    if let Some(mutant) = args.mutant {
        return Ok(without(mutant.scope(), args));
    }
    let name = args.scope.as_deref().unwrap_or_default();
    let scope =
        all_scopes().into_iter().find(|scope| scope.name == name).ok_or_else(|| unknown_scope(name))?;
    let runs = scope.algorithm().is_some();
    let scope = match args.subject {
        Some(Subject::Specification) if runs => {
            let base = name.rsplit('/').next().and_then(scopes::named);
            base.ok_or_else(|| format!("{name} has no scope of the specification"))?
        }
        Some(Subject::Algorithm) if !runs => {
            let lag = scope.lag;
            run_by_the_algorithm(scope, lag)
        }
        Some(Subject::Controller) if runs => of_the_controller(scope),
        Some(Subject::Controller) => {
            let lag = scope.lag;
            of_the_controller(run_by_the_algorithm(scope, lag))
        }
        Some(subject) if subject.family().is_some() => {
            return Err("the pages show controllers that create pods; use jobcheck check".to_owned());
        }
        Some(_) | None => scope,
    };
    Ok(without(scope, args))
}

/// The counterexample to begin with, if there is one.
fn counterexample(args: &ExploreArgs, scope: &Scope) -> Result<Option<Box<Counterexample>>, (String, Exit)> {
    if let Some(mutant) = args.mutant {
        return Ok(mutant.hunt().found().cloned().map(Box::new));
    }
    if !args.counterexample {
        return Ok(None);
    }
    let bounds = Bounds { max_states: Some(MAX_STATES), ..Bounds::none(1) };
    match explore(scope, &bounds).outcome {
        Outcome::Broken(found) => Ok(Some(found)),
        Outcome::Holds => {
            Err(("every property holds in this scope; there is no counterexample".to_owned(), Exit::Conforms))
        }
        Outcome::NotFinished(_) => {
            let message = format!("no counterexample in the first {MAX_STATES} states");
            Err((message, Exit::Inconclusive))
        }
    }
}

fn without(scope: Scope, args: &ExploreArgs) -> Scope {
    args.without.iter().fold(scope, |scope, req| scope.without(*req))
}

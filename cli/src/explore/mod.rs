//! `jobcheck explore`: stepping through a scope in the browser.
//!
//! Not stateright's Explorer: that shows states as their source code prints them, offers what is enabled without
//! what the specification says of it, and cannot begin at a counterexample.

mod cycles;
mod server;
mod show;

use anstream::eprintln;
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
use crate::check::{Subject, mutant, unknown};

/// Arguments of `jobcheck explore`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ExploreArgs {
    /// The scope; `jobcheck check --list` shows all.
    #[arg(value_name = "SCOPE", required_unless_present = "mutant", conflicts_with = "mutant")]
    pub scope: Option<String>,
    /// Explore the world of a known defect of the reference algorithm, such as B18, from its counterexample; it has a scope
    /// of its own.
    #[arg(long, value_name = "DEFECT", value_parser = mutant)]
    pub mutant: Option<&'static Mutant>,
    /// What manages the Jobs, where that is not what the scope says.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "mutant")]
    pub subject: Option<Subject>,
    /// Switch the guards of a requirement off; can be repeated. Steps that it forbids are marked.
    #[arg(long, value_name = "ID", value_parser = crate::check::guarded)]
    pub without: Vec<Req>,
    /// Look for a counterexample first, and begin there; not with --mutant, which does so anyway. At most 3,000,000 states
    /// are looked at.
    #[arg(long, conflicts_with = "mutant")]
    pub counterexample: bool,
    /// Where to listen; port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback)]
    pub address: std::net::SocketAddr,
}

const AFTER_HELP: &str = "\
The page needs no network. Its address holds the way so far, so that it can be kept and sent. Ctrl-C ends.

Where it is progress that is missing (a defect such as L1 or B04, or a scope of the families progress), the way leads to
where the Job ownerless from its end: the page marks where the round begins that it makes for ever, and which step goes on
with it; or that all is at rest there, and what the Job lacks.

Exit codes:
  0  --counterexample was asked for, and nothing is broken; a page is served until Ctrl-C
  2  there is no such scope or defect, or the usage is wrong
  3  --counterexample was asked for, and the search is too large
  4  the address cannot be listened on, or the output cannot be written
  5  internal error: please report it";

/// States that the search for a counterexample looks at.
const MAX_STATES: usize = 3_000_000;

/// The page can start nothing but looks; still it is nobody's from outside.
fn loopback(text: &str) -> Result<std::net::SocketAddr, String> {
    let address: std::net::SocketAddr =
        text.parse().map_err(|_| format!("expected an address such as 127.0.0.1:8080, found {text:?}"))?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!("expected an address of this machine, such as 127.0.0.1:8080, found {text}"))
    }
}

/// Serves the page until it is interrupted.
pub fn run(args: &ExploreArgs) -> Exit {
    let scope = match chosen(args) {
        Ok(scope) => scope,
        Err(message) => {
            eprintln!("error: {message}");
            return Exit::Unreadable;
        }
    };
    let found = match counterexample(args, &scope) {
        Ok(found) => found,
        Err((message, exit)) => {
            eprintln!("{message}");
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
    let scope = all_scopes().into_iter().find(|scope| scope.name == name).ok_or_else(|| unknown(name))?;
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
        Some(_) | None => scope,
    };
    Ok(without(scope, args))
}

/// What to begin with, if there is anything.
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
        Outcome::Holds => Err(("note: every property holds in this scope".to_owned(), Exit::Conforms)),
        Outcome::NotFinished(_) => {
            let message = format!("note: nothing is broken in the first {MAX_STATES} states");
            Err((message, Exit::Inconclusive))
        }
    }
}

fn without(scope: Scope, args: &ExploreArgs) -> Scope {
    args.without.iter().fold(scope, |scope, req| scope.without(*req))
}

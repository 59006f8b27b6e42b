//! `jobcheck rule`: prints requirements, each with its text, its reason, and the code that decides it.

mod args;
mod json;
mod text;

pub use args::RuleArgs;

use jobcheck_explorer::mutants::Mutant;
use jobcheck_judge::report::{Exit, UnknownId};
use jobcheck_rulebook::rule;
use jobcheck_spec::{CATALOGUE, Req};

use crate::format::Format;
use crate::{output, parse};

/// Prints the requirements that the arguments name.
pub fn run(args: &RuleArgs) -> Exit {
    let reqs = match wanted(args) {
        Ok(reqs) => reqs,
        Err(error) => {
            output::error(error);
            return Exit::Unreadable;
        }
    };
    let is_list = args.ids.iter().any(|id| !family(id).is_empty()) || args.ids.is_empty();
    let text = || {
        if is_list {
            text::list(&reqs)
        } else {
            reqs.iter().map(|req| text::one(&rule(*req))).collect::<Vec<_>>().join("\n")
        }
    };
    let rendered = args.output.render(text, || json::report(&reqs));
    if args.ids.is_empty() && args.output == Format::Text {
        output::note("jobcheck rule FT lists a family, and jobcheck rule FT-03 explains a requirement");
    }
    output::print_report(rendered, args.output, Exit::Conforms)
}

/// Returns the requirements that the arguments name. Without an argument, returns all requirements. The letters of a
/// family name all its members.
///
/// # Errors
///
/// No requirement has this id.
fn wanted(args: &RuleArgs) -> Result<Vec<Req>, String> {
    if args.ids.is_empty() {
        return Ok(CATALOGUE.iter().map(|entry| entry.req).collect());
    }
    let mut reqs = Vec::new();
    for id in &args.ids {
        let members = family(id);
        if members.is_empty() {
            match parse::find(id) {
                Ok(req) => reqs.push(req),
                Err(UnknownId::Ambiguous { requirements, .. }) => reqs.extend(requirements),
                Err(UnknownId::Unknown { .. }) if Mutant::named(id).is_some() => {
                    return Err(format!("{id} is a known defect, which `jobcheck mutants {id}` explains"));
                }
                Err(error @ UnknownId::Unknown { .. }) => return Err(error.to_string()),
            }
        } else {
            reqs.extend(members);
        }
    }
    Ok(reqs)
}

/// Returns the requirements whose id consists of these letters and a number, such as FT-03 for `FT` and `ft`. Returns
/// none if there is no such family.
fn family(letters: &str) -> Vec<Req> {
    let is_member = |id: &str| {
        let rest = id.get(letters.len()..).unwrap_or_default().trim_start_matches('-');
        id.get(..letters.len()).is_some_and(|start| start.eq_ignore_ascii_case(letters))
            && rest.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_word = !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphabetic());
    CATALOGUE.iter().filter(|entry| is_word && is_member(entry.id)).map(|entry| entry.req).collect()
}

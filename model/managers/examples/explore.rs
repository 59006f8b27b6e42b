//! Explores scopes of managers: `explore [mirror|kueue] [SCOPE]...`, the default scopes if none is named.
//!
//! `STATES=N` is a bound on states. `explore mutants` lists what each defect breaks, and what else it breaks in the same scope.

use std::io::{self, Write};
use std::time::Instant;

use jobcheck_managers::check::{Outcome, explore_scope};
use jobcheck_managers::mutants::MUTANTS;
use jobcheck_managers::narrative::lines;
use jobcheck_managers::scope::{Scope, all, large, named};
use jobcheck_managers::subject::Subject;
use jobcheck_spec::catalogue::{CATALOGUE, Req};

fn main() -> io::Result<()> {
    let states = std::env::var("STATES").ok().and_then(|text| text.parse().ok());
    let mut args = std::env::args().skip(1);
    let subject = match args.next().as_deref() {
        Some("kueue") => Subject::KUEUE,
        Some("mutants") => return mutants(),
        Some("mirror") | None => Subject::MIRROR,
        Some(_) => return list(),
    };
    let chosen: Option<Vec<Scope>> =
        args.map(|name| named(&name).or_else(|| named(&format!("managers/{name}")))).collect();
    let Some(chosen) = chosen else { return list() };
    let scopes = if chosen.is_empty() { all() } else { chosen };
    let mut out = io::stdout().lock();
    for scope in scopes {
        let scope = scope.of(subject);
        let begin = Instant::now();
        let it = explore_scope(&scope, 2, states);
        let seconds = begin.elapsed().as_secs_f64();
        writeln!(
            out,
            "{}: {} states of {} bytes and {} parts, depth {}, {seconds:.1} s",
            scope.name,
            it.states,
            it.bytes / it.states,
            it.parts,
            it.depth
        )?;
        match &it.outcome {
            Outcome::Holds if it.settled.is_some() => writeln!(out, "  holds, with progress")?,
            Outcome::Holds => writeln!(out, "  holds")?,
            Outcome::NotFinished(_) => writeln!(out, "  not finished")?,
            Outcome::Broken(found) => {
                lines(&scope, found).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
            }
        }
    }
    Ok(())
}

fn mutants() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for mutant in MUTANTS {
        let found = mutant.hunt();
        let steps = found.found().map_or(0, |found| found.path.len());
        let mut others: Vec<Req> = Vec::new();
        loop {
            let asked: Vec<Req> = CATALOGUE
                .iter()
                .map(|entry| entry.req)
                .filter(|req| *req != mutant.req && !others.contains(req))
                .collect();
            let scope = Scope { asked: Some(asked), ..mutant.scope() };
            match explore_scope(&scope, 2, None).found() {
                Some(found) => others.push(found.req),
                None => break,
            }
        }
        let others: Vec<&str> = others.iter().map(|req| req.id()).collect();
        writeln!(
            out,
            "{:4} {} {steps:>2} steps, {} states; also: {}",
            mutant.id,
            mutant.req,
            found.states,
            others.join(" ")
        )?;
    }
    Ok(())
}

fn list() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "explore [mirror|kueue] [SCOPE]...\nexplore mutants")?;
    [all(), large()]
        .concat()
        .iter()
        .try_for_each(|scope| writeln!(out, "  {:22} {}", scope.name, scope.about))
}

//! Explores the scopes of aggregators and of the contract, and prints their sizes: `sums [large]`.

use std::io::{self, Write};
use std::time::Instant;

use jobcheck_explorer::engine::Limits;
use jobcheck_managers::aggregate::{explore_aggregate, large, scopes};
use jobcheck_managers::check::Exploration;
use jobcheck_managers::contract::{Rules, explore_contract};
use jobcheck_managers::scope::of_the_contract;

fn main() -> io::Result<()> {
    let is_large = std::env::args().nth(1).is_some_and(|text| text == "large");
    let limits = Limits::none(2);
    let mut out = io::stdout().lock();
    for scope in if is_large { Vec::new() } else { of_the_contract() } {
        let (name, begin) = (scope.name, Instant::now());
        row(&mut out, name, &explore_contract(&Rules::whole(scope), &limits), begin)?;
    }
    for scope in if is_large { large() } else { scopes() } {
        let begin = Instant::now();
        row(&mut out, scope.name, &explore_aggregate(&scope, &limits), begin)?;
    }
    Ok(())
}

fn row<S>(out: &mut impl Write, name: &str, it: &Exploration<S>, begin: Instant) -> io::Result<()> {
    let end = match (it.holds(), it.found()) {
        (true, _) => "holds".to_owned(),
        (_, Some(found)) => format!("breaks {}: {}", found.req, found.why),
        (_, None) => "is not finished".to_owned(),
    };
    let seconds = begin.elapsed().as_secs_f64();
    writeln!(out, "{name}: {} states, depth {}, {seconds:.1} s, {end}", it.states, it.depth)
}

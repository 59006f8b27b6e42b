//! Dev tool.
#![allow(clippy::all, clippy::unwrap_used, missing_docs)]
use jobcheck_explore::of_the_controller;
use jobcheck_model::algorithm::switches::Switches;
use jobcheck_model::mutants::MUTANTS;
use jobcheck_sim::paths::{Rig, walk};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let most: usize = args[0].parse().unwrap();
    for m in MUTANTS.iter().filter(|m| args[1..].iter().any(|a| a == m.id)) {
        let scope = of_the_controller(m.sound_scope());
        let w = walk(&scope, 1, most, Rig::with(Switches::of(m.switches)), &|| false).unwrap();
        eprintln!(
            "{} paths {} steps {} of {:?} cut {:?} {:?} lag {} {}",
            m.id,
            w.paths,
            w.steps,
            w.graph,
            w.cut,
            w.difference.map(|d| d.why),
            scope.lag,
            scope.algorithm.job_lag
        );
    }
}

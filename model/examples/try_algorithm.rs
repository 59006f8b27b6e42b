//! Scratch.
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use jobcheck_model::algorithm::steps::Faults;
use jobcheck_model::algorithm::switches::Switches;
use jobcheck_model::check::{Bounds, Outcome, explore_for};
use jobcheck_model::explore::story::tell;
use jobcheck_model::scope::{Algorithm, Scope};
use jobcheck_model::scopes;
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let lag: usize = args[0].parse().unwrap();
    let faults: Vec<u8> = args[1].split(',').map(|x| x.parse().unwrap()).collect();
    let most: usize = args[2].parse().unwrap();
    for scope in scopes::all() {
        if args.len() > 3 && !args[3..].iter().any(|a| *a == scope.name) {
            continue;
        }
        let name = scope.name;
        let scope = Scope {
            lag,
            algorithm: Algorithm {
                processes: 1,
                switches: Switches::default(),
                waits_for_own_writes: true,
                job_lag: lag,
            },
            faults: Faults { failures: faults[0], losses: faults[1], crashes: faults[2] },
            late_requests: faults.len() > 3,
            ..scope
        };
        let start = std::time::Instant::now();
        let search = explore_for(&scope, &Bounds { max_states: Some(most), ..Bounds::none(1) }, &|_| true);
        let secs = start.elapsed().as_secs_f64();
        println!(
            "{name}: {} states, depth {}, {:.0}/s, exhausted {}",
            search.states,
            search.depth,
            search.states as f64 / secs,
            matches!(search.outcome, Outcome::Holds)
        );
        if let Outcome::Broken(found) = search.outcome {
            println!("   {} : {}", found.property, found.why);
            for line in tell(&scope, &found.path) {
                println!(
                    "      {:12} {} {}",
                    line.who,
                    line.what,
                    line.status.map(|s| format!("\n                      -> {s}")).unwrap_or_default()
                );
            }
        }
    }
}

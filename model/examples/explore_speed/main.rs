//! temp
use jobcheck_model::explore::compact::{Specification, width};
use jobcheck_model::explore::engine::{Limits, explore};
use jobcheck_model::scopes;
use std::time::Instant;

fn main() {
    let threads: usize = std::env::args().nth(1).map_or(1, |x| x.parse().unwrap());
    let only = std::env::args().nth(2);
    for scope in scopes::all() {
        if only.as_ref().is_some_and(|n| n != scope.name) { continue; }
        match scope.jobs.len() {
            1 => one::<{ width(1) }>(&scope, threads),
            2 => one::<{ width(2) }>(&scope, threads),
            _ => {}
        }
    }
}

fn one<const N: usize>(scope: &jobcheck_model::scope::Scope, threads: usize) {
    for sym in [false, true] { let t = Instant::now();
    let mut spec = Specification::<N>::new(scope, &|_| true); if sym { spec = spec.up_to_symmetry(); }
    let run = explore(&spec, &Limits::none(threads));
    let s = t.elapsed().as_secs_f64();
    eprintln!("{:24} {:>8} {:>8} {:>3} {:>8.0}/s {:>5.1} B {:>6} {:?}", scope.name, run.store.len(), run.generated, run.depth, run.store.len() as f64 / s, run.store.bytes() as f64 / run.store.len() as f64, run.scratches.iter().map(|s| s.judged()).sum::<usize>(), run.end);
}}

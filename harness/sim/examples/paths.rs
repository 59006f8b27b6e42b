//! Dev tool.
#![allow(clippy::all, clippy::unwrap_used, missing_docs)]
use jobcheck_explore::of_the_controller;
use jobcheck_model::algorithm::progress_scopes::progress;
use jobcheck_model::algorithm::scopes::*;
use jobcheck_sim::paths::{Rig, walk, kinds};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let most: usize = args[0].parse().unwrap();
    let scopes = jobcheck_sim::paths::scopes();
    let stop = || false;
    let begun = std::time::Instant::now();
    let mut taken = vec![0; kinds::ALL.len()];
    let (mut paths, mut steps) = (0, 0);
    for scope in scopes.into_iter() {
        if args.len() > 1 && !args[1..].iter().any(|a| scope.name == a || (a.ends_with('/') && scope.name.starts_with(a.as_str()))) { continue; }
        let t = std::time::Instant::now();
        match walk(&scope, 1, most, Rig::default(), &stop) {
            Err(why) => eprintln!("{}: {why}", scope.name),
            Ok(w) => {
                eprintln!("{:<40} paths {:>7} steps {:>8} of {:?} {:.2?} cut {:?}", w.scope, w.paths, w.steps, w.graph, t.elapsed(), w.cut);
                for (a, b) in taken.iter_mut().zip(&w.taken) { *a += b; }
                paths += w.paths; steps += w.steps;
                if let Some(d) = w.difference {
                    eprintln!("  DIFFERS {}", d.why);
                    for s in &d.path { eprintln!("     {s:?}"); }
                }
            }
        }
    }
    eprintln!("{paths} paths {steps} steps {:.1?}", begun.elapsed());
    let not: Vec<_> = kinds::ALL.iter().zip(&taken).filter(|(_, n)| **n == 0).map(|(k, _)| *k).collect();
    eprintln!("not covered: {not:?}");
}

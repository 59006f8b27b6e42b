//! The explorer, in a process of its own.

use std::process::Command;
use std::time::Instant;

use jobcheck_bench::{Result, peak_memory};
use jobcheck_explorer::check::{Bounds, Outcome, explore};
use jobcheck_explorer::scope::Scope;

use crate::measure::Measured;

/// The first argument of a process that searches one scope, and prints the result.
pub const ONE: &str = "--one";

/// Searches a scope. Returns the text that [`parse`] reads.
pub fn search(scope: &Scope, threads: usize) -> Result<String> {
    let started = Instant::now();
    let found = explore(scope, &Bounds::none(threads));
    let seconds = started.elapsed().as_secs_f64();
    match found.outcome {
        Outcome::Holds => {}
        other => return Err(format!("{}: {other:?}", scope.name).into()),
    }
    let peak = peak_memory(std::process::id()).map_or("-".to_owned(), |bytes| bytes.to_string());
    let (states, steps, depth, bytes) = (found.states, found.generated, found.depth, found.bytes);
    Ok(format!("{states} {steps} {depth} {seconds} {bytes} {peak}"))
}

/// Searches a scope in a new process of this program.
pub fn measure(name: &str, threads: usize) -> Result<Measured> {
    let started = Instant::now();
    let output = Command::new(std::env::current_exe()?).args([ONE, name, &threads.to_string()]).output()?;
    let whole = started.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text, whole)
        .ok_or_else(|| format!("{name}: {text}{}", String::from_utf8_lossy(&output.stderr)).into())
}

fn parse(text: &str, whole: f64) -> Option<Measured> {
    let mut words = text.split_whitespace();
    let mut next = || words.next();
    let (states, steps, depth) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
    let seconds: f64 = next()?.parse().ok()?;
    let (bytes, peak) = (next()?.parse().ok()?, next()?.parse().ok());
    Some(Measured { states, steps, depth, start: whole - seconds, seconds, bytes, peak, disk: 0 })
}
